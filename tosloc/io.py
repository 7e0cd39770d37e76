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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from typing import Any, Final

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

MOST_BYTES: Final = 1 << 30
"""What ``read_plain`` reads at most."""
_UNPACKED_FREELY, _UNPACKED_TIMES, _UNPACKED_AT_MOST = 1 << 28, 100, 1 << 32
_MOST_DIGITS: Final = 40
_DEEPEST: Final = 100
_HALVES: Final = re.compile("[\\ud800-\\udc7f\\udd00-\\udfff]")
"""Halves of characters, but for those that stand for bytes."""
_STREAMS: Final = ("/dev/fd/", "/proc/self/fd/", "/dev/stdin")
_KINDS: Final = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket"}
_UNFINISHED: Final = ".tosloc-unfinished."


def open_plain(path: Path) -> BufferedReader:
    """A plain file, open to be read; of pipes only what a shell hands over, as in ``<(command)``.

    OSError for anything else, before it is read: a named pipe may wait for ever, a device never end.
    """
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except ValueError as error:  # a NUL in the name
        raise OSError(errno.EINVAL, str(error), str(path)) from error
    try:
        kind = stat.S_IFMT(os.fstat(handle).st_mode)
        if kind == stat.S_IFIFO and str(path).startswith(_STREAMS):
            os.set_blocking(handle, True)
        elif kind != stat.S_IFREG:
            code = errno.EISDIR if kind == stat.S_IFDIR else errno.EINVAL
            raise OSError(code, f"is {kind_of_file(kind)}, not a file", str(path))
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def kind_of_file(mode: int) -> str:
    """What stands where a plain file should, by its mode.

    >>> kind_of_file(stat.S_IFIFO)
    'a named pipe'
    """
    return _KINDS.get(stat.S_IFMT(mode), "a device")


def read_plain(path: Path, most: int = MOST_BYTES) -> bytes:
    """Content of a plain file, see ``open_plain``; OSError, too, for one of more than ``most`` bytes."""
    with open_plain(path) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"more than {most:,} bytes", str(path))
    return data


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """A temporary path beside ``path`` that takes its place on success and vanishes on any error or interruption.

    It is written to, not replaced. What a killed process leaves is removed when the next file of its folder is written.
    """
    make_folder(path.parent)
    with _about(path), _unfinished(path.parent, _make_file) as temporary:
        yield temporary
        temporary.chmod(mode_in(path.parent))
        temporary.replace(path)


def make_folder(path: Path) -> None:
    """Make a folder and those above it, if they are absent: its owner's alone in one that is."""
    if not path.parent.exists():
        make_folder(path.parent)
    path.mkdir(0o777 if mode_in(path.parent) & 0o077 else 0o700, exist_ok=True)


def mode_in(folder: Path) -> int:
    """Mode of a new file in a folder: its owner's alone where the folder is, else as the user's mask has it."""
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask if folder.stat().st_mode & 0o077 else 0o600


@contextmanager
def folder_written_whole(path: Path) -> Iterator[Path]:
    """The same for a folder; it takes the place of a folder that is there. Its parent exists."""
    with _about(path), _unfinished(path.parent, _make_folder) as temporary:
        yield temporary
        temporary.chmod(path.parent.stat().st_mode)
        if path.exists():
            shutil.rmtree(path)
        temporary.rename(path)


def remove_whole(paths: Sequence[Path], folder: Path) -> None:
    """Remove files and folders; a kill leaves each of them whole or takes it from its place.

    ``folder`` lies on their disk. What a killed process leaves there goes when its next file is written.
    """
    with _unfinished(folder, _make_folder) as aside:
        for number, path in enumerate(paths):
            path.rename(aside / str(number))


def remove_unfinished(folder: Path) -> None:
    """Remove what killed processes had begun to write in a folder: whoever writes holds a lock, which ends with it."""
    if fcntl is None:
        return
    try:
        names = [name for name in os.listdir(folder) if name.startswith(_UNFINISHED)]
    except OSError:
        return  # whoever writes there will say so
    for path in map(folder.joinpath, names):
        with suppress(OSError):  # a live process has it; it is another user's; there are no locks here
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove(path)
            finally:
                os.close(descriptor)


