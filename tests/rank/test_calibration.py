"""Shares are a softmax with a temperature, which is fitted so that they are calibrated."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax

from tosloc.lab.reliability import Reliability
from tosloc.rank.model.calibration import (
    CALIBRATED_FILES,
    DEFAULT_TEMPERATURE,
    TEMPERATURES,
    JudgedAnswer,
    fit_temperature,
    match_temperature,
    shares,
)

SCORES = st.lists(st.floats(-50, 50), min_size=1, max_size=30).map(np.array)
ANY_TEMPERATURE = st.floats(*TEMPERATURES)
GAP = np.array([1.0, 0.0])
"""Scores of an answer whose first file is 1 ahead of the second."""


@given(SCORES, ANY_TEMPERATURE)
def test_shares_are_the_softmax_of_the_first_ten_files(scores, temperature):
    first = np.argsort(-scores, kind="stable")[:CALIBRATED_FILES]
    expected = softmax(scores[first] / temperature)
    assert np.allclose(shares(scores, temperature)[first], expected)


@given(SCORES, ANY_TEMPERATURE)
def test_files_after_the_first_ten_have_no_share(scores, temperature):
    others = np.argsort(-scores, kind="stable")[CALIBRATED_FILES:]
    assert not shares(scores, temperature)[others].any()


@given(SCORES, ANY_TEMPERATURE)
def test_shares_never_increase_down_the_ranking(scores, temperature):
    order = np.argsort(-scores, kind="stable")
    assert (np.diff(shares(scores, temperature)[order]) <= 0).all()


def test_a_file_with_a_score_of_minus_infinity_does_not_count():
    scores = np.array([3.0, -np.inf, 2.0])
    assert shares(scores, 1.0).round(4).tolist() == [0.7311, 0.0, 0.2689]


def test_no_file_has_a_share_if_none_counts():
    assert shares(np.array([-np.inf, -np.inf]), 1.0).tolist() == [0.0, 0.0]


def test_no_files_have_no_shares():
    assert shares(np.zeros(0), 1.0).tolist() == []


def make_calibrated_answers(temperature, number=4000, seed=3):
    """Return answers that are right exactly as often as their first shares say."""
    rng = np.random.default_rng(seed)
    answers = []
    for _ in range(number):
        scores = -np.sort(-rng.exponential(2.0, 25))
        first_share = shares(scores, temperature)[0]
        answers.append(JudgedAnswer(scores, bool(rng.random() < first_share)))
    return answers


@pytest.mark.parametrize("temperature", [0.3, 1.0, 4.0])
def test_the_temperature_of_calibrated_answers_is_recovered(temperature):
    answers = make_calibrated_answers(temperature)
    assert fit_temperature(answers) == pytest.approx(temperature, rel=0.12)


@pytest.mark.parametrize("temperature", [0.3, 1.0, 4.0])
def test_only_the_right_temperature_is_reliable(temperature):
    answers = make_calibrated_answers(temperature)
    error = Reliability.of(answers, temperature).error
    assert error < 0.03
    assert Reliability.of(answers, 3 * temperature).error > 3 * error


def test_without_answers_the_temperature_is_the_default():
    assert fit_temperature([]) == DEFAULT_TEMPERATURE


def test_few_right_answers_make_shares_only_a_little_surer():
    right = JudgedAnswer(GAP, True)
    assert 0.3 < fit_temperature([right] * 3) < DEFAULT_TEMPERATURE


def test_answers_are_repeated_as_often_as_the_number_says():
    right = JudgedAnswer(GAP, True)
    assert fit_temperature([right] * 3) == fit_temperature([right], 3)


def test_few_wrong_answers_make_shares_only_a_little_less_sure():
    wrong = JudgedAnswer(GAP, False)
    assert DEFAULT_TEMPERATURE < fit_temperature([wrong] * 3) < 3


def test_answers_of_one_file_or_none_set_no_extreme_temperature():
    answers = [JudgedAnswer(GAP[:1], False), JudgedAnswer(GAP[:0], False)]
    assert DEFAULT_TEMPERATURE <= fit_temperature(answers) < TEMPERATURES[1]


@pytest.mark.parametrize("scale", [0.25, 1.0, 5.0])
def test_a_matched_temperature_undoes_the_scale_of_the_scores(scale):
    answers = make_calibrated_answers(1.1, 200)
    scaled = [JudgedAnswer(answer.scores * scale, not answer.right) for answer in answers]
    assert match_temperature(scaled, answers, 1.1) == pytest.approx(1.1 * scale, rel=1e-3)


def test_without_answers_the_known_temperature_stays():
    assert match_temperature([], [], 1.3) == 1.3


def test_answers_of_one_file_leave_the_known_temperature():
    single_file = JudgedAnswer(np.array([2.0]), True)
    assert match_temperature([single_file], [single_file], 1.3) == 1.3


@pytest.mark.parametrize(("even_first", "expected"), [(True, 0.1), (False, 10.0)])
def test_a_matched_temperature_stays_within_ten_times_the_known_one(even_first, expected):
    """At every temperature, two files of one score have a share of one half each."""
    even = JudgedAnswer(np.zeros(2), True)
    sure = JudgedAnswer(np.array([9.0, 0.0]), True)
    if even_first:
        temperature = match_temperature([even], [sure], 1.0)
    else:
        temperature = match_temperature([sure], [even], 1.0)
    assert temperature == pytest.approx(expected)
