"""Write and read files of arrays that are mapped into memory: safetensors."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from tosloc.core.arrays import Array, Arrays
from tosloc.core.errors import CheckpointError
from tosloc.core.io import atomic_write, open_regular_file

_DTYPES: Final = {
    "BOOL": "?",
    "U8": "u1",
    "U16": "<u2",
    "U64": "<u8",
    "I32": "<i4",
    "I64": "<i8",
    "F64": "<f8",
}
"""Name of a dtype in a safetensors file -> dtype of NumPy."""
_DTYPE_NAMES: Final = {np.dtype(dtype): name for name, dtype in _DTYPES.items()}


def write_mapped(path: Path, arrays: Mapping[str, Array]) -> None:
    """Write arrays to a safetensors file atomically; the same arrays give the same bytes.

    The format (https://github.com/huggingface/safetensors) is eight bytes of length, a JSON object
    with the name, dtype, shape and offsets of each array, and the arrays. It is written and mapped
    here because the library copies all arrays, both when it writes and when it reads.
    """
    # Arrays of large items come first, so that each array is aligned to its items.
    ordered = sorted(arrays.items(), key=lambda item: (-item[1].itemsize, item[0]))
    header: dict[str, Any] = {}
    end = 0
    for name, array in ordered:
        header[name] = {
            "dtype": _DTYPE_NAMES[array.dtype],
            "shape": array.shape,
            "data_offsets": [end, end + array.nbytes],
        }
        end += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with atomic_write(path) as temporary, temporary.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, array in ordered:
            file.write(np.ascontiguousarray(array).data)


def read_mapped(path: Path) -> Arrays:
    """Return the arrays that ``write_mapped`` wrote, as views of the mapped file.

    Raises CheckpointError if the file is missing or damaged.
    """
    try:
        with open_regular_file(path) as file:
            mapped = np.memmap(file, np.uint8, "r").view(np.ndarray)
        start = 8 + int(mapped[:8].view("<u8")[0])
        header = json.loads(mapped[8:start].tobytes())
        arrays: Arrays = {}
        for name, entry in header.items():
            data = mapped[start:][slice(*entry["data_offsets"])]
            arrays[name] = data.view(_DTYPES[entry["dtype"]]).reshape(entry["shape"])
        return arrays
    except (OSError, ValueError, TypeError, KeyError, IndexError) as error:
        raise CheckpointError(f"{path} is missing or damaged ({error}); delete it") from error
