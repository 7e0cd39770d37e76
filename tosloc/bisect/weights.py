"""Compute how likely each commit of a range introduced the fault of a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from tosloc.core.arrays import FloatArray
from tosloc.core.progress import Progress, ignore_progress
from tosloc.localize.localizer import Localizer
from tosloc.localize.question import Question

EVEN_SHARE: Final = 0.2
"""Part of the weight that is divided equally among the commits, because suspects may be wrong."""


def score_suspects(
    localizer: Localizer, question: Question, progress: Progress = ignore_progress
) -> dict[str, float]:
    """Return commit id -> log odds, for commits that may have introduced the fault of a report.

    Raises the errors of ``Localizer.find_suspects``.
    """
    candidates = localizer.find_suspects(question, progress)
    return dict(zip(candidates.commits, candidates.log_odds().tolist(), strict=True))


def weigh_commits(commits: Sequence[str], scores: Mapping[str, float]) -> FloatArray:
    """Return (D,) the probability that each commit introduced the fault; the sum is 1.

    It is a weighted mean of two parts: the softmax of the suspects' log odds, and an equal share
    for each commit. Without suspects, all commits have the same probability.
    """
    values = np.array([scores.get(commit, -np.inf) for commit in commits])
    even = np.full(len(commits), 1 / len(commits))
    highest = values.max()
    if highest == -np.inf:
        return even
    odds = np.exp(values - highest)
    result: FloatArray = (1 - EVEN_SHARE) * odds / odds.sum() + EVEN_SHARE * even
    return result
