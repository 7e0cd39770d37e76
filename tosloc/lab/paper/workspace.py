"""Where runs lie, and how those that are missing are made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tosloc import training
from tosloc.errors import RunError, ToslocError
from tosloc.evaluation.run_paths import ScoredRun, read_scored
from tosloc.experiment import fingerprint
from tosloc.lab import baseline_runs as systems
from tosloc.lab.paper.expected import Second
from tosloc.lab.paper.projects import Project
from tosloc.records import Progress, silent
from tosloc.retrieval.stored_tables import keeps_tables
from tosloc.training import STAGE_ONE

BASELINES = "baselines"
"""Folder of the published techniques' runs, by project."""
PAPER = "paper-"
"""Before a project's name: the folder of a training by configs/paper.toml."""
TWO = "-two"
"""Behind a project's name: the folder of both stages, where that of stage one is another."""
SPLIT = "test"


@dataclass(frozen=True)
class Workspace:
    """Projects, and the folders of their runs."""

    projects: Sequence[Project]
    out: Path
    """Everything that is made."""
    runs: Path | None = None
    """Where finished runs are looked for first."""
    make: bool = True
    """Whether missing runs are made; else they are left out."""
    settings: Path | None = None
    """Folder of the techniques' settings."""
    systems: tuple[str, ...] = ()
    encoder: str = ""
    source: Path | None = None
    """Finished results of the second stage's experiments."""
    second: Second = field(default_factory=Second)
    """What those experiments are made with."""
    versions: int = 0

    def find(self, name: Path, ready: Callable[[Path], bool]) -> Path | None:
        """The first folder of that name that is ready, of the given runs or of our own."""
        places = (folder / name for folder in (self.runs, self.out) if folder is not None)
        return next((place for place in places if ready(place)), None)

    def trained(self, project: Project) -> Path | None:
        """The folder of a finished training of the project."""
        return self.find(Path(project.name), is_trained)

    def with_features(self, project: Project) -> Path | None:
        """The folder of a finished training of the project that keeps its feature tables."""
        return self.find(Path(project.name), lambda place: is_trained(place) and keeps_tables(place))

    def both_stages(self, project: Project, ready: Callable[[Path], bool]) -> Path | None:
        """The folder of both stages: the training's, if it has two, or one of its own."""
        trained = self.find(Path(project.name), lambda place: ready(place) and is_ranked(place / STAGE_ONE))
        return trained or self.find(Path(f"{project.name}{TWO}"), ready)

    def ranked(self, project: Project, name: str) -> Path | None:
        """The folder of a technique's finished run on the project."""
        return self.find(Path(BASELINES) / project.name / name, is_ranked)

    def train(self, project: Project, progress: Progress = silent) -> Path:
        """The folder of a training; made now if there is none."""
        place = self.trained(project)
        if place is None:
            place = self.out / project.name
            training.train(
                project.settings,
                project.repo,
                project.reports,
                place,
                project.store,
                told(progress, project),
                keep_features=True,
            )
        return place

    def rank(self, project: Project, names: Sequence[str], progress: Progress = silent) -> None:
        """Make the techniques' runs that are missing."""
        missing = [name for name in names if self.ranked(project, name) is None]
        if missing:
            chosen = systems.choose(missing, folder=self.settings)
            out = self.out / BASELINES / project.name
            systems.rank_with(
                chosen,
                project.settings,
                project.repo,
                project.reports,
                out,
                project.store,
                (SPLIT,),
                told(progress, project),
            )

    def judged(self, project: Project, place: Path) -> ScoredRun:
        """A finished run. Raises RunError when it is of other reports than the project's file holds."""
        judged = read_scored(place, SPLIT)
        reports = judged.run.header.get("reports")
        if isinstance(reports, dict) and reports.get("sha256") not in (None, fingerprint(project.reports)):
            raise RunError(
                f"{place}: a run on other reports ({reports.get('name')}) than {project.reports}; name another folder"
                " with --runs, or move it away"
            )
        return judged


def is_ranked(place: Path) -> bool:
    """Whether a folder holds a finished run of the test reports."""
    return systems.finished(place, SPLIT)


def is_trained(place: Path) -> bool:
    """Whether a folder holds a finished training: its runs, and the checkpoint, which is written last."""
    return is_ranked(place) and (place / "checkpoint" / "weights.json").is_file()


def told(progress: Progress, project: Project) -> Progress:
    """Progress that names the project."""

    def tell(what: str, done: int, total: int) -> None:
        progress(f"{project.name}: {what}", done, total)

    return tell


def by_project(projects: Sequence[Project], what: str, progress: Progress) -> Iterator[Project]:
    """The projects one after the other, with progress."""
    for number, project in enumerate(projects):
        progress(what, number, len(projects))
        yield project
    progress(what, len(projects), len(projects))


def some(names: Sequence[str], known: Sequence[str]) -> list[str]:
    """The known names that are wanted, all without any. Raises ToslocError for an unknown one."""
    for name in names:
        if name not in known:
            raise ToslocError(f"no system is called {name!r}; there are {', '.join(known)}")
    return [name for name in known if not names or name in names]
