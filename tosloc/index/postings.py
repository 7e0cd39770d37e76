"""Inverted lists as flat arrays: the rows (files, chunks, documents) in which each term occurs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt

from tosloc.index.mapped import spilled_zeros
from tosloc.records import FloatArray, IntArray, LongArray

Scalar = TypeVar("Scalar", bound=np.generic)

K1, B = 1.2, 0.5
"""Of BM25, saturation and length normalisation, where a formula names no others."""
QUERIES_BEFORE_ALL = 3
"""Which query of a resident version has the saturations of all postings computed: a command asks one alone."""
LARGEST_KEPT = 1 << 23
"""Postings of which what no query changes is kept, such as all saturations; of more it is computed for each query."""
LARGEST_AT_ONCE = 1 << 21
"""Postings of one query that are scored at once; more are scored term by term, in memory that follows the files."""
STRETCHES = 512
"""Up to so many stretches are copied one by one; of more each element is."""
AT_ONCE: Final = 1 << 22
"""Postings that are looked at together where all of them are gone through: some hundred megabytes."""


@dataclass(frozen=True, eq=False)
class Selection:
    """The postings of some terms, one after the other. P postings, T terms."""

    starts: LongArray
    """(T,) where each term's postings start in the flat arrays."""
    sizes: LongArray
    """(T,) postings of each term."""

    @cached_property
    def positions(self) -> LongArray:
        """(P,) positions in the flat arrays."""
        positions = np.arange(int(self.sizes.sum()), dtype=np.int64)
        positions += np.repeat(self.starts - (np.cumsum(self.sizes) - self.sizes), self.sizes)
        return positions

    def take(self, values: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
        """(P, ...) ``values[positions]``: by whole stretches, where they are few and long."""
        if not len(self.sizes) or len(self.sizes) > STRETCHES:
            return values[self.positions]
        return np.concatenate([values[stretch] for stretch in self.stretches])

    @cached_property
    def many(self) -> bool:
        """Whether there are more than are scored at once."""
        return int(self.sizes.sum()) > LARGEST_AT_ONCE

    @cached_property
    def stretches(self) -> list[slice]:
        """(T,) where the postings of each term lie."""
        return list(map(slice, self.starts.tolist(), (self.starts + self.sizes).tolist()))

    def spread(self, of_terms: FloatArray) -> FloatArray:
        """(P,) the value of each posting's term, from one value a term."""
        return np.repeat(of_terms, self.sizes)


@dataclass(frozen=True, eq=False)
class Postings:
    """Inverted lists of V terms over R rows, made from rows of terms."""

    starts: LongArray
    """(V+1,) postings of term v: starts[v] to starts[v+1]."""
    rows: IntArray
    """(P,) row of each posting, ascending within a term."""
    origin: LongArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """(P,) position of each posting in the row-wise arrays that the lists were made from; of kept ones not known."""

    @classmethod
    def invert(cls, row_starts: LongArray, terms: IntArray, vocabulary: int) -> Postings:
        """Inverted lists of rows given one after the other: row r has terms[row_starts[r]:row_starts[r+1]]."""
        origin = stable_order(terms, vocabulary)
        row_of = np.repeat(np.arange(len(row_starts) - 1, dtype=np.int32), np.diff(row_starts))
        return cls(starts_of(np.bincount(terms, minlength=vocabulary)), row_of[origin], origin)

    @classmethod
    def invert_with(
        cls,
        row_starts: LongArray,
        terms: IntArray,
        vocabulary: int,
        values: npt.NDArray[Scalar],
    ) -> tuple[Postings, npt.NDArray[Scalar]]:
        """The same lists without their ``origin``, and (P, ...) the values of ``terms`` in their order.

        Some rows at a time, so that little but what is made stands in memory.
        """
        sizes = np.zeros(vocabulary, dtype=np.int64)
        for start in range(0, len(terms), AT_ONCE):
            sizes += np.bincount(terms[start : start + AT_ONCE], minlength=vocabulary)
        starts = starts_of(sizes)
        rows, moved = spilled_zeros(len(terms), np.int32), spilled_zeros(values.shape, values.dtype)
        free = starts[:-1].copy()  # where the next posting of each term goes
        for first, last, start, end in stretches(row_starts):
            part = terms[start:end]
            order = stable_order(part, vocabulary)
            counted = np.bincount(part, minlength=vocabulary)
            places = np.arange(end - start, dtype=np.int64)
            places += np.repeat(free - (np.cumsum(counted) - counted), counted)
            row_of = np.repeat(np.arange(first, last, dtype=np.int32), np.diff(row_starts[first : last + 1]))
            rows[places], moved[places] = row_of[order], values[start:end][order]
            free += counted
        return cls(starts, rows), moved

    def select(self, terms: LongArray) -> Selection:
        """Postings of the given terms, in their order."""
        return ranges(self.starts[terms], self.starts[terms + 1])


def stretches(starts: LongArray) -> Iterator[tuple[int, int, int, int]]:
    """All lists in stretches of about ``AT_ONCE`` postings: first list, end of lists, first posting, end of postings.

    >>> list(stretches(starts_of([2, 0, 1])))
    [(0, 3, 0, 3)]
    """
    bounds = np.searchsorted(starts, np.arange(AT_ONCE, int(starts[-1]), AT_ONCE), side="right") - 1
    for first, end in pairwise(np.unique([0, *bounds.tolist(), len(starts) - 1]).tolist()):
        yield first, end, int(starts[first]), int(starts[end])


def stable_order(numbers: npt.NDArray[np.integer[Any]], below: int) -> LongArray:
    """Positions that sort whole numbers from 0 to ``below``; equal ones keep their order. In time linear in both.

    >>> stable_order(np.array([3, 70_000, 0, 3], dtype=np.int32), 70_001).tolist()
    [2, 0, 3, 1]
    """
    # NumPy sorts numbers of two bytes by counting, larger ones by comparing
    order = np.argsort(numbers.astype(np.uint16), kind="stable")
    shift = 16
    while below > 1 << shift:
        digits = (numbers >> shift).astype(np.uint16)
        order = order[np.argsort(digits[order], kind="stable")]
        shift += 16
    return order.astype(np.int64, copy=False)


def ranges(starts: LongArray, ends: LongArray) -> Selection:
    """The numbers of every range [start, end), one range after the other."""
    return Selection(starts, ends - starts)


def summed(groups: npt.NDArray[np.integer[Any]], values: npt.ArrayLike, number: int) -> npt.NDArray[np.float64]:
    """(number,) sum of the values of each group; a group without values has 0."""
    sums: npt.NDArray[np.float64] = np.bincount(groups, weights=values, minlength=number).astype(np.float64, copy=False)
    return sums


def starts_of(sizes: npt.ArrayLike) -> LongArray:
    """(n+1,) where n groups of these sizes, one after the other, start and where the last one ends.

    >>> starts_of([2, 0, 3]).tolist()
    [0, 2, 2, 5]
    """
    return np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)


