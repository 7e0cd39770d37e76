"""The projects to measure on, as a file names them, and where the paper's are to be had."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tosloc.config import Config, find_config, load_config
from tosloc.errors import ToslocError
from tosloc.lab.projects import ProjectEntry, read_entries

DATA: Final = "https://figshare.com/articles/dataset/The_dataset_of_six_open_source_Java_projects/951967"
COMPLETED: Final = "https://github.com/mou23/GenLoc"
SOURCES: Final[Mapping[str, tuple[str, str]]] = {
    "tomcat": (
        "https://github.com/apache/tomcat",
        f"Tomcat's reports of {DATA} with the descriptions that {COMPLETED} completed",
    ),
    "swt": ("https://github.com/eclipse-platform/eclipse.platform.swt", f"SWT's reports of {DATA}"),
    "jdt": ("https://github.com/eclipse-jdt/eclipse.jdt.ui", f"JDT's reports of {DATA}"),
    "birt": ("https://github.com/eclipse-birt/birt", f"Birt's reports of {DATA}"),
}
"""Project of the paper -> its repository, its reports."""


@dataclass(frozen=True)
class Project:
    """One project: where its repository, reports, settings and facts are."""

    name: str
    repo: Path
    reports: Path
    config: Path | None = None
    store: Path | None = None

    @property
    def settings(self) -> Config:
        """Its settings. Raises ConfigError."""
        return Config() if self.config is None else load_config(self.config)

    @property
    def lacks(self) -> str:
        """What is not where the file says, in a sentence with where to get it; empty if all is there."""
        repository, reports = SOURCES.get(self.name, ("", ""))
        if not self.repo.exists():
            return f"{self.name}: there is no repository {self.repo}" + (
                f"; get it with: git clone {repository} {self.repo}" if repository else ""
            )
        if not self.reports.is_file():
            return f"{self.name}: there is no file of reports {self.reports}" + (
                f"; it holds {reports}" if reports else ""
            )
        return ""


def read_projects(path: Path) -> dict[str, Project]:
    """Projects of a file, by name; relative paths are relative to the file. Raises ConfigError."""
    projects = {}
    for name, entry in read_entries(path).items():
        if isinstance(entry, ProjectEntry):
            config = find_config(Path(entry.config).expanduser(), path.absolute().parent) if entry.config else None
            store = _path(path, entry.store) if entry.store else None
            projects[name] = Project(name, _path(path, entry.repo), _path(path, entry.reports), config, store)
    return projects


def _path(file: Path, value: str) -> Path:
    return file.absolute().parent / Path(value).expanduser()


def lacking(projects: Mapping[str, Project], wanted: Sequence[str]) -> dict[str, str]:
    """Wanted project -> what it lacks, in a sentence; those that lack nothing are left out."""
    found = {name: projects[name].lacks if name in projects else _absent(name) for name in wanted}
    return {name: sentence for name, sentence in found.items() if sentence}


def _absent(name: str) -> str:
    entry = f'[{name}] repo = "..." reports = "..."'
    if name not in SOURCES:
        return f"{name}: not in the file of projects; add {entry}"
    repository, reports = SOURCES[name]
    return f"{name}: not in the file of projects; add {entry}: a clone of {repository}, and {reports}"


def chosen(projects: Mapping[str, Project], wanted: Sequence[str], only: Sequence[str] = ()) -> list[Project]:
    """The projects to measure on: ``wanted``, or of them ``only`` some. Raises ToslocError for one that lacks."""
    names = list(only) or list(wanted) or list(projects)
    lack = lacking(projects, names)
    if lack:
        there = [name for name in names if name not in lack]
        hint = f"; without it: --only {','.join(there)}" if there and not only else ""
        more = f" (and {len(lack) - 1} more)" if len(lack) > 1 else ""
        raise ToslocError(next(iter(lack.values())) + more + hint)
    return [projects[name] for name in names]


def missing_file(wanted: Sequence[str]) -> ToslocError:
    """The error for want of a file of projects."""
    asked = ", ".join(wanted) or "any project"
    repositories = ", ".join(repository for repository, _ in SOURCES.values())
    return ToslocError(
        f"name {asked} with --projects FILE, a TOML file that holds for each project "
        '[tomcat] repo = "..." reports = "..." config = "tomcat" (paths relative to the file); the reports'
        f" are published at {DATA} and the repositories at {repositories}"
    )
