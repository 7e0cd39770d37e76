"""Weights of the commits of a range, from the scores of suspects."""

import pytest

from tosloc.bisect.weights import EVEN_SHARE, weigh_commits


def test_weights_sum_to_one():
    assert weigh_commits("abcd", {"b": 2.0, "c": 1.0}).sum() == pytest.approx(1)


def test_commit_without_a_score_has_its_even_share():
    assert weigh_commits("abcd", {"b": 2.0, "c": 1.0})[0] == pytest.approx(EVEN_SHARE / 4)


def test_higher_score_weighs_more():
    weights = weigh_commits("abcd", {"b": 2.0, "c": 1.0})
    assert weights[1] > weights[2] > weights[3]


def test_suspects_outside_the_range_do_not_count():
    assert weigh_commits("ab", {"a": 1.0, "z": 9.0})[0] == pytest.approx(0.9)


def test_commits_are_equal_without_a_suspect():
    assert weigh_commits("abcd", {"z": 1.0}).tolist() == [0.25] * 4


def test_large_scores_stay_finite():
    assert weigh_commits("ab", {"a": 1e6, "b": -1e6}).sum() == pytest.approx(1)
