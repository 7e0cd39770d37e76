"""What the paper prints in a table, the cells that we print beside it, and where runs lie that they are made of.

A file ``configs/published/TABLE.toml`` holds the paper's numbers as nested tables: ``[paper."all files".MRR]`` with
``BugLocator = { tomcat = 0.42 }`` is the number of the key ("all files", "MRR", "BugLocator", "tomcat").
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias, TypeVar

from pydantic import Field, Strict

from tosloc import training
from tosloc.config import Section, Words, read_toml, shipped_configs
from tosloc.errors import RunError, ToslocError
from tosloc.evaluate.run_paths import ScoredRun, read_scored
from tosloc.evaluate.statistics import Interval
from tosloc.experiment import fingerprint
from tosloc.lab import baseline_runs
from tosloc.lab.projects import Project
from tosloc.rank.feature_tables import keeps_tables
from tosloc.records import Progress, silent
from tosloc.training import STAGE_ONE

Key: TypeAlias = tuple[str, ...]
FOLDER: Final = shipped_configs() / "published"


class RerankerExperiments(Section):
    """``[second]``: what an experiment with the encoder reranker is made with."""

    config: str = ""
    """File of its settings, seen from the table's, for projects whose own name no encoder."""
    train_reports: Annotated[int, Field(ge=0)] = 0
    """How many of the training reports, the newest, it learns from; 0 for all."""
    candidates: Annotated[tuple[Annotated[int, Field(ge=1)], ...], Strict(False)] = (10, 20, 50)
    """Numbers of files that are reranked, ascending, where they are varied."""


class Published(Section):
    """The content of a file, under the name of its table."""

    title: str
    source: str
    projects: Words = ()
    """Projects that the table needs, in the order of its columns."""
    split: str = ""
    space: str = ""
    left_out: Words = ()
    paper: Mapping[str, Any] = Field(default_factory=dict)
    second: RerankerExperiments = RerankerExperiments()

    @cached_property
    def numbers(self) -> Mapping[Key, float]:
        """The paper's numbers."""
        return dict(_numbers(self.paper, ()))


def read_published(table: str) -> Published:
    """The numbers of a table. Raises ConfigError that names the file and the key."""
    path = FOLDER / f"{table}.toml"
    found = Published.of(read_toml(path, "published numbers"), str(path))
    config = str(FOLDER / found.second.config) if found.second.config else ""
    return found.model_copy(update={"second": found.second.model_copy(update={"config": config})})


def _numbers(values: Any, above: Key) -> Iterator[tuple[Key, float]]:
    if not isinstance(values, dict):
        yield above, float(values)
        return
    for key, value in values.items():
        yield from _numbers(value, (*above, key))


N = TypeVar("N")
C = TypeVar("C")
Form: TypeAlias = Literal["share", "change", "count", "one", "ratio", "p"]
"""How a number is written: .674, +.012, 1,536, 2.4, 3.74, <.001."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One number, None where it is not known."""

    value: float | None
    form: Form = "share"
    paper: float | None = None
    interval: Interval | None = None
    mark: str = ""


def rows_of(names: Iterable[N], columns: Iterable[C], cell: Callable[[N, C], Cell]) -> list[list[str | Cell]]:
    """A row for each name: the name itself, and a cell for each column."""
    columns = list(columns)
    return [[str(name), *(cell(name, column) for column in columns)] for name in names]


@dataclass(frozen=True)
class PaperTable:
    """One printed table; rows begin with their name."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str | Cell]]
    title: str = ""


@dataclass(frozen=True)
class TableResult:
    """A table as it was measured."""

    tables: Sequence[PaperTable]
    notes: Sequence[str] = ()
    figures: Mapping[str, Callable[[], Any]] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)


def figure_of(name: str, *values: Any) -> Callable[[], Any]:
    """What draws a figure of ``tosloc.lab.paper.figures``; it waits, since not every table is drawn."""

    def draw() -> Any:
        from tosloc.lab.paper import figures

        return getattr(figures, name)(*values)

    return draw


BASELINES = "baselines"
"""Folder of the published techniques' runs, by project."""
PAPER = "paper-"
"""Before a project's name: the folder of a training by configs/paper.toml."""
TWO = "-two"
"""Behind a project's name: the folder of both stages, where that of stage one is another."""
SPLIT = "test"

