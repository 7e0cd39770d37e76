"""Facts of many blobs as arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt

from tosloc.analysis.analyser import FIELDS
from tosloc.analysis.fact_rows import FactRow, unpack_row
from tosloc.arrays import check_numbers, check_starts, checked, pack_strings, prefixed, unpack_strings
from tosloc.errors import StoreError
from tosloc.records import BoolArray, IntArray, LongArray

# B blobs asked for, V distinct terms of them, P (blob, term) postings, C chunks, Q (chunk, term) postings


@dataclass(frozen=True, eq=False)
class FactTable:
    """Facts of B blobs as arrays: what a ranking model selects the rows of a version from."""

    blobs: tuple[str, ...]
    """(B,) blob ids, in the order asked."""
    vocabulary: tuple[str, ...]
    """(V,) distinct terms of these blobs, sorted."""
    starts: LongArray
    """(B + 1,) blob b has postings ``starts[b]:starts[b + 1]``."""
    terms: IntArray
    """(P,) places in ``vocabulary``, ascending in a blob."""
    counts: npt.NDArray[np.uint16]
    """(P, 6) counts by ``FIELDS``, at most 65,535."""
    chunk_starts: LongArray
    """(B + 1,) blob b has chunks ``chunk_starts[b]:chunk_starts[b + 1]``."""
    chunk_posting_starts: LongArray
    """(C + 1,) chunk c has chunk postings ``chunk_posting_starts[c]:chunk_posting_starts[c + 1]``."""
    chunk_terms: IntArray
    """(Q,) places in ``vocabulary``, ascending in a chunk."""
    chunk_counts: npt.NDArray[np.uint8]
    """(Q,) counts of code, comments and strings together, at most 255."""
    complexity: IntArray
    functions: IntArray
    lines: IntArray
    length: IntArray
    """(B,) terms of code, comments and strings, each time they occur."""
    compounds: IntArray
    """(B,) those of ``length`` that are compounds."""
    parsed: BoolArray
    counted: BoolArray
    packages: tuple[str, ...]
    """(B,) dotted package names."""
    types: tuple[tuple[str, ...], ...]
    """(B,) simple names of the declared types."""

    def __len__(self) -> int:
        return len(self.blobs)

    @classmethod
    def empty(cls) -> Self:
        """A table of no blobs."""
        return cls.from_rows([], [], {})

    @classmethod
    def from_rows(cls, blobs: Sequence[str], rows: Sequence[FactRow], terms: Mapping[int, str]) -> Self:
        """The table of ``blobs`` from their rows; ``terms`` are the store's by number.

        Raises ValueError, KeyError and zlib.error when the rows are damaged.
        """
        assert len(blobs) == len(rows)
        unpacked = [unpack_row(row) for row in rows]
        numbers = _joined([row.numbers for row in unpacked], np.int32)
        starts = _starts([row.term_count for row in rows])
        chunk_sizes = _joined([row.chunk_sizes for row in unpacked], np.int64)
        chunk_posting_starts = _starts(chunk_sizes)
        pairs = [row.pair_count for row in rows]
        if chunk_posting_starts[-1] != sum(pairs):
            raise ValueError("chunks")
        steps = _joined([row.chunk_steps for row in unpacked], np.int64)
        postings = _sums_within(steps, chunk_posting_starts) + np.repeat(starts[:-1], pairs)

        if len(numbers) and not 0 < numbers.min() <= numbers.max() <= max(terms, default=0):
            raise ValueError("a term that is not there")
        used = np.flatnonzero(np.bincount(numbers))
        order = sorted(used.tolist(), key=terms.__getitem__)
        place_of_number = np.zeros(len(used) and int(used[-1]) + 1, dtype=np.int32)
        place_of_number[order] = np.arange(len(order), dtype=np.int32)
        places = place_of_number[numbers]

        def column(name: str, dtype: npt.DTypeLike = np.int32) -> npt.NDArray[Any]:
            return np.array([getattr(row, name) for row in rows], dtype=dtype)

        return cls(
            blobs=tuple(blobs),
            vocabulary=tuple(terms[number] for number in order),
            starts=starts,
            terms=places,
            counts=np.concatenate([np.zeros((0, len(FIELDS)), dtype=np.uint16), *(row.counts for row in unpacked)]),
            chunk_starts=_starts([row.chunk_count for row in rows]),
            chunk_posting_starts=chunk_posting_starts,
            chunk_terms=places[postings],
            chunk_counts=_joined([row.chunk_counts for row in unpacked], np.uint8),
            complexity=column("complexity"),
            functions=column("functions"),
            lines=column("lines"),
            length=column("length"),
            compounds=column("compounds"),
            parsed=column("parsed", np.bool_),
            counted=column("counted", np.bool_),
            packages=tuple(row.package for row in rows),
            types=tuple(tuple(row.types.split()) for row in rows),
        )

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Every field as arrays that ``save_arrays`` keeps; strings as UTF-8 bytes and their ends."""
        strings: dict[str, Sequence[str]] = {name: getattr(self, name) for name in _STRINGS}
        strings["types"] = [" ".join(names) for names in self.types]
        arrays: dict[str, npt.NDArray[Any]] = {name: getattr(self, name) for name in _ARRAYS}
        for name, values in strings.items():
            arrays |= {f"{name}_{part}": array for part, array in pack_strings(values).items()}
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> Self:
        """The table that ``to_arrays`` took apart. Raises StoreError when an array is absent or they do not fit."""
        try:
            values: dict[str, Any] = {
                name: checked(arrays, name, dtype, None, *more) for name, (dtype, *more) in _ARRAYS.items()
            }
            for name in _STRINGS:
                packed = {part: arrays[f"{name}_{part}"] for part in ("bytes", "ends")}
                values[name] = unpack_strings(prefixed(name, packed), name)
            values["types"] = tuple(tuple(names.split()) for names in values["types"])
            table = cls(**values)
            table._check()
        except KeyError as error:
            raise StoreError(f"these arrays are not a table of facts ({error}); save the table again") from error
        except ValueError as error:
            raise StoreError(
                f"the arrays of a table of facts do not fit together ({error}); save the table again"
            ) from error
        return table

    def _check(self) -> None:
        """Raise ValueError unless the arrays are as long as each other says, and no number means nothing."""
        B = len(self)
        if {B} != {len(getattr(self, name)) for name in _COLUMNS} or len(self.chunk_counts) != len(self.chunk_terms):
            raise ValueError("the blobs do not fit together")
        chunks = len(self.chunk_posting_starts) - 1
        if not len(self.starts) == len(self.chunk_starts) == B + 1 or len(self.counts) != len(self.terms):
            raise ValueError("the postings do not fit together")
        check_starts(self.starts, len(self.terms), "starts")
        check_starts(self.chunk_starts, chunks, "chunk_starts")
        check_starts(self.chunk_posting_starts, len(self.chunk_terms), "chunk_posting_starts")
        if (self.chunk_starts[1:] == self.chunk_starts[:-1]).any():
            raise ValueError("a blob has no chunk")
        for name in ("terms", "chunk_terms"):
            check_numbers(getattr(self, name), len(self.vocabulary), name)
        for name in ("complexity", "functions", "lines", "length", "compounds"):
            check_numbers(getattr(self, name), np.inf, name)


