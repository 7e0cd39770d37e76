"""How likely each commit of a range introduced the fault of a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from tosloc.core.arrays import FloatArray
from tosloc.core.progress import Progress, ignore_progress
from tosloc.localize.localizer import Localizer
from tosloc.localize.question import Question

EVEN_SHARE: Final = 0.2
"""Part of the weight that all commits of a range share evenly, because a suspect may be wrong."""


def score_suspects(
    localizer: Localizer, question: Question, progress: Progress = ignore_progress
) -> dict[str, float]:
    """Return the log odds of each commit that may have introduced the fault of a report.

    Raises as ``Localizer.find_suspects`` does.
    """
    candidates = localizer.find_suspects(question, progress)
    return dict(zip(candidates.commits, candidates.log_odds().tolist(), strict=True))


def weigh_commits(commits: Sequence[str], scores: Mapping[str, float]) -> FloatArray:
    """Return (D,) the probability that each commit introduced the fault, summing to 1.

    It is the softmax of the log odds of the suspects among the commits, and an even share of each
    commit. Without a suspect all commits are equal.
    """
    values = np.array([scores.get(commit, -np.inf) for commit in commits])
    even = np.full(len(commits), 1 / len(commits))
    highest = values.max()
    if highest == -np.inf:
        return even
    odds = np.exp(values - highest)
    result: FloatArray = (1 - EVEN_SHARE) * odds / odds.sum() + EVEN_SHARE * even
    return result
