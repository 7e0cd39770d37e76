"""A learned ranker for the head of the list: LambdaMART over the same features (Burges 2010), by LightGBM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from tosloc.rank.ranking_lists import RankingLists
from tosloc.rank.trees import Trees
from tosloc.records import Float32Array, FloatArray

# chosen on the training and validation reports of four projects (docs/features.md)
DEPTH: Final = 150
"""Files of the head that it orders; the rest keeps its order."""
ROUNDS: Final = 600
"""Trees."""
LEAVES: Final = 15
LEARNING_RATE: Final = 0.05
MIN_LEAF: Final = 200
"""Files that a leaf holds at least."""
L2: Final = 20.0
FEATURE_FRACTION: Final = 0.35
"""Share of the features that a tree sees."""
TRUNCATION: Final = 20
"""Ranks whose swaps count."""


@dataclass(frozen=True, eq=False)
class HeadRanker:
    """What orders the first ``DEPTH`` files; learned from heads, without knowledge of paths."""

    features: tuple[str, ...]
    """Names of what it reads of a feature table, before the two columns of ``head_rows``."""
    trees: Trees
    weight: float
    """What the trees' score is multiplied by before it is added to the linear score; chosen on validation."""


def head_rows(rows: Float32Array, scores: FloatArray) -> Float32Array:
    """(k, K+2) features of the head, linear score below the leader's, and ln(1 + rank); rows stand in rank order."""
    rank = np.arange(1, len(rows) + 1, dtype=np.float32)
    below = (scores - scores[0]).astype(np.float32) if len(scores) else np.zeros(0, dtype=np.float32)
    return np.column_stack([rows, below, np.log1p(rank)]).astype(np.float32)


def fit_trees(heads: RankingLists, seed: int, rounds: int | None = None) -> Trees:
    """Trees learned from heads, ``ROUNDS`` of them; deterministic for a seed.

    A report's pairs count as much as the report does.
    """
    import lightgbm

    alike = bool((heads.report_weights == 1).all())
    data = lightgbm.Dataset(
        heads.rows,
        label=heads.fixed.astype(np.int32),
        weight=None if alike else np.repeat(heads.report_weights, heads.sizes),
        group=heads.sizes.tolist(),
        free_raw_data=True,
    )
    parameters = {
        "objective": "lambdarank",
        "num_leaves": LEAVES,
        "learning_rate": LEARNING_RATE,
        "min_data_in_leaf": MIN_LEAF,
        "lambda_l2": L2,
        "feature_fraction": FEATURE_FRACTION,
        "lambdarank_truncation_level": TRUNCATION,
        "seed": seed,
        "deterministic": True,
        "force_row_wise": True,
        "num_threads": 1,
        "verbosity": -1,
    }
    return Trees.of_model(lightgbm.train(parameters, data, num_boost_round=rounds or ROUNDS).dump_model())


def reorder_head(scores: FloatArray, order: np.ndarray, learned: FloatArray, weight: float) -> FloatArray:
    """(F,) scores: the files ``order`` by their linear and weighted ``learned`` scores (k,), above all the rest."""
    return raised(scores, order, (scores[order] + weight * learned) / (1 + weight))


def raised(scores: FloatArray, order: np.ndarray, head: FloatArray) -> FloatArray:
    """(F,) scores in which the files ``order`` have the scores ``head``, raised above all the rest if need be."""
    rest = np.delete(scores, order)
    floor = float(rest.max()) if len(rest) else 0.0
    lowest = float(head.min()) if len(head) else 0.0
    new = scores.copy()
    new[order] = head if lowest > floor else head - lowest + np.nextafter(floor, np.inf) + 1e-6
    return new
