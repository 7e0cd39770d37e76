"""Intervals and tests against SciPy, by hand, and by simulation."""

import warnings

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from tosloc.evaluate.statistics import (
    Difference,
    Interval,
    paired_t_test,
    percentile_interval,
    resampled_sums,
)


def random_scores(seed, size=106):
    """Return values that are distributed as average precisions are: many 0, many 1."""
    return np.random.default_rng(seed).beta(0.5, 0.4, size)


def scipy_interval(samples, statistic):
    """Return SciPy's interval.

    Both are random: with 10,000 resamples they differ by about 2 % of a standard error.
    """
    result = scipy.stats.bootstrap(
        samples,
        statistic,
        paired=True,
        method="percentile",
        n_resamples=10_000,
        rng=np.random.default_rng(3),
    )
    return pytest.approx(result.confidence_interval, abs=0.005)


def test_the_interval_of_a_mean_is_the_percentile_bootstrap_of_scipy():
    scores = random_scores(1)
    assert Interval.of_mean(scores) == scipy_interval((scores,), np.mean)


def test_the_interval_of_a_ratio_is_the_percentile_bootstrap_of_scipy():
    rng = np.random.default_rng(2)
    denominators = rng.integers(0, 6, 106).astype(np.float64)
    numerators = rng.binomial(denominators.astype(int), 0.7).astype(np.float64)
    sums = resampled_sums(np.column_stack([numerators, denominators]))
    interval = percentile_interval(sums[:, 0] / sums[:, 1])

    def ratio(a, b, axis=-1):
        return a.sum(axis) / b.sum(axis)

    assert interval == scipy_interval((numerators, denominators), ratio)


@given(st.integers(2, 40), st.integers(0, 1000))
def test_the_paired_t_test_is_that_of_scipy(size, seed):
    a = random_scores(seed, size)
    b = random_scores(seed + 1, size)
    expected = scipy.stats.ttest_rel(b, a)
    assert paired_t_test(a, b) == pytest.approx((expected.statistic, expected.pvalue))


@pytest.fixture(scope="module")
def normal_pair():
    """Return two systems with normal differences, for which the t-test is exact."""
    rng = np.random.default_rng(5)
    a = rng.normal(0.5, 0.2, 400)
    return a, a + rng.normal(0.006, 0.1, 400)


def test_the_interval_of_a_difference_contains_the_difference(normal_pair):
    result = Difference.between(*normal_pair)
    assert result.interval is not None
    assert result.interval.low < result.difference
    assert result.difference < result.interval.high


def test_a_difference_has_the_mean_and_the_t_test_of_its_values(normal_pair):
    a, b = normal_pair
    result = Difference.between(a, b)
    assert result.difference == pytest.approx(np.mean(b - a))
    t, p_t = paired_t_test(a, b)
    assert result.t == t
    assert result.p_t == p_t


def test_the_paired_bootstrap_agrees_with_the_t_test_where_that_is_exact(normal_pair):
    result = Difference.between(*normal_pair)
    assert result.p_bootstrap == pytest.approx(result.p_t, abs=0.01)


def test_the_p_value_of_the_bootstrap_is_never_zero():
    assert Difference.between(np.zeros(9), np.arange(9.0) + 9).p_bootstrap == 1 / 10_001


@pytest.mark.parametrize(
    ("a", "b", "mean", "interval", "p_bootstrap"),
    [
        ([], [], 0.0, None, None),
        ([0.25], [0.75], 0.5, None, None),
        ([0.2, 0.4, 1 / 3], [0.2, 0.4, 1 / 3], 0.0, Interval(0, 0), 1.0),
        ([0.3, 0.5], [0.1 + 0.2, 0.5], 0.0, Interval(0, 0), 1.0),
        ([0.0, 0.5, 0.25], [0.25, 0.75, 0.5], 0.25, Interval(0.25, 0.25), None),
    ],
    ids=[
        "no report",
        "one report",
        "the same",
        "the same but for rounding",
        "the same difference everywhere",
    ],
)
def test_degenerate_pairs_have_no_undefined_numbers(a, b, mean, interval, p_bootstrap):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = Difference.between(np.array(a), np.array(b))
    assert result.difference == mean
    assert result.interval == interval
    assert result.p_bootstrap == p_bootstrap


@pytest.mark.parametrize("values", [[], [0.75]], ids=["no report", "one report"])
def test_fewer_than_two_values_have_no_interval(values):
    assert Interval.of_mean(np.array(values)) is None
