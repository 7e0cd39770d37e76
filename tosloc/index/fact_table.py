"""Facts of many blobs as arrays, and the rows of the store that they are read from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
import numpy.typing as npt

from tosloc.arrays import check_numbers, check_starts, checked, pack_strings, prefixed, unpack_strings
from tosloc.code.languages import FIELDS
from tosloc.errors import StoreError
from tosloc.index.postings import starts_of
from tosloc.index.store import pack, unpack
from tosloc.records import BoolArray, IntArray, LongArray

if TYPE_CHECKING:
    from tosloc.code.terms import Facts  # not loaded: what only reads rows needs no parser

# B blobs asked for, V distinct terms of them, P (blob, term) postings, C chunks, Q (chunk, term) postings
# of one blob: T distinct terms, C chunks, Q (chunk, term) postings


def pack_facts(facts: Facts) -> bytes:
    """The facts of one blob as a row's payload; places of terms in a chunk as differences, which pack better."""
    sizes = np.diff(facts.chunk_starts)
    steps = np.diff(facts.chunk_terms, prepend=np.int32(0))
    first = facts.chunk_starts[:-1][sizes > 0]
    steps[first] = facts.chunk_terms[first]
    return pack(
        [facts.terms],
        [
            np.array([facts.lines, facts.complexity, facts.parsed], dtype=np.int32),
            facts.counts.T.ravel().astype(np.min_scalar_type(int(facts.counts.max(initial=0)))),
            sizes.astype(np.uint32),
            steps.astype(np.min_scalar_type(int(steps.max(initial=0)))),
            facts.chunk_counts,
        ],
    )


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
    """(B,) by lizard; 0 where it was not asked for."""
    lines: IntArray
    parsed: BoolArray
    """(B,) False where the lexer read the blob."""

    def __len__(self) -> int:
        return len(self.blobs)

    @classmethod
    def empty(cls) -> Self:
        """A table of no blobs."""
        return cls.from_rows([], [])

    @classmethod
    def from_rows(cls, blobs: Sequence[str], payloads: Iterable[bytes | None]) -> Self:
        """The table of ``blobs`` from what ``pack_facts`` made of each, read once; None has one empty chunk.

        Raises ValueError for a row that does not unpack.
        """
        numbers: defaultdict[str, int] = defaultdict(lambda: len(numbers))
        heads, chunk_numbers, term_counts = [], [], []
        none = np.zeros(0, dtype=np.int32)
        _, _, no_counts, _, _, no_bytes = _row(_EMPTY)
        parts: tuple[list[npt.NDArray[Any]], ...] = ([none], [no_counts], [none], [no_bytes], [none.astype(np.int64)])
        for payload in payloads:
            words, head, counts, sizes, steps, in_chunk = _row(_EMPTY if payload is None else payload)
            own = np.fromiter(map(numbers.__getitem__, words), dtype=np.int32, count=len(words))
            sums = np.concatenate(([0], np.cumsum(steps, dtype=np.int64)))
            places = sums[1:] - np.repeat(sums[starts_of(sizes)[:-1]], sizes)  # each chunk begins again at zero
            for part, array in zip(parts, (own, counts, own[places], in_chunk, sizes), strict=True):
                part.append(array)
            term_counts.append(len(own))
            chunk_numbers.append(len(sizes))
            heads.append(head)
        order = sorted(numbers)
        place_of_number = np.zeros(len(order), dtype=np.int32)
        place_of_number[[numbers[term] for term in order]] = np.arange(len(order), dtype=np.int32)
        terms, counts, chunk_terms, chunk_counts, chunk_sizes = map(np.concatenate, parts)
        of_blobs = np.array(heads, dtype=np.int32).reshape(-1, 3)
        return cls(
            blobs=tuple(blobs),
            vocabulary=tuple(order),
            starts=starts_of(term_counts),
            terms=place_of_number[terms],
            counts=counts,
            chunk_starts=starts_of(chunk_numbers),
            chunk_posting_starts=starts_of(chunk_sizes),
            chunk_terms=place_of_number[chunk_terms],
            chunk_counts=chunk_counts,
            lines=of_blobs[:, 0],
            complexity=of_blobs[:, 1],
            parsed=of_blobs[:, 2] > 0,
        )

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Every field as arrays; strings as UTF-8 bytes and their ends."""
        arrays: dict[str, npt.NDArray[Any]] = {name: getattr(self, name) for name in _ARRAYS}
        for name in _STRINGS:
            arrays |= prefixed(name, pack_strings(getattr(self, name)))
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> Self:
        """The table that ``to_arrays`` took apart. Raises StoreError when an array is absent or they do not fit."""
        try:
            values: dict[str, Any] = {
                name: checked(arrays, name, dtype, None, *more) for name, (dtype, *more) in _ARRAYS.items()
            }
            values |= {name: unpack_strings(arrays, name) for name in _STRINGS}
            table = cls(**values)
            table._check()
        except (KeyError, ValueError) as error:
            raise StoreError(f"these arrays are not a table of facts ({error}); save the table again") from error
        return table

    def _check(self) -> None:
        """Raise ValueError unless the arrays are as long as each other says, and no number means nothing."""
        B, V = len(self), len(self.vocabulary)
        if {B} != {len(self.complexity), len(self.lines), len(self.parsed)}:
            raise ValueError("the blobs do not fit together")
        if not len(self.starts) == len(self.chunk_starts) == B + 1:
            raise ValueError("the rows do not fit together")
        if len(self.counts) != len(self.terms) or len(self.chunk_counts) != len(self.chunk_terms):
            raise ValueError("the postings do not fit together")
        check_starts(self.starts, len(self.terms), "starts")
        check_starts(self.chunk_starts, len(self.chunk_posting_starts) - 1, "chunk_starts")
        check_starts(self.chunk_posting_starts, len(self.chunk_terms), "chunk_posting_starts")
        if (self.chunk_starts[1:] == self.chunk_starts[:-1]).any():
            raise ValueError("a blob has no chunk")
        check_numbers(self.terms, V, "terms")
        check_numbers(self.chunk_terms, V, "chunk_terms")


def _row(payload: bytes) -> tuple[Any, ...]:
    """Terms and arrays of one blob. Raises ValueError."""
    [terms], [head, counts, sizes, steps, chunk_counts] = unpack(payload, 1)
    return terms, head, counts.reshape(len(FIELDS), -1).T.astype(np.uint16), sizes.astype(np.int64), steps, chunk_counts


_EMPTY: Final = pack(
    [[]],
    [
        np.zeros(3, np.int32),
        np.zeros(0, np.uint16),
        np.zeros(1, np.uint32),
        np.zeros(0, np.uint8),
        np.zeros(0, np.uint8),
    ],
)
"""No terms and one empty chunk: of a blob without facts."""
_STRINGS: Final = ("blobs", "vocabulary")
_ARRAYS: Final[Mapping[str, tuple[Any, ...]]] = {
    **dict.fromkeys(("starts", "chunk_starts", "chunk_posting_starts"), (np.int64,)),
    **dict.fromkeys(("terms", "chunk_terms", "complexity", "lines"), (np.int32,)),
    "counts": (np.uint16, len(FIELDS)),
    "chunk_counts": (np.uint8,),
    "parsed": (np.bool_,),
}
"""Other fields: the type of the numbers, and the sizes of all dimensions but the first."""
