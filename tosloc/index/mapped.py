"""Arrays in one safetensors file that are read where they lie.

The format (https://github.com/huggingface/safetensors): eight bytes of length, a JSON object of names, types, shapes
and places, the arrays. It is written and mapped here, since the library copies all arrays in memory, both ways.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from tosloc.arrays import Array, Arrays
from tosloc.errors import CheckpointError
from tosloc.io import open_plain, written_whole

_TYPES: Final = {"BOOL": "?", "U8": "u1", "U16": "<u2", "I32": "<i4", "I64": "<i8", "F64": "<f8"}
_NAMES: Final = {np.dtype(kind): name for name, kind in _TYPES.items()}


def write_mapped(path: Path, record: Mapping[str, str], arrays: Mapping[str, Array]) -> None:
    """Write arrays and a record about them, whole or not at all; the same content gives the same bytes."""
    head: dict[str, Any] = {"__metadata__": dict(record)}
    ordered = sorted(arrays.items(), key=lambda item: (-item[1].itemsize, item[0]))  # so each lies at its alignment
    end = 0
    for name, array in ordered:
        head[name] = {"dtype": _NAMES[array.dtype], "shape": array.shape, "data_offsets": [end, end + array.nbytes]}
        end += array.nbytes
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    with written_whole(path) as temporary, temporary.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, array in ordered:
            file.write(np.ascontiguousarray(array).data)


def read_mapped(path: Path) -> tuple[dict[str, str], Arrays]:
    """What ``write_mapped`` wrote: the record, and arrays that may not be written to.

    Raises CheckpointError when it is missing or damaged.
    """
    try:
        with open_plain(path) as file:
            mapped = np.memmap(file, np.uint8, "r").view(np.ndarray)
        start = 8 + int(mapped[:8].view("<u8")[0])
        head = json.loads(mapped[8:start].tobytes())
        record = head.pop("__metadata__")
        arrays: Arrays = {
            name: mapped[start:][slice(*told["data_offsets"])].view(_TYPES[told["dtype"]]).reshape(told["shape"])
            for name, told in head.items()
        }
        return record, arrays
    except (OSError, ValueError, TypeError, KeyError, IndexError) as error:
        raise CheckpointError(f"{path} is missing or damaged ({error}); delete it") from error
