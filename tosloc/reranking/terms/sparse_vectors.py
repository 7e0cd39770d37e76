"""Terms of many texts as sparse vectors with few places each, and the dense term vectors that learning starts from.

Letters in shapes: V terms with the padding, n vectors, T places of a vector, d width.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from threadpoolctl import threadpool_limits

from tosloc.records import Float32Array, IntArray, LongArray

_OVERSAMPLED: Final = 20
"""Further directions of the randomised decomposition."""
_ROUNDS: Final = 5
"""Its rounds."""


@dataclass(frozen=True, eq=False)
class SparseVectors:
    """Weighted terms of n texts, heaviest first; term 0 pads."""

    terms: IntArray
    """(n, T)"""
    weights: Float32Array
    """(n, T) each row of length 1, or empty."""

    def __len__(self) -> int:
        return len(self.terms)

    @classmethod
    def empty(cls, number: int, size: int) -> Self:
        """Vectors of so many places without terms."""
        return cls(np.zeros((number, size), dtype=np.int32), np.zeros((number, size), dtype=np.float32))

    @classmethod
    def joined(cls, parts: Sequence[SparseVectors]) -> Self:
        """All of the parts' vectors, which have one number of places."""
        return cls(np.concatenate([part.terms for part in parts]), np.concatenate([part.weights for part in parts]))

    @classmethod
    def heaviest(cls, matrix: sparse.csr_array, size: int) -> Self:
        """The ``size`` heaviest terms of each row (n, V), of equals the first ones, scaled to length 1."""
        sizes = np.diff(matrix.indptr)
        rows = np.repeat(np.arange(len(sizes)), sizes)
        order = np.lexsort((matrix.indices, -matrix.data, rows))  # which leaves the rows where they are
        positions = np.arange(len(rows)) - np.repeat(matrix.indptr[:-1], sizes)
        kept = (positions < size) & (matrix.data[order] > 0)
        terms, weights = np.zeros((len(sizes), size), dtype=np.int32), np.zeros((len(sizes), size))
        terms[rows[kept], positions[kept]] = matrix.indices[order][kept]
        weights[rows[kept], positions[kept]] = matrix.data[order][kept]
        length = np.sqrt((weights**2).sum(axis=1, keepdims=True))
        return cls(terms, (weights / np.where(length > 0, length, 1.0)).astype(np.float32))

    def take(self, rows: npt.NDArray[np.integer]) -> SparseVectors:
        """The given vectors, in their order."""
        return SparseVectors(self.terms[rows], self.weights[rows])

    def matrix(self, terms: int) -> sparse.csr_array:
        """(n, V) weights."""
        filled = self.terms > 0
        starts = np.concatenate(([0], np.cumsum(filled.sum(axis=1))))
        shape = (len(self), terms)
        return sparse.csr_array((self.weights[filled], self.terms[filled], starts), shape=shape)


class SparseVectorCache:
    """Sparse vectors by key, each made once."""

    def __init__(self, size: int) -> None:
        self._rows: dict[Hashable, int] = {}
        self._held = SparseVectors.empty(0, size)

    def rows(self, keys: Sequence[Hashable], make: Callable[[LongArray], SparseVectors]) -> LongArray:
        """(n,) rows of the keys in ``vectors``; ``make`` gives those of those positions that are new."""
        number, new = len(self._rows), []
        for position, key in enumerate(keys):
            if key not in self._rows:
                self._rows[key] = len(self._rows)
                new.append(position)
        if new:
            made = make(np.array(new, dtype=np.int64))
            if len(self._rows) > len(self._held):  # room for as many again, so that few at a time are not copied often
                room = SparseVectors.empty(len(self._rows) + number, self._held.terms.shape[1])
                room.terms[:number], room.weights[:number] = self._held.terms[:number], self._held.weights[:number]
                self._held = room
            self._held.terms[number : len(self._rows)] = made.terms
            self._held.weights[number : len(self._rows)] = made.weights
        return np.array([self._rows[key] for key in keys], dtype=np.int64)

    @property
    def vectors(self) -> SparseVectors:
        """All that were made."""
        number = len(self._rows)
        return SparseVectors(self._held.terms[:number], self._held.weights[:number])


def principal(rows: sparse.csr_array, width: int, seed: int) -> Float32Array:
    """(V, d) the first right singular vectors of rows (n, V), by a randomised decomposition; missing ones are 0."""
    number = min(width + _OVERSAMPLED, *rows.shape)
    single = rows.astype(np.float32)
    space = np.random.default_rng(seed).standard_normal((rows.shape[1], number)).astype(np.float32)
    with threadpool_limits(limits=1, user_api="blas"):  # another number of threads rounds otherwise
        for _ in range(_ROUNDS):
            space = np.linalg.qr(single.T @ (single @ space))[0]
        found = space @ np.linalg.svd(single @ space, full_matrices=False)[2].T
    made = np.zeros((rows.shape[1], width), dtype=np.float32)
    made[:, : min(width, number)] = found[:, :width]
    return made
