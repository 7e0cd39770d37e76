"""Regression trees as arrays, and their sum for rows of features: LightGBM's own answer, to the last bit.

LightGBM is needed to learn trees; what it imports would take longer than answering a report.

Shapes: T trees, N nodes and leaves of all trees, k rows, K features.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tosloc.records import BoolArray, Float32Array, FloatArray, LongArray

_ZERO = np.float32(1e-35)
"""What is not larger than this counts as 0 (``kZeroThreshold``)."""
_BEFORE_TABLES = 3
"""Calls that are answered node by node, before tables are made: a command asks once."""
_TABLE_LEAVES = 16
_TABLE_BYTES = 1 << 26
_DEFAULT_LEFT = 2
_MISSING_ZERO, _MISSING_NAN = 1, 2
"""Of ``decision_type``: where what is missing goes, and (shifted by two bits) what is missing."""


@dataclass(frozen=True, eq=False)
class Trees:
    """Trees of numeric splits. A leaf is a node whose children are itself."""

    features: int
    """K"""
    roots: LongArray
    """(T,) node at which each tree begins."""
    feature: LongArray
    """(N,) feature that the node asks for."""
    threshold: Float32Array
    """(N,) values up to it go left; rounded down to single precision, which for such values means the same."""
    decision: npt.NDArray[np.uint8]
    """(N,) LightGBM's ``decision_type``."""
    children: LongArray
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
            roots,
            spread(columns[0], splits, 0).astype(np.int64),
            rounded.astype(np.float32),
            spread(columns[2], splits, 0).astype(np.uint8),
            children,
            spread(columns[5], is_leaf, 0.0),
        )

    def scores(self, rows: Float32Array) -> FloatArray:
        """(k,) sums over the trees, in their order, of the leaves that the rows (k, K) come to."""
        rows = np.where(np.abs(rows) <= _ZERO, np.float32(0.0), rows)
        self._asked.append(len(rows))
        if len(self._asked) <= _BEFORE_TABLES or self._tables is None or not np.isfinite(rows).all():
            values = self.value.take(self._leaves(rows))
        else:
            values = self._tables.values(rows)
        if len(rows) == 1:  # of a single column NumPy would add pairs
            return np.cumsum(np.append(0.0, values))[-1:]
        total: FloatArray = np.add.reduce(values, axis=0, initial=0.0)  # row by row: one tree after the other
        return total

    @cached_property
    def _asked(self) -> deque[int]:
        return deque(maxlen=_BEFORE_TABLES + 1)

    @cached_property
    def _tables(self) -> _Tables | None:
        return _Tables.of(self)

    def _leaves(self, rows: Float32Array) -> LongArray:
        """(T, k) node of the leaf that each row comes to in each tree."""
        values = rows.ravel()
        start = np.arange(len(rows)) * self.features
        node = np.repeat(self.roots[:, None], len(rows), axis=1)
        special = bool((self.decision >> 2).any()) or not np.isfinite(values).all()
        while True:
            value = values.take(start + self.feature.take(node))
            right = self._right(value, node) if special else value > self.threshold.take(node)
            below = self.children.take(2 * node + right)
            if np.array_equal(below, node):
                return node
            node = below

    def _right(self, value: Float32Array, node: LongArray) -> BoolArray:
        """Whether values go right, where some may be missing."""
        decision = self.decision[node]
        missing, no_number = decision >> 2, np.isnan(value)
        value = np.where(no_number & (missing != _MISSING_NAN), np.float32(0.0), value)
        absent = ((missing == _MISSING_ZERO) & (value == 0)) | ((missing == _MISSING_NAN) & no_number)
        right: BoolArray = np.where(absent, decision & _DEFAULT_LEFT == 0, value > self.threshold[node])
        return right


@dataclass(frozen=True, eq=False)
class _Tables:
    """The trees as bits of leaves (QuickScorer, Lucchese et al. 2015), for trees of few leaves and no missing values.

    A split that sends a row right takes from the tree the leaves on its left; the first leaf that is left, from left to
    right, is the row's. Of a feature, the splits that send a value right are those of the smaller thresholds.
    """

    thresholds: tuple[Float32Array, ...]
    """Of each feature, rising."""
    masks: tuple[npt.NDArray[np.uint16], ...]
    """Of each feature (thresholds + 1, T): the leaves that are left when so many of its splits send a row right."""
    outputs: FloatArray
    """(T, 16) what the leaves add, from left to right."""

    @classmethod
    def of(cls, trees: Trees) -> _Tables | None:
        """None for trees that have too many leaves, or too much in all."""
        inner = np.flatnonzero(trees.children[::2] != np.arange(len(trees.value)))
        sizes = np.diff(np.append(trees.roots, len(trees.value)))
        if (trees.decision >> 2).any() or sizes.max(initial=1) >= 2 * _TABLE_LEAVES:
            return None
        if 2 * (len(inner) + trees.features) * len(trees.roots) > _TABLE_BYTES:
            return None
        tree_of = np.repeat(np.arange(len(trees.roots)), sizes)
        outputs = np.zeros((len(trees.roots), _TABLE_LEAVES))
        taken = np.zeros(len(trees.value), dtype=np.uint16)
        for tree, root in enumerate(trees.roots.tolist()):
            _number(trees, tree, root, outputs, taken)
        thresholds, masks = [], []
        for feature in range(trees.features):
            splits = inner[trees.feature[inner] == feature]
            splits = splits[np.argsort(trees.threshold[splits], kind="stable")]
            table = np.full((len(splits) + 1, len(trees.roots)), 0xFFFF, dtype=np.uint16)
            table[np.arange(1, len(splits) + 1), tree_of[splits]] = ~taken[splits]
            thresholds.append(trees.threshold[splits])
            masks.append(np.bitwise_and.accumulate(table, axis=0))
        return cls(tuple(thresholds), tuple(masks), outputs)

    def values(self, rows: Float32Array) -> FloatArray:
        """(T, k) what each tree adds to each row."""
        left = np.full((len(rows), len(self.outputs)), 0xFFFF, dtype=np.uint16)
        kept = np.empty_like(left)
        for feature, (thresholds, masks) in enumerate(zip(self.thresholds, self.masks, strict=True)):
            if len(thresholds):
                sent = np.searchsorted(thresholds, rows[:, feature])
                masks.take(sent, axis=0, out=kept, mode="clip")  # else NumPy fills another array first
                np.bitwise_and(left, kept, out=left)
        places = np.arange(0, self.outputs.size, _TABLE_LEAVES)[:, None] + _LOWEST_BIT.take(left.T)
        return self.outputs.ravel().take(places)


_LOWEST_BIT = np.zeros(1 << _TABLE_LEAVES, dtype=np.uint8)
"""Place of the lowest bit of each number."""
for _bit in range(_TABLE_LEAVES):
    _LOWEST_BIT[1 << _bit :: 2 << _bit] = _bit


def _number(trees: Trees, tree: int, root: int, outputs: FloatArray, taken: npt.NDArray[np.uint16]) -> None:
    """Number the leaves of a tree from left to right; ``taken`` gets the bits of the leaves on each split's left."""
    leaves = 0
    begun: dict[int, int] = {}
    waiting = [(root, False)]
    while waiting:
        node, left_done = waiting.pop()
        left, right = trees.children[2 * node : 2 * node + 2].tolist()
        if left == node:
            outputs[tree, leaves] = trees.value[node]
            leaves += 1
        elif left_done:
            taken[node] = (1 << leaves) - (1 << begun[node])
            waiting.append((right, False))
        else:
            begun[node] = leaves
            waiting += [(node, True), (left, False)]
