"""Why a file stands where it stands: the features that lifted it most."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np

from tosloc.index.context import QueryContext
from tosloc.records import FloatArray, Reason
from tosloc.retrieval.features import FEATURES, prior
from tosloc.retrieval.reasons import LEADING_FILES, ReasonText, ReasonTexts

SHOWN = 4
"""Reasons a file, at most."""


class Explainer:
    """Reasons for the files of one answered query."""

    def __init__(self, context: QueryContext, columns: Mapping[str, FloatArray], weights: Mapping[str, float]) -> None:
        @cache
        def leading() -> list[int]:
            order: list[int] = np.argsort(-prior(columns), kind="stable")[:LEADING_FILES].tolist()
            return order

        self.columns, self.weights = columns, weights
        self.texts = ReasonTexts(context, leading)

    def why(self, file: int) -> tuple[Reason, ...]:
        """The features that lift the file most, largest first, features that say the same thing as one."""
        groups: dict[ReasonText, tuple[str, float]] = {}
        for name, weight in self.weights.items():
            share = weight * float(self.columns[name][file])
            reason = FEATURES[name].reason
            if share > 0 and reason is not None:
                first, total = groups.get(reason, (name, 0.0))
                groups[reason] = (first, total + share)
        largest = sorted(groups.items(), key=lambda item: (-item[1][1], item[1][0]))[:SHOWN]
        return tuple(Reason(name, self._said(reason, file)) for reason, (name, _) in largest)

    def _said(self, reason: ReasonText, file: int) -> str:
        return reason if isinstance(reason, str) else reason(self.texts, file)

    def as_answered(self, asked: str, found: str) -> str:
        """A term of the report as it was written, and the term of a file that answers it, where that is another."""
        return self.texts.as_written(asked) + ("" if asked == found else f" ~ {found}")
