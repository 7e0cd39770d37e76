"""How sure answers are beside how often they are right.

Of the answers whose first share is about so much, as many should be right. Ten bins of equal width and the
expected calibration error (Naeini et al., AAAI 2015), for the event that the first file is one that the fix changed; an
answer to a report without fixed files is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, Self

import numpy as np

from tosloc.core.errors import RunError
from tosloc.core.records import BoolArray, FloatArray
from tosloc.evaluate.judgements import Qrels
from tosloc.evaluate.runs import Run
from tosloc.rank.calibration import JudgedAnswer, shares

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BINS: Final = 10  # of shares
DRAWS: Final = (
    1000  # times that perfectly calibrated answers are drawn, to see what error chance alone gives
)


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
    error: (
        float  # expected calibration error: mean over the answers of |right - share| of their bin
    )
    error_by_chance: float
    """Mean error of as many answers with these shares that are right exactly as often as the shares say: above 0
    because a bin of n answers is off by chance; what ``error`` should be compared with."""
    bins: tuple[Bin, ...]

    @classmethod
    def of(cls, answers: Sequence[JudgedAnswer], temperature: float) -> Self:
        """Of answers with their scores, at a temperature; one about a version without files says nothing."""
        answers = [answer for answer in answers if len(answer.scores)]
        first = [float(shares(answer.scores, temperature)[0]) for answer in answers]
        return cls.of_shares(
            np.array(first), np.array([answer.right for answer in answers], dtype=np.bool_)
        )

    @classmethod
    def of_shares(cls, first: FloatArray, right: BoolArray) -> Self:
        """Of (N,) first shares, and (N,) whether the file is right."""
        places, bins = np.minimum((first * BINS).astype(np.int64), BINS - 1), []
        for number in range(BINS):
            inside = places == number
            means = [
                float(one[inside].mean()) if inside.any() else math.nan for one in (first, right)
            ]
            bins.append(Bin(number / BINS, (number + 1) / BINS, int(inside.sum()), *means))
        drawn = np.random.default_rng(7).random((DRAWS, len(first))) < first
        member = (places[:, None] == np.arange(BINS)).astype(np.float64)
        outcomes = np.vstack([right[None, :], drawn]).astype(np.float64)
        errors = np.abs((outcomes - first) @ member).sum(axis=1) / (len(first) or 1)
        right_share, share = (float(one.mean()) if len(first) else 0.0 for one in (right, first))
        return cls(
            len(first), right_share, share, float(errors[0]), float(errors[1:].mean()), tuple(bins)
        )


def judged_answers(run: Run, qrels: Qrels) -> list[JudgedAnswer]:
    """The answers of a run, by report. Raises RunError where one of a judged report lacks, or has no scores."""
    answers = []
    for report, judgement in sorted(qrels.items()):
        if report not in run.orders:
            raise RunError(f"{run.where}: no ranking of report {report}")
        order = run.orders[report]
        if order.known_ranks is not None:
            raise RunError(f"{run.where}: report {report} has no scores, which shares are made of")
        answers.append(
            JudgedAnswer(
                order.scores, any(path in judgement.fixed for path in run.paths(report, 1))
            )
        )
    return answers


def reliability_figure(found: Mapping[str, Reliability]) -> Figure:
    """How often the first file is right against its share, in ten bins; how many answers each bin has below."""
    from matplotlib.ticker import PercentFormatter

    from tosloc.plots.figures import drawing, series_style

    with drawing(4.6, 4.6) as (figure, axes):
        axes.remove()
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
        upper.plot(
            (0, 1), (0, 1), color="#b4b4b4", linewidth=3, label="share = how often right", zorder=1
        )
        for number, (name, one) in enumerate(found.items()):
            bins = [row for row in one.bins if row.answers]
            label = f"{name} (error {one.error:.3f})"
            upper.plot(
                [row.share for row in bins],
                [row.right for row in bins],
                label=label,
                **series_style(number),
            )
            parts = [row.answers / max(one.answers, 1) for row in one.bins]
            lower.plot(
                [(row.low + row.high) / 2 for row in one.bins], parts, **series_style(number)
            )
        upper.set(ylabel="first file right", ylim=(-0.02, 1.02))
        upper.legend(handlelength=3.5)
        lower.set(xlabel="share of the first file", ylabel="answers", xlim=(0, 1))
        lower.set_xticks(np.linspace(0, 1, BINS + 1))
        for axes in (upper, lower):
            axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    return figure
