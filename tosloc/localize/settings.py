"""Settings that a repository has for its own answers, in .tosloc.toml or pyproject.toml.

They only choose which files are shown: a repository may be a stranger's, so they name no path
outside it, no checkpoint and nothing that is run.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Final

from tosloc.core.errors import ConfigError
from tosloc.core.io import read_inside

_MAX_BYTES: Final = 1_000_000
"""Number of bytes of the largest file of settings that is read."""
_OWN_FILE: Final = ".tosloc.toml"
_SHARED_FILE: Final = "pyproject.toml"
"""File whose other tables belong to other tools."""


def read_answer_settings(work_tree: Path | None) -> dict[str, Any]:
    """Return the settings of a work tree, as they are on disk; none without a work tree.

    .tosloc.toml comes before ``[tool.tosloc]`` of pyproject.toml. Raises ConfigError, which names
    the file and the key.
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
    """Return ``[tool.tosloc]`` of pyproject.toml, whatever it is; {} if the file is not valid."""
    try:
        values: Any = _read_toml(work_tree, _SHARED_FILE)
    except (OSError, ValueError, RecursionError):  # other tools read it too, and report errors
        return {}
    for key in ("tool", "tosloc"):
        values = values.get(key, {}) if isinstance(values, dict) else {}
    return values


def _read_toml(work_tree: Path, name: str) -> dict[str, Any]:
    content = read_inside(work_tree, name, _MAX_BYTES)
    return {} if content is None else tomllib.loads(content.decode("utf-8"))


def _validate(values: Any, name: str) -> dict[str, Any]:
    from tosloc.core.config import AnswerSettings  # here: it takes long to load

    return AnswerSettings.of(values, f"{name} of the repository").model_dump()
