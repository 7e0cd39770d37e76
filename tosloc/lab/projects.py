"""Many projects at once: a TOML file that lists them, or a folder of JSON lines beside a folder of repositories."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias, TypeVar

import numpy as np
from pydantic import Field

from tosloc.config import Config, Section, Words, find_config, load_config, read_toml
from tosloc.errors import ConfigError, RepositoryError
from tosloc.git import discovery

Part: TypeAlias = Literal["train", "validation", "test", "all"]
T = TypeVar("T")
SUFFIX: Final = ".jsonl"
_NAME: Final = re.compile(r"(?!\.)[^/\\\x00-\x1f]{1,200}")


class _Entry(Section):
    """What a section may say, whether of one project or of a folder of them."""

    config: str = ""
    zone: str = ""
    suffixes: Words | Literal["auto", ""] = ""
    part: Part = "all"
    judged: Part | Literal[""] = ""
    at_most: Annotated[int, Field(ge=0)] = 0
    alone: bool = False


class ProjectEntry(_Entry):
    """A section of one project."""

    repo: str
    reports: str


class FolderEntry(_Entry):
    """A section of a folder of JSON lines, and of a folder with their repositories."""

    repos: str
    reports: str
    renamed: dict[str, str] = Field(default_factory=dict)
    only: Words = ()
    without: Words = ()


@dataclass(frozen=True)
class Project:
    """One project of a list: where its repository and its labelled reports are, and how they are to be read."""

    name: str
    """Also the name of the folder of its results."""
    repo: Path
    reports: Path
    settings: Config | None = None
    """Those that its entry names; None: those of the command."""
    data: Mapping[str, Any] = field(default_factory=dict)
    part: Part = "all"
    """Of the chronological split: what is learned from."""
    judged: Part = "all"
    at_most: int = 0
    """Reports of a part that are looked at, spread evenly over it; 0: all."""
    alone: bool = False
    """Whether it is left out by itself where others are left out several at a time."""

    def configured(self, base: Config | None = None) -> Config:
        """The settings for this project. Raises ConfigError."""
        values = (self.settings or base or Config()).as_dict()
        return Config.of(values | {"data": values["data"] | dict(self.data)}, f"project {self.name}")

    def record(self) -> dict[str, Any]:
        """What results depend on, as plain values; not where the files lie."""
        settings = None if self.settings is None else self.settings.as_dict()
        return {
            "name": self.name,
            "settings": settings,
            "data": dict(self.data),
            "part": self.part,
            "judged": self.judged,
            "at most": self.at_most,
        }


@dataclass(frozen=True)
class ProjectList:
    """The projects of a list, in its order."""

    projects: tuple[Project, ...]
    missing: tuple[str, ...] = ()
    """Names of files of reports in a folder for which no repository was found."""


def read_projects(path: str | Path, repos: str | Path | None = None) -> ProjectList:
    """The projects of a TOML file; or of a folder of JSON lines, whose repositories stand in the folder ``repos``."""
    place = Path(path).expanduser()
    if place.is_dir():
        if repos is None:
            raise ConfigError(f"{path}: a folder of reports; name the folder of their repositories with --repos")
        found = _of_folder(FolderEntry(reports=str(place), repos=str(repos)), Path(), str(path))
    elif repos is not None:
        raise ConfigError(
            f"{path}: is no folder of reports; --repos goes with one, a TOML file names repositories itself"
        )
    else:
        found = _of_file(place)
    names: dict[str, str] = {}
    for project in found.projects:
        same = names.setdefault(project.name.lower(), project.name)
        if same is not project.name:
            raise ConfigError(f"{path}: two projects are called {project.name!r}; their results would share a folder")
    if not found.projects:
        why = f"none of its {len(found.missing)} projects has a repository" if found.missing else "it lists no project"
        raise ConfigError(f"{path}: {why}")
    return found


def find_repository(names: Mapping[str, Path], name: str) -> Path | None:
    """The repository of OWNER+NAME in a folder, called so, OWNER/NAME or NAME; None where there is none."""
    owner, _, alone = name.lower().rpartition("+")
    for spelled in dict.fromkeys((name.lower(), f"{owner}/{alone}" if owner else alone, alone)):
        for key in (spelled, f"{spelled}.git"):
            if key in names:
                for place in (names[key], names[key] / "repo"):
                    if _is_repository(place):
                        return place
    return None


def names_in(folder: Path) -> dict[str, Path]:
    """Lower-case name -> what a folder of repositories holds, two floors deep. Raises ConfigError."""
    try:
        first = sorted(one for one in folder.iterdir() if one.is_dir())
        found = {one.name.lower(): one for one in first}
        for owner in first:
            if not _is_repository(owner):
                for one in sorted(owner.iterdir()):
                    found[f"{owner.name}/{one.name}".lower()] = one
    except OSError as error:
        raise ConfigError(f"{folder}: cannot be read ({error.strerror}); name a folder of repositories") from None
    return found


def _is_repository(place: Path) -> bool:
    try:
        discovery.find(place)
    except (RepositoryError, OSError):
        return False
    return True


def _of_file(path: Path) -> ProjectList:
    """The sections of a list: one with ``repos`` is of a folder."""
    base = path.absolute().parent
    projects: list[Project] = []
    missing: list[str] = []
    for name, values in read_toml(path, "projects").items():
        if not isinstance(values, dict):
            raise ConfigError(f'{path}: {name} is a section, [{name}], with repo = "..." and reports = "..."')
        where = f"{path} [{name}]"
        if not _NAME.fullmatch(name):
            raise ConfigError(f"{where}: no name of a folder, which its results are to have")
        if "repos" in values:
            of_folder = _of_folder(FolderEntry.of(values, where), base, where)
            projects += of_folder.projects
            missing += of_folder.missing
        else:
            projects.append(_of_entry(name, ProjectEntry.of(values, where), base, where))
    return ProjectList(tuple(projects), tuple(missing))


def _of_entry(name: str, entry: ProjectEntry, base: Path, where: str) -> Project:
    repo, reports = (base / Path(one).expanduser() for one in (entry.repo, entry.reports))
    try:
        discovery.find(repo)
    except RepositoryError as error:
        raise ConfigError(f"{where}: {error}") from None
    if not reports.is_file():
        raise ConfigError(f"{where}: {reports}: no such file of reports")
    return _project(name, repo, reports, entry, base, where)


def _of_folder(entry: FolderEntry, base: Path, where: str) -> ProjectList:
    folder, repos = (base / Path(one).expanduser() for one in (entry.reports, entry.repos))
    try:
        files = {one.stem: one for one in sorted(folder.iterdir()) if one.suffix == SUFFIX}
    except OSError as error:
        raise ConfigError(f"{where}: {folder}: cannot be read ({error.strerror}); name a folder of reports") from None
    if not files:
        raise ConfigError(f"{where}: {folder}: holds no file OWNER+NAME{SUFFIX}")
    renamed = {old.lower(): new for old, new in entry.renamed.items()}
    only, without = ({name.lower() for name in names} for names in (entry.only, entry.without))
    unknown = sorted((only | without) - {name.lower() for name in files})
    if unknown:
        raise ConfigError(f"{where}: no file of reports is called {unknown[0]}{SUFFIX} in {folder}")
    names = names_in(repos)
    projects, missing = [], []
    for name, reports in files.items():
        if (only and name.lower() not in only) or name.lower() in without:
            continue
        repo = find_repository(names, renamed.get(name.lower(), name))
        if repo is None:
            missing.append(name)
        else:
            projects.append(_project(name, repo, reports, entry, base, where))
    return ProjectList(tuple(projects), tuple(missing))


def _project(name: str, repo: Path, reports: Path, entry: _Entry, base: Path, where: str) -> Project:
    try:
        settings = load_config(find_config(entry.config, base)) if entry.config else None
        judged = entry.judged or entry.part
        data = entry.model_dump(mode="json", include={"zone", "suffixes"}, exclude_defaults=True)
        project = Project(name, repo, reports, settings, data, entry.part, judged, entry.at_most, entry.alone)
        project.configured()
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None
    return project


def spread(items: Sequence[T], number: int) -> list[T]:
    """So many of the items, evenly from first to last; all for 0.

    >>> spread("abcdefg", 3), spread("ab", 0)
    (['a', 'd', 'g'], ['a', 'b'])
    """
    if not number or number >= len(items):
        return list(items)
    return [items[position] for position in np.linspace(0, len(items) - 1, number).round().astype(int).tolist()]
