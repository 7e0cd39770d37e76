"""Whether shares mean what they say: of the answers whose first share is about so much, as many should be right.

Ten bins of equal width and the expected calibration error (Naeini et al., AAAI 2015), for the event that the first file
is one that the fix changed; an answer to a report without fixed files is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple, Self

import numpy as np

from tosloc.calibration import JudgedAnswer, shares
from tosloc.errors import RunError
from tosloc.evaluate.judgements import Qrels
from tosloc.evaluate.runs import Run
from tosloc.records import BoolArray, FloatArray, LongArray

BINS: Final = 10
DRAWS: Final = 1000
"""Times that perfectly calibrated answers are drawn, to see what error chance alone gives."""


class Bin(NamedTuple):
    """Answers whose first share lies between ``low`` and ``high``."""

    low: float
    high: float
    answers: int
    share: float
    """Mean of their first shares; NaN where there is no answer."""
    right: float
    """Share of them whose first file is right; NaN where there is no answer."""


@dataclass(frozen=True, eq=False)
class Reliability:
    """First shares of N answers, and which of them were right."""

    shares: FloatArray
    """(N,)"""
    right: BoolArray
    """(N,)"""

    @classmethod
    def of(cls, answers: Sequence[JudgedAnswer], temperature: float) -> Self:
        """Of answers with their scores, at a temperature; one about a version without files says nothing."""
        answers = [answer for answer in answers if len(answer.scores)]
        first = [float(shares(answer.scores, temperature)[0]) for answer in answers]
        return cls(np.array(first), np.array([answer.right for answer in answers], dtype=np.bool_))

    @cached_property
    def bins(self) -> tuple[Bin, ...]:
        """Ten bins of equal width; 1.0 belongs to the last."""
        places = _bin_of(self.shares)
        rows = []
        for number in range(BINS):
            inside = places == number
            share = float(self.shares[inside].mean()) if inside.any() else float("nan")
            right = float(self.right[inside].mean()) if inside.any() else float("nan")
            rows.append(Bin(number / BINS, (number + 1) / BINS, int(inside.sum()), share, right))
        return tuple(rows)

    @property
    def right_share(self) -> float:
        """Share of the answers whose first file is right."""
        return float(self.right.mean()) if len(self.right) else 0.0

    @property
    def mean_share(self) -> float:
        """Mean first share."""
        return float(self.shares.mean()) if len(self.shares) else 0.0

    @property
    def error(self) -> float:
        """Expected calibration error: mean over the answers of |right - share| of their bin."""
        return float(_errors(self.shares, self.right[None, :].astype(np.float64))[0])

    def error_by_chance(self, seed: int = 7) -> float:
        """Mean error of as many answers with these shares that are right exactly as often as the shares say.

        Above 0 because a bin of n answers is off by chance: what ``error`` should be compared with.
        """
        rng = np.random.default_rng(seed)
        drawn = rng.random((DRAWS, len(self.shares))) < self.shares
        return float(_errors(self.shares, drawn.astype(np.float64)).mean())


def judged_answers(run: Run, qrels: Qrels) -> list[JudgedAnswer]:
    """The answers of a run, by report. Raises RunError where one of a judged report lacks, or has no scores."""
    answers = []
    for report, judgement in sorted(qrels.judgements.items()):
        order = run.orders.get(report)
        if order is None:
            raise RunError(f"{run.where}: no ranking of report {report}")
        if order.known_ranks is not None or len(order.scores) != len(order.files):
            raise RunError(f"{order.where}: report {report} has no scores, which shares are made of")
        right = bool(len(order.files)) and run.names[int(order.files[0])] in judgement.fixed
        answers.append(JudgedAnswer(order.scores, right))
    return answers


def _bin_of(first: FloatArray) -> LongArray:
    """(N,) number of the bin of each share."""
    return np.minimum((first * BINS).astype(np.int64), BINS - 1)


def _errors(first: FloatArray, right: FloatArray) -> FloatArray:
    """(D,) errors of D outcomes (D, N)."""
    if not len(first):
        return np.zeros(len(right))
    member = (_bin_of(first)[:, None] == np.arange(BINS)).astype(np.float64)
    gaps: FloatArray = np.abs((right - first) @ member).sum(axis=1) / len(first)
    return gaps
