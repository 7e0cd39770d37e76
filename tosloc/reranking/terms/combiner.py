"""The combiner: LambdaMART where the dual encoder's component scores meet stage one's features.

It learns from the training reports, with out-of-fold predictions: what a dual encoder would have said of a report is
asked of one that learned from earlier reports alone (forward chaining); of those it learned from it says too much.

Shapes: C candidates, K features of stage one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Final

import numpy as np

from tosloc.errors import ToslocError
from tosloc.learning.lambdamart import DEPTH, HeadRanker, fit_trees
from tosloc.learning.ranking_lists import RankingLists
from tosloc.records import Float32Array, FloatArray
from tosloc.reranking.base import Candidates
from tosloc.reranking.terms.dual_encoder import CachedDualEncoder, DualEncoder

SHARES: Final = (0.4, 0.55, 0.7, 0.85, 1.0)
"""Shares of the training reports after which a new dual encoder learns; of the first share nothing is asked."""

Fit = Callable[[int], DualEncoder]
"""Dual encoder of the first so many training reports. Raises ToslocError where these teach nothing."""
Predict = Callable[[CachedDualEncoder, int], FloatArray]
"""(C, 2) component scores of the n-th report's candidates, by content and by history."""


def combiner_rows(features: Float32Array, component_scores: FloatArray) -> Float32Array:
    """(C, K + 3) features, both component scores, and how far their sum is below the best candidate's."""
    total = component_scores.sum(axis=1)
    below = total - total.max(initial=-np.inf)
    return np.column_stack([features, component_scores, below]).astype(np.float32)


def out_of_fold_predictions(reports: Sequence[Candidates], fit: Fit, predict: Predict) -> list[FloatArray]:
    """(C, 2) component scores for each training report, in the order of their fixes, by earlier dual encoders.

    Not a number for the first reports, and for those opened before the last fix that the dual encoder learned from.
    """
    predictions = [np.full((len(one), 2), np.nan) for one in reports]
    for start, end in pairwise(int(share * len(reports)) for share in SHARES):
        last_fix = max((one.fixed_at for one in reports[:start]), default=0)
        wanted = [number for number in range(start, end) if reports[number].opened >= last_fix]
        if not start or not wanted:
            continue
        try:
            encoder = CachedDualEncoder(fit(start))
        except ToslocError:
            continue
        for number in wanted:
            predictions[number] = predict(encoder, number)
    return predictions


def fit_combiner(
    reports: Sequence[Candidates],
    component_scores: Sequence[FloatArray],
    *,
    seed: int,
    weight: float,
) -> HeadRanker | None:
    """Combiner of the first ``depth`` candidates of each report; None where no report has a fixed file there."""
    heads = [
        (combiner_rows(one.features, scores)[:DEPTH], one.fixed[:DEPTH])
        for one, scores in zip(reports, component_scores, strict=True)
        if one.fixed[:DEPTH].any()
    ]
    return HeadRanker((), fit_trees(RankingLists.of(heads), seed), weight) if heads else None
