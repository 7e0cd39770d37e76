"""Strings and records as arrays, and arrays in files that are read without unpickling anything."""

from __future__ import annotations

import io
import json
import os
import struct
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import IO, Any, Final, TypeAlias, TypeVar, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt

from tosloc.core.errors import CheckpointError
from tosloc.core.io import atomic_write, open_regular_file

Array: TypeAlias = npt.NDArray[np.generic]
Arrays: TypeAlias = dict[str, Array]
Record = TypeVar("Record")

_UNPACKED_FREELY, _UNPACKED_TIMES, _UNPACKED_AT_MOST = 1 << 28, 100, 1 << 32
"""Bytes that any .npz may hold, as many times its size, and however large it is."""
_KINDS: Final = "biuf"
"""Kinds of numbers that arrays hold: truth values, whole numbers with and without sign, fractions."""
_TYPES: Final = {"BOOL": "?", "U8": "u1", "U16": "<u2", "I32": "<i4", "I64": "<i8", "F64": "<f8"}
_NAMES: Final = {np.dtype(kind): name for name, kind in _TYPES.items()}


def pack_words(words: Iterable[str]) -> npt.NDArray[np.uint8]:
    """Strings as one array: the UTF-8 of each and a NUL behind it; one within becomes a space.

    >>> unpack_words(pack_words(["a", "", "bc"])), unpack_words(pack_words([]))
    (['a', '', 'bc'], [])
    """
    packed = "".join(word.replace("\0", " ") + "\0" for word in words)
    return np.frombuffer(packed.encode("utf-8", "surrogateescape"), dtype=np.uint8)


def unpack_words(packed: Array) -> list[str]:
    """The strings of ``pack_words``."""
    return packed.tobytes().decode("utf-8", "surrogateescape").split("\0")[:-1]


def to_arrays(parts: Mapping[str, Any]) -> Arrays:
    """Arrays by their names, strings (or what numbers them) packed, and the fields of dataclasses, name by name.

    >>> sorted(to_arrays({"words": ["a", "b"], "numbers": np.arange(3)}))
    ['numbers', 'words']
    """
    found: Arrays = {}
    for name, value in parts.items():
        if is_dataclass(value):
            inner = to_arrays({field.name: getattr(value, field.name) for field in fields(value)})
            found |= {f"{name}.{key}": array for key, array in inner.items()}
        else:
            found[name] = value if isinstance(value, np.ndarray) else pack_words(value)
    return found


def from_arrays(kind: type[Record], arrays: Mapping[str, Array], name: str) -> Record:
    """The dataclass of ``to_arrays`` that has the name. Raises KeyError, or ValueError for what are no strings."""
    made: dict[str, Any] = {}
    for field, hint in get_type_hints(kind).items():
        key = f"{name}.{field}"
        if is_dataclass(hint):
            made[field] = from_arrays(hint, arrays, key)  # type: ignore[arg-type]
        elif get_origin(hint) is np.ndarray:
            made[field] = arrays[key]
        else:
            words = unpack_words(arrays[key])
            made[field] = (
                {word: place for place, word in enumerate(words)}
                if get_origin(hint) is Mapping
                else words
            )
    return kind(**made)


def validate_array(
    arrays: Mapping[str, Array],
    name: str,
    dtype: npt.DTypeLike,
    *shape: int | None,
    below: float | None = None,
    least: float = 0,
) -> Any:
    """The array of a name, of this type and this shape (None is any length), its numbers from ``least`` to ``below``.

    Raises KeyError or ValueError.
    """
    array: Any = arrays[name]
    fits = array.ndim == len(shape) and all(
        wanted in (None, size) for wanted, size in zip(shape, array.shape, strict=True)
    )
    if array.dtype != dtype or not fits:
        raise ValueError(f"{name} is of another type or length")
    if (
        below is not None and array.size and not least <= array.min() <= array.max() < below
    ):  # NaN compares as false
        raise ValueError(f"{name} are out of bounds")
    return array


def validate_starts(arrays: Mapping[str, Array], name: str, groups: int, end: int) -> Any:
    """(groups + 1,) where the parts of an array of ``end`` elements start. Raises KeyError or ValueError."""
    starts = validate_array(arrays, name, np.int64, groups + 1)
    if starts[0] != 0 or starts[-1] != end or (starts[1:] < starts[:-1]).any():
        raise ValueError(f"{name} do not go from 0 to {end}")
    return starts


