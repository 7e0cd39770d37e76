"""Inverted lists as flat arrays: the rows (files, chunks, documents) in which each term occurs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tosloc.records import FloatArray, IntArray, LongArray

Scalar = TypeVar("Scalar", bound=np.generic)

STRETCHES = 512
"""Up to so many stretches are copied one by one; more are gathered place by place."""


@dataclass(frozen=True, eq=False)
class Selection:
    """The postings of some terms, one after the other. P postings, T terms."""

    starts: LongArray
    """(T,) where each term's places in the inverted list's flat arrays start."""
    sizes: LongArray
    """(T,) postings of each term."""

    @cached_property
    def positions(self) -> LongArray:
        """(P,) places in the inverted list's flat arrays."""
        places = np.arange(int(self.sizes.sum()), dtype=np.int64)
        places += np.repeat(self.starts - (np.cumsum(self.sizes) - self.sizes), self.sizes)
        return places

    def take(self, values: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
        """(P, ...) ``values[positions]``: by whole stretches, where they are few and long."""
        taken: npt.NDArray[Scalar]
        if not len(self.sizes) or len(self.sizes) > STRETCHES:
            taken = values[self.positions]
        else:
            pairs = zip(self.starts.tolist(), (self.starts + self.sizes).tolist(), strict=True)
            taken = np.concatenate([values[start:end] for start, end in pairs])
        return taken

    def spread(self, of_terms: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """(P,) the value of each posting's term, from one value a term."""
        return np.repeat(of_terms, self.sizes)


@dataclass(frozen=True, eq=False)
class Postings:
    """Inverted lists of V terms over R rows, made from rows of terms."""

    starts: LongArray
    """(V+1,) term v has the places starts[v] to starts[v+1]."""
    rows: IntArray
    """(P,) row of each posting, ascending within a term."""
    origin: LongArray
    """(P,) place of each posting in the row-wise arrays that the lists were made from."""

    @classmethod
    def invert(cls, row_starts: LongArray, terms: IntArray, vocabulary: int) -> Postings:
        """Inverted lists of rows given one after the other: row r has terms[row_starts[r]:row_starts[r+1]]."""
        places = np.arange(len(terms), dtype=np.int64)
        by_row = sparse.csr_array((places, terms, row_starts), shape=(len(row_starts) - 1, vocabulary))
        by_term = by_row.tocsc()
        return cls(by_term.indptr.astype(np.int64), by_term.indices.astype(np.int32), by_term.data)

    def select(self, terms: LongArray) -> Selection:
        """Postings of the given terms, in their order."""
        return ranges(self.starts[terms], self.starts[terms + 1])


def ranges(starts: LongArray, ends: LongArray) -> Selection:
    """The numbers of every range [start, end), one range after the other."""
    return Selection(starts, ends - starts)


def summed(groups: npt.NDArray[np.integer[Any]], values: npt.ArrayLike, number: int) -> npt.NDArray[np.float64]:
    """(number,) sum of the values of each group; a group without values has 0."""
    sums: npt.NDArray[np.float64] = np.bincount(groups, weights=values, minlength=number).astype(np.float64, copy=False)
    return sums


def leaders(values: FloatArray, number: int) -> LongArray:
    """Places of the ``number`` largest values, largest first; equal values keep their order.

    >>> leaders(np.array([1.0, 3.0, 2.0, 3.0]), 3).tolist()
    [1, 3, 2]
    """
    places = np.arange(len(values), dtype=np.int64)
    if number < len(values):
        places = np.flatnonzero(values >= np.partition(values, len(values) - number)[len(values) - number])
    return places[np.argsort(-values[places], kind="stable")][:number]
