"""Compare the share of an answer's first file with how often that file is right.

Among answers whose first share is about .7, about 70 % should be right. The results are ten bins of
equal width, and the expected calibration error (Naeini et al., AAAI 2015), for the event that the
fix changed the first file. An answer to a report without fixed files is wrong.

Shapes: N answers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, Self

import numpy as np

from tosloc.core.arrays import BoolArray, FloatArray
from tosloc.core.errors import RunError
from tosloc.evaluate.runs import Qrels, Run
from tosloc.rank.model import JudgedAnswer, shares

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BINS: Final = 10
"""Number of bins of shares."""
DRAWS: Final = 1000
"""Number of draws of perfectly calibrated answers, which measure the error by chance alone."""
_SEED: Final = 7


class Bin(NamedTuple):
    """The answers whose first share is from ``low`` to below ``high``; the last bin includes 1."""

    low: float
    high: float
    answers: int
    """Number of answers."""
    share: float
    """Mean first share; NaN without answers."""
    right: float
    """Share of the answers whose first file is right; NaN without answers."""


@dataclass(frozen=True, slots=True)
class Reliability:
    """How well the first shares of N answers match how often their first files are right."""

    answers: int
    """Number of answers, N."""
    right: float
    """Share of the answers whose first file is right."""
    share: float
    """Mean first share."""
    error: float
    """Expected calibration error: mean over the answers of |right - share| in their bin."""
    error_by_chance: float
    """Mean error of perfectly calibrated answers with the same shares.

    It is above 0 because the share of right answers in a bin varies by chance; compare ``error``
    with it.
    """
    bins: tuple[Bin, ...]

    @classmethod
    def of(cls, answers: Sequence[JudgedAnswer], temperature: float) -> Self:
        """Return the reliability of answers; a temperature turns their scores into shares."""
        return cls.of_shares(*first_shares(answers, temperature))

    @classmethod
    def of_shares(cls, shares_of_first: FloatArray, right: BoolArray) -> Self:
        """Return the reliability of N answers from first shares and whether each is right."""
        bin_numbers = np.minimum((shares_of_first * BINS).astype(np.int64), BINS - 1)
        bins = tuple(
            _fill_bin(number, shares_of_first, right, bin_numbers == number)
            for number in range(BINS)
        )
        # The first row is what happened; the others are drawn with the shares as probabilities.
        drawn = np.random.default_rng(_SEED).random((DRAWS, len(shares_of_first))) < shares_of_first
        outcomes = np.vstack([right[None, :], drawn]).astype(np.float64)
        is_member = (bin_numbers[:, None] == np.arange(BINS)).astype(np.float64)
        bin_sums = np.abs((outcomes - shares_of_first) @ is_member)
        errors = bin_sums.sum(axis=1) / (len(shares_of_first) or 1)
        return cls(
            answers=len(shares_of_first),
            right=float(right.mean()) if len(right) else 0.0,
            share=float(shares_of_first.mean()) if len(shares_of_first) else 0.0,
            error=float(errors[0]),
            error_by_chance=float(errors[1:].mean()),
            bins=bins,
        )


def first_shares(
    answers: Sequence[JudgedAnswer], temperature: float
) -> tuple[FloatArray, BoolArray]:
    """Return (N,) first shares of answers at a temperature, and (N,) whether the file is right.

    Answers about a version without files are ignored.
    """
    values: list[float] = []
    right: list[bool] = []
    for answer in answers:
        if len(answer.scores):
            values.append(float(shares(answer.scores, temperature)[0]))
            right.append(answer.right)
    return np.array(values), np.array(right, dtype=np.bool_)


def _fill_bin(number: int, first_shares: FloatArray, right: BoolArray, mask: BoolArray) -> Bin:
    """Return the bin of the answers for which the mask is true."""
    answers = int(mask.sum())
    return Bin(
        low=number / BINS,
        high=(number + 1) / BINS,
        answers=answers,
        share=float(first_shares[mask].mean()) if answers else math.nan,
        right=float(right[mask].mean()) if answers else math.nan,
    )


def judged_answers(run: Run, qrels: Qrels) -> list[JudgedAnswer]:
    """Return the answers of a run to the judged reports, ordered by report.

    Raises RunError if an answer is missing or has no scores.
    """
    answers: list[JudgedAnswer] = []
    for report, judgement in sorted(qrels.items()):
        if report not in run.orders:
            raise RunError(f"{run.where}: no ranking of report {report}")
        order = run.orders[report]
        if order.known_ranks is not None:
            raise RunError(
                f"{run.where}: report {report} has no scores, from which confidence is computed"
            )
        is_right = any(path in judgement.fixed for path in run.paths(report, 1))
        answers.append(JudgedAnswer(order.scores, is_right))
    return answers


def reliability_figure(reliabilities: Mapping[str, Reliability]) -> Figure:
    """Draw how often the first file is right against its share, and the sizes of bins below."""
    from matplotlib.ticker import PercentFormatter

    from tosloc.plots.figures import drawing, series_style

    with drawing(4.6, 4.6) as (figure, axes):
        axes.remove()
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
        upper.plot(
            (0, 1),
            (0, 1),
            color="#b4b4b4",
            linewidth=3,
            label="confidence = fraction of right answers",
            zorder=1,
        )
        for number, (name, reliability) in enumerate(reliabilities.items()):
            style = series_style(number)
            filled_bins = [row for row in reliability.bins if row.answers]
            upper.plot(
                [row.share for row in filled_bins],
                [row.right for row in filled_bins],
                label=f"{name} (error {reliability.error:.3f})",
                **style,
            )
            lower.plot(
                [(row.low + row.high) / 2 for row in reliability.bins],
                [row.answers / max(reliability.answers, 1) for row in reliability.bins],
                **style,
            )
        upper.set(ylabel="answers whose first file is right", ylim=(-0.02, 1.02))
        upper.legend(handlelength=3.5)
        lower.set(xlabel="confidence in the first file", ylabel="answers", xlim=(0, 1))
        lower.set_xticks(np.linspace(0, 1, BINS + 1))
        for axes in (upper, lower):
            axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    return figure
