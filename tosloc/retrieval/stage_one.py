"""Stage one's decision: from a feature table to the scores of every file."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tosloc.index.postings import leaders
from tosloc.learning.lambdamart import HeadRanker, head_rows, reorder_head
from tosloc.learning.linear import weighted_sums
from tosloc.records import Float32Array, FloatArray


@dataclass(frozen=True, eq=False)
class StageOne:
    """A weighted sum of features, and where one was learned a ranker for the first files."""

    features: tuple[str, ...]
    weights: FloatArray
    """(K,)"""
    ranker: HeadRanker | None = None

    def __post_init__(self) -> None:
        if len(self.features) != len(self.weights):
            raise ValueError(f"{len(self.features)} features but {len(self.weights)} weights")

    def linear(self, table: Float32Array | FloatArray) -> FloatArray:
        """(F,) weighted sums of a feature table (F, K), in single precision so that every path to it rounds alike."""
        return weighted_sums(np.ascontiguousarray(table, dtype=np.float32), self.weights)

    def scores(self, table: Float32Array | FloatArray) -> FloatArray:
        """(F,) final scores of a feature table (F, K) whose rows are in path order."""
        scores = self.linear(table)
        if self.ranker is None or not len(scores):
            return scores
        order = leaders(scores, self.ranker.depth)
        rows = head_rows(table[order].astype(np.float32), scores[order])
        return reorder_head(scores, order, self.ranker.scores(rows), self.ranker.weight_)