@contextmanager
def _about(path: Path) -> Iterator[None]:
    """Let errors name what was to be written, which the user knows, and not the temporary path."""
    try:
        yield
    except OSError as error:
        if _UNFINISHED in str(error.filename):
            error.filename, error.filename2 = str(path), None
        raise


@contextmanager
def _unfinished(folder: Path, make: Callable[[Path], None]) -> Iterator[Path]:
    """A new path in a folder, locked for as long as this process lives or until the end of the block."""
    remove_unfinished(folder)
    path = folder / f"{_UNFINISHED}{secrets.token_hex(8)}"
    descriptor = None
    try:
        make(path)
        while fcntl is not None and (descriptor := _locked(path)) is None:
            make(path)  # again
        yield path
    finally:
        _remove(path)
        if descriptor is not None:
            os.close(descriptor)


def _make_file(path: Path) -> None:
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def _make_folder(path: Path) -> None:
    path.mkdir(mode=0o700)


def _locked(path: Path) -> int | None:
    """A descriptor that holds the lock of a new path; None when another process was faster and removed it."""
    try:
        descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    except FileNotFoundError:
        return None
    with suppress(OSError):  # no locks here, and so nobody who removes what is not locked
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        if os.path.samestat(os.fstat(descriptor), path.lstat()):
            return descriptor
    except FileNotFoundError:
        pass
    os.close(descriptor)
    return None


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write text whole or not at all."""
    with written_whole(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def most_unpacked(packed: int) -> int:
    """Bytes that a compressed file of ``packed`` bytes may hold: no file of ours holds so many times its size."""
    return min(max(_UNPACKED_FREELY, _UNPACKED_TIMES * packed), _UNPACKED_AT_MOST)


def beside(folder: Path, name: object) -> Path:
    """What has this name in the folder itself. Raises ValueError for what is no such name: it may lead elsewhere."""
    if not isinstance(name, str) or name != Path(name).name or not name.strip("."):
        raise ValueError(f"{name!r} is no name of a file")
    return folder / name


def parse_json(text: str | bytes, *, infinite: bool = False) -> Any:
    """The value of a text of JSON. Raises ValueError, also where it is nested too deeply or a number is too long.

    Numbers have to be finite, unless ``infinite`` allows Python's own ``Infinity`` and ``NaN``, too.
    """
    try:
        value = json.loads(
            text, parse_constant=float if infinite else _no_number, parse_int=_whole, parse_float=_finite
        )
        _check_depth(value, _DEEPEST)
        return value
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _check_depth(value: Any, left: int) -> None:
    if not left:
        raise ValueError("nested too deeply")
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        if isinstance(inner, dict | list):
            _check_depth(inner, left - 1)


def _no_number(token: str) -> float:
    raise ValueError(f"{token} is not a number")


def _whole(token: str) -> int:
    if len(token) > _MOST_DIGITS:
        raise ValueError("a number is too long")
    return int(token)


def _finite(token: str) -> float:
    value = float(token)
    if not math.isfinite(value):
        raise ValueError(f"a number is too large: {token[:_MOST_DIGITS]}")
    return value


def key_of(*parts: Any) -> str:
    """Key of what was made from ``parts``, plain values of JSON: the SHA-256 of them, the same for equal values.

    >>> key_of("a", [1, {"b": 2, "c": None}]) == key_of("a", (1, {"c": None, "b": 2}))
    True
    """
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def printable(text: str) -> str:
    r"""Text that is safe on a terminal and in a page: what is no UTF-8 and control characters become escapes.

    >>> printable("caf\udce9\x1b[31m.java"), printable("\ud800")
    ('caf\\xe9\\x1b[31m.java', '\\ud800')
    """
    text = _HALVES.sub(lambda half: f"\\u{ord(half.group()):04x}", text)
    decoded = text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in decoded)
