"""Estimate how certain a mean is: bootstrap intervals, paired tests and Holm's correction.

Values are in order of report id, and every call uses its own random generator with a fixed seed, so
that equal values give equal results. The order of lines in a file does not matter. A statistic that
is undefined for some values is None, never NaN.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final, NamedTuple, Self

import numpy as np

from tosloc.core.arrays import FloatArray

CONFIDENCE: Final = 0.95
RESAMPLES: Final = 10_000
BOOTSTRAP_SEED: Final = 7
MIN_RELIABLE: Final = 30
"""Number of values below which a bootstrap interval is too narrow, and its p-value too small."""
EQUAL_TOLERANCE: Final = 1e-12
"""Largest difference between two values that count as equal; it is due to rounding."""
_RESAMPLES_PER_BATCH: Final = 100


class Interval(NamedTuple):
    """Ends of a 95 % interval: of the middle of a bootstrap distribution, or Wilson's."""

    low: float
    high: float

    @classmethod
    def of_mean(cls, values: FloatArray) -> Interval | None:
        """Return the bootstrap interval of the mean of (R,) values; None for fewer than two."""
        if len(values) < 2:
            return None
        return percentile_interval(resampled_sums(values[:, None])[:, 0] / len(values))

    @classmethod
    def of_share(cls, count: int, total: int) -> Interval | None:
        """Return Wilson's interval of the share ``count / total``; None if ``total`` is 0.

        It has a width even if the share is 0 or 1, in which case resampling would give none.

        >>> low, high = Interval.of_share(31, 31)
        >>> f"{low:.3f} {high:.3f}"
        '0.890 1.000'
        """
        if not total:
            return None
        quantile = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
        share = count / total
        spread = quantile * math.sqrt(share * (1 - share) / total + (quantile / total / 2) ** 2)
        center = share + quantile**2 / total / 2
        scale = 1 + quantile**2 / total
        return cls(max(0.0, (center - spread) / scale), min(1.0, (center + spread) / scale))


@dataclass(slots=True)
class Difference:
    """How system b differs from system a on the same reports, with two-sided tests.

    Statistics that are undefined are None. ``a`` and ``b`` are means, ``difference`` is the mean of
    b - a. ``wins`` counts the reports for which b is better, and ``losses`` those for which a is
    better; values that differ by at most 1e-12 are ``ties``. McNemar's test applies to values that
    are 1 or 0 for every report. ``interval`` is the interval of the difference, and None for fewer
    than two reports. The ``holm`` p-values are adjusted for all compared pairs of runs by Holm's
    method, and None for a single pair.
    """

    a: float
    b: float
    difference: float
    wins: int
    ties: int
    losses: int
    t: float | None
    p_t: float | None
    p_mcnemar: float | None = None
    interval: Interval | None = None
    p_bootstrap: float | None = None
    p_t_holm: float | None = None
    p_bootstrap_holm: float | None = None
    p_mcnemar_holm: float | None = None

    @property
    def is_small(self) -> bool:
        """Whether there are too few pairs for reliable intervals and p-values."""
        return self.wins + self.ties + self.losses < MIN_RELIABLE

    @classmethod
    def between(cls, a: FloatArray, b: FloatArray, *, yes_or_no: bool = False) -> Self:
        """Test how the (R,) values of ``b`` differ from those of ``a``.

        ``yes_or_no`` adds McNemar's test; all values must be 1 or 0. The bootstrap's p-value is the
        share of resamples whose mean difference, shifted so that no difference is expected, is at
        least as large as the observed one (Efron and Tibshirani 1993, chapter 16; Smucker et al.
        2007). The sample itself counts as one resample (Davison and Hinkley 1997, section 4.2), so
        p is never 0.
        """
        differences = _round_to_zero(b - a)
        reports = len(differences)
        mean = exact_mean(differences)
        wins = int((differences > 0).sum())
        losses = int((differences < 0).sum())
        t, p_t = paired_t_test(a, b)
        result = cls(
            a=exact_mean(a),
            b=exact_mean(b),
            difference=mean,
            wins=wins,
            ties=reports - wins - losses,
            losses=losses,
            t=t,
            p_t=p_t,
        )
        if yes_or_no:
            result.p_mcnemar = mcnemar_p_value(wins, losses)
        if reports > 1:
            means = resampled_sums(differences[:, None])[:, 0] / reports
            result.interval = percentile_interval(means)
            if p_t is not None:
                as_large = np.abs(means - mean) >= abs(mean) - EQUAL_TOLERANCE
                result.p_bootstrap = (1 + int(as_large.sum())) / (1 + RESAMPLES)
        return result


