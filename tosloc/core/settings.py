"""What a repository says of its own answers: ``[tool.tosloc]`` of pyproject.toml, or .tosloc.toml. It only chooses what
is shown: no path outside, no checkpoint, nothing that is run.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Final

from tosloc.core.errors import ConfigError
from tosloc.core.io import read_inside

_LARGEST: Final = 1_000_000  # bytes


def read_answer_settings(work_tree: Path | None) -> dict[str, Any]:
    """The settings that lie in a work tree, as they are on disk; .tosloc.toml goes before pyproject.toml. Raises
    ConfigError, which names file and key.
    """
    for name, keys in ((".tosloc.toml", ()), ("pyproject.toml", ("tool", "tosloc"))):
        try:
            content = None if work_tree is None else read_inside(work_tree, name, _LARGEST)
            values: Any = {} if content is None else tomllib.loads(content.decode("utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            if keys:  # others read it, too, and say so
                continue
            raise ConfigError(f"{name} of the repository cannot be read: {error}") from None
        for key in keys:
            values = values.get(key, {}) if isinstance(values, dict) else {}
        if values:
            from tosloc.core.config import AnswerSettings  # here: it takes long to load

            return AnswerSettings.of(values, f"{name} of the repository").model_dump()
    return {}
