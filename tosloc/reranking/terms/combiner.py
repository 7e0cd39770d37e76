"""The last layer over term vectors: where the encoder' scores meet stage one's features.

LambdaMART over both, learned from the training reports. What the encoder would have said of a training report is asked
of encoders that learned from earlier reports alone (forward chaining): of those that they learned from they say too
much.

Shapes: C candidates, K features of stage one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Final

import numpy as np

from tosloc.config import RankerSettings
from tosloc.errors import ToslocError
from tosloc.learning.lambdamart import HeadRanker
from tosloc.learning.ranking_lists import RankingLists, Rows
from tosloc.records import Case, FloatArray
from tosloc.reranking.terms.dual_encoder import CachedDualEncoder, CandidateRows, DualEncoder

SHARES: Final = (0.4, 0.55, 0.7, 0.85, 1.0)
"""Shares of the training reports after which new encoder learn; of the first share nothing is asked."""

Teach = Callable[[int], DualEncoder]
"""DualEncoder that learned from the first so many training reports. Raises ToslocError where these teach nothing."""
Ask = Callable[[CachedDualEncoder, CandidateRows], FloatArray]
"""(C, 2) what encoder say of a report's candidates, by content and by history."""


def last_rows(features: Rows, parts: FloatArray) -> Rows:
    """(C, K + 3) rows for the last layer: features, both encoder' scores, and how far their sum is below the best's."""
    total = parts.sum(axis=1)
    below = total - total.max(initial=-np.inf)
    return np.column_stack([features, parts, below]).astype(np.float32)


def unknown(number: int) -> FloatArray:
    """(C, 2) of encoder that may say nothing."""
    return np.full((number, 2), np.nan)


def chained(lists: Sequence[CandidateRows], cases: Sequence[Case], teach: Teach, ask: Ask) -> list[FloatArray]:
    """(C, 2) for each training report, in the order of their fixes, what earlier encoder say of its candidates.

    Unknown for the first reports, and for those opened before the last fix that the encoder learned from.
    """
    fixed_at = [int(case.fixed_at) for case in cases]
    found = [unknown(len(one.contents)) for one in lists]
    for start, end in pairwise(int(share * len(lists)) for share in SHARES):
        last = max(fixed_at[:start], default=0)
        asked = [place for place in range(start, end) if cases[place].report.opened_seconds >= last]
        if not start or not asked:
            continue
        try:
            cached = CachedDualEncoder(teach(start))
        except ToslocError:
            continue
        for place in asked:
            found[place] = ask(cached, lists[place])
    return found


def fit_last(
    settings: RankerSettings,
    lists: Sequence[CandidateRows],
    features: Sequence[Rows],
    parts: Sequence[FloatArray],
    *,
    seed: int,
    weight: float,
) -> HeadRanker | None:
    """The last layer of the first ``depth`` candidates of each list; None where no list holds a fixed file there."""
    heads = [
        (last_rows(rows, part)[: settings.depth], one.fixed[: settings.depth])
        for one, rows, part in zip(lists, features, parts, strict=True)
        if one.fixed[: settings.depth].any()
    ]
    return HeadRanker(settings, seed, weight).fit(RankingLists.of(heads)) if heads else None
