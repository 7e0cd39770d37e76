"""Stage one: from features to the scores of every file, and why each stands where it stands. F files, K features."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, Self

import numpy as np

from tosloc.index.context import QueryContext
from tosloc.index.postings import leaders
from tosloc.rank import features, lambdamart
from tosloc.rank.explainer import LEADING, Explainer
from tosloc.rank.lambdamart import HeadRanker, head_rows, reorder_head
from tosloc.rank.linear import weighted_sums
from tosloc.records import Float32Array, FloatArray, LongArray

_BLOCK: Final = 8192
"""Files whose features are put side by side together: so many rows stay in the processor's cache."""


@dataclass(frozen=True, eq=False)
class StageOne:
    """A weighted sum of features, and where one was learned a ranker for the first files."""

    features: tuple[str, ...]
    weights: FloatArray
    """(K,)"""
    ranker: HeadRanker | None = None
    """Its features are among these."""

    def __post_init__(self) -> None:
        if len(self.features) != len(self.weights):
            raise ValueError(f"{len(self.features)} features but {len(self.weights)} weights")

    def aligned(self, names: tuple[str, ...]) -> StageOne | None:
        """The same decision for tables of other features: one that it does not know has weight 0.

        None where a feature that it knows is not among them.
        """
        if not set(self.features) <= set(names):
            return None
        known = dict(zip(self.features, self.weights.tolist(), strict=True))
        return replace(self, features=names, weights=np.array([known.get(name, 0.0) for name in names]))

    def linear(self, table: Float32Array | FloatArray) -> FloatArray:
        """(F,) weighted sums of a feature table (F, K), in single precision so that every path to it rounds alike.

        Features of weight 0 are left out, so that one that is not known changes no bit.
        """
        used = np.flatnonzero(self.weights)
        if len(used) < len(self.weights):
            table = table[:, used]
        return weighted_sums(np.ascontiguousarray(table, dtype=np.float32), self.weights[used])

    def head(
        self, ranker: HeadRanker, table: Float32Array | FloatArray, scores: FloatArray
    ) -> tuple[LongArray, Float32Array]:
        """The files that a ranker orders by their linear scores (F,), and what it reads of them."""
        order = leaders(scores, lambdamart.DEPTH)
        columns = np.array([self.features.index(name) for name in ranker.features], dtype=np.int64)
        return order, head_rows(table[np.ix_(order, columns)].astype(np.float32), scores[order])

    def scores(self, table: Float32Array | FloatArray) -> FloatArray:
        """(F,) final scores of a feature table (F, K) whose rows are in path order."""
        scores = self.linear(table)
        if self.ranker is None or not len(scores):
            return scores
        order, rows = self.head(self.ranker, table, scores)
        return reorder_head(scores, order, self.ranker.trees.scores(rows), self.ranker.weight)


@dataclass(frozen=True, eq=False)
class StageOneAnswer:
    """What stage one says to one query of every file of the version, in path order."""

    context: QueryContext
    stage: StageOne
    columns: Mapping[str, FloatArray]
    """Feature -> (F,) values."""
    table: Float32Array
    """(F, K) the same side by side, in single precision."""
    scores: FloatArray
    """(F,)"""

    @classmethod
    def of(cls, context: QueryContext, stage: StageOne) -> Self:
        """Stage one's answer to a query."""
        columns = features.columns(context, stage.features)
        table = np.empty((context.files, len(stage.features)), dtype=np.float32)
        for start in range(0, context.files, _BLOCK):
            part = slice(start, start + _BLOCK)
            for number, name in enumerate(stage.features):
                table[part, number] = columns[name][part]
        return cls(context, stage, columns, table, stage.scores(table))

    @cached_property
    def order(self) -> LongArray:
        """(F,) the files, best first; equal scores keep path order."""
        order: LongArray = np.argsort(-self.scores, kind="stable")
        return order

    @cached_property
    def explainer(self) -> Explainer:
        """Reasons for the files."""
        weights = dict(zip(self.stage.features, self.stage.weights.tolist(), strict=True))
        scores = self.scores  # and not this answer, which would keep itself in memory
        return Explainer(self.context, self.columns, weights, lambda: leaders(scores, LEADING).tolist())
