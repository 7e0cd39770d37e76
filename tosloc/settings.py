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
    if not isinstance(values, dict):
        raise ConfigError(f"{where} is no table")
    for key, value in values.items():
        if key in ("include", "exclude"):
            wanted = f"a list of at most {_LONGEST} globs in quotes, each of at most {_LONGEST} letters"
            globs = isinstance(value, list) and all(isinstance(one, str) for one in value)
            fits = globs and max(map(len, [value, *value])) <= _LONGEST
        elif key == "tests":
            wanted, fits = "true or false", isinstance(value, bool)
        elif key == "min_share":
            wanted, fits = "a number from 0 to 1", type(value) in (int, float) and 0 <= value <= 1
        else:
            raise ConfigError(f"{where} has no key {key!r}; known are {', '.join(Shown._fields)}")
        if not fits:
            raise ConfigError(f"{where}: {key} is {wanted}")
    return Shown(**{key: tuple(value) if isinstance(value, list) else value for key, value in values.items()})
