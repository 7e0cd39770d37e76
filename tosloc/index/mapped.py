"""Arrays in one safetensors file that are read where they lie, and buffers that spill to the disk while they are made.

The format (https://github.com/huggingface/safetensors): eight bytes of length, a JSON object of names, types, shapes
and places, the arrays. It is written and mapped here, since the library copies all arrays in memory, both ways.
"""

from __future__ import annotations

import json
import math
import mmap
import os
import struct
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tosloc.arrays import Array, Arrays
from tosloc.errors import CheckpointError
from tosloc.io import open_plain, written_whole

_TYPES: Final = {"BOOL": "?", "U8": "u1", "U16": "<u2", "I32": "<i4", "I64": "<i8", "F32": "<f4", "F64": "<f8"}
_NAMES: Final = {np.dtype(kind): name for name, kind in _TYPES.items()}
_ALIGNED: Final = 64
_IN_MEMORY: Final = 16 << 20
"""Bytes up to which an array of zeros stays in memory: those of all but very large repositories."""


def write_mapped(path: Path, record: Mapping[str, str], arrays: Mapping[str, Array]) -> None:
    """Write arrays and a record about them, whole or not at all; the same content gives the same bytes."""
    head: dict[str, Any] = {"__metadata__": dict(record)}
    end = 0
    for name in sorted(arrays, key=lambda name: (-arrays[name].itemsize, name)):  # so each lies at its own alignment
        array = arrays[name]
        head[name] = {"dtype": _NAMES[array.dtype], "shape": array.shape, "data_offsets": [end, end + array.nbytes]}
        end += array.nbytes
    text = json.dumps(head).encode()
    text += b" " * (-(8 + len(text)) % _ALIGNED)
    with written_whole(path) as temporary, temporary.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name in head:
            if name != "__metadata__":
                file.write(np.ascontiguousarray(arrays[name]).data)


def read_mapped(path: Path) -> tuple[dict[str, str], Arrays]:
    """What ``write_mapped`` wrote: the record, and arrays that may not be written to.

    Raises CheckpointError when it is missing, cut off or of another format.
    """
    try:
        with open_plain(path) as file:
            mapped = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        (length,) = struct.unpack_from("<Q", mapped)
        head = json.loads(bytes(mapped[8 : 8 + length]))
        record = head.pop("__metadata__")
        content = mapped[8 + length :]
        arrays: Arrays = {
            name: np.frombuffer(content[slice(*one["data_offsets"])], _TYPES[one["dtype"]]).reshape(one["shape"])
            for name, one in head.items()
        }
        if max((one["data_offsets"][1] for one in head.values()), default=0) != len(content):
            raise ValueError("it is cut off")
        return record, arrays
    except (OSError, ValueError, TypeError, KeyError, AttributeError, struct.error) as error:
        raise CheckpointError(f"{path} is missing or damaged ({error}); delete it") from error


class SpillBuffer:
    """An array (0, *more) that grows at its end, in a file without a name that goes with the process, however it ends.

    The system holds it in memory as long as nothing else wants the room.
    """

    def __init__(self, dtype: npt.DTypeLike, *more: int) -> None:
        self._dtype, self._more = np.dtype(dtype), more
        self._file = tempfile.TemporaryFile()

    def __del__(self) -> None:
        self._file.close()

    def add(self, values: npt.NDArray[Any]) -> None:
        """Put values behind the others."""
        self._file.write(np.ascontiguousarray(values, self._dtype).data)

    def array(self) -> npt.NDArray[Any]:
        """All of it, which may be written to; nothing is added any more."""
        with self._file as file:
            file.flush()
            if not file.tell():
                return np.zeros((0, *self._more), self._dtype)
            return np.frombuffer(mmap.mmap(file.fileno(), 0), self._dtype).reshape(-1, *self._more)


def spilled_zeros(shape: int | tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """An array of zeros that may be written to; a large one lies in a file without a name, where there is room."""
    size = math.prod((shape,) if isinstance(shape, int) else shape) * np.dtype(dtype).itemsize
    if size > _IN_MEMORY and hasattr(os, "posix_fallocate"):
        try:
            with tempfile.TemporaryFile() as file:
                os.posix_fallocate(file.fileno(), 0, size)  # a write to a page that the disk has no room for would kill
                return np.frombuffer(mmap.mmap(file.fileno(), size), dtype).reshape(shape)
        except OSError:
            pass
    return np.zeros(shape, dtype)


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
