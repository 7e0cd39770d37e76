"""Strings and records as arrays, and files of arrays that are read without unpickling."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import IO, Any, Final, TypeAlias, TypeVar, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt

from tosloc.core.errors import CheckpointError
from tosloc.core.io import atomic_write, open_regular_file

Array: TypeAlias = npt.NDArray[np.generic]
IntArray: TypeAlias = npt.NDArray[np.int32]
LongArray: TypeAlias = npt.NDArray[np.int64]
FloatArray: TypeAlias = npt.NDArray[np.float64]
Float32Array: TypeAlias = npt.NDArray[np.float32]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
Arrays: TypeAlias = dict[str, Array]
Record = TypeVar("Record")
Integer = TypeVar("Integer", bound=np.integer[Any])

_UNPACKED_FREELY: Final = 1 << 28
"""Bytes of unpacked arrays that are always accepted, however small the .npz is."""
_UNPACKED_TIMES: Final = 100
"""Largest accepted ratio of unpacked bytes to bytes of the .npz, above _UNPACKED_FREELY."""
_UNPACKED_AT_MOST: Final = 1 << 32
"""Largest accepted number of bytes of the unpacked arrays of an .npz."""
_NUMBER_KINDS: Final = "biuf"
"""Kinds of dtypes that arrays may have: booleans, signed and unsigned integers, floats."""
_ZIP_DATE: Final = (1980, 1, 1, 0, 0, 0)
"""Time of writing of every .npz entry, so that the same arrays give the same bytes."""


def pack_words(words: Iterable[str]) -> npt.NDArray[np.uint8]:
    """Return strings as one array: the UTF-8 of each, followed by a NUL byte.

    A NUL character within a string becomes a space.

    >>> unpack_words(pack_words(["a", "", "bc"])), unpack_words(pack_words([]))
    (['a', '', 'bc'], [])
    """
    packed = "".join(word.replace("\0", " ") + "\0" for word in words)
    return np.frombuffer(packed.encode("utf-8", "surrogateescape"), dtype=np.uint8)


def unpack_words(packed: Array) -> list[str]:
    """Return the strings that ``pack_words`` packed."""
    return packed.tobytes().decode("utf-8", "surrogateescape").split("\0")[:-1]


def sorted_unique(values: npt.NDArray[Integer]) -> npt.NDArray[Integer]:
    """Return the distinct values (n,), in order.

    Of a million numbers it takes a tenth of the time of ``np.unique``, which uses a hash table.

    >>> sorted_unique(np.array([3, 1, 3])).tolist()
    [1, 3]
    """
    ordered = np.sort(values)
    is_first = np.ones(len(ordered), dtype=np.bool_)
    is_first[1:] = ordered[1:] != ordered[:-1]
    return ordered[is_first]


def to_arrays(values: Mapping[str, Any]) -> Arrays:
    """Return arrays by name for values that are arrays, strings or dataclasses of them.

    Strings are packed, and so are the keys of a mapping from strings to their numbers. The fields
    of a dataclass become one array each, called NAME.FIELD.

    >>> sorted(to_arrays({"words": ["a", "b"], "numbers": np.arange(3)}))
    ['numbers', 'words']
    """
    arrays: Arrays = {}
    for name, value in values.items():
        if is_dataclass(value):
            by_field = {field.name: getattr(value, field.name) for field in fields(value)}
            for field_name, array in to_arrays(by_field).items():
                arrays[f"{name}.{field_name}"] = array
        elif isinstance(value, np.ndarray):
            arrays[name] = value
        else:
            arrays[name] = pack_words(value)
    return arrays


def from_arrays(record_type: type[Record], arrays: Mapping[str, Array], name: str) -> Record:
    """Return the dataclass that ``to_arrays`` turned into the arrays called NAME.FIELD.

    Raises KeyError if an array is missing, and ValueError if an array that should contain packed
    strings does not.
    """
    values: dict[str, Any] = {}
    for field, hint in get_type_hints(record_type).items():
        key = f"{name}.{field}"
        if is_dataclass(hint):
            values[field] = from_arrays(hint, arrays, key)  # type: ignore[arg-type]
        elif get_origin(hint) is np.ndarray:
            values[field] = arrays[key]
        elif get_origin(hint) is Mapping:
            words = unpack_words(arrays[key])
            values[field] = {word: number for number, word in enumerate(words)}
        else:
            values[field] = unpack_words(arrays[key])
    return record_type(**values)


def validate_array(
    arrays: Mapping[str, Array],
    name: str,
    dtype: npt.DTypeLike,
    *shape: int | None,
    below: float | None = None,
    least: float = 0,
) -> Any:
    """Return the array called ``name`` if it has the dtype and shape that is expected.

    None in ``shape`` stands for any length. With ``below``, all numbers must be at least ``least``
    and less than ``below``. Raises KeyError if the array is missing, and ValueError if it does not
    have the dtype, shape or bounds.
    """
    array: Any = arrays[name]
    if array.dtype != dtype or not _has_shape(array, shape):
        raise ValueError(f"{name} has an unexpected type or length")
    if below is not None and array.size:
        # A comparison with NaN is false.
        if not least <= array.min() <= array.max() < below:
            raise ValueError(f"{name} are out of bounds")
    return array


def _has_shape(array: Array, shape: Sequence[int | None]) -> bool:
    if array.ndim != len(shape):
        return False
    return all(expected in (None, size) for expected, size in zip(shape, array.shape, strict=True))


def validate_starts(arrays: Mapping[str, Array], name: str, groups: int, end: int) -> Any:
    """Return the array called ``name`` if it divides ``end`` elements into consecutive groups.

    The array is (groups + 1,) int64; group g contains the elements from ``starts[g]`` up to
    ``starts[g + 1]``. Raises KeyError if the array is missing, and ValueError if it does not divide
    the elements.
    """
    starts = validate_array(arrays, name, np.int64, groups + 1)
    if starts[0] != 0 or starts[-1] != end or (starts[1:] < starts[:-1]).any():
        raise ValueError(f"{name} do not go from 0 to {end}")
    return starts


def save_arrays(path: Path, arrays: Mapping[str, Array], level: int = 6) -> None:
    """Write arrays to a compressed .npz atomically; the same arrays give the same bytes."""
    with atomic_write(path) as temporary:
        write_arrays(temporary, arrays, level)


def write_arrays(target: Path | IO[bytes], arrays: Mapping[str, Array], level: int = 6) -> None:
    """Write arrays as ``save_arrays`` does, but directly into a path or an open file."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as archive:
        for name in sorted(arrays):
            buffer = io.BytesIO()
            array = np.ascontiguousarray(arrays[name])
            np.lib.format.write_array(buffer, array, allow_pickle=False)
            entry = zipfile.ZipInfo(f"{name}.npy", _ZIP_DATE)
            archive.writestr(entry, buffer.getvalue(), zipfile.ZIP_DEFLATED, compresslevel=level)


