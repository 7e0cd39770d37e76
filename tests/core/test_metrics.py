"""Ranks of fixed files and what they are worth, written once; shares, and the temperature that calibrates them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax

from tosloc.core.metrics import fixed_ranks, rr_and_ap
from tosloc.core.records import Ranking
from tosloc.lab.reliability import Reliability
from tosloc.rank.calibration import (
    CALIBRATED_FILES,
    DEFAULT_TEMPERATURE,
    MAX_TEMPERATURE,
    MIN_TEMPERATURE,
    JudgedAnswer,
    fit_temperature,
    match_temperature,
    shares,
)


def test_ranks_by_hand():
    scores = np.array([0.5, 0.9, 0.5, 0.1, 0.5])
    assert fixed_ranks(scores, np.array([False, False, True, True, True])).tolist() == [3, 4, 5]
    for ranks, relevant, values in (
        ([1, 3], None, (1, 5 / 6)),
        ([], None, (0, 0)),
        ([3, 1], 3, (1, 5 / 9)),
    ):
        assert rr_and_ap(ranks, relevant) == pytest.approx(values)


@given(st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.booleans()), min_size=1, max_size=9))
def test_learners_rank_as_a_ranking_does(files):
    scores = np.array([score for score, _ in files])
    fixed = np.array([hit for _, hit in files])
    paths = [str(place) for place in range(len(files))]
    ranking = Ranking.from_scores("r", paths, scores)
    assert fixed_ranks(scores, fixed).tolist() == [
        n for n, path in enumerate(ranking.paths, 1) if fixed[int(path)]
    ]


# Shares: a softmax with a temperature


SCORES = st.lists(st.floats(-50, 50), min_size=1, max_size=30).map(np.array)


@given(SCORES, st.floats(MIN_TEMPERATURE, MAX_TEMPERATURE))
def test_shares_are_the_softmax_of_the_first_ten(scores, temperature):
    found = shares(scores, temperature)
    order = np.argsort(-scores, kind="stable")
    assert np.allclose(
        found[order[:CALIBRATED_FILES]], softmax(scores[order[:CALIBRATED_FILES]] / temperature)
    )
    assert not found[order[CALIBRATED_FILES:]].any()
    assert (np.diff(found[order]) <= 0).all()
    assert shares(np.array([3.0, -np.inf, 2.0]), 1.0).round(4).tolist() == [
        0.7311,
        0.0,
        0.2689,
    ]  # one does not count
    assert shares(np.array([-np.inf, -np.inf]), 1.0).tolist() == [0.0, 0.0]
    assert shares(np.zeros(0), 1.0).tolist() == []


def answers(temperature, number=4000, seed=3):
    """Answers that are right exactly as often as their first shares say."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(number):
        scores = -np.sort(-rng.exponential(2.0, 25))
        made.append(JudgedAnswer(scores, bool(rng.random() < shares(scores, temperature)[0])))
    return made


@pytest.mark.parametrize("temperature", [0.3, 1.0, 4.0])
def test_the_temperature_that_made_the_answers_is_found_again_and_is_calibrated(temperature):
    made = answers(temperature)
    assert fit_temperature(made) == pytest.approx(temperature, rel=0.12)
    found = Reliability.of(made, temperature)
    assert found.error < 0.03
    assert Reliability.of(made, 3 * temperature).error > 3 * found.error


def test_few_answers_do_not_make_it_as_sure_as_can_be():
    gap = np.array([1.0, 0.0])
    assert fit_temperature([]) == DEFAULT_TEMPERATURE
    right = JudgedAnswer(gap, True)
    assert 0.3 < fit_temperature([right] * 3) == fit_temperature([right], 3) < DEFAULT_TEMPERATURE
    assert DEFAULT_TEMPERATURE < fit_temperature([JudgedAnswer(gap, False)] * 3) < 3
    assert (
        DEFAULT_TEMPERATURE
        <= fit_temperature([JudgedAnswer(gap[:1], False), JudgedAnswer(gap[:0], False)])
        < MAX_TEMPERATURE
    )


@pytest.mark.parametrize("scale", [0.25, 1.0, 5.0])
def test_a_matched_temperature_undoes_the_scale_of_the_scores(scale):
    known = answers(1.1, 200)
    scaled = [JudgedAnswer(answer.scores * scale, not answer.right) for answer in known]
    assert match_temperature(scaled, known, 1.1) == pytest.approx(1.1 * scale, rel=1e-3)


def test_a_matched_temperature_is_the_known_one_where_nothing_can_be_matched():
    alone = JudgedAnswer(np.array([2.0]), True)
    assert match_temperature([], [], 1.3) == 1.3
    assert match_temperature([alone], [alone], 1.3) == 1.3


def test_a_matched_temperature_stays_near_the_known_one():
    """Two files of one score have a share of one half each at every temperature."""
    even, sure = JudgedAnswer(np.zeros(2), True), JudgedAnswer(np.array([9.0, 0.0]), True)
    assert match_temperature([even], [sure], 1.0) == pytest.approx(0.1)
    assert match_temperature([sure], [even], 1.0) == pytest.approx(10.0)
