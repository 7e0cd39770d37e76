"""Values of TOML files that a person writes: one sentence says what is wrong with them."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from typing import Any

from tosloc.errors import ConfigError


def check_keys(values: Mapping[str, Any], known: Collection[str], where: str) -> None:
    """Raises ConfigError for a key that is not known, with the nearest one that is."""
    for key in values.keys() - set(known):
        near = difflib.get_close_matches(key, known, n=1)
        hint = f", did you mean {near[0]!r}?" if near else f"; known are {', '.join(known)}"
        raise ConfigError(f"{where}: unknown key {key!r}{hint}")


def text_of(values: Mapping[str, Any], key: str, where: str, default: str | None = None) -> str:
    """A text. Raises ConfigError when it is none, or lacks without a default."""
    value = values.get(key, default)
    if not isinstance(value, str):
        problem = "lacks" if value is None else f"should be a text in quotes, not {value!r}"
        raise ConfigError(f"{where}: {key} {problem}")
    return value


def text_list_of(values: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
    """A list of texts, empty if it lacks. Raises ConfigError for anything else."""
    value = values.get(key, [])
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise ConfigError(f"{where}: {key} should be a list of texts, not {value!r}")
    return tuple(value)
