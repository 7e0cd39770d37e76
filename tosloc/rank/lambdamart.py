"""A learned ranker for the head of the list: LambdaMART over the same features (Burges 2010), by LightGBM.

LightGBM is needed to learn trees; what it imports would take longer than answering a report. So they are kept as
arrays, which give its own sums to the last bit. A split that sends a row right takes from its tree the leaves on its
left; the first leaf that is left, from left to right, is the row's (QuickScorer, Lucchese et al. 2015).

Shapes: T trees, k rows, K features, F files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt

from tosloc.arrays import Array, Arrays, checked
from tosloc.rank.feature_tables import RankingLists
from tosloc.records import Float32Array, FloatArray, IntArray

DEPTH: Final = 150  # files of the head that it orders; the rest keeps its order
ROUNDS: Final = 600  # trees
PARAMETERS: Final = {
    "objective": "lambdarank",
    "num_leaves": 15,
    "learning_rate": 0.05,
    "min_data_in_leaf": 200,
    "lambda_l2": 20.0,
    "feature_fraction": 0.35,
    "lambdarank_truncation_level": 20,
    "deterministic": True,
    "force_row_wise": True,
    "num_threads": 1,
    "verbosity": -1,
}
"""Of LightGBM; like the two above chosen on the training and validation reports of four projects (docs/features.md)."""
_MOST_LEAVES: Final = 16  # of a tree: one bit each
_LARGEST: Final = 1e9  # of a leaf; LightGBM learns none beyond 100


@dataclass(frozen=True, eq=False)
class Trees:
    """Trees of numeric splits, filled up with splits that send no row right. Whatever the numbers, each row has a sum.
    Values of rows are finite numbers.
    """

    feature: IntArray  # (T, 15) feature that each split asks for
    threshold: Float32Array
    """(T, 15) values up to it go left; rounded down to single precision, which for such values means the same."""
    left: npt.NDArray[np.uint16]  # (T, 15) the leaves on its left, as bits; leaves are numbered from left to right
    leaves: FloatArray  # (T, 16) what each leaf adds

    @classmethod
    def of_model(cls, model: Mapping[str, Any]) -> Self:
        """Trees of what LightGBM's ``Booster.dump_model`` gives, of at most 16 leaves."""
        largest, size = np.finfo(np.float32).max, (len(model["tree_info"]), _MOST_LEAVES - 1)
        feature, left = np.zeros(size, np.int32), np.zeros(size, np.uint16)
        threshold, leaves = np.full(size, largest, np.float64), np.zeros((len(feature), _MOST_LEAVES))
        for tree, made in enumerate(model["tree_info"]):
            splits, values = _collected(made["tree_structure"])
            leaves[tree, : len(values)] = values
            for place, split in enumerate(splits):
                feature[tree, place], threshold[tree, place], left[tree, place] = split
        threshold = np.minimum(threshold, largest)
        rounded = threshold.astype(np.float32)
        return cls(feature, np.where(rounded > threshold, np.nextafter(rounded, -largest), rounded), left, leaves)

    def to_arrays(self) -> Arrays:
        """Plain arrays, for ``from_arrays``."""
        return dict(vars(self))

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], features: int) -> Self:
        """Trees of ``to_arrays`` that ask for ``features``. Raises KeyError or ValueError when they are none."""
        leaves = checked(arrays, "leaves", np.float64, None, _MOST_LEAVES, least=-_LARGEST, below=_LARGEST)
        size = len(leaves), _MOST_LEAVES - 1
        feature = checked(arrays, "feature", np.int32, *size, below=features)
        return cls(
            feature, checked(arrays, "threshold", np.float32, *size), checked(arrays, "left", np.uint16, *size), leaves
        )

    def scores(self, rows: Float32Array) -> FloatArray:
        """(k,) sums over the trees, in their order, of the leaves that the rows (k, K) come to."""
        right = rows.T.take(self.feature, axis=0) > self.threshold[..., None]
        # to the bits of a leaf on the left add nothing where a row goes right, and all where it goes left
        kept = np.bitwise_and.reduce(~self.left[..., None] | (right - np.uint16(1)), axis=1)  # (T, k)
        lowest = np.frexp((kept & -kept).astype(np.float32))[1] - 1
        places = np.arange(0, self.leaves.size, _MOST_LEAVES)[:, None] + (lowest & (_MOST_LEAVES - 1))
        total = np.zeros(len(rows))
        for values in self.leaves.ravel().take(places):  # one tree after the other
            total += values
        return total


def _collected(node: Mapping[str, Any], first: int = 0) -> tuple[list[tuple[int, float, int]], list[float]]:
    """The splits (feature, threshold, leaves on the left as bits) and leaves of a node, whose ``first`` leaf it is."""
    if "split_feature" not in node:
        return [], [float(node["leaf_value"])]
    splits, values = _collected(node["left_child"], first)
    middle = first + len(values)
    more, others = _collected(node["right_child"], middle)
    own = int(node["split_feature"]), float(node["threshold"]), (1 << middle) - (1 << first)
    return [own, *splits, *more], values + others


@dataclass(frozen=True, eq=False)
class HeadRanker:
    """What orders the first ``DEPTH`` files; learned from heads, without knowledge of paths."""

    features: tuple[str, ...]  # names of what it reads of a feature table, before the two columns of head_rows
    trees: Trees
    weight: float  # what the trees' score is multiplied by before it is added to the linear score; chosen on validation


def head_rows(rows: Float32Array, scores: FloatArray) -> Float32Array:
    """(k, K+2) features of the head, linear score below the leader's, and ln(1 + rank); rows stand in rank order."""
    rank = np.arange(1, len(rows) + 1, dtype=np.float32)
    return np.column_stack([rows, (scores - scores[0]).astype(np.float32), np.log1p(rank)]).astype(np.float32)


def fit_trees(heads: RankingLists, seed: int, rounds: int | None = None) -> Trees:
    """Trees learned from heads, ``ROUNDS`` of them; deterministic for a seed. A report's pairs count as much as the
    report does.
    """
    import lightgbm

    weights = np.repeat(heads.report_weights, heads.sizes)
    data = lightgbm.Dataset(heads.rows, heads.fixed.astype(np.int32), weight=weights, group=heads.sizes.tolist())
    return Trees.of_model(lightgbm.train(PARAMETERS | {"seed": seed}, data, rounds or ROUNDS).dump_model())


def raised(scores: FloatArray, order: np.ndarray, head: FloatArray) -> FloatArray:
    """(F,) scores in which the files ``order`` have the scores ``head``, raised above all the rest if need be."""
    rest = np.delete(scores, order)
    floor = float(rest.max()) if len(rest) else 0.0
    lowest = float(head.min())
    new = scores.copy()
    new[order] = head if lowest > floor else head - lowest + np.nextafter(floor, np.inf) + 1e-6
    return new