T = TypeVar("T")


@dataclass(frozen=True)
class Workspace:
    """Projects, the folders of their runs, and how those that are missing are made."""

    projects: Sequence[Project]
    out: Path
    runs: Path | None = None
    """Where finished runs are looked for first."""
    make: bool = True
    systems: tuple[str, ...] = ()
    """Of tables 4 and 5; all, or the default ones, without any."""
    encoder: str = ""
    """Whose tokens table 2 counts, and that table 6 and figure 6 train on: a folder, or a name on the hub."""
    versions: int = 0
    """Of tables 2 and 5; 0 for all, or the default number."""
    reranker: RerankerExperiments = field(default_factory=RerankerExperiments)
    """What table 6 and figure 6 are made with."""

    def find(self, name: Path, ready: Callable[[Path], bool]) -> Path | None:
        """The first folder of that name that is ready, of the given runs or of our own."""
        folders = (folder / name for folder in (self.runs, self.out) if folder is not None)
        return next((folder for folder in folders if ready(folder)), None)

    def trained(self, project: Project) -> Path | None:
        """The folder of a finished training of the project."""
        return self.find(Path(project.name), is_trained)

    def with_features(self, project: Project) -> Path | None:
        """The folder of a finished training of the project that keeps its feature tables."""
        return self.find(Path(project.name), lambda folder: is_trained(folder) and keeps_tables(folder))

    def both_stages(self, project: Project, ready: Callable[[Path], bool]) -> Path | None:
        """The folder of both stages: the training's, if it has two, or one of its own."""
        trained = self.find(Path(project.name), lambda folder: ready(folder) and is_ranked(folder / STAGE_ONE))
        return trained or self.find(Path(f"{project.name}{TWO}"), ready)

    def ranked(self, project: Project, name: str) -> Path | None:
        """The folder of a technique's finished run on the project."""
        return self.find(Path(BASELINES) / project.name / name, is_ranked)

    def train(self, project: Project, progress: Progress = silent) -> Path:
        """The folder of a training; made now if there is none."""
        folder = self.trained(project)
        if folder is None:
            folder, tell = self.out / project.name, named(progress, project)
            training.train(project.configured(), project.repo, project.reports, folder, tell, keep_features=True)
        return folder

    def rank(self, project: Project, names: Sequence[str], progress: Progress = silent) -> None:
        """Make the techniques' runs that are missing."""
        missing = [name for name in names if self.ranked(project, name) is None]
        if missing:
            chosen, out = baseline_runs.choose_techniques(missing), self.out / BASELINES / project.name
            where = project.repo, project.reports, out
            baseline_runs.rank_with(chosen, project.configured(), *where, (SPLIT,), named(progress, project))

    def scored(self, project: Project, folder: Path) -> ScoredRun:
        """A finished run. Raises RunError when it is of other reports than the project's file holds."""
        scored = read_scored(folder, SPLIT)
        reports = scored.run.header.get("reports")
        if isinstance(reports, dict) and reports.get("sha256") not in (None, fingerprint(project.reports)):
            raise RunError(
                f"{folder}: a run on other reports ({reports.get('name')}) than {project.reports}; name another folder"
                " with --runs, or move it away"
            )
        return scored


def is_ranked(folder: Path) -> bool:
    """Whether a folder holds a finished run of the test reports."""
    return baseline_runs.finished(folder, SPLIT)


def is_trained(folder: Path) -> bool:
    """Whether a folder holds a finished training: its runs, and the checkpoint, which is written last."""
    return is_ranked(folder) and (folder / "checkpoint" / "weights.json").is_file()


def named(progress: Progress, project: Project) -> Progress:
    """Progress that names the project."""
    return lambda what, done, total: progress(f"{project.name}: {what}", done, total)


def by_project(items: Sequence[T], what: str, progress: Progress) -> Iterator[T]:
    """Projects, or what belongs to one each, one after the other, with progress."""
    for number, item in enumerate(items):
        progress(what, number, len(items))
        yield item
    progress(what, len(items), len(items))


def some(names: Sequence[str], known: Sequence[str]) -> list[str]:
    """The known names that are wanted, all without any. Raises ToslocError for an unknown one."""
    for name in names:
        if name not in known:
            raise ToslocError(f"no system is called {name!r}; there are {', '.join(known)}")
    return [name for name in known if not names or name in names]
