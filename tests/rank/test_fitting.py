"""Learning: choices on validation, judged as the textbook has it."""

from __future__ import annotations

import numpy as np
import pytest

from tosloc.config import Config
from tosloc.rank import fitting, lambdamart
from tosloc.rank.feature_tables import FeatureTable, ranking_lists
from tosloc.rank.fitting import AS_SHIPPED, MARGIN, choose, fit_stage_one, head_lists, judge
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
        ({"a": (0.5, 0.5)}, "a"),
        ({"a": (0.5, 0.5), "b": (0.5, 0.5 + MARGIN / 2)}, "a"),
        ({"a": (0.5, 0.5), "b": (0.5, 0.5 + MARGIN * 2)}, "b"),
        ({"a": (0.5, 0.5), "b": (0.6, 0.5), "c": (0.6, 0.5)}, "b"),
        ({"a": (0.5, 0.5), "b": (0.4, 0.5), "c": (0.6, 0.5)}, "c"),
        ({"a": (0.0, 0.0), "b": (0.0, 0.0)}, "a"),
    ],
)
def test_choose_the_simplest_within_the_margin(tried, taken):
    assert choose(tried) == taken


def test_own_weights_win_where_the_shipped_mislead(monkeypatch):
    shipped = StageOne(NAMES, np.array([-5.0, 5.0]))
    validation = reports(20, 2)
    calls = []

    def again():
        calls.append(1)
        return iter(validation)

    monkeypatch.setattr(fitting, "SHRINK", 0.0)
    stage, choice = fit_stage_one(settings(), NAMES, ranking_lists(iter(reports(60, 1))), again, shipped)
    assert choice.taken == "own weights"
    assert stage.weights[0] > 5 * abs(stage.weights[1])
    assert choice.tried["own weights"][0] > 0.9
    assert choice.tried["default weights"][0] < 0.3
    assert set(choice.tried) == {"own weights", "default weights", "mean of both"}
    assert calls == [1]


def test_shipped_weights_win_where_training_misleads():
    shipped = StageOne(NAMES, np.array([5.0, 0.0]))
    wrong = [table(one.report, one.rows[:, ::-1], one.fixed) for one in reports(60, 1)]
    stage, choice = fit_stage_one(settings(), NAMES, ranking_lists(iter(wrong)), lambda: reports(20, 2), shipped)
    assert choice.taken == "default weights"
    assert stage.weights.tolist() == [5.0, 0.0]


def test_shipped_weights_of_other_features_are_no_use():
    shipped = StageOne(("other",), np.array([5.0]))
    _, choice = fit_stage_one(settings(), NAMES, ranking_lists(iter(reports(30, 1))), lambda: reports(5, 2), shipped)
    assert set(choice.tried) == {"own weights"}


def test_a_new_feature_leaves_what_the_shipped_stage_one_says_as_it_is():
    known = ("good",)
    shipped = StageOne(known, np.array([5.0]))
    chosen, choice = fit_stage_one(
        settings(), NAMES, ranking_lists(iter(reports(5, 1))), lambda: reports(20, 2), shipped
    )
    assert set(choice.tried) == {"own weights", "default weights", "mean of both"}
    assert chosen.features == NAMES
    assert choice.tried["default weights"] == (1.0, 1.0)


def test_few_reports_lean_on_the_shipped_weights(monkeypatch):
    shipped = StageOne(NAMES, np.array([3.0, 1.0]))
    train = ranking_lists(iter(reports(10, 1)))
    monkeypatch.setattr(fitting, "SHRINK", 100.0)
    near, _ = fit_stage_one(settings(), NAMES, train, lambda: [], shipped)
    monkeypatch.setattr(fitting, "SHRINK", 0.0)
    far, _ = fit_stage_one(settings(), NAMES, train, lambda: [], shipped)
    assert near.weights == pytest.approx([3.0, 1.0], abs=0.05)
    assert abs(far.weights - [3.0, 1.0]).max() > 0.5


def test_evolution_keeps_to_its_bounds():
    chosen = settings(fit="differential_evolution", evolution={"generations": 5, "population": 5})
    seen = []
    stage, _ = fit_stage_one(
        chosen, NAMES, ranking_lists(iter(reports(40, 1))), lambda: [], None, progress=lambda *step: seen.append(step)
    )
    assert ((stage.weights >= 0) & (stage.weights <= 1)).all()
    assert stage.weights[0] > stage.weights[1]
    assert seen[0] == ("differential evolution", 1, 5)


def test_heads_of_reports_that_hold_a_fixed_file(monkeypatch):
    monkeypatch.setattr(lambdamart, "DEPTH", 2)
    stage = StageOne(("f",), np.array([1.0]))
    one = table("a", [[1.0], [3.0], [2.0]], [False, False, True])
    two = table("b", [[1.0], [3.0], [2.0]], [True, False, False])
    made = head_lists(stage, ranking_lists(iter([one, two])))
    assert made.sizes == [2]
    assert made.rows[:, 0].tolist() == [3, 2]
    assert made.fixed.tolist() == [False, True]
    assert head_lists(stage, ranking_lists(iter([two]))).sizes.tolist() == []


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
    assert choice.sentence.startswith("validation took the shipped weights and ranker as they are: MRR ")
    assert "; the best of the others (" in choice.sentence
    _, choice = fit_stage_one(chosen, NAMES, wrong, lambda: reports(20, 2), stage)
    assert choice.taken != AS_SHIPPED
    assert choice.sentence.startswith(f"validation took {choice.taken.replace('default', 'shipped')}: MRR ")
    assert "; the shipped weights and ranker as they are: " in choice.sentence
