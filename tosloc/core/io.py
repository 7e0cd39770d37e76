"""Files: plain ones to read, within bounds, or written whole or not at all; keys of what they keep; names as text."""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from io import BufferedReader
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, Final

MAX_FILE_BYTES: Final = 1 << 30  # what read_plain reads at most
_HALVES: Final = re.compile("[\\ud800-\\udc7f\\udd00-\\udfff]")
"""Halves of characters, but for those that stand for bytes."""
_OWN_STREAMS: Final = re.compile(
    r"/dev/(?P<name>stdout|stderr)|/(?:dev|proc/self)/fd/(?P<number>[0-9]{1,6})"
)
_STREAM_NUMBERS: Final = {"stdout": 1, "stderr": 2}
_STREAMS: Final = ("/dev/fd/", "/proc/self/fd/", "/dev/stdin")
_KINDS: Final = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a named pipe"}
_UNFINISHED: Final = ".tosloc-unfinished."
_SECONDS_TO_WRITE: Final = 3600  # no file is written for so long


def open_regular_file(path: Path) -> BufferedReader:
    """A plain file, open to be read; of pipes only what a shell hands over, as in ``<(command)``. OSError for anything
    else, before it is read: a named pipe may wait for ever, a device never end.
    """
    try:
        mode = path.stat().st_mode
    except ValueError as error:  # in Python's words, which differ between versions
        raise OSError(errno.EINVAL, "the name contains a NUL byte", str(path)) from error
    if not stat.S_ISREG(mode) and not (stat.S_ISFIFO(mode) and str(path).startswith(_STREAMS)):
        code = errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL
        raise OSError(
            code, f"is {_KINDS.get(stat.S_IFMT(mode), 'a device')}, not a file", str(path)
        )
    return path.open("rb")


def read_regular_file(path: Path, most: int = MAX_FILE_BYTES) -> bytes:
    """Content of a plain file, see ``open_regular_file``; OSError, too, for one of more than ``most`` bytes."""
    with open_regular_file(path) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"more than {most:,} bytes", str(path))
    return data


def read_inside(root: Path, name: str, most: int) -> bytes | None:
    """Content of a regular file below a folder; None where there is none, or a link leads to it. Raises OSError as
    ``read_regular_file`` does.
    """
    path = root.resolve() / name
    try:
        if path.resolve(strict=True) != path or not path.is_file():
            return None
    except (OSError, RuntimeError):  # not there; a loop of links
        return None
    return read_regular_file(path, most)


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """Yield a temporary path; what the block makes there, a file or a folder, becomes ``path`` if it succeeds.

    A regular file or a folder is replaced at once, so that no reader sees half of it. A symbolic link stays, and what
    it points to is replaced. A device, a named pipe or an open stream such as ``/dev/stdout`` stays, too, and the
    file's bytes are written into it. Raises OSError if the kinds differ, as for a file where a folder is.
    """
    with _stream(path) as stream:
        if stream is None:
            target = Path(os.path.realpath(path))
            target.parent.mkdir(parents=True, exist_ok=True)
            folder: AbstractContextManager[Any] = nullcontext(target.parent)
        else:
            folder = TemporaryDirectory(ignore_cleanup_errors=True)
        with folder as where:
            temporary = Path(where, f"{_UNFINISHED}{secrets.token_hex(8)}")
            try:
                yield temporary
                if stream is not None:
                    with temporary.open("rb") as file:
                        shutil.copyfileobj(file, stream)
                else:
                    if temporary.is_dir() and target.exists():
                        shutil.rmtree(target)
                    temporary.replace(target)
            except OSError as error:
                if error.filename == str(temporary):  # the user knows what was to be written
                    error.filename, error.filename2 = str(path), None
                raise
            finally:
                remove(temporary)


@contextmanager
def _stream(path: Path) -> Iterator[IO[bytes] | None]:
    """Yield what to write into if ``path`` names something that must not be replaced, else None."""
    match = _OWN_STREAMS.fullmatch(str(path))
    if match is not None:
        number = _STREAM_NUMBERS.get(match["name"]) or int(match["number"] or 0)
        # a copy shares the position, so that what the program prints later follows it
        with open(os.dup(number), "wb") as stream:
            yield stream
        return
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        mode = stat.S_IFREG  # what the block makes
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        yield None
        return
    with open(os.open(path, os.O_WRONLY), "wb") as stream:  # without O_CREAT: it exists
        yield stream


def remove(path: Path) -> None:
    """Remove a file or a folder, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def remove_unfinished(folder: Path) -> None:
    """Remove what killed processes have left of ``atomic_write`` in a folder."""
    for path in folder.glob(f"{_UNFINISHED}*"):
        with suppress(OSError):
            if time.time() - path.lstat().st_mtime > _SECONDS_TO_WRITE:
                remove(path)


def write_text(path: Path, text: str) -> None:
    """Write text whole or not at all."""
    with atomic_write(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def parse_json(text: str | bytes) -> Any:
    """The value of a text of JSON, whose numbers are finite. Raises ValueError, also where it is nested too deeply."""
    try:
        return json.loads(text, parse_constant=_finite, parse_float=_finite)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _finite(token: str) -> float:
    value = float(token)
    if not math.isfinite(value):
        raise ValueError(f"{token[:40]} is not a finite number")
    return value


def content_key(*parts: Any) -> str:
    """Key of what was made from ``parts``, plain values of JSON: the SHA-256 of them, the same for equal values.

    >>> content_key("a", [1, {"b": 2, "c": None}]) == content_key("a", (1, {"c": None, "b": 2}))
    True
    """
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def escape_unprintable(text: str) -> str:
    r"""Text that is safe on a terminal and in a page: what is no UTF-8 and control characters become escapes.

    >>> escape_unprintable("caf\udce9\x1b[31m.java"), escape_unprintable("\ud800")
    ('caf\\xe9\\x1b[31m.java', '\\ud800')
    """
    text = _HALVES.sub(lambda half: f"\\u{ord(half.group()):04x}", text)
    decoded = text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
        for char in decoded
    )


def truncate_text(text: str, letters: int) -> str:
    """A text of at most so many ``letters``; what is longer ends in dots.

    >>> truncate_text("a long line", 9), truncate_text("a line", 9)
    ('a long...', 'a line')
    """
    return text if len(text) <= letters else text[: max(letters - 3, 0)].rstrip() + "..."