def row_sums(values: npt.NDArray[Any], starts: LongArray) -> FloatArray:
    """(n,) sum of each row, from values of all rows one after the other; exact for whole numbers.

    >>> row_sums(np.array([1, 2, 3]), starts_of([2, 0, 1])).tolist()
    [3.0, 0.0, 3.0]
    """
    running: FloatArray = np.concatenate(([0.0], np.cumsum(values, dtype=np.float64)))
    return running[starts[1:]] - running[starts[:-1]]


def leaders(values: FloatArray, number: int) -> LongArray:
    """Positions of the ``number`` largest values, largest first; equal values keep their order.

    >>> leaders(np.array([1.0, 3.0, 2.0, 3.0]), 3).tolist()
    [1, 3, 2]
    """
    positions = np.arange(len(values), dtype=np.int64)
    if number < len(values):
        positions = np.flatnonzero(values >= np.partition(values, len(values) - number)[len(values) - number])
    return positions[np.argsort(-values[positions], kind="stable")][:number]


def known_terms(numbers: Mapping[str, int], weights: Mapping[str, float]) -> tuple[LongArray, FloatArray]:
    """Numbers and weights of those query terms that a vocabulary (term -> number) holds, in the query's order."""
    known = [(number, weight) for term, weight in weights.items() if (number := numbers.get(term)) is not None]
    return (
        np.array([number for number, _ in known], dtype=np.int64),
        np.array([weight for _, weight in known], dtype=np.float64),
    )


def idf(documents: int, frequency: npt.NDArray[np.integer[Any]]) -> FloatArray:
    """BM25's ln(1 + (n - df + .5) / (df + .5)) of terms that ``frequency`` of the ``documents`` hold."""
    weights: FloatArray = np.log1p((documents - frequency + 0.5) / (frequency + 0.5))
    return weights
