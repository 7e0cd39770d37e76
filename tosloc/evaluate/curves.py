"""Curves and counts of an evaluation, for figures. Every mean is over all reports; what is not ranked adds 0."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

import numpy as np

from tosloc.evaluate.evaluate import Evaluation
from tosloc.records import FloatArray, IntArray

RECALL_LEVELS: Final = 11
BINS: Final = ((1, 1), (2, 5), (6, 10), (11, 50), (51, 100), (101, 300))
"""First and last rank of each bin; beyond them come two more: later ranks, and no rank."""
BIN_NAMES: Final = ("1", "2–5", "6–10", "11–50", "51–100", "101–300", ">300", "not\nranked")


def precision_at_recall(evaluation: Evaluation) -> tuple[FloatArray, FloatArray]:
    """(S + 1,) recall levels from 0 to 1 and (S,) the mean precision between each two of them, **uninterpolated**.

    A report with R fixed files needs its j-th to reach any recall in ((j - 1) / R, j / R]: there its precision is
    j / rank of the j-th, and 0 if that is not ranked. The mean over all reports is a step function too. The area under
    a report's steps is its textbook average precision, so the area under the mean is MAP.
    """
    changes: dict[Fraction, list[float]] = defaultdict(list)
    changes[Fraction(0)], changes[Fraction(1)] = [0.0], [0.0]
    for one in evaluation.per_report:
        relevant, before = one.outcome.relevant, 0.0
        for place in range(1, relevant + 1):
            precision = place / one.ranks[place - 1] if place <= len(one.ranks) else 0.0
            changes[Fraction(place - 1, relevant)] += [-before, precision]
            before = precision
    levels = sorted(changes)
    gained = np.cumsum([math.fsum(changes[level]) for level in levels[:-1]])
    return np.array([float(level) for level in levels]), np.maximum(gained, 0.0) / (len(evaluation.per_report) or 1)


def interpolated_precision(evaluation: Evaluation) -> FloatArray:
    """(11,) the mean, at recall 0, .1, ..., 1, of each report's best precision at that recall **or any higher one**.

    Eleven-point interpolated average precision (Manning et al. 2008, section 8.4).
    """
    sums: list[list[float]] = [[] for _ in range(RECALL_LEVELS)]
    for one in evaluation.per_report:
        best, place = 0.0, len(one.ranks)
        for level in range(RECALL_LEVELS - 1, -1, -1):
            while place > 0 and place * (RECALL_LEVELS - 1) >= level * one.outcome.relevant:
                best = max(best, place / one.ranks[place - 1])
                place -= 1
            sums[level].append(best)
    return np.array([math.fsum(values) for values in sums]) / (len(evaluation.per_report) or 1)


def coverage_curve(evaluation: Evaluation, cuts: Sequence[int]) -> FloatArray:
    """(K,) share of all fixed files within the first k, for each k of ``cuts``."""
    ranks = np.sort(np.array([rank for one in evaluation.per_report for rank in one.ranks], dtype=np.int64))
    return np.searchsorted(ranks, cuts, side="right") / (evaluation.relevant or 1)


def any_curve(evaluation: Evaluation, cuts: Sequence[int]) -> FloatArray:
    """(K,) share of the reports with any fixed file within the first k, for each k of ``cuts``."""
    first = np.sort(np.array([one.ranks[0] for one in evaluation.per_report if one.ranks], dtype=np.int64))
    return np.searchsorted(first, cuts, side="right") / (len(evaluation.per_report) or 1)


def first_hits(evaluation: Evaluation) -> IntArray:
    """(8,) reports whose first fixed file has a rank in each of ``BINS``, a later one, and none."""
    first = [one.ranks[0] if one.ranks else math.inf for one in evaluation.per_report]
    counts = [sum(low <= rank <= high for rank in first) for low, high in BINS]
    later = sum(BINS[-1][1] < rank < math.inf for rank in first)
    return np.array([*counts, later, first.count(math.inf)], dtype=np.int32)


def largest_rank(evaluation: Evaluation) -> int:
    """The highest rank of any fixed file; 1 if none is ranked."""
    return max([one.ranks[-1] for one in evaluation.per_report if one.ranks], default=1)
