"""Strings as arrays, names for groups of arrays, and arrays in .npz files that are read without unpickling anything."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from tosloc.errors import CheckpointError
from tosloc.io import open_plain, written_whole

Array: TypeAlias = npt.NDArray[np.generic]
Arrays: TypeAlias = dict[str, Array]

_UNPACKED_FREELY, _UNPACKED_TIMES, _UNPACKED_AT_MOST = 1 << 28, 100, 1 << 32
"""Bytes that any .npz may hold, as many times its size, and however large it is."""
_KINDS: Final = "biuf"
"""Kinds of numbers that arrays hold: truth values, whole numbers with and without sign, fractions."""


def pack_strings(strings: Sequence[str]) -> Arrays:
    """Any strings as ``bytes``, their UTF-8 in a row, and ``ends``, where each one ends in it."""
    encoded = [string.encode("utf-8", "surrogateescape") for string in strings]
    return {
        "bytes": np.frombuffer(b"".join(encoded), dtype=np.uint8),
        "ends": np.cumsum([len(piece) for piece in encoded], dtype=np.int64),
    }


def unpack_strings(arrays: Mapping[str, Array], name: str) -> tuple[str, ...]:
    """Strings of ``pack_strings``, whose arrays stand under ``name``. Raises KeyError or ValueError for other ones."""
    packed = checked(arrays, f"{name}.bytes", np.uint8, None).tobytes()
    starts = np.concatenate(([0], checked(arrays, f"{name}.ends", np.int64, None)))
    check_starts(starts, len(packed), f"{name}.ends")
    return tuple(packed[start:end].decode("utf-8", "surrogateescape") for start, end in pairwise(starts.tolist()))


def pack_words(words: Iterable[str], separator: str = " ") -> npt.NDArray[np.uint8]:
    """Strings without the separator as one array: their UTF-8 with the separator between them.

    >>> unpack_words(pack_words(["a", "bc"])), unpack_words(pack_words([]))
    (['a', 'bc'], [])
    """
    return np.frombuffer(separator.join(words).encode("utf-8", "surrogatepass"), dtype=np.uint8)


def unpack_words(packed: Array, separator: str = " ") -> list[str]:
    """The strings of ``pack_words``."""
    return packed.tobytes().decode("utf-8", "surrogatepass").split(separator) if len(packed) else []


def checked(arrays: Mapping[str, Array], name: str, dtype: npt.DTypeLike, *shape: int | None) -> Array:
    """The array of a name, of this type and this shape; None is any length. Raises KeyError or ValueError."""
    array = arrays[name]
    fits = array.ndim == len(shape) and all(wanted in (None, size) for wanted, size in zip(shape, array.shape))  # noqa: B905
    if array.dtype != dtype or not fits:
        raise ValueError(f"{name} is of another type or length")
    return array


def check_starts(starts: npt.NDArray[Any], end: int, name: str) -> None:
    """Raise ValueError unless starts (n + 1,) begin at 0, never fall and come to ``end``."""
    if not len(starts) or starts[0] != 0 or starts[-1] != end or (starts[1:] < starts[:-1]).any():
        raise ValueError(f"{name} do not go from 0 to {end}")


def check_numbers(array: Array, below: float, name: str, least: float = 0) -> None:
    """Raise ValueError unless all numbers are at least ``least`` and less than ``below``."""
    if array.size and not least <= array.min() <= array.max() < below:  # not a number compares as false, too
        raise ValueError(f"{name} are out of bounds")


def prefixed(name: str, arrays: Mapping[str, Array]) -> Arrays:
    """The arrays under ``name.``."""
    return {f"{name}.{key}": array for key, array in arrays.items()}


def under(name: str, arrays: Mapping[str, Array]) -> Arrays:
    """The arrays that stand under ``name.``, without it."""
    return {key[len(name) + 1 :]: array for key, array in arrays.items() if key.startswith(f"{name}.")}


def save_arrays(path: Path, arrays: Mapping[str, Array], level: int = 6) -> None:
    """Write arrays as a compressed .npz, whole or not at all; the same arrays give the same bytes."""
    with written_whole(path) as temporary:
        write_arrays(temporary, arrays, level)


def write_arrays(target: Path | IO[bytes], arrays: Mapping[str, Array], level: int = 6) -> None:
    """The same into a file that is open, or is nobody else's."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as archive:
        for name in sorted(arrays):
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, np.ascontiguousarray(arrays[name]), allow_pickle=False)
            # a fixed date: the time of writing is no part of the content
            entry = zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0))
            archive.writestr(entry, buffer.getvalue(), zipfile.ZIP_DEFLATED, compresslevel=level)


def load_arrays(path: Path) -> Arrays:
    """Arrays of an .npz, nothing unpickled. Raises CheckpointError when it is missing, damaged or too large."""
    try:
        with open_plain(path) as file:
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
        raise CheckpointError(f"{path} is missing; train again, or copy the whole folder") from error
    except Exception as error:  # an archive that is damaged raises anything
        raise CheckpointError(f"{path} is damaged ({error}); train again, or copy it anew") from error
