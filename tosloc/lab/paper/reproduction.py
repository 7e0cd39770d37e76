"""Every table and figure that can be made again, and what a request for one comes to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from tosloc.errors import ConfigError, ToslocError
from tosloc.lab.paper import accuracy, contents, lengths, reranking, speed
from tosloc.lab.paper.expected import Check, Expected, read_expected
from tosloc.lab.paper.projects import Project, chosen, lacking, missing_file, read_projects
from tosloc.lab.paper.tables import TableResult, WorkStep
from tosloc.lab.paper.workspace import Workspace
from tosloc.records import Progress, silent


@dataclass(frozen=True)
class PaperItem:
    """How a table is made: what it needs, and the measuring, which makes what is missing."""

    plan: Callable[[Workspace], Sequence[WorkStep]]
    measure: Callable[[Workspace, Expected, Progress], TableResult]


TABLES: Final[Mapping[str, PaperItem]] = {
    "table-2": PaperItem(lengths.plan, lengths.measure),
    "table-3": PaperItem(contents.plan, contents.measure),
    "table-4": PaperItem(accuracy.plan, accuracy.measure),
    "table-5": PaperItem(speed.plan, speed.measure),
    "table-6": PaperItem(reranking.plan_ablation, reranking.measure_ablation),
    "figure-5": PaperItem(reranking.plan_coverage, reranking.measure_coverage),
    "figure-6": PaperItem(reranking.plan_sweep, reranking.measure_sweep),
}


@dataclass(frozen=True)
class Request:
    """Which table to make again, of which projects, and from what."""

    table: str
    projects: Path | None
    """File of projects."""
    only: tuple[str, ...]
    """Of the table's projects; all of them without any."""
    expected: Path
    """Folder of expected numbers."""
    work: Workspace
    """Where runs lie, without projects so far."""

    @property
    def reproduction(self) -> PaperItem:
        """How the table is made. Raises ToslocError for a name that is none."""
        if self.table not in TABLES:
            raise ToslocError(f"no table of the paper is called {self.table!r} here; there are {', '.join(TABLES)}")
        return TABLES[self.table]

    def read(self) -> tuple[Expected, dict[str, Project]]:
        """The table's expected numbers, and all known projects. Raises ToslocError where there is no such file."""
        if not self.expected.is_dir():
            raise ConfigError(
                f"{self.expected} is no folder; run it in TosLoc's own folder, or name its numbers with --expected"
            )
        expected = read_expected(self.expected / f"{self.table}.toml")
        if self.projects is None:
            raise missing_file(expected.projects)
        return expected, read_projects(self.projects)

    def command(self, expected: Expected) -> str:
        """The command as a reader would type it."""
        options: dict[str, Any] = {
            "--only": ",".join(self.only),
            "--systems": ",".join(self.work.systems),
            "--encoder": self.work.encoder and Path(self.work.encoder).name,
            "--versions": self.work.versions,
        }
        return " ".join([expected.command, *(f"{option} {value}" for option, value in options.items() if value)])


@dataclass(frozen=True)
class Reproduced:
    """A table as it was measured, beside what was expected of it."""

    request: Request
    expected: Expected
    outcome: TableResult

    @property
    def checks(self) -> list[Check]:
        """Every measured number beside the expected one."""
        return self.expected.check(self.outcome.numbers)

    @property
    def label(self) -> str:
        """What the paper calls it."""
        return self.request.table.replace("-", " ").capitalize()

    def draw(self, folder: Path) -> None:
        """Write its figures to a folder, as SVG and PNG."""
        from tosloc.plots.drawing import save_figure

        for name, figure in self.outcome.figures.items():
            save_figure(figure(), folder / name)


def plan(request: Request) -> list[WorkStep]:
    """What the table needs, and whether it is there; nothing is made."""
    reproduction, (expected, known) = request.reproduction, request.read()
    asked = request.only or expected.projects or tuple(known)
    lack = lacking(known, asked)
    projects = [known[name] for name in asked if name not in lack]
    work = replace(request.work, projects=projects, reranker=expected.reranker)
    return [*reproduction.plan(work), *(WorkStep(sentence, None, "missing") for sentence in lack.values())]


def reproduce(request: Request, progress: Progress = silent) -> Reproduced:
    """Make the table. Raises ToslocError where something is missing that cannot be made."""
    reproduction, (expected, known) = request.reproduction, request.read()
    projects = chosen(known, expected.projects, request.only)
    work = replace(request.work, projects=projects, reranker=expected.reranker)
    return Reproduced(request, expected, reproduction.measure(work, expected, progress))
