"""Inverted lists as flat arrays: the rows (files, chunks, documents) in which each term occurs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tosloc.records import IntArray, LongArray


@dataclass(frozen=True, eq=False)
class Selection:
    """The postings of some terms, one after the other. P postings, T terms."""

    positions: LongArray
    """(P,) places in the inverted list's flat arrays."""
    sizes: LongArray
    """(T,) postings of each term."""

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
    sizes = ends - starts
    total = int(sizes.sum())
    shift = np.repeat(starts - np.concatenate(([0], np.cumsum(sizes)[:-1])), sizes) if len(sizes) else sizes
    return Selection(np.arange(total, dtype=np.int64) + shift, sizes)


def summed(groups: npt.NDArray[np.integer[Any]], values: npt.ArrayLike, number: int) -> npt.NDArray[np.float64]:
    """(number,) sum of the values of each group; a group without values has 0."""
    sums: npt.NDArray[np.float64] = np.bincount(groups, weights=values, minlength=number).astype(np.float64, copy=False)
    return sums
