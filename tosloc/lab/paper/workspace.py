"""The paper's published numbers, tables that compare them with ours, and the tables' runs.

A file ``configs/published/TABLE.toml`` contains the paper's numbers as nested tables:
``[paper.MRR]`` with ``BugLocator = { tomcat = 0.42 }`` is the number of the keys "MRR",
"BugLocator" and "tomcat".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from pydantic import Field

from tosloc.core.config import Section, Words, read_toml, shipped_configs_folder
from tosloc.core.errors import RunError, ToslocError
from tosloc.core.io import fingerprint
from tosloc.core.progress import Progress
from tosloc.evaluate.measures import Evaluation
from tosloc.evaluate.run_paths import ScoredRun
from tosloc.evaluate.runs import RunFolder
from tosloc.lab import baseline_runs
from tosloc.lab.projects import Project
from tosloc.lab.tracking import track
from tosloc.train import training
from tosloc.train.training import STAGE_ONE

PUBLISHED_FOLDER: Final = shipped_configs_folder() / "published"
BASELINES_FOLDER: Final = "baselines"
"""Name of the folder of the published techniques' runs, which has a folder for each project."""
SPLIT: Final = "test"
LAST_FILE: Final = str(RunFolder(Path(SPLIT)).judgements_file)
"""The file of a run of the test reports that is written last."""
STAGE_ONE_SYSTEM: Final = "stage-one"
"""Name of TosLoc without a reranker."""
BOTH_STAGES_SYSTEM: Final = "both-stages"
"""Name of TosLoc with a reranker."""
RowName = TypeVar("RowName")
Column = TypeVar("Column")


class Published(Section):
    """The content of a file with the published numbers of one table."""

    title: str
    source: str
    projects: Words = ()
    """Projects of the table, in the order of its columns."""
    split: str = ""
    space: str = ""
    """Description of the files that were searched."""
    left_out: Words = ()
    paper: Mapping[str, Any] = Field(default_factory=dict)

    def number(self, *keys: str) -> float | None:
        """Return the paper's number at these keys; None if there is none."""
        value: Any = self.paper
        for key in keys:
            value = value.get(key, {})
        return value or None


def read_published(table: str) -> Published:
    """Return the published numbers of a table.

    Raises ConfigError, which names the file and the key.
    """
    path = PUBLISHED_FOLDER / f"{table}.toml"
    return Published.of(read_toml(path, "published numbers"), str(path))


class Cell(NamedTuple):
    """Our number and the paper's number; None for an unknown number."""

    value: float | None
    form: str = ".3f"
    """Format of the number: .674, +.012 or 1,536; "p" for a p-value."""
    paper: float | None = None


Row: TypeAlias = list[str | Cell]


class PaperTable(NamedTuple):
    """A printed table; each row begins with its name."""

    heads: Sequence[str]
    rows: Sequence[Row]


def table_rows(
    names: Iterable[RowName], columns: Iterable[Column], cell: Callable[[RowName, Column], Cell]
) -> list[Row]:
    """Return a row for each name: the name itself, and a cell for each column."""
    columns = list(columns)
    return [[str(name), *(cell(name, column) for column in columns)] for name in names]


Curves: TypeAlias = Mapping[str, Mapping[int, float]]
"""Name of a curve -> number of candidates -> value."""


@dataclass(frozen=True)
class PaperResult:
    """Our tables, or curves, for one table or figure of the paper."""

    tables: Sequence[PaperTable]
    notes: Sequence[str] = ()
    curves: Mapping[str, Curves] | None = None
    """For a figure, project -> its curves."""
    label: str = ""
    """What the curves show."""


@dataclass(frozen=True)
class Workspace:
    """The projects of a table, the folders of their runs, and how missing runs are made."""

    published: Published
    projects: Sequence[Project]
    out: Path
    progress: Progress
    runs: Path | None = None
    """Folder that is searched first for finished runs."""
    make: bool = True
    """Whether to make runs that are missing."""
    encoder: str = ""
    """Encoder of table 2, table 6 and figure 6: a folder, or a name on the hub.

    Table 2 counts its tokens; table 6 and figure 6 train it.
    """

    def track_projects(self) -> Iterator[Project]:
        """Yield the projects, and report the progress."""
        return track(self.projects, "projects", self.progress)

    def project_progress(self, project: Project) -> Progress:
        """Return a progress function that names the project."""
        return lambda what, done, total: self.progress(f"{project.name}: {what}", done, total)

    def find(self, *names: str, containing: str) -> Path | None:
        """Return the folder ``names`` if it contains the file ``containing``, else None.

        The finished runs are searched first, then the folder of results.
        """
        for root in (self.runs, self.out):
            if root is not None and (root.joinpath(*names) / containing).is_file():
                return root.joinpath(*names)
        return None

    def training_folder(self, project: Project) -> Path | None:
        """Return the folder of a training of the project.

        A missing training is made now; if ``make`` is False, return None instead.
        """
        # The checkpoint is written after the runs.
        folder = self.find(project.name, containing="checkpoint/weights.json")
        if folder is None and self.make:
            folder = self.out / project.name
            training.train(
                project.config,
                project.repo,
                project.reports,
                folder,
                self.project_progress(project),
                keep_features=True,
            )
        return folder

    def run_folder(self, project: Project, system: str) -> Path | None:
        """Return the folder of a system's finished run; None if there is none."""
        if system in baseline_runs.SYSTEMS:
            return self.find(BASELINES_FOLDER, project.name, system, containing=LAST_FILE)
        folder = self.training_folder(project)
        if folder is None or not (folder / STAGE_ONE / LAST_FILE).is_file():
            # The training has no reranker, so that its only run is that of stage one.
            return folder if system == STAGE_ONE_SYSTEM else None
        return folder / STAGE_ONE if system == STAGE_ONE_SYSTEM else folder

    def make_missing_runs(self, project: Project, techniques: Sequence[str]) -> None:
        """Rank the test reports with the techniques that have no run, unless ``make`` is False."""
        missing = [name for name in techniques if self.run_folder(project, name) is None]
        if missing and self.make:
            baseline_runs.rank_with(
                [baseline_runs.technique(name) for name in missing],
                project.config,
                project.repo,
                project.reports,
                self.out / BASELINES_FOLDER / project.name,
                (SPLIT,),
                self.project_progress(project),
            )

    def evaluate_run(self, project: Project, folder: Path) -> Evaluation:
        """Return the evaluation of a finished run.

        Raises RunError if the run ranks reports other than those in the project's file.
        """
        scored = ScoredRun.read(folder, SPLIT)
        reports = scored.run.header.get("reports")
        if isinstance(reports, dict):
            digest = reports.get("sha256")
            if digest is not None and digest != fingerprint(project.reports):
                name = reports.get("name")
                raise RunError(
                    f"{folder}: the run in it is for other reports ({name}) than {project.reports}",
                    hint="name another folder with {runs}, or move it away",
                )
        return scored.evaluation()


def missing_training_error(project: Project) -> ToslocError:
    """Return the error for a project that has no training and must not be trained."""
    return ToslocError(
        f"{project.name}: no finished training",
        hint="name its folder with {runs}, or leave out {finished}",
    )
