"""What a repository says of its own answers: ``[tool.tosloc]`` of pyproject.toml, or .tosloc.toml. It only chooses what
is shown: no path outside, no checkpoint, nothing that is run.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Final, NamedTuple

from tosloc.errors import ConfigError
from tosloc.io import read_inside

_LARGEST: Final = 1_000_000
_LONGEST: Final = 200
"""Letters of a glob, and globs."""


class Shown(NamedTuple):
    """Which files an answer shows, see ``Localizer.localize``."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    tests: bool = False
    min_share: float = 0.0


def settings_of(work_tree: Path | None) -> Shown:
    """The settings that lie in a work tree, as they are on disk; .tosloc.toml goes before pyproject.toml. Raises
    ConfigError, which names file and key.
    """
    for name, keys in ((".tosloc.toml", ()), ("pyproject.toml", ("tool", "tosloc"))):
        try:
            content = None if work_tree is None else read_inside(work_tree, name, _LARGEST)
            values: Any = {} if content is None else tomllib.loads(content.decode("utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise ConfigError(f"{name} of the repository cannot be read: {error}") from None
        for key in keys:
            values = values.get(key, {}) if isinstance(values, dict) else {}
        if values:
            return _checked(values, f"[tool.tosloc] of {name}" if keys else name)
    return Shown()


def _checked(values: object, where: str) -> Shown:
    if not isinstance(values, dict) or (unknown := values.keys() - {*Shown._fields}):
        said = f"has no key {min(unknown)!r}" if isinstance(values, dict) else "is no table"
        raise ConfigError(f"{where} {said}; known are {', '.join(Shown._fields)}")
    for key in ("include", "exclude"):
        globs = values.get(key, [])
        if not isinstance(globs, list) or len(globs) > _LONGEST:
            raise ConfigError(f"{where}: {key} is a list of at most {_LONGEST} globs")
        if not all(isinstance(glob, str) and len(glob) <= _LONGEST for glob in globs):
            raise ConfigError(f"{where}: {key} holds globs in quotes, each of at most {_LONGEST} letters")
    share = values.get("min_share", 0.0)
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
        raise ConfigError(f"{where}: min_share is a number from 0 to 1")
    if not isinstance(values.get("tests", False), bool):
        raise ConfigError(f"{where}: tests is true or false")
    lists = {key: tuple(values[key]) for key in ("include", "exclude") if key in values}
    return Shown(**{**values, **lists})