def load_arrays(path: Path) -> Arrays:
    """Return the arrays of an .npz without unpickling anything.

    Raises CheckpointError if the file is missing, damaged or too large.
    """
    try:
        with open_regular_file(path) as file:
            return _load_numbers(file)
    except FileNotFoundError as error:
        raise CheckpointError(
            f"{path} is missing; train again, or copy the whole folder"
        ) from error
    except Exception as error:  # a damaged archive raises anything
        raise CheckpointError(
            f"{path} is damaged ({error}); train again, or copy it again"
        ) from error


def _load_numbers(file: IO[bytes]) -> Arrays:
    """Return the arrays of an open .npz.

    Raises ValueError if an array does not contain numbers, or if the arrays are too large.
    """
    size = os.fstat(file.fileno()).st_size
    with zipfile.ZipFile(file) as archive:
        unpacked = sum(entry.file_size for entry in archive.infolist())
    if unpacked > min(max(_UNPACKED_FREELY, _UNPACKED_TIMES * size), _UNPACKED_AT_MOST):
        raise ValueError("its unpacked size is implausible")
    file.seek(0)
    with np.load(file, allow_pickle=False) as stored:
        arrays = dict(stored)
    if any(array.dtype.kind not in _NUMBER_KINDS for array in arrays.values()):
        raise ValueError("it contains values that are not numbers")
    return arrays


@contextmanager
def open_arrays(path: Path, remedy: str = "train again") -> Iterator[Arrays]:
    """Open the arrays of an .npz for a with-block that builds an object from them.

    Raises CheckpointError as ``load_arrays`` does. Also raises CheckpointError if the block fails
    because an array is missing or does not fit the others; its message ends with the ``remedy``.
    """
    arrays = load_arrays(path)
    try:
        yield arrays
    except (KeyError, IndexError, ValueError, TypeError) as error:
        raise CheckpointError(
            f"{path} is damaged or was written by another version ({error}); {remedy}"
        ) from error
