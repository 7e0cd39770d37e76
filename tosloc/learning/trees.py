"""Regression trees as arrays, and their sum for rows of features: LightGBM's own answer, to the last bit.

LightGBM is needed to learn trees; what it imports would take longer than answering a report.

Shapes: T trees, N nodes and leaves of all trees, k rows, K features.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tosloc.records import BoolArray, Float32Array, FloatArray, IntArray

_ZERO = np.float32(1e-35)
"""What is not larger than this counts as 0 (``kZeroThreshold``)."""
_DEFAULT_LEFT = 2
_MISSING_ZERO, _MISSING_NAN = 1, 2
"""Of ``decision_type``: where what is missing goes, and (shifted by two bits) what is missing."""


@dataclass(frozen=True, eq=False)
class Trees:
    """Trees of numeric splits. A leaf is a node whose children are itself."""

    features: int
    """K"""
    roots: IntArray
    """(T,) node at which each tree begins."""
    feature: IntArray
    """(N,) feature that the node asks for."""
    threshold: Float32Array
    """(N,) values up to it go left; rounded down to single precision, which for such values means the same."""
    decision: npt.NDArray[np.uint8]
    """(N,) LightGBM's ``decision_type``."""
    children: IntArray
    """(2 N,) left and right child of each node."""
    value: FloatArray
    """(N,) what a leaf adds."""

    @classmethod
    def of(cls, features: int, leaves: Sequence[int], columns: Sequence[npt.ArrayLike]) -> Trees:
        """Trees of so many ``leaves`` (T,) from the columns of LightGBM's text, one tree after the other.

        Columns: split_feature, threshold, decision_type, left_child, right_child, leaf_value. A child that is a leaf l
        is -1 - l.
        """
        inner = np.array(leaves, dtype=np.int64) - 1
        sizes = 2 * inner + 1  # of a tree: its splits, then its leaves
        roots = np.cumsum(sizes) - sizes
        total = int(sizes.sum())
        splits = np.repeat(roots - (np.cumsum(inner) - inner), inner) + np.arange(int(inner.sum()))
        is_leaf = np.ones(total, dtype=np.bool_)
        is_leaf[splits] = False

        def spread(column: npt.ArrayLike, where: npt.NDArray[np.int64] | BoolArray, fill: float) -> FloatArray:
            values = np.full(total, fill)
            values[where] = np.asarray(column, dtype=np.float64)
            return values

        threshold = spread(columns[1], splits, np.inf)
        rounded = threshold.astype(np.float32)
        rounded = np.where(rounded > threshold, np.nextafter(rounded, np.float32(-np.inf)), rounded)
        children = np.repeat(np.arange(total), 2)
        root, first_leaf = np.repeat(roots, inner), np.repeat(roots + inner, inner)
        for side, column in enumerate(columns[3:5]):
            child = np.asarray(column, dtype=np.int64)
            children[2 * splits + side] = np.where(child < 0, first_leaf - 1 - child, root + child)
        return cls(
            features,
            roots.astype(np.int32),
            spread(columns[0], splits, 0).astype(np.int32),
            rounded.astype(np.float32),
            spread(columns[2], splits, 0).astype(np.uint8),
            children.astype(np.int32),
            spread(columns[5], is_leaf, 0.0),
        )

    def scores(self, rows: Float32Array) -> FloatArray:
        """(k,) sums over the trees, in their order, of the leaves that the rows (k, K) come to."""
        values = np.where(np.abs(rows) <= _ZERO, np.float32(0.0), rows).ravel()
        start = np.arange(len(rows), dtype=np.int32) * np.int32(self.features)
        node = np.repeat(self.roots[:, None], len(rows), axis=1)
        special = bool((self.decision >> 2).any()) or not np.isfinite(values).all()
        while True:
            value = values[start + self.feature[node]]
            right = self._right(value, node) if special else value > self.threshold[node]
            below = self.children[2 * node + right]
            if np.array_equal(below, node):
                break
            node = below
        total = np.zeros(len(rows))
        for added in self.value[node]:  # one tree after the other: the order of the sum
            total += added
        return total

    def _right(self, value: Float32Array, node: IntArray) -> BoolArray:
        """Whether values go right, where some may be missing."""
        decision = self.decision[node]
        missing, no_number = decision >> 2, np.isnan(value)
        value = np.where(no_number & (missing != _MISSING_NAN), np.float32(0.0), value)
        absent = ((missing == _MISSING_ZERO) & (value == 0)) | ((missing == _MISSING_NAN) & no_number)
        right: BoolArray = np.where(absent, decision & _DEFAULT_LEFT == 0, value > self.threshold[node])
        return right
