"""Read files up to a largest size, write files atomically, make cache keys and escape text."""

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
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, Final

_TAB_COLUMNS: Final = 4
"""Columns from one tab stop to the next."""
MAX_FILE_BYTES: Final = 1 << 30
"""Largest number of bytes that ``read_regular_file`` reads by default."""
_LONE_SURROGATES: Final = re.compile("[\\ud800-\\udc7f\\udd00-\\udfff]")
"""Surrogate code points without those that stand for undecodable bytes (PEP 383)."""
_OPEN_STREAM_PATH: Final = re.compile(
    r"/dev/(?P<name>stdout|stderr)|/(?:dev|proc/self)/fd/(?P<number>[0-9]{1,6})"
)
_STREAM_NUMBERS: Final = {"stdout": 1, "stderr": 2}
_PIPE_PREFIXES: Final = ("/dev/fd/", "/proc/self/fd/", "/dev/stdin")
"""Beginnings of the paths that a shell gives to pipes, as for ``<(command)``."""
_KIND_NAMES: Final = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a named pipe"}
_UNFINISHED_PREFIX: Final = ".tosloc-unfinished."
_UNFINISHED_SECONDS: Final = 3600
"""Age in seconds from which an unfinished file counts as abandoned: no write takes so long."""


def open_regular_file(path: Path) -> BufferedReader:
    """Open a regular file for reading, or a pipe that a shell hands over, as in ``<(command)``.

    Raises OSError for anything else before reading it: a named pipe may block forever, and a device
    may never end.
    """
    try:
        mode = path.stat().st_mode
    except ValueError as error:  # its message differs between versions of Python
        raise OSError(errno.EINVAL, "the name contains a NUL byte", str(path)) from error
    is_shell_pipe = stat.S_ISFIFO(mode) and str(path).startswith(_PIPE_PREFIXES)
    if not stat.S_ISREG(mode) and not is_shell_pipe:
        code = errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL
        kind = _KIND_NAMES.get(stat.S_IFMT(mode), "a device")
        raise OSError(code, f"this is {kind}, not a file", str(path))
    return path.open("rb")


def read_regular_file(path: Path, max_bytes: int = MAX_FILE_BYTES) -> bytes:
    """Return the content of a file that ``open_regular_file`` opens.

    Raises OSError if that function does, or if the file has more than ``max_bytes`` bytes.
    """
    with open_regular_file(path) as file:
        content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise OSError(errno.EFBIG, f"the file has more than {max_bytes:,} bytes", str(path))
    return content


def read_inside(root: Path, name: str, max_bytes: int) -> bytes | None:
    """Return the content of a regular file inside a folder.

    Return None if there is no such file, or if a symbolic link is on the way to it. Raises OSError
    as ``read_regular_file`` does.
    """
    path = root.resolve() / name
    try:
        if path.resolve(strict=True) != path or not path.is_file():
            return None
    except (OSError, RuntimeError):  # it does not exist, or links form a loop
        return None
    return read_regular_file(path, max_bytes)


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """Yield a temporary path; the file or folder that the block makes there becomes ``path``.

    If the block fails, ``path`` stays as it was. A regular file or a folder is replaced at once, so
    that no reader sees half of it. A symbolic link stays, and its target is replaced. A device, a
    named pipe or an open stream such as ``/dev/stdout`` also stays, and the file's bytes are
    written to it. Raises OSError if the kinds differ, as for a file where a folder is.
    """
    with _open_stream(path) as stream:
        if stream is not None:
            with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
                temporary = _temporary_path(Path(folder))
                with _report_errors_about(path, temporary):
                    yield temporary
                    with temporary.open("rb") as file:
                        shutil.copyfileobj(file, stream)
            return
        target = Path(os.path.realpath(path))
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = _temporary_path(target.parent)
        try:
            with _report_errors_about(path, temporary):
                yield temporary
                if temporary.is_dir() and target.exists():
                    shutil.rmtree(target)
                temporary.replace(target)
        finally:
            remove(temporary)