_STRINGS: Final = ("blobs", "vocabulary", "packages", "types")
_COLUMNS: Final = (
    *("complexity", "functions", "lines", "length", "compounds", "parsed", "counted"),
    *("packages", "types"),
)
"""Fields with one value a blob."""
_ARRAYS: Final[Mapping[str, tuple[Any, ...]]] = {
    **dict.fromkeys(("starts", "chunk_starts", "chunk_posting_starts"), (np.int64,)),
    **dict.fromkeys(("terms", "chunk_terms"), (np.int32,)),
    "counts": (np.uint16, len(FIELDS)),
    "chunk_counts": (np.uint8,),
    **dict.fromkeys(("complexity", "functions", "lines", "length", "compounds"), (np.int32,)),
    **dict.fromkeys(("parsed", "counted"), (np.bool_,)),
}
"""Other fields: the type of the numbers, and the sizes of all dimensions but the first."""


def _joined(arrays: Sequence[npt.NDArray[Any]], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    return np.concatenate([np.zeros(0, dtype=dtype), *arrays]).astype(dtype, copy=False)


def _starts(sizes: npt.ArrayLike) -> LongArray:
    """Where pieces of these sizes start when they are joined, and where the last one ends."""
    return np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(sizes, dtype=np.int64)))


def _sums_within(steps: LongArray, starts: LongArray) -> LongArray:
    """Running sums of ``steps`` that begin again at each of ``starts``."""
    sums = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(steps)))
    return np.asarray(sums[1:] - np.repeat(sums[starts[:-1]], np.diff(starts)), dtype=np.int64)
