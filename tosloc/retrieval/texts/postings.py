"""Inverted lists as flat arrays: the rows of files, chunks or documents that contain a term."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tosloc.core.arrays import FloatArray, IntArray, LongArray


class Selection:
    """The postings of T selected terms, one term after the other."""

    def __init__(self, postings: Postings, terms: LongArray | IntArray) -> None:
        starts = postings.starts[terms]
        self.sizes: LongArray = postings.starts[terms + 1] - starts
        """(T,) number of postings of each term."""
        selected_starts = np.cumsum(self.sizes) - self.sizes
        positions = np.repeat(starts - selected_starts, self.sizes)
        positions += np.arange(len(positions), dtype=np.int64)
        self.rows = postings.rows.take(positions)
        """(P,) row of each posting."""
        self.values = postings.values.take(positions, axis=0)
        """(P, ...) value of each posting."""

    def expand(self, values: FloatArray) -> FloatArray:
        """Return (P,) the value of each posting's term; ``values`` (T,) are those of the terms."""
        return np.repeat(values, self.sizes)


@dataclass(frozen=True, eq=False)
class Postings:
    """Lists of V terms: the rows that contain each term."""

    starts: LongArray
    """(V+1,) term v has the postings from starts[v] to starts[v+1]."""
    rows: IntArray
    """(P,) row of each posting, ascending within a term."""
    values: npt.NDArray[Any]
    """(P, ...) value of each posting, such as how often the row contains the term."""

    @classmethod
    def group_by_term(
        cls,
        terms: npt.NDArray[np.integer[Any]],
        rows: IntArray,
        values: npt.NDArray[Any],
        number: int,
    ) -> Postings:
        """Return lists of ``number`` terms from the term, row and value of each posting (P,).

        The postings of a term keep their order.
        """
        order = stable_order(terms, number)
        starts = group_starts(np.bincount(terms, minlength=number))
        return cls(starts, rows[order], values[order])

    @property
    def terms(self) -> IntArray:
        """(P,) term of each posting."""
        return row_ids(self.starts, np.int32)

    def invert(self, size: int) -> Postings:
        """Return the inverse: the terms of each of ``size`` rows, ascending, with their values."""
        return Postings.group_by_term(self.rows, self.terms, self.values, size)

    def concatenate(self, other: Postings, terms: IntArray, first: int) -> Postings:
        """Return these postings followed by those of ``other``.

        ``terms`` contains the numbers, in the result, of the terms of ``other``. The rows of
        ``other`` are increased by ``first``.
        """
        number = max(len(self.starts) - 1, int(terms.max(initial=-1)) + 1)
        return Postings.group_by_term(
            np.concatenate((self.terms, terms[other.terms])),
            np.concatenate((self.rows, other.rows + first)),
            np.concatenate((self.values, other.values)),
            number,
        )

    def term_slice(self, term: int) -> slice:
        """Return the positions of a term's postings."""
        return slice(*self.starts[term : term + 2].tolist())

    def select(self, terms: LongArray | IntArray) -> Selection:
        """Return the postings of the given terms, in the order of ``terms``."""
        return Selection(self, terms)


def stable_order(numbers: npt.NDArray[np.integer[Any]], below: int) -> LongArray:
    """Return positions that sort integers from 0 to below ``below``; equal ones keep their order.

    Time is linear in the number of integers and in ``below``.

    >>> stable_order(np.array([3, 70_000, 0, 3], dtype=np.int32), 70_001).tolist()
    [2, 0, 3, 1]
    """
    # NumPy sorts numbers of two bytes by counting, larger ones by comparing.
    order = np.argsort(numbers.astype(np.uint16), kind="stable")
    shift = 16
    while below > 1 << shift:
        digits = (numbers >> shift).astype(np.uint16)
        order = order[np.argsort(digits[order], kind="stable")]
        shift += 16
    return order


def group_sum(
    groups: npt.NDArray[np.integer[Any]], values: npt.ArrayLike, number: int
) -> npt.NDArray[np.float64]:
    """Return (number,) the sum of the values in each group; 0 for a group without values."""
    return np.bincount(groups, weights=values, minlength=number).astype(np.float64, copy=False)


def group_starts(sizes: npt.ArrayLike) -> LongArray:
    """Return (n + 1,) the starts of n groups with these sizes, and the end of the last group.

    >>> group_starts([2, 0, 3]).tolist()
    [0, 2, 2, 5]
    """
    return np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)


def row_ids(starts: LongArray, kind: type[np.integer[Any]] = np.int64) -> npt.NDArray[Any]:
    """Return (P,) the group of each element, from the starts of the groups.

    >>> row_ids(group_starts([2, 0, 3])).tolist()
    [0, 0, 2, 2, 2]
    """
    return np.repeat(np.arange(len(starts) - 1, dtype=kind), np.diff(starts))


def row_sums(values: npt.NDArray[Any], starts: npt.NDArray[np.integer[Any]]) -> FloatArray:
    """Return (n,) the sum of each group of values; sums of integers are exact.

    >>> row_sums(np.array([1, 2, 3]), group_starts([2, 0, 1])).tolist()
    [3.0, 0.0, 3.0]
    """
    running: FloatArray = np.concatenate(([0.0], np.cumsum(values, dtype=np.float64)))
    sums: FloatArray = running[starts[1:]] - running[starts[:-1]]
    return sums


def top_k(values: FloatArray, number: int) -> LongArray:
    """Return the positions of the ``number`` largest values, largest first; ties keep their order.

    >>> top_k(np.array([1.0, 3.0, 2.0, 3.0]), 3).tolist()
    [1, 3, 2]
    """
    positions = np.arange(len(values), dtype=np.int64)
    if number < len(values):
        bound_position = len(values) - number
        bound = np.partition(values, bound_position)[bound_position]
        positions = np.flatnonzero(values >= bound)
    return positions[np.argsort(-values[positions], kind="stable")][:number]


def positions_by_name(names: Sequence[str]) -> dict[str, int]:
    """Return name -> its position."""
    return {name: position for position, name in enumerate(names)}


def known_terms(
    numbers: Mapping[str, int], weights: Mapping[str, float]
) -> tuple[LongArray, FloatArray]:
    """Return numbers and weights of the query terms that a vocabulary contains.

    ``numbers`` is the vocabulary, term -> number. The results are in the order of ``weights``.
    """
    known = {term: weight for term, weight in weights.items() if term in numbers}
    terms = np.array([numbers[term] for term in known], dtype=np.int64)
    return terms, np.array(list(known.values()), dtype=np.float64)
