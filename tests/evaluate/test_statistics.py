"""Intervals and tests against SciPy, by hand, and by simulation."""

import warnings

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from tosloc.evaluate.statistics import (
    Interval,
    difference,
    mean_interval,
    paired_t_test,
    percentile_interval,
    resampled_sums,
)


def scores(seed, size=106):
    """Values such as average precisions: many 0, many 1."""
    return np.random.default_rng(seed).beta(0.5, 0.4, size)


def test_intervals_are_the_percentile_bootstrap_of_scipy():
    def theirs(samples, statistic):
        how = {
            "paired": True,
            "method": "percentile",
            "n_resamples": 10_000,
            "rng": np.random.default_rng(3),
        }
        return pytest.approx(
            scipy.stats.bootstrap(samples, statistic, **how).confidence_interval, abs=0.005
        )

    # both are random: 10,000 resamples leave about 2 % of a standard error
    assert mean_interval(scores(1)) == theirs((scores(1),), np.mean)
    rng = np.random.default_rng(2)
    below = rng.integers(0, 6, 106).astype(np.float64)
    above = rng.binomial(below.astype(int), 0.7).astype(np.float64)
    interval = percentile_interval(np.divide(*resampled_sums(np.column_stack([above, below])).T))
    assert interval == theirs((above, below), lambda a, b, axis=-1: a.sum(axis) / b.sum(axis))


@given(st.integers(2, 40), st.integers(0, 1000))
def test_the_paired_t_test_is_that_of_scipy(size, seed):
    a, b = scores(seed, size), scores(seed + 1, size)
    expected = scipy.stats.ttest_rel(b, a)
    assert paired_t_test(a, b) == pytest.approx((expected.statistic, expected.pvalue))


def test_the_paired_bootstrap_agrees_with_the_t_test_where_that_is_exact():
    rng = np.random.default_rng(5)
    a = rng.normal(0.5, 0.2, 400)
    b = a + rng.normal(0.006, 0.1, 400)
    result = difference(a, b)
    assert result.interval is not None
    assert result.interval.low < result.difference < result.interval.high
    assert result.difference == pytest.approx(np.mean(b - a))
    assert (result.t, result.p_t) == paired_t_test(a, b)
    assert result.p_bootstrap == pytest.approx(result.p_t, abs=0.01)
    assert difference(np.zeros(9), np.arange(9.0) + 9).p_bootstrap == 1 / 10_001  # never 0


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ([], [], (0.0, None, None)),
        ([0.25], [0.75], (0.5, None, None)),
        ([0.2, 0.4, 1 / 3], [0.2, 0.4, 1 / 3], (0.0, Interval(0, 0), 1.0)),
        ([0.3, 0.5], [0.1 + 0.2, 0.5], (0.0, Interval(0, 0), 1.0)),
        ([0.0, 0.5, 0.25], [0.25, 0.75, 0.5], (0.25, Interval(0.25, 0.25), None)),
    ],
    ids=[
        "no report",
        "one report",
        "the same",
        "the same but for rounding",
        "the same difference everywhere",
    ],
)
def test_degenerate_pairs(a, b, expected):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one = difference(np.array(a), np.array(b))
    assert (one.difference, one.interval, one.p_bootstrap) == expected
    assert mean_interval(np.array(b[:1])) is None
