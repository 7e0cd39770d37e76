"""The commits between two releases that a report names."""

from __future__ import annotations

import math

import numpy as np
import pytest

ROOT2 = math.sqrt(2)
RANGED = {
    "commits": [(25, "x", "a"), (20, "x", "b"), (15, "x", "bc"), (10, "x", "c"), (5, "x", "d")],
    "tags": {"v1.0": 20, "v1.1": 10},
}
"""Between v1.0 and v1.1 one commit changed b and c, and that of v1.1 itself changed c."""


@pytest.fixture
def range_weights(make_context):
    """Return a function (report, history ...) -> weights of the files a, b, c and d."""

    def weights(report, **history):
        context = make_context(tuple("abcd"), "x", report, **history)
        return context.to_files(context.named_history.range_weights)

    return weights


def near(*expected):
    return pytest.approx(np.array(expected), rel=1e-5, abs=1e-6)


def test_the_commits_between_two_releases_are_added(range_weights):
    weights = range_weights("Worked in 1.0, broken in 1.1", **RANGED)
    assert weights == near(0, 1 / ROOT2, 1 + 1 / ROOT2, 0)


def test_a_range_without_an_end_goes_to_the_opening(range_weights):
    assert range_weights("It worked in 1.1", **RANGED) == near(0, 0, 0, 1)


def test_merges_in_the_range_are_added(range_weights):
    """The commits of a branch may be older than the release that lacks them."""
    merges = [(12, ["#7"], "a"), (2, ["#8"], "b")]
    weights = range_weights("Since 1.1", merges=merges, **RANGED)
    expected = range_weights("Worked in 1.0, fails in 1.1", **RANGED)
    assert weights == near(1, *expected[1:])


def test_tags_after_the_opening_do_not_end_the_range(range_weights):
    """v1.1 is not known yet, so that the range does not end with it."""
    later = {"v1.0": 20, "v1.1": -1}
    report = "Worked in 1.0, broken in 1.1"
    with_tag = range_weights(report, commits=RANGED["commits"], tags=later)
    without = range_weights(report, commits=RANGED["commits"], tags={"v1.0": 20})
    assert with_tag == near(*without)
    assert with_tag[3] > 0