def _temporary_path(folder: Path) -> Path:
    return folder / f"{_UNFINISHED_PREFIX}{secrets.token_hex(8)}"


@contextmanager
def _report_errors_about(path: Path, temporary: Path) -> Iterator[None]:
    """Make errors name ``path``, which the user knows, instead of the temporary path."""
    try:
        yield
    except OSError as error:
        if error.filename == str(temporary):
            error.filename = str(path)
            error.filename2 = None
        raise


@contextmanager
def _open_stream(path: Path) -> Iterator[IO[bytes] | None]:
    """Yield an open stream if ``path`` is something that must not be replaced, else None."""
    match = _OPEN_STREAM_PATH.fullmatch(str(path))
    if match is not None:
        number = _STREAM_NUMBERS.get(match["name"]) or int(match["number"] or 0)
        # A duplicate shares the position, so that what the program prints later follows it.
        with open(os.dup(number), "wb") as stream:
            yield stream
        return
    if _is_replaceable(path):
        yield None
        return
    with open(os.open(path, os.O_WRONLY), "wb") as stream:  # without O_CREAT: it exists
        yield stream


def _is_replaceable(path: Path) -> bool:
    """Return whether a path is a regular file, a folder, or nothing yet."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return True
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)


def remove(path: Path) -> None:
    """Remove a file or a folder if it exists."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def remove_unfinished(folder: Path) -> None:
    """Remove the unfinished files in a folder that killed processes left in ``atomic_write``."""
    for path in folder.glob(f"{_UNFINISHED_PREFIX}*"):
        with suppress(OSError):
            if time.time() - path.lstat().st_mtime > _UNFINISHED_SECONDS:
                remove(path)


def write_text(path: Path, text: str) -> None:
    """Write text to a file atomically, as UTF-8."""
    with atomic_write(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def parse_json(text: str | bytes) -> Any:
    """Return the value of a JSON text.

    Raises ValueError if the text is not valid JSON, is nested too deeply, or contains a number that
    is not finite.
    """
    try:
        return json.loads(text, parse_constant=_parse_finite, parse_float=_parse_finite)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _parse_finite(token: str) -> float:
    value = float(token)
    if not math.isfinite(value):
        raise ValueError(f"{token[:40]} is not a finite number")
    return value


def fingerprint(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:  # not read at once, since runs may be large
        return hashlib.file_digest(file, "sha256").hexdigest()


def content_key(*parts: Any) -> str:
    """Return the SHA-256 of plain JSON values, the same for equal values: a key for a cache.

    >>> content_key("a", [1, {"b": 2, "c": None}]) == content_key("a", (1, {"c": None, "b": 2}))
    True
    """
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def escape_unprintable(text: str) -> str:
    r"""Return a text that is safe on a terminal and in a page.

    Control characters, and characters that cannot be encoded as UTF-8, become escapes.

    >>> escape_unprintable("caf\udce9\x1b[31m.java"), escape_unprintable("\ud800")
    ('caf\\xe9\\x1b[31m.java', '\\ud800')
    """
    text = _LONE_SURROGATES.sub(lambda match: f"\\u{ord(match.group()):04x}", text)
    decoded = text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
        for char in decoded
    )


def escape_code_line(line: str) -> str:
    r"""Return a line of code that is safe on a terminal and in a page, with its tabs as blanks.

    >>> escape_code_line("\treturn\x1b")
    '    return\\x1b'
    """
    return escape_unprintable(line.expandtabs(_TAB_COLUMNS))


def truncate_text(text: str, max_chars: int) -> str:
    """Return a text of at most ``max_chars`` characters; a longer text is cut and ends in dots.

    >>> truncate_text("a long line", 9), truncate_text("a line", 9)
    ('a long...', 'a line')
    """
    if len(text) <= max_chars:
        return text
    return text[: max(max_chars - 3, 0)].rstrip() + "..."
