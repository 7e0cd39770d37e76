"""Curves, counts and shares of an evaluation, for figures. Every mean is over all reports; what is not ranked adds 0.

Shares: of the answers whose first share is about so much, as many should be right. Ten bins of equal width and the
expected calibration error (Naeini et al., AAAI 2015), for the event that the first file is one that the fix changed; an
answer to a report without fixed files is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Self

import numpy as np

from tosloc.calibration import JudgedAnswer, shares
from tosloc.errors import RunError
from tosloc.evaluate.evaluate import Evaluation
from tosloc.evaluate.judgements import Qrels
from tosloc.evaluate.runs import Run
from tosloc.records import BoolArray, FloatArray, IntArray

BIN_ENDS: Final = (1, 5, 10, 50, 100, 300)  # last rank of each bin; beyond them come two more: later ranks, and no rank
BIN_NAMES: Final = ("1", "2–5", "6–10", "11–50", "51–100", "101–300", ">300", "not\nranked")
BINS: Final = 10  # of shares
DRAWS: Final = 1000  # times that perfectly calibrated answers are drawn, to see what error chance alone gives


def coverage_curve(evaluation: Evaluation, cuts: Sequence[int]) -> FloatArray:
    """(K,) share of all fixed files within the first k, for each k of ``cuts``."""
    ranks = np.sort(np.array([rank for one in evaluation.per_report for rank in one.ranks], dtype=np.int64))
    return np.searchsorted(ranks, cuts, side="right") / (evaluation.relevant or 1)


def any_curve(evaluation: Evaluation, cuts: Sequence[int]) -> FloatArray:
    """(K,) share of the reports with any fixed file within the first k, for each k of ``cuts``."""
    first = np.sort(np.array([one.ranks[0] for one in evaluation.per_report if one.ranks], dtype=np.int64))
    return np.searchsorted(first, cuts, side="right") / (len(evaluation.per_report) or 1)


def first_hits(evaluation: Evaluation) -> IntArray:
    """(8,) reports whose first fixed file has a rank up to each of ``BIN_ENDS``, a later one, and none."""
    first = [one.ranks[0] if one.ranks else math.inf for one in evaluation.per_report]
    bins = [len(BIN_ENDS) + 1 if rank == math.inf else int(np.searchsorted(BIN_ENDS, rank)) for rank in first]
    return np.bincount(np.array(bins, dtype=np.int64), minlength=len(BIN_NAMES)).astype(np.int32)


class Bin(NamedTuple):
    """Answers whose first share lies between ``low`` and ``high``, which belongs to the next bin, 1.0 to the last."""

    low: float
    high: float
    answers: int
    share: float  # mean of their first shares; NaN where there is no answer
    right: float  # share of them whose first file is right; NaN where there is no answer


@dataclass(frozen=True, slots=True)
class Reliability:
    """How sure N answers are beside how often their first file is right."""

    answers: int
    right: float  # share of the answers whose first file is right
    share: float  # mean first share
    error: float  # expected calibration error: mean over the answers of |right - share| of their bin
    error_by_chance: float
    """Mean error of as many answers with these shares that are right exactly as often as the shares say: above 0
    because a bin of n answers is off by chance; what ``error`` should be compared with."""
    bins: tuple[Bin, ...]

    @classmethod
    def of(cls, answers: Sequence[JudgedAnswer], temperature: float) -> Self:
        """Of answers with their scores, at a temperature; one about a version without files says nothing."""
        answers = [answer for answer in answers if len(answer.scores)]
        first = [float(shares(answer.scores, temperature)[0]) for answer in answers]
        return cls.of_shares(np.array(first), np.array([answer.right for answer in answers], dtype=np.bool_))

    @classmethod
    def of_shares(cls, first: FloatArray, right: BoolArray) -> Self:
        """Of (N,) first shares, and (N,) whether the file is right."""
        places, bins = np.minimum((first * BINS).astype(np.int64), BINS - 1), []
        for number in range(BINS):
            inside = places == number
            means = [float(one[inside].mean()) if inside.any() else math.nan for one in (first, right)]
            bins.append(Bin(number / BINS, (number + 1) / BINS, int(inside.sum()), *means))
        drawn = np.random.default_rng(7).random((DRAWS, len(first))) < first
        member = (places[:, None] == np.arange(BINS)).astype(np.float64)
        outcomes = np.vstack([right[None, :], drawn]).astype(np.float64)
        errors = np.abs((outcomes - first) @ member).sum(axis=1) / (len(first) or 1)
        right_share, share = (float(one.mean()) if len(first) else 0.0 for one in (right, first))
        return cls(len(first), right_share, share, float(errors[0]), float(errors[1:].mean()), tuple(bins))


def judged_answers(run: Run, qrels: Qrels) -> list[JudgedAnswer]:
    """The answers of a run, by report. Raises RunError where one of a judged report lacks, or has no scores."""
    answers = []
    for report, judgement in sorted(qrels.judgements.items()):
        if report not in run.orders:
            raise RunError(f"{run.where}: no ranking of report {report}")
        order = run.orders[report]
        if order.known_ranks is not None:
            raise RunError(f"{run.where}: report {report} has no scores, which shares are made of")
        answers.append(JudgedAnswer(order.scores, any(path in judgement.fixed for path in run.paths(report, 1))))
    return answers
