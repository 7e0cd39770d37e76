"""Inverted lists as flat arrays: the rows (files, chunks, documents) in which each term occurs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tosloc.core.records import FloatArray, IntArray, LongArray


class Selection:
    """The postings of T of a list's terms, one after the other: P of them."""

    def __init__(self, lists: Postings, terms: LongArray | IntArray) -> None:
        starts = lists.starts[terms]
        self.sizes: LongArray = lists.starts[terms + 1] - starts  # (T,)
        positions = np.repeat(starts - (np.cumsum(self.sizes) - self.sizes), self.sizes)
        positions += np.arange(len(positions), dtype=np.int64)
        self.rows, self.values = lists.rows.take(positions), lists.values.take(positions, axis=0)

    def expand(self, values: FloatArray) -> FloatArray:
        """(P,) each posting's value, from one value a term (T,)."""
        return np.repeat(values, self.sizes)


@dataclass(frozen=True, eq=False)
class Postings:
    """Lists of V terms over some rows: the rows that hold each. P postings."""

    starts: LongArray  # (V+1,) postings of term v: starts[v] to starts[v+1]
    rows: IntArray  # (P,) row of each posting, ascending within a term
    values: npt.NDArray[Any]  # (P, ...) such as how often the row holds the term

    @classmethod
    def group_by_term(
        cls,
        terms: npt.NDArray[np.integer[Any]],
        rows: IntArray,
        values: npt.NDArray[Any],
        number: int,
    ) -> Postings:
        """Lists of ``number`` terms from the term, row and value of each posting (P,); equal terms keep their order."""
        order = stable_order(terms, number)
        return cls(group_starts(np.bincount(terms, minlength=number)), rows[order], values[order])

    @property
    def terms(self) -> IntArray:
        """(P,) term of each posting."""
        return row_ids(self.starts, np.int32)

    def invert(self, size: int) -> Postings:
        """The lists the other way round: the terms of each of ``size`` rows, ascending, with their values."""
        return Postings.group_by_term(self.rows, self.terms, self.values, size)

    def concatenate(self, other: Postings, terms: IntArray, first: int) -> Postings:
        """Both as one; list v of the other is of term terms[v], known or new; its rows count from ``first`` on."""
        return Postings.group_by_term(
            np.concatenate((self.terms, terms[other.terms])),
            np.concatenate((self.rows, other.rows + first)),
            np.concatenate((self.values, other.values)),
            max(len(self.starts) - 1, int(terms.max(initial=-1)) + 1),
        )

    def term_slice(self, term: int) -> slice:
        """Where the postings of a term are."""
        return slice(*self.starts[term : term + 2].tolist())

    def select(self, terms: LongArray | IntArray) -> Selection:
        """Postings of the given terms, in their order."""
        return Selection(self, terms)


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
    return order


def group_sum(
    groups: npt.NDArray[np.integer[Any]], values: npt.ArrayLike, number: int
) -> npt.NDArray[np.float64]:
    """(number,) sum of the values of each group; a group without values has 0."""
    return np.bincount(groups, weights=values, minlength=number).astype(np.float64, copy=False)


def group_starts(sizes: npt.ArrayLike) -> LongArray:
    """(n+1,) where n groups of these sizes, one after the other, start and where the last one ends.

    >>> group_starts([2, 0, 3]).tolist()
    [0, 2, 2, 5]
    """
    return np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)


def row_ids(starts: LongArray, kind: type[np.integer[Any]] = np.int64) -> npt.NDArray[Any]:
    """(P,) the group of each element, of groups that start there.

    >>> row_ids(group_starts([2, 0, 3])).tolist()
    [0, 0, 2, 2, 2]
    """
    return np.repeat(np.arange(len(starts) - 1, dtype=kind), np.diff(starts))


def row_sums(values: npt.NDArray[Any], starts: npt.NDArray[np.integer[Any]]) -> FloatArray:
    """(n,) sum of each row, from values of all rows one after the other; exact for whole numbers.

    >>> row_sums(np.array([1, 2, 3]), group_starts([2, 0, 1])).tolist()
    [3.0, 0.0, 3.0]
    """
    running: FloatArray = np.concatenate(([0.0], np.cumsum(values, dtype=np.float64)))
    sums: FloatArray = running[starts[1:]] - running[starts[:-1]]
    return sums


def top_k(values: FloatArray, number: int) -> LongArray:
    """Positions of the ``number`` largest values, largest first; equal values keep their order.

    >>> top_k(np.array([1.0, 3.0, 2.0, 3.0]), 3).tolist()
    [1, 3, 2]
    """
    positions = np.arange(len(values), dtype=np.int64)
    if number < len(values):
        positions = np.flatnonzero(
            values >= np.partition(values, len(values) - number)[len(values) - number]
        )
    return positions[np.argsort(-values[positions], kind="stable")][:number]


def positions_by_name(names: Sequence[str]) -> dict[str, int]:
    """Name -> its place."""
    return {name: place for place, name in enumerate(names)}


def known_terms(
    numbers: Mapping[str, int], weights: Mapping[str, float]
) -> tuple[LongArray, FloatArray]:
    """Numbers and weights of those query terms that a vocabulary (term -> number) holds, in the query's order."""
    known = {term: weight for term, weight in weights.items() if term in numbers}
    terms = np.array([numbers[term] for term in known], dtype=np.int64)
    return terms, np.array(list(known.values()), dtype=np.float64)
