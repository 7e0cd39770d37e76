"""Files that are written whole or not at all, keys of what is kept in files, and their names as text."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """A temporary path beside ``path`` that takes its place on success and vanishes on any error or interruption."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write text whole or not at all."""
    with written_whole(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def key_of(*parts: Any) -> str:
    """Key of what was made from ``parts``, plain values of JSON: the SHA-256 of them, the same for equal values.

    >>> key_of("a", [1, {"b": 2, "c": None}]) == key_of("a", (1, {"c": None, "b": 2}))
    True
    """
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def printable(text: str) -> str:
    r"""Text that is safe on a terminal and in a page: bytes that are no UTF-8 and control characters become escapes.

    >>> printable("caf\udce9\x1b[31m.java")
    'caf\\xe9\\x1b[31m.java'
    """
    decoded = text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in decoded)
