"""Whether an improvement was found again: scores, effects and tests of an original pair of runs and ours.

A pair is a baseline and an advanced run. Values are arrays (N,) of one measure, one value a report, in the same order
within a pair. Definitions are those of Breuer et al. 2020, section 3, which the equations' numbers mean.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from tosloc.errors import RunError
from tosloc.evaluate.statistics import SAME, paired_t_test
from tosloc.records import FloatArray

Region: TypeAlias = Literal[1, 2, 3, 4]
"""Quadrant of the plane of effect ratio (x) and DeltaRI (y)."""

REGIONS: Final = {
    1: "effect found again, relative improvement smaller",
    2: "effect not found again, relative improvement smaller",
    3: "effect not found again, relative improvement not smaller",
    4: "effect found again, relative improvement not smaller",
}
"""What each region says; 4 is the one to be in, near the point (1, 0)."""


def mean(values: FloatArray) -> float:
    """Mean, rounded once, so that the order of the reports changes nothing; 0 of nothing."""
    return math.fsum(values.tolist()) / len(values) if len(values) else 0.0


def rmse(original: FloatArray, ours: FloatArray) -> float:
    """Root mean square difference of the scores of the same reports: 0 where all are equal (equation 3).

    >>> import numpy as np
    >>> rmse(np.array([0.5, 0.25]), np.array([0.5, 0.75]))
    0.3535533905932738
    """
    return math.sqrt(mean((original - ours) ** 2))


def effect_ratio(baseline: float, advanced: float, our_baseline: float, our_advanced: float) -> float:
    """ER = mean(a' - b') / mean(a - b), from the four means (equations 5 and 7).

    1 is the same effect, more than 1 a larger one; 0 or less means that ours failed. Raises RunError when the original
    shows no effect.

    >>> round(effect_ratio(0.2, 0.3, 0.4, 0.45), 9)
    0.5
    """
    if abs(advanced - baseline) <= SAME:
        raise RunError(f"the original's advanced run and its baseline have the same mean, {baseline:.4g}: no effect")
    return (our_advanced - our_baseline) / (advanced - baseline)


def relative_improvement(baseline: float, advanced: float) -> float:
    """RI = (mean a - mean b) / mean b (equation 6). Raises RunError when the baseline's mean is 0."""
    if baseline <= 0:
        raise RunError(f"the baseline's mean is {baseline:.4g}: no relative improvement over it")
    return (advanced - baseline) / baseline


def delta_ri(baseline: float, advanced: float, our_baseline: float, our_advanced: float) -> float:
    """DeltaRI = RI - RI', from the four means (equation 6): 0 the same, below 0 where ours improves more.

    The paper gives it the range -1 to 1, which a pair leaves that more than doubles its baseline. Raises RunError for a
    baseline of 0.
    """
    return relative_improvement(baseline, advanced) - relative_improvement(our_baseline, our_advanced)


def region(ratio: float, delta: float) -> Region:
    """The region of an effect ratio and a DeltaRI (section 3.1, where none holds the axes).

    A ratio of 0 is a failure, as the paper says of it; a DeltaRI of 0 is no loss, so that (1, 0) lies in region 4.
    """
    if ratio > 0:
        return 1 if delta > 0 else 4
    return 2 if delta > 0 else 3


@dataclass(frozen=True, slots=True)
class Effect:
    """An original effect beside ours, in one measure."""

    ratio: float
    """ER"""
    delta_ri: float
    region: Region

    @classmethod
    def of(cls, baseline: float, advanced: float, our_baseline: float, our_advanced: float) -> Effect:
        """From the four means. Raises RunError when a baseline is 0, or the original shows no effect."""
        ratio = effect_ratio(baseline, advanced, our_baseline, our_advanced)
        delta = delta_ri(baseline, advanced, our_baseline, our_advanced)
        return cls(ratio, delta, region(ratio, delta))

    def as_dict(self) -> dict[str, float | str]:
        """Plain values."""
        values = {"ER": self.ratio, "DeltaRI": self.delta_ri, "region": self.region}
        return {**values, "meaning": REGIONS[self.region]}


def p_value(original: FloatArray, ours: FloatArray, same_reports: bool) -> float | None:
    """Two-tailed p of a t-test of the original's scores against ours: small where they differ.

    Paired on the same reports. On others unpaired with equal variances (Student's), as the paper prefers to Welch's
    when the samples differ in size. None where the test has no answer.
    """
    if same_reports:
        return paired_t_test(original, ours).p
    freedom = len(original) + len(ours) - 2
    if min(len(original), len(ours)) < 2:
        return None
    from scipy.special import stdtr

    difference = mean(original) - mean(ours)
    squares = math.fsum(float(((values - mean(values)) ** 2).sum()) for values in (original, ours))
    if squares <= SAME**2:  # nothing varies
        return 1.0 if abs(difference) <= SAME else None
    t = difference / math.sqrt(squares / freedom * (1 / len(original) + 1 / len(ours)))
    return float(2 * stdtr(freedom, -abs(t)))
