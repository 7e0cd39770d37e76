"""Rows of the facts store: the facts of one blob as numbers, names and one compressed payload, and back.

The payload holds the low bytes of the counts (6 x T), the sizes of the chunks (C), their counts (Q), their terms as
differences (Q; each chunk starts again from zero), and, only if any is not zero, the high bytes of the counts (6 x T).
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from tosloc.analysis.analyser import FIELDS
from tosloc.records import IntArray, LongArray

if TYPE_CHECKING:
    from tosloc.analysis.facts import Facts  # not loaded: what only reads rows needs no parser

_WINDOW_BITS: Final = 12
"""4 KB suffice for what repeats, and take half the time of zlib's 32 KB for rows of a kilobyte."""

# T distinct terms, C chunks, Q (chunk, term) postings


class FactRow(NamedTuple):
    """Facts of one blob as the store keeps them. The names of the fields are the columns of its table."""

    blob: str
    complexity: int
    functions: int
    lines: int
    length: int
    compounds: int
    parsed: bool
    counted: bool
    package: str
    types: str
    """Names of the declared types, with blanks between them."""
    term_count: int
    chunk_count: int
    pair_count: int
    terms: bytes
    """(T,) the store's numbers of the terms, four bytes each."""
    payload: bytes

    @classmethod
    def of(cls, values: Sequence[Any]) -> Self:
        """The row of what ``stored_values`` gave."""
        return cls._make((*values[:8], values[8].decode(), values[9].decode(), *values[10:]))


def stored_values(row: FactRow) -> tuple[Any, ...]:
    """What a store keeps of a row: whole numbers and bytes, and the name of the blob."""
    values = [int(value) if isinstance(value, bool) else value for value in row]
    values[8:10] = [row.package.encode(), row.types.encode()]
    return tuple(values)


def checksum(maker: int, values: Sequence[Any]) -> int:
    """CRC-32 of ``stored_values``, going on from ``maker``, that of what the facts were made by.

    It covers the blob's name, so that a row in the place of another one does not pass for it.
    """
    *numbers, terms, payload = values
    return zlib.crc32(payload, zlib.crc32(terms, zlib.crc32(repr(numbers).encode(), maker)))


EMPTY_ROW: Final = FactRow("", 0, 0, 0, 0, 0, False, False, "", "", 0, 1, 0, b"", zlib.compress(bytes(4), 1))
"""No terms and one empty chunk: stands for a blob without facts."""


@dataclass(frozen=True, slots=True)
class PackedFacts:
    """What a worker sends to the store: a row that lacks its blob and the numbers of its terms, and the terms."""

    row: FactRow
    terms: tuple[str, ...]

    def with_numbers(self, blob: str, numbers: IntArray) -> FactRow:
        """The whole row of ``blob``, ``numbers`` being the store's of ``terms``."""
        return self.row._replace(blob=blob, terms=numbers.astype("<i4").tobytes())


def pack_facts(facts: Facts) -> PackedFacts:
    """``facts`` as a row."""
    sizes = np.diff(facts.chunk_starts)
    steps = np.diff(facts.chunk_terms, prepend=np.int32(0))
    first = facts.chunk_starts[:-1][sizes > 0]
    steps[first] = facts.chunk_terms[first]
    high = (facts.counts >> 8).astype(np.uint8)
    parts = (
        (facts.counts & 0xFF).astype(np.uint8).T.tobytes(),
        sizes.astype("<u4").tobytes(),
        facts.chunk_counts.tobytes(),
        steps.astype(_step_type(len(facts.terms))).tobytes(),
        high.T.tobytes() if high.any() else b"",
    )
    row = FactRow(
        blob="",
        complexity=facts.complexity,
        functions=facts.functions,
        lines=facts.lines,
        length=facts.length,
        compounds=facts.compounds,
        parsed=bool(facts.parsed),
        counted=bool(facts.counted),
        package=facts.package,
        types=" ".join(facts.types),
        term_count=len(facts.terms),
        chunk_count=len(sizes),
        pair_count=len(facts.chunk_terms),
        terms=b"",
        payload=zlib.compress(b"".join(parts), 1, _WINDOW_BITS),
    )
    return PackedFacts(row, tuple(facts.terms))


class UnpackedRow(NamedTuple):
    """The arrays of one row."""

    numbers: IntArray
    """(T,) the store's numbers of the terms."""
    counts: npt.NDArray[np.uint16]
    """(T, 6) counts by ``FIELDS``."""
    chunk_sizes: npt.NDArray[np.uint32]
    """(C,) terms of each chunk."""
    chunk_steps: LongArray
    """(Q,) places of the chunks' terms among the blob's, as differences."""
    chunk_counts: npt.NDArray[np.uint8]
    """(Q,) counts of code, comments and strings together."""


def unpack_row(row: FactRow) -> UnpackedRow:
    """The arrays that ``pack_facts`` put into a row. Raises ValueError and zlib.error when it is damaged."""
    T, C, Q = row.term_count, row.chunk_count, row.pair_count
    steps = _step_type(T)
    ends = list(accumulate((len(FIELDS) * T, 4 * C, Q, steps.itemsize * Q)))
    data = zlib.decompressobj().decompress(row.payload, ends[3] + ends[0] + 1)
    if len(row.terms) != 4 * T or len(data) not in (ends[3], ends[3] + ends[0]):
        raise ValueError(f"blob {row.blob}")
    counts = _table(data[: ends[0]])
    if len(data) > ends[3]:
        counts |= _table(data[ends[3] :]) << 8
    return UnpackedRow(
        np.frombuffer(row.terms, dtype="<i4"),
        counts,
        np.frombuffer(data[ends[0] : ends[1]], dtype="<u4"),
        np.frombuffer(data[ends[2] : ends[3]], dtype=steps).astype(np.int64),
        np.frombuffer(data[ends[1] : ends[2]], dtype=np.uint8),
    )


def _table(column_bytes: bytes) -> npt.NDArray[np.uint16]:
    """(T, 6) numbers from their bytes column by column."""
    return np.frombuffer(column_bytes, dtype=np.uint8).reshape(len(FIELDS), -1).T.astype(np.uint16, order="C")


def _step_type(terms: int) -> np.dtype[np.unsignedinteger]:
    return np.dtype("<u4" if terms > 0xFFFF else "<u2")
