"""Arrays in one file that are read where they lie: the system brings in the pages that are looked at.

The file: a line that names the format, its length, a CRC-32, the length of a JSON object, the object, then the arrays,
each at a multiple of 64 bytes. The CRC-32 covers the lengths and all that follows: a file is what was written or none.
"""

from __future__ import annotations

import json
import math
import mmap
import os
import struct
import tempfile
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Final

import numpy as np
import numpy.typing as npt

from tosloc.arrays import Array, Arrays
from tosloc.errors import CheckpointError
from tosloc.files import open_plain, parse_json, written_whole

_FORMAT: Final = b"tosloc arrays 1\n"
_HEAD: Final = struct.Struct("<QIQ")
"""Bytes of the file, CRC-32, bytes of the JSON object."""
_LENGTHS: Final = struct.Struct("<QQ")
_BEGIN: Final = len(_FORMAT) + _HEAD.size
_ALIGNED: Final = 64
_TYPES: Final = {np.dtype(name).str: np.dtype(name) for name in ("?", "u1", "u2", "i4", "i8", "f4", "f8")}
"""Types that arrays may have, in the order of bytes of this machine: another machine's file is none."""

IN_MEMORY: Final = 16 << 20
"""Bytes up to which a scratch array stays in memory: those of all but very large repositories."""


