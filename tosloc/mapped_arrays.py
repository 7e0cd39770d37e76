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
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

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
        if zlib.crc32(mapped[_BEGIN:], zlib.crc32(_LENGTHS.pack(size, length))) != checksum:
            raise ValueError("its content is not what was written")
        text = parse_json(bytes(mapped[_BEGIN : _BEGIN + length]))
        arrays = {name: _array(mapped[_BEGIN + length :], *place) for name, place in text["arrays"].items()}
        return dict(text["record"]), arrays
    except (OSError, ValueError, TypeError, KeyError, AttributeError, OverflowError, struct.error) as error:
        raise CheckpointError(f"{path} is missing or damaged ({error}); delete it") from error


def _array(content: memoryview, kind: str, shape: list[int], start: int) -> Array:
    dtype = _TYPES[kind]
    number = math.prod(shape)
    if min([*shape, start, 0]) < 0 or start % _ALIGNED or start + number * dtype.itemsize > len(content):
        raise ValueError("an array is not as large as it says")
    return np.frombuffer(content, dtype, number, start).reshape(shape)
