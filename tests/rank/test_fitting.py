"""Learning: gradients, recovered weights, differential evolution, and choices on validation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tosloc.config import Config, EvolutionSettings
from tosloc.metrics import rr_and_ap
from tosloc.rank import fitting, lambdamart
from tosloc.rank.feature_tables import FeatureTable, RankingLists, ranking_lists
from tosloc.rank.fitting import (
    AS_SHIPPED,
    MARGIN,
    choose,
    fit_evolution,
    fit_stage_one,
    judge,
    list_quality,
    listwise_loss,
)
from tosloc.rank.stage_one import StageOne

NAMES = ("good", "bad")


def table(name, rows, fixed):
    size = len(rows)
    ones = np.ones(size, dtype=np.float32)
    return FeatureTable(name, np.array(rows, dtype=np.float32), np.array(fixed), ones, np.arange(size, dtype=np.int32))


def settings(**values):
    return Config.of({"stage_one": {"ranker": False} | values}, "test").stage_one


def reports(number, seed, files=20):
    """Reports whose fixed file is the one with the largest first feature; the second is noise."""
    rng = np.random.default_rng(seed)
    made = []
    for place in range(number):
        rows = rng.random((files, 2))
        made.append(table(str(place), rows, rows[:, 0] == rows[:, 0].max()))
    return made


def test_judge_counts_reports_without_a_fixed_file_as_nothing():
    tables = [table("a", [[1.0], [2.0]], [True, False]), table("b", [[1.0]], [False])]
    up, down = StageOne(("f",), np.array([1.0])), StageOne(("f",), np.array([-1.0]))
    assert judge({"up": up, "down": down}, iter(tables)) == {"up": (0.25, 0.25), "down": (0.5, 0.5)}
    assert judge({"up": up}, []) == {"up": (0.0, 0.0)}


@pytest.mark.parametrize(
    ("tried", "taken"),
    [
        ({"a": (0.5, 0.5), "b": (0.5, 0.5 + MARGIN / 2)}, "a"),
        ({"a": (0.5, 0.5), "b": (0.5, 0.5 + MARGIN * 2)}, "b"),
        ({"a": (0.5, 0.5), "b": (0.6, 0.5), "c": (0.6, 0.5)}, "b"),
        ({"a": (0.5, 0.5), "b": (0.4, 0.5), "c": (0.6, 0.5)}, "c"),
    ],
)
def test_choose_the_simplest_within_the_margin(tried, taken):
    assert choose(tried) == taken


def test_own_and_shipped_weights_win_where_the_others_mislead(monkeypatch):
    calls = []

    def validation():
        calls.append(1)
        return iter(reports(20, 2))

    monkeypatch.setattr(fitting, "SHRINK", 0.0)
    train = ranking_lists(iter(reports(60, 1)))
    stage, choice = fit_stage_one(settings(), NAMES, train, validation, StageOne(NAMES, np.array([-5.0, 5.0])))
    assert choice.taken == "own weights"
    assert stage.weights[0] > 5 * abs(stage.weights[1])
    assert choice.tried["own weights"][0] > 0.9 > 0.3 > choice.tried["shipped weights"][0]
    assert (set(choice.tried), calls) == ({"own weights", "shipped weights", "mean of both"}, [1])
    wrong = ranking_lists(table(one.report, one.rows[:, ::-1], one.fixed) for one in reports(60, 1))
    stage, choice = fit_stage_one(settings(), NAMES, wrong, validation, StageOne(NAMES, np.array([5.0, 0.0])))
    assert (choice.taken, stage.weights.tolist()) == ("shipped weights", [5.0, 0.0])
    # shipped weights of other features are of no use, those of fewer are
    _, choice = fit_stage_one(settings(), NAMES, train, validation, StageOne(("other",), np.array([5.0])))
    assert set(choice.tried) == {"own weights"}
    stage, choice = fit_stage_one(settings(), NAMES, train, validation, StageOne(("good",), np.array([5.0])))
    assert (stage.features, choice.tried["shipped weights"]) == (NAMES, (1.0, 1.0))


def test_few_reports_lean_on_the_shipped_weights(monkeypatch):
    shipped = StageOne(NAMES, np.array([3.0, 1.0]))
    train = ranking_lists(iter(reports(10, 1)))
    monkeypatch.setattr(fitting, "SHRINK", 100.0)
    near, _ = fit_stage_one(settings(), NAMES, train, lambda: [], shipped)
    monkeypatch.setattr(fitting, "SHRINK", 0.0)
    far, _ = fit_stage_one(settings(), NAMES, train, lambda: [], shipped)
    assert near.weights == pytest.approx([3.0, 1.0], abs=0.05)
    assert abs(far.weights - [3.0, 1.0]).max() > 0.5


def test_a_ranker_is_taken_only_when_it_helps(small_trees, monkeypatch):
    """The fixed file is that of the middle first feature: no weighted sum finds it, trees do."""

    def middle(number, seed):
        rng = np.random.default_rng(seed)
        made = []
        for place in range(number):
            rows = rng.random((12, 2))
            made.append(table(str(place), rows, np.abs(rows[:, 0] - 0.5) == np.abs(rows[:, 0] - 0.5).min()))
        return made

    monkeypatch.setattr(lambdamart, "DEPTH", 12)
    chosen = settings(ranker=True)
    stage, choice = fit_stage_one(chosen, NAMES, ranking_lists(iter(middle(60, 1))), lambda: middle(20, 2), None)
    assert stage.ranker is not None
    assert choice.taken.startswith("own weights, own ranker x ")
    assert sum(choice.tried[choice.taken]) > sum(choice.tried["own weights"]) + 0.3
    plain, choice = fit_stage_one(chosen, NAMES, ranking_lists(iter(reports(60, 1))), lambda: reports(20, 2), None)
    assert plain.ranker is None
    assert (choice.taken, choice.sentence) == ("own weights", "")
    # what was learned from misleading reports does not beat the default stage one as it is, ranker and all
    wrong = ranking_lists(iter(reports(60, 1)))
    kept, choice = fit_stage_one(chosen, NAMES, wrong, lambda: middle(20, 3), stage)
    assert (kept.ranker, choice.taken) == (stage.ranker, AS_SHIPPED)
    assert choice.sentence.startswith("validation took shipped weights and ranker as they are: MRR ")
    _, choice = fit_stage_one(chosen, NAMES, wrong, lambda: reports(20, 2), stage)
    assert choice.taken != AS_SHIPPED
    assert choice.sentence.startswith(f"validation took {choice.taken}: MRR ")
    assert "; not shipped weights and ranker as they are: " in choice.sentence


def lists_of(tables, weights=None):
    """Lists of (rows, fixed) for each report."""
    lists = [(np.array(rows, dtype=np.float32), np.array(fixed, dtype=bool)) for rows, fixed in tables]
    return RankingLists.of(lists, () if weights is None else [np.array(weights, dtype=np.float32)])


def test_loss_by_hand():
    """One report: fixed files with score 1 and 0, one other with 2 that stands for 3 files."""
    lists = lists_of([([[1.0], [0.0], [2.0]], [True, True, False])], [1, 1, 3])
    loss, _ = listwise_loss(np.array([1.0]), lists, 0.0, np.zeros(1), 0.0)
    first, second = np.e / (np.e + 3 * np.e**2), 1 / (1 + 3 * np.e**2)
    assert loss == pytest.approx(-(np.log(first) + np.log(second)) / 2, rel=1e-6)
    held, _ = listwise_loss(np.array([1.0]), lists, 0.1, np.array([3.0]), 0.01)
    assert held - loss == pytest.approx(0.1 * 1 + 0.01 * 4)


@pytest.mark.parametrize("seed", range(2))
def test_gradient_equals_finite_differences(seed):
    rng = np.random.default_rng(seed)
    tables = []
    for _ in range(5):
        size = int(rng.integers(3, 9))
        fixed = rng.random(size) < 0.4
        fixed[0], fixed[1] = True, False
        tables.append((rng.random((size, 4)), fixed))
    lists = lists_of(tables, rng.integers(1, 5, sum(len(fixed) for _, fixed in tables)))
    weights, centre = rng.normal(size=4), rng.normal(size=4)
    _, gradient = listwise_loss(weights, lists, 0.05, centre, 0.2)
    step = 1e-2  # rows are single precision
    for feature in range(4):
        move = np.zeros(4)
        move[feature] = step
        above, _ = listwise_loss(weights + move, lists, 0.05, centre, 0.2)
        below, _ = listwise_loss(weights - move, lists, 0.05, centre, 0.2)
        assert gradient[feature] == pytest.approx((above - below) / (2 * step), abs=2e-4)


def slow_rr_and_ap(weights, tables):
    """MRR + MAP, report by report; a fixed file stands behind every other file of its score."""
    total = 0.0
    for rows, fixed in tables:
        scores = (np.asarray(rows, dtype=np.float32) @ np.asarray(weights, dtype=np.float32)).tolist()
        ordered = sorted(zip(scores, fixed, strict=True), key=lambda pair: (-pair[0], pair[1]))
        ranks = [rank for rank, (_, hit) in enumerate(ordered, start=1) if hit]
        total += sum(rr_and_ap(ranks))
    return total / len(tables)


TABLE = st.integers(1, 7).flatmap(
    lambda size: st.tuples(
        st.lists(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=2, max_size=2), min_size=size, max_size=size),
        st.lists(st.booleans(), min_size=size, max_size=size).filter(any),
    )
)


@given(st.lists(TABLE, min_size=1, max_size=4), st.sampled_from([(1.0, 1.0), (1.0, -1.0), (0.0, 0.0), (0.25, 2.0)]))
def test_list_quality_equals_the_slow_version(tables, weights):
    got = list_quality(lists_of(tables))(np.array(weights))
    assert got == pytest.approx(slow_rr_and_ap(weights, tables))


def test_evolution_finds_the_top_of_a_hill_and_repeats():
    top = np.array([0.3, 0.8, 0.55])
    asked = []

    def hill(weights):
        asked.append(weights.copy())
        return -float(((weights - top) ** 2).sum())

    many, few = EvolutionSettings(generations=40, population=8), EvolutionSettings(generations=3, population=9)
    first = fit_evolution(3, hill, many, 11)
    assert first == pytest.approx(top, abs=0.01)
    assert all((weights >= 0).all() and (weights <= 1).all() for weights in asked)
    assert fit_evolution(3, hill, many, 11).tolist() == first.tolist()
    assert fit_evolution(3, hill, few, 7).tolist() != fit_evolution(3, hill, few, 12).tolist()