class Scratch:
    """Room for arrays that are made on the way to others: large ones lie in files without a name in ``folder``.

    The system writes their pages there when memory is wanted for something else, and forgets the files with the arrays,
    or with the process, however it ends. Without a folder, or where it has no room, they are in memory.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder

    def zeros(self, shape: int | tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """An array of zeros that may be written to."""
        kind = np.dtype(dtype)
        size = math.prod((shape,) if isinstance(shape, int) else shape) * kind.itemsize
        if self.folder is None or size <= IN_MEMORY or not hasattr(os, "posix_fallocate"):
            return np.zeros(shape, kind)
        try:
            with tempfile.TemporaryFile(dir=self.folder) as file:
                os.posix_fallocate(file.fileno(), 0, size)  # a write to a page that the disk has no room for would kill
                return _mapped(file, size, kind).reshape(shape)
        except OSError:
            return np.zeros(shape, kind)

    def growing(self, dtype: npt.DTypeLike, *more: int) -> GrowingArray:
        """An empty array (0, *more) that others are put behind."""
        return GrowingArray(self.folder, np.dtype(dtype), more)


class GrowingArray:
    """An array that grows at its end, in memory as long as it is small."""

    def __init__(self, folder: Path | None, dtype: np.dtype[Any], more: tuple[int, ...]) -> None:
        self._folder, self._dtype, self._more = folder, dtype, more
        self._file: IO[bytes] | None = None
        self._parts: list[npt.NDArray[Any]] = []
        """What is not in the file."""
        self._size = self._written = 0

    def __del__(self) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, values: npt.NDArray[Any]) -> None:
        """Put values behind the others."""
        self._parts.append(np.ascontiguousarray(values, self._dtype))
        self._size += self._parts[-1].nbytes
        if self._folder is not None and self._size - self._written > IN_MEMORY:
            try:
                if self._file is None:
                    self._file = tempfile.TemporaryFile(dir=self._folder)
                self._file.seek(self._written)
                for part in self._parts:
                    self._file.write(part.data)
                self._file.flush()
            except OSError:  # no room there: what follows stays in memory
                self._folder = None
            else:
                self._written, self._parts = self._size, []

    def array(self) -> npt.NDArray[Any]:
        """All of it, which may be written to; nothing is added any more."""
        empty = np.zeros((0, *self._more), self._dtype)
        if self._file is None:
            return np.concatenate([empty, *self._parts])
        with self._file as file:
            if self._parts and self._folder is not None:
                with suppress(OSError):
                    file.seek(self._written)
                    for part in self._parts:
                        file.write(part.data)
                    file.flush()
                    self._written, self._parts = self._size, []
            found = _mapped(file, self._written, self._dtype).reshape(-1, *self._more)
        return np.concatenate([found, *self._parts]) if self._parts else found


def _mapped(file: IO[bytes], size: int, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    return np.frombuffer(mmap.mmap(file.fileno(), size, access=mmap.ACCESS_WRITE), dtype)


def write_mapped(path: Path, record: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
    """Write a record (plain values of JSON) and arrays, whole or not at all; the same content gives the same bytes."""
    ordered = {name: np.ascontiguousarray(arrays[name]) for name in sorted(arrays)}
    places, end = {}, 0
    for name, array in ordered.items():
        places[name] = [array.dtype.str, list(array.shape), end]
        end += -(-array.nbytes // _ALIGNED) * _ALIGNED
    text = json.dumps({"record": record, "arrays": places}, sort_keys=True).encode()
    text += b" " * (-(_BEGIN + len(text)) % _ALIGNED)
    size = _BEGIN + len(text) + end
    with written_whole(path) as temporary, temporary.open("r+b") as file:
        file.write(_FORMAT + bytes(_HEAD.size))
        checksum = zlib.crc32(_LENGTHS.pack(size, len(text)))
        pieces: list[Any] = [text]
        for array in ordered.values():
            pieces += [array.reshape(-1).view(np.uint8), bytes(-array.nbytes % _ALIGNED)]
        for piece in pieces:
            file.write(piece)
            checksum = zlib.crc32(piece, checksum)
        file.seek(len(_FORMAT))
        file.write(_HEAD.pack(size, checksum, len(text)))


def read_mapped(path: Path) -> tuple[dict[str, Any], Arrays]:
    """What ``write_mapped`` wrote: the record, and arrays that may not be written to.

    Raises CheckpointError when it is missing, damaged or of another format.
    """
    try:
        with open_plain(path) as file:
            head = file.read(_BEGIN)
            if not head.startswith(_FORMAT) or len(head) < _BEGIN:
                raise ValueError("another format")
            size, checksum, length = _HEAD.unpack(head[len(_FORMAT) :])
            if size != os.fstat(file.fileno()).st_size or _BEGIN + length > size:
                raise ValueError("it is cut off")
            mapped = memoryview(mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ))
        if _checksum(mapped[_BEGIN:], zlib.crc32(_LENGTHS.pack(size, length))) != checksum:
            raise ValueError("its content is not what was written")
        text = parse_json(bytes(mapped[_BEGIN : _BEGIN + length]))
        arrays = {name: _array(mapped[_BEGIN + length :], *place) for name, place in text["arrays"].items()}
        return dict(text["record"]), arrays
    except (OSError, ValueError, TypeError, KeyError, AttributeError, OverflowError, struct.error) as error:
        raise CheckpointError(f"{path} is missing or damaged ({error}); delete it") from error


def _checksum(content: memoryview, begun: int) -> int:
    """CRC-32 of mapped bytes, of which only a few stay in the process's memory meanwhile."""
    for start in range(0, len(content), IN_MEMORY):
        begun = zlib.crc32(content[start : start + IN_MEMORY], begun)
        release_pages(content)
    return begun


def release_pages(array: Array | memoryview) -> None:
    """Take the pages of a mapped file, all of them, out of the process's memory again; whoever looks has them back.

    What was once gone through counts as long as nobody else wants the room: gigabytes, of a large version.
    """
    base: object = array
    while isinstance(base, np.ndarray):
        base = base.base
    mapped = base.obj if isinstance(base, memoryview) else base
    if isinstance(mapped, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        mapped.madvise(mmap.MADV_DONTNEED)


def _array(content: memoryview, kind: str, shape: list[int], start: int) -> Array:
    dtype = _TYPES[kind]
    number = math.prod(shape)
    if min([*shape, start, 0]) < 0 or start % _ALIGNED or start + number * dtype.itemsize > len(content):
        raise ValueError("an array is not as large as it says")
    return np.frombuffer(content, dtype, number, start).reshape(shape)
