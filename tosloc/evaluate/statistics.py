"""How sure a mean is: bootstrap intervals over reports, paired tests, Holm's correction.

Values stand in order of report id, and every call draws from a generator of its own with a fixed seed, so that the same
values give the same answer whatever the order of the lines they were read from. What a test cannot say is None, never a
number that is not one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from tosloc.core.records import FloatArray

# N reports, M columns of values, B resamples

CONFIDENCE: Final = 0.95
RESAMPLES: Final = 10_000
BOOTSTRAP_SEED: Final = 7
_TOGETHER: Final = 100  # resamples that are drawn at once
EQUAL_TOLERANCE: Final = 1e-12  # values that differ by less are equal: the difference is rounding


class Interval(NamedTuple):
    """The middle 95 % of a bootstrap distribution."""

    low: float
    high: float


@dataclass(slots=True)
class Difference:
    """How system b stands against system a on the same reports, with two-sided tests; what cannot be said is None."""

    a: float
    b: float
    difference: float  # mean of b - a; above are the means of either
    wins: int  # reports where b is better; ties are equal to 1e-12
    ties: int
    losses: int
    t: float | None
    p_t: float | None
    p_mcnemar: float | None = None  # only of values that say no more than yes or no of a report
    interval: Interval | None = None  # of the difference; None for under two reports
    p_bootstrap: float | None = None
    p_t_holm: float | None = None  # adjusted for all pairs compared; None for a single pair
    p_bootstrap_holm: float | None = None
    p_mcnemar_holm: float | None = None


def resampled_sums(values: FloatArray) -> FloatArray:
    """(B, M) sums of the (N, M) values over N reports drawn with replacement, the same reports for every column."""
    reports, rng, sums = len(values), np.random.default_rng(BOOTSTRAP_SEED), []
    begins = reports * np.arange(_TOGETHER)[:, None]  # of each resample's counts
    for _ in range(RESAMPLES // _TOGETHER):
        drawn = begins + rng.integers(reports, size=(_TOGETHER, reports))
        counts = (
            np.bincount(drawn.ravel(), minlength=drawn.size).reshape(drawn.shape).astype(np.float64)
        )
        # no product of the linear algebra library: it adds in another order with another number of threads
        sums.append(np.einsum("bn,nm->bm", counts, values))
    return np.concatenate(sums)


def percentile_interval(samples: FloatArray) -> Interval:
    """The middle 95 % of the (B,) values of a statistic on resamples (Efron and Tibshirani 1993, chapter 13)."""
    low, high = np.quantile(samples, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Interval(float(low), float(high))


def mean_interval(values: FloatArray) -> Interval | None:
    """Bootstrap interval of the mean of (N,) values; None for under two of them, which say nothing of the spread."""
    if len(values) < 2:
        return None
    return percentile_interval(resampled_sums(values[:, None])[:, 0] / len(values))


def difference(a: FloatArray, b: FloatArray, *, yes_or_no: bool = False) -> Difference:
    """How the (N,) values of ``b`` differ from those of ``a``; with McNemar's test where they are ``yes_or_no``.

    The p-value of the bootstrap is the share of resamples whose mean difference, shifted so that no difference is
    expected, is at least as large as the one seen (Efron and Tibshirani 1993, chapter 16; Smucker et al. 2007); the
    sample itself counts as one resample (Davison and Hinkley 1997, section 4.2), so p is never 0.
    """
    differences = _exact(b - a)
    wins, losses, mean = (
        int((differences > 0).sum()),
        int((differences < 0).sum()),
        exact_mean(differences),
    )
    ties = len(differences) - wins - losses
    made = Difference(exact_mean(a), exact_mean(b), mean, wins, ties, losses, *paired_t_test(a, b))
    if yes_or_no:
        made.p_mcnemar = mcnemar(wins, losses)
    if len(differences) > 1:
        means = resampled_sums(differences[:, None])[:, 0] / len(differences)
        made.interval = percentile_interval(means)
        if made.p_t is not None:
            made.p_bootstrap = (
                1 + int((np.abs(means - mean) >= abs(mean) - EQUAL_TOLERANCE).sum())
            ) / (1 + RESAMPLES)
    return made


def paired_t_test(a: FloatArray, b: FloatArray) -> tuple[float | None, float | None]:
    """t and p of Student's t-test of (N,) values of two systems on the same reports; t is positive where ``b`` is
    larger. Without any difference t is 0 and p is 1; both are None where all differ alike, but for rounding, and for
    under two reports.
    """
    from scipy.special import stdtr

    differences = _exact(b - a)
    mean, number = exact_mean(differences), len(differences)
    if number < 2 or np.ptp(differences) <= EQUAL_TOLERANCE:
        return (0.0, 1.0) if number > 1 and abs(mean) <= EQUAL_TOLERANCE else (None, None)
    t = mean / math.sqrt(float(np.var(differences, ddof=1)) / number)
    return t, float(2 * stdtr(number - 1, -abs(t)))


def mcnemar(wins: int, losses: int) -> float:
    """Exact two-sided p of McNemar's test (1947), of counts of pairs in which only one side, or the other, is right.

    Twice the binomial probability of at most the rarer count among all such pairs, at most 1.

    >>> mcnemar(9, 1), mcnemar(0, 0), mcnemar(5, 5)
    (0.021484375, 1.0, 1.0)
    """
    pairs = wins + losses
    tail = sum(math.comb(pairs, rarer) for rarer in range(min(wins, losses) + 1))
    return float(min(1.0, tail / 2**pairs * 2))


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjusted p-values of several comparisons, by Holm's step-down (1979); what is None stays so and is not counted.

    >>> holm([0.01, 0.04, None, 0.03]), holm([0.6, 0.7]), holm([])
    ([0.03, 0.06, None, 0.06], [1.0, 1.0], [])
    """
    adjusted: list[float | None] = [None] * len(p_values)
    known = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    highest = 0.0
    for done, (p, place) in enumerate(known):
        highest = max(highest, min(1.0, p * (len(known) - done)))
        adjusted[place] = highest
    return adjusted


def _exact(differences: FloatArray) -> FloatArray:
    """Differences without those that are rounding only."""
    return np.where(np.abs(differences) <= EQUAL_TOLERANCE, 0.0, differences)


def exact_mean(values: Sequence[float] | FloatArray) -> float:
    """Mean, rounded once, so that the order of the values changes nothing; 0 of nothing."""
    return math.fsum(values) / len(values) if len(values) else 0.0
