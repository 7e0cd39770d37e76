"""Strings as arrays, names for groups of arrays, and arrays in .npz files that are read without unpickling anything."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tosloc.errors import CheckpointError
from tosloc.files import written_whole

Array: TypeAlias = npt.NDArray[np.generic]
Arrays: TypeAlias = dict[str, Array]


def pack_strings(strings: Sequence[str]) -> Arrays:
    """Any strings as ``bytes``, their UTF-8 in a row, and ``ends``, where each one ends in it."""
    encoded = [string.encode("utf-8", "surrogateescape") for string in strings]
    return {
        "bytes": np.frombuffer(b"".join(encoded), dtype=np.uint8),
        "ends": np.cumsum([len(piece) for piece in encoded], dtype=np.int64),
    }


def unpack_strings(arrays: Mapping[str, Array], name: str) -> tuple[str, ...]:
    """Strings from the two arrays that ``pack_strings`` made, which stand under ``name``."""
    joined = arrays[f"{name}.bytes"].tobytes()
    ends = arrays[f"{name}.ends"].tolist()
    return tuple(joined[start:end].decode("utf-8", "surrogateescape") for start, end in pairwise([0, *ends]))


def pack_words(words: Iterable[str], separator: str = " ") -> npt.NDArray[np.uint8]:
    """Strings without the separator as one array: their UTF-8 with the separator between them.

    >>> unpack_words(pack_words(["a", "bc"])), unpack_words(pack_words([]))
    (['a', 'bc'], [])
    """
    return np.frombuffer(separator.join(words).encode("utf-8", "surrogatepass"), dtype=np.uint8)


def unpack_words(packed: Array, separator: str = " ") -> list[str]:
    """The strings of ``pack_words``."""
    return packed.tobytes().decode("utf-8", "surrogatepass").split(separator) if len(packed) else []


def prefixed(name: str, arrays: Mapping[str, Array]) -> Arrays:
    """The arrays under ``name.``."""
    return {f"{name}.{key}": array for key, array in arrays.items()}


def under(name: str, arrays: Mapping[str, Array]) -> Arrays:
    """The arrays that stand under ``name.``, without it."""
    return {key[len(name) + 1 :]: array for key, array in arrays.items() if key.startswith(f"{name}.")}


def save_arrays(path: Path, arrays: Mapping[str, Array], level: int = 6) -> None:
    """Write arrays as a compressed .npz, whole or not at all; the same arrays give the same bytes."""
    with (
        written_whole(path) as temporary,
        zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as archive,
    ):
        for name in sorted(arrays):
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, np.ascontiguousarray(arrays[name]), allow_pickle=False)
            # a fixed date: the time of writing is no part of the content
            entry = zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0))
            archive.writestr(entry, buffer.getvalue(), zipfile.ZIP_DEFLATED, compresslevel=level)


def load_arrays(path: Path) -> Arrays:
    """Arrays of an .npz. Raises CheckpointError when it is missing or damaged; never unpickles."""
    try:
        # opened here, because numpy leaves a damaged archive open
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except FileNotFoundError as error:
        raise CheckpointError(f"{path} is missing; train again, or copy the whole folder") from error
    except (OSError, ValueError, zipfile.BadZipFile, zlib.error, EOFError, KeyError, TypeError, RuntimeError) as error:
        raise CheckpointError(f"{path} is damaged ({error}); train again, or copy it anew") from error