def resampled_sums(values: FloatArray) -> FloatArray:
    """Return (Z, M) sums of (R, M) values over R reports that are drawn with replacement.

    Each resample draws the same reports for every column.
    """
    reports = len(values)
    rng = np.random.default_rng(BOOTSTRAP_SEED)
    # the counts of all resamples of a batch come from one bincount: each has its own N numbers
    offsets = reports * np.arange(_RESAMPLES_PER_BATCH)[:, None]
    sums = []
    for _ in range(RESAMPLES // _RESAMPLES_PER_BATCH):
        drawn = offsets + rng.integers(reports, size=(_RESAMPLES_PER_BATCH, reports))
        counts = np.bincount(drawn.ravel(), minlength=drawn.size)
        weights = counts.reshape(drawn.shape).astype(np.float64)
        # A matrix product of the linear algebra library would add in another order with another
        # number of threads.
        sums.append(np.einsum("bn,nm->bm", weights, values))
    return np.concatenate(sums)


def percentile_interval(samples: FloatArray) -> Interval:
    """Return the middle 95 % of a statistic's (Z,) values on resamples.

    Efron and Tibshirani 1993, chapter 13.
    """
    low, high = np.quantile(samples, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Interval(float(low), float(high))


def paired_t_test(a: FloatArray, b: FloatArray) -> tuple[float | None, float | None]:
    """Return t and p of Student's t-test of two systems' (R,) values on the same reports.

    t is positive where ``b`` is larger. If no report differs, t is 0 and p is 1. Both are None for
    fewer than two reports. They are also None if all reports differ by the same amount, apart from
    rounding.
    """
    from scipy.special import stdtr

    differences = _round_to_zero(b - a)
    mean = exact_mean(differences)
    reports = len(differences)
    if reports < 2:
        return None, None
    if np.ptp(differences) <= EQUAL_TOLERANCE:
        return (0.0, 1.0) if abs(mean) <= EQUAL_TOLERANCE else (None, None)
    t = mean / math.sqrt(float(np.var(differences, ddof=1)) / reports)
    return t, float(2 * stdtr(reports - 1, -abs(t)))


def mcnemar_p_value(wins: int, losses: int) -> float:
    """Return the exact two-sided p of McNemar's test (1947).

    ``wins`` counts the pairs in which only b is right, and ``losses`` those in which only a is
    right. p is twice the binomial probability, with a chance of one half, of at most the smaller
    count among all these pairs; it is at most 1.

    >>> mcnemar_p_value(9, 1), mcnemar_p_value(0, 0), mcnemar_p_value(5, 5)
    (0.021484375, 1.0, 1.0)
    """
    pairs = wins + losses
    tail = sum(math.comb(pairs, rarer) for rarer in range(min(wins, losses) + 1))
    return float(min(1.0, tail / 2**pairs * 2))


def holm_adjust(p_values: Sequence[float | None]) -> list[float | None]:
    """Return the p-values of several comparisons, adjusted by Holm's step-down method (1979).

    None stays None and does not count as a comparison.

    >>> holm_adjust([0.01, 0.04, None, 0.03]), holm_adjust([0.6, 0.7]), holm_adjust([])
    ([0.03, 0.06, None, 0.06], [1.0, 1.0], [])
    """
    adjusted: list[float | None] = [None] * len(p_values)
    ascending = sorted((p, position) for position, p in enumerate(p_values) if p is not None)
    highest = 0.0
    for smaller, (p, position) in enumerate(ascending):
        highest = max(highest, min(1.0, p * (len(ascending) - smaller)))
        adjusted[position] = highest
    return adjusted


def _round_to_zero(differences: FloatArray) -> FloatArray:
    """Return the differences, with 0 in place of those that are due to rounding."""
    return np.where(np.abs(differences) <= EQUAL_TOLERANCE, 0.0, differences)


def exact_mean(values: Sequence[float] | FloatArray) -> float:
    """Return the mean, or 0 if there are no values.

    The sum is rounded only once, so that the order of the values does not change the result.
    """
    return math.fsum(values) / len(values) if len(values) else 0.0
