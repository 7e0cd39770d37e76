"""What the paper prints in a table, the cells that we print beside it, and the runs that they are made of.

A file ``configs/published/TABLE.toml`` holds the paper's numbers as nested tables: ``[paper.MRR]`` with
``BugLocator = { tomcat = 0.42 }`` is the number of the key ("MRR", "BugLocator", "tomcat").
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from pydantic import Field

from tosloc.core.config import Section, Words, read_toml, shipped_configs_folder
from tosloc.core.errors import RunError, ToslocError
from tosloc.core.records import Progress, track
from tosloc.evaluate.measures import Evaluation
from tosloc.evaluate.run_paths import JUDGEMENTS_FILE, read_scored_run
from tosloc.lab import baseline_runs
from tosloc.lab.projects import Project
from tosloc.train import training
from tosloc.train.experiment import fingerprint
from tosloc.train.training import STAGE_ONE

FOLDER: Final = shipped_configs_folder() / "published"
BASELINES: Final = "baselines"  # folder of the published techniques' runs, by project
SPLIT: Final = "test"
RANKED: Final = f"{SPLIT}/{JUDGEMENTS_FILE}"  # the last file of a finished run of the test reports
N = TypeVar("N")
C = TypeVar("C")


class Published(Section):
    """The content of a file, under the name of its table."""

    title: str
    source: str
    projects: Words = ()  # projects of the table, in the order of its columns
    split: str = ""
    space: str = ""
    left_out: Words = ()
    paper: Mapping[str, Any] = Field(default_factory=dict)

    def number(self, *keys: str) -> float | None:
        """The paper's number of these keys, if it has one."""
        found: Any = self.paper
        for key in keys:
            found = found.get(key, {})
        return found or None


def read_published(table: str) -> Published:
    """The numbers of a table. Raises ConfigError that names the file and the key."""
    path = FOLDER / f"{table}.toml"
    return Published.of(read_toml(path, "published numbers"), str(path))


class Cell(NamedTuple):
    """One number, None where it is not known, and the paper's."""

    value: float | None
    form: str = ".3f"  # how it is written: .674, +.012, 1,536
    paper: float | None = None


Row: TypeAlias = list[str | Cell]


class PaperTable(NamedTuple):
    """One printed table; rows begin with their name."""

    heads: Sequence[str]
    rows: Sequence[Row]


def rows_of(names: Iterable[N], columns: Iterable[C], cell: Callable[[N, C], Cell]) -> list[Row]:
    """A row for each name: the name itself, and a cell for each column."""
    columns = list(columns)
    return [[str(name), *(cell(name, column) for column in columns)] for name in names]


Curves: TypeAlias = Mapping[str, Mapping[int, float]]
"""What it is called -> number of candidates -> value."""


@dataclass(frozen=True)
class Result:
    """A table as it was measured."""

    tables: Sequence[PaperTable]
    notes: Sequence[str] = ()
    curves: Mapping[str, Curves] | None = None
    """Of a figure: project -> its curves; ``label`` is what they show."""
    label: str = ""


@dataclass(frozen=True)
class Workspace:
    """The projects of a table, the folders of their runs, and how those that lack are made."""

    published: Published
    projects: Sequence[Project]
    out: Path
    progress: Progress
    runs: Path | None = None  # where finished runs are looked for first
    make: bool = True
    encoder: str = ""
    """Whose tokens table 2 counts, and that table 6 and figure 6 train on: a folder, or a name on the hub."""

    def each(self) -> Iterator[Project]:
        """The projects, with progress."""
        return track(self.projects, "projects", self.progress)

    def of(self, project: Project) -> Progress:
        """Progress that names the project."""
        return lambda what, done, total: self.progress(f"{project.name}: {what}", done, total)

    def find(self, *names: str, holding: str) -> Path | None:
        """The first folder of that name that holds a file, of the given runs or of our own."""
        folders = (
            folder.joinpath(*names) for folder in (self.runs, self.out) if folder is not None
        )
        return next((folder for folder in folders if (folder / holding).is_file()), None)

    def trained(self, project: Project) -> Path | None:
        """The folder of a training of the project; made now if there is none, unless nothing is to be made."""
        folder = self.find(
            project.name, holding="checkpoint/weights.json"
        )  # which is written after the runs
        if folder is None and self.make:
            folder, places = self.out / project.name, (project.repo, project.reports)
            training.train(project.config, *places, folder, self.of(project), keep_features=True)
        return folder

    def run(self, project: Project, system: str) -> Path | None:
        """The folder of a system's finished run; None where there is none."""
        if system in baseline_runs.SYSTEMS:
            return self.find(BASELINES, project.name, system, holding=RANKED)
        folder = self.trained(project)
        if folder is None or not (folder / STAGE_ONE / RANKED).is_file():
            return folder if system == "stage-one" else None
        return folder / STAGE_ONE if system == "stage-one" else folder

    def rank(self, project: Project, techniques: Sequence[str]) -> None:
        """Make the techniques' runs that lack."""
        lacking = [name for name in techniques if self.run(project, name) is None]
        if lacking and self.make:
            chosen, out = (
                list(map(baseline_runs.technique, lacking)),
                self.out / BASELINES / project.name,
            )
            where = project.repo, project.reports, out
            baseline_runs.rank_with(chosen, project.config, *where, (SPLIT,), self.of(project))

    def evaluation(self, project: Project, folder: Path) -> Evaluation:
        """Of a finished run. Raises RunError when it is of other reports than the project's file holds."""
        scored = read_scored_run(folder, SPLIT)
        reports = scored.run.header.get("reports")
        if isinstance(reports, dict) and reports.get("sha256") not in (
            None,
            fingerprint(project.reports),
        ):
            raise RunError(
                f"{folder}: a run on other reports ({reports.get('name')}) than {project.reports}",
                hint="name another folder with {runs}, or move it away",
            )
        return scored.evaluation()


def no_training(project: Project) -> ToslocError:
    """The error of a project without a training where none is to be made."""
    return ToslocError(
        f"{project.name}: no finished training",
        hint="name its folder with {runs}, or leave out {finished}",
    )
