"""Read a repository's settings for its own answers, in .tosloc.toml or pyproject.toml.

They only choose the files that are shown. A repository may be a stranger's, so its settings can
name no path outside it, no checkpoint and no program.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from tosloc.core.errors import ConfigError
from tosloc.core.io import read_inside

_MAX_BYTES: Final = 1_000_000
"""Largest file of settings that is read, in bytes."""
_OWN_FILE: Final = ".tosloc.toml"
_SHARED_FILE: Final = "pyproject.toml"
"""File that also contains tables of other tools."""


def read_answer_settings(work_tree: Path | None) -> dict[str, Any]:
    """Return the settings on disk in a work tree: option -> value; empty without a work tree.

    If .tosloc.toml has settings, ``[tool.tosloc]`` in pyproject.toml is not read. Raises
    ConfigError, which names the file and the key.
    """
    if work_tree is None:
        return {}
    values = _read_own_file(work_tree)
    if values:
        return _validate(values, _OWN_FILE)
    values = _read_shared_file(work_tree)
    if values:
        return _validate(values, _SHARED_FILE)
    return {}


def _read_own_file(work_tree: Path) -> dict[str, Any]:
    try:
        return _read_toml(work_tree, _OWN_FILE)
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"{_OWN_FILE} of the repository cannot be read: {error}") from None


def _read_shared_file(work_tree: Path) -> Any:
    """Return the value of ``[tool.tosloc]`` in pyproject.toml; {} if the file is not valid TOML."""
    try:
        values: Any = _read_toml(work_tree, _SHARED_FILE)
    except (OSError, ValueError, RecursionError):  # other tools read it too, and report errors
        return {}
    for key in ("tool", "tosloc"):
        values = values.get(key, {}) if isinstance(values, dict) else {}
    return values


def _read_toml(work_tree: Path, name: str) -> dict[str, Any]:
    content = read_inside(work_tree, name, _MAX_BYTES)
    if content is None:
        return {}
    import tomllib

    return tomllib.loads(content.decode("utf-8"))


def _validate(values: Any, name: str) -> dict[str, Any]:
    from tosloc.core.config import AnswerSettings  # here: it takes long to load

    return AnswerSettings.of(values, f"{name} of the repository").model_dump()
