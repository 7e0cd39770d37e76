"""Facts of many blobs as arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt

from tosloc.analysis.analyser import FIELDS
from tosloc.analysis.fact_rows import FactRow, unpack_row
from tosloc.arrays import check_numbers, check_starts, checked, pack_strings, prefixed, unpack_strings
from tosloc.errors import StoreError
from tosloc.mapped_arrays import Scratch
from tosloc.records import BoolArray, IntArray, LongArray

ROWS_AT_ONCE: Final = 4096
"""Rows that are taken apart together."""
POSTINGS_AT_ONCE: Final = 1 << 22

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
    def from_rows(
        cls, blobs: Sequence[str], rows: Iterable[FactRow], terms: Mapping[int, str], scratch: Scratch | None = None
    ) -> Self:
        """The table of ``blobs`` from their rows, read once; ``terms``, the store's by number, may grow meanwhile.

        Large arrays lie in ``scratch``. Raises ValueError, KeyError and zlib.error when the rows are damaged.
        """
        scratch = scratch or Scratch()
        numbers, counts = scratch.growing(np.int32), scratch.growing(np.uint16, len(FIELDS))
        chunk_numbers, chunk_counts = scratch.growing(np.int32), scratch.growing(np.uint8)
        chunk_sizes = scratch.growing(np.int64)
        columns: dict[str, list[npt.NDArray[Any]]] = {name: [] for name in (*_ROW_COLUMNS, "term_count", "chunk_count")}
        packages: list[str] = []
        types: list[tuple[str, ...]] = []
        names: dict[str, str] = {}  # a package once, however many files it has
        used, highest = np.zeros(0, dtype=bool), 0
        waiting = iter(rows)
        while block := list(islice(waiting, ROWS_AT_ONCE)):
            unpacked = [unpack_row(row) for row in block]
            of_block = _joined([row.numbers for row in unpacked], np.int32)
            if of_block.max(initial=0) > highest:
                highest = max(terms, default=0)
                used = np.append(used, np.zeros(highest + 1 - len(used), dtype=bool))
            if len(of_block) and not 0 < of_block.min() <= of_block.max() <= highest:
                raise ValueError("a term that is not there")
            used[of_block] = True
            sizes = _joined([row.chunk_sizes for row in unpacked], np.int64)
            starts = _starts(sizes)
            pairs = [row.pair_count for row in block]
            if starts[-1] != sum(pairs):
                raise ValueError("chunks")
            steps = _joined([row.chunk_steps for row in unpacked], np.int64)
            first = _starts([row.term_count for row in block])[:-1]
            numbers.add(of_block)
            counts.add(np.concatenate([np.zeros((0, len(FIELDS)), dtype=np.uint16), *(row.counts for row in unpacked)]))
            chunk_sizes.add(sizes)
            chunk_numbers.add(of_block[_sums_within(steps, starts) + np.repeat(first, pairs)])
            chunk_counts.add(_joined([row.chunk_counts for row in unpacked], np.uint8))
            for name, parts in columns.items():
                parts.append(np.array([getattr(row, name) for row in block], dtype=_ROW_COLUMNS.get(name, np.int64)))
            packages += [names.setdefault(row.package, row.package) for row in block]
            types += [tuple(row.types.split()) for row in block]
        assert len(blobs) == len(packages)
        order = sorted(np.flatnonzero(used).tolist(), key=terms.__getitem__)
        place_of_number = np.zeros(len(used), dtype=np.int32)
        place_of_number[order] = np.arange(len(order), dtype=np.int32)
        places, chunk_places = numbers.array(), chunk_numbers.array()
        for array in (places, chunk_places):
            for start in range(0, len(array), POSTINGS_AT_ONCE):
                array[start : start + POSTINGS_AT_ONCE] = place_of_number[array[start : start + POSTINGS_AT_ONCE]]

        def column(name: str) -> npt.NDArray[Any]:
            return _joined(columns[name], _ROW_COLUMNS.get(name, np.int64))

        return cls(
            blobs=tuple(blobs),
            vocabulary=tuple(terms[number] for number in order),
            starts=_starts(column("term_count")),
            terms=places,
            counts=counts.array(),
            chunk_starts=_starts(column("chunk_count")),
            chunk_posting_starts=_starts(chunk_sizes.array()),
            chunk_terms=chunk_places,
            chunk_counts=chunk_counts.array(),
            **{name: column(name) for name in _ROW_COLUMNS},
            packages=tuple(packages),
            types=tuple(types),
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


_ROW_COLUMNS: Final[Mapping[str, Any]] = {
    **dict.fromkeys(("complexity", "functions", "lines", "length", "compounds"), np.int32),
    **dict.fromkeys(("parsed", "counted"), np.bool_),
}
"""Fields that are columns of the rows, with their types."""
_STRINGS: Final = ("blobs", "vocabulary", "packages", "types")
_COLUMNS: Final = (*_ROW_COLUMNS, "packages", "types")
"""Fields with one value a blob."""
_ARRAYS: Final[Mapping[str, tuple[Any, ...]]] = {
    **dict.fromkeys(("starts", "chunk_starts", "chunk_posting_starts"), (np.int64,)),
    **dict.fromkeys(("terms", "chunk_terms"), (np.int32,)),
    "counts": (np.uint16, len(FIELDS)),
    "chunk_counts": (np.uint8,),
    **{name: (dtype,) for name, dtype in _ROW_COLUMNS.items()},
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
