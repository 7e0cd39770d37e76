"""Many projects: a TOML file with a section for each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias, TypeVar

import numpy as np
from pydantic import Field, Strict

from tosloc.config import Config, Section, find_config, load_config, read_toml
from tosloc.errors import ConfigError, RepositoryError
from tosloc.git import discovery

Part: TypeAlias = Literal["train", "validation", "test", "all"]
File: TypeAlias = Annotated[Path, Strict(False)]
T = TypeVar("T")
_NAME: Final = re.compile(r"(?!\.)[^/\\\x00-\x1f]{1,200}")


class Project(Section):
    """A section: where its repository and its labelled reports are, and how they are to be read."""

    name: str  # also of the folder of its results
    repo: File
    reports: File
    config: Config = Config()  # settings of its own; in the file the name of a configuration
    part: Part = "all"  # of the chronological split: what is learned from
    judged: Part = "all"  # in the file: the same part, unless said
    at_most: Annotated[int, Field(ge=0)] = 0
    """Reports of a part that are looked at, spread evenly over it; 0: all."""
    alone: bool = False  # whether it is left out by itself where others are left out several at a time
    weight: Annotated[float, Field(gt=0, le=1)] = 1.0  # of its reports: less where they are not what users write

    def record(self) -> dict[str, Any]:
        """What results depend on, as plain values; not where the files lie."""
        return self.model_dump(mode="json", exclude={"repo", "reports", "alone", "weight"})


def read_projects(path: Path) -> list[Project]:
    """The projects of a file; paths are seen from it. Raises ConfigError."""
    base, projects = path.absolute().parent, dict[str, Project]()
    for name, values in read_toml(path, "projects").items():
        where = f"{path} [{name}]"
        if not isinstance(values, dict):
            raise ConfigError(f'{path}: {name} is a section, [{name}], with repo = "..." and reports = "..."')
        if not _NAME.fullmatch(name):
            raise ConfigError(f"{where}: no name of a folder, which its results are to have")
        values = {"judged": values.get("part", "all")} | values | {"name": name}
        try:
            if isinstance(values.get("config"), str):
                values["config"] = load_config(find_config(values["config"], base))
            found = Project.of(values, where)
            places = {key: base / getattr(found, key).expanduser() for key in ("repo", "reports")}
            discovery.find(places["repo"])
        except RepositoryError as error:
            raise ConfigError(f"{where}: {error}") from None
        if not places["reports"].is_file():
            raise ConfigError(f"{where}: {places['reports']}: no such file of reports")
        if name.lower() in projects:
            raise ConfigError(f"{path}: two projects are called {name!r}; their results would share a folder")
        projects[name.lower()] = found.model_copy(update=places)
    if not projects:
        raise ConfigError(f"{path}: it lists no project")
    return list(projects.values())


def spread(items: Sequence[T], number: int) -> list[T]:
    """So many of the items, evenly from first to last; all for 0.

    >>> spread("abcdefg", 3), spread("ab", 0)
    (['a', 'd', 'g'], ['a', 'b'])
    """
    if not number or number >= len(items):
        return list(items)
    return [items[position] for position in np.linspace(0, len(items) - 1, number).round().astype(int).tolist()]