def save_arrays(path: Path, arrays: Mapping[str, Array], level: int = 6) -> None:
    """Write arrays as a compressed .npz, whole or not at all; the same arrays give the same bytes."""
    with atomic_write(path) as temporary:
        write_arrays(temporary, arrays, level)


def write_arrays(target: Path | IO[bytes], arrays: Mapping[str, Array], level: int = 6) -> None:
    """The same into a file that is open, or is nobody else's."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as archive:
        for name in sorted(arrays):
            buffer = io.BytesIO()
            np.lib.format.write_array(
                buffer, np.ascontiguousarray(arrays[name]), allow_pickle=False
            )
            # a fixed date: the time of writing is no part of the content
            entry = zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0))
            archive.writestr(entry, buffer.getvalue(), zipfile.ZIP_DEFLATED, compresslevel=level)


def load_arrays(path: Path) -> Arrays:
    """Arrays of an .npz, nothing unpickled. Raises CheckpointError when it is missing, damaged or too large."""
    try:
        with open_regular_file(path) as file:
            size = os.fstat(file.fileno()).st_size
            with zipfile.ZipFile(file) as archive:
                unpacked = sum(entry.file_size for entry in archive.infolist())
            if unpacked > min(max(_UNPACKED_FREELY, _UNPACKED_TIMES * size), _UNPACKED_AT_MOST):
                raise ValueError("it would unpack to far more than such files hold")
            file.seek(0)
            with np.load(file, allow_pickle=False) as stored:
                arrays = dict(stored)
            if any(array.dtype.kind not in _KINDS for array in arrays.values()):
                raise ValueError("it holds other things than numbers")
            return arrays
    except FileNotFoundError as error:
        raise CheckpointError(
            f"{path} is missing; train again, or copy the whole folder"
        ) from error
    except Exception as error:  # an archive that is damaged raises anything
        raise CheckpointError(
            f"{path} is damaged ({error}); train again, or copy it anew"
        ) from error


@contextmanager
def open_arrays(path: Path, again: str = "train again") -> Iterator[Arrays]:
    """The arrays of a file, for a block that puts them together. Raises CheckpointError, which says what to do
    ``again``, where they do not fit together.
    """
    arrays = load_arrays(path)
    try:
        yield arrays
    except (KeyError, IndexError, ValueError, TypeError) as error:
        raise CheckpointError(
            f"{path} is damaged or of another version ({error}); {again}"
        ) from error


def write_mapped(path: Path, arrays: Mapping[str, Array]) -> None:
    """Write arrays as a safetensors file, whole or not at all; the same arrays give the same bytes.

    The format (https://github.com/huggingface/safetensors): eight bytes of length, a JSON object of names, types,
    shapes and places, the arrays. It is written and mapped here, since the library copies all arrays, both ways.
    """
    head: dict[str, Any] = {}
    ordered = sorted(
        arrays.items(), key=lambda item: (-item[1].itemsize, item[0])
    )  # so each lies at its alignment
    end = 0
    for name, array in ordered:
        head[name] = {
            "dtype": _NAMES[array.dtype],
            "shape": array.shape,
            "data_offsets": [end, end + array.nbytes],
        }
        end += array.nbytes
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    with atomic_write(path) as temporary, temporary.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, array in ordered:
            file.write(np.ascontiguousarray(array).data)


def read_mapped(path: Path) -> Arrays:
    """What ``write_mapped`` wrote, read where it lies. Raises CheckpointError when it is missing or damaged."""
    try:
        with open_regular_file(path) as file:
            mapped = np.memmap(file, np.uint8, "r").view(np.ndarray)
        start = 8 + int(mapped[:8].view("<u8")[0])
        head = json.loads(mapped[8:start].tobytes())
        return {
            name: mapped[start:][slice(*entry["data_offsets"])]
            .view(_TYPES[entry["dtype"]])
            .reshape(entry["shape"])
            for name, entry in head.items()
        }
    except (OSError, ValueError, TypeError, KeyError, IndexError) as error:
        raise CheckpointError(f"{path} is missing or damaged ({error}); delete it") from error
