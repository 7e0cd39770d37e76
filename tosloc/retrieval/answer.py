"""What stage one says to one query: features and scores of every file, and why each stands where it stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Self

import numpy as np

from tosloc.index.context import QueryContext
from tosloc.index.postings import leaders
from tosloc.records import Float32Array, FloatArray, LongArray
from tosloc.retrieval import features
from tosloc.retrieval.explainer import LEADING, Explainer
from tosloc.retrieval.stage_one import StageOne

BLOCK: Final = 8192
"""Files whose features are put side by side together: so many rows stay in the processor's cache."""


@dataclass(frozen=True, eq=False)
class StageOneAnswer:
    """Every file of the version, in path order. F files, K features."""

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
        for start in range(0, context.files, BLOCK):
            part = slice(start, start + BLOCK)
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
