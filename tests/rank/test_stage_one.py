"""The learned ranker of the head, its trees as arrays, and stage one's decision with it."""

from dataclasses import replace

import lightgbm
import numpy as np
import pytest

from tosloc.localize.checkpoint import shipped
from tosloc.rank import stage_one
from tosloc.rank.ranking_lists import RankingLists
from tosloc.rank.stage_one import HeadRanker, StageOne, Trees, fit_trees, head_rows

pytestmark = pytest.mark.usefixtures("small_trees")


def heads(seed=1):
    """Lists of 6 files and 2 features; the file with the larger second feature is the fixed one."""
    lists = []
    for table in np.random.default_rng(seed).random((40, 6, 2)).astype(np.float32):
        rows = table[np.argsort(-table[:, 0])]
        fixed = rows[:, 1] == rows[:, 1].max()
        lists.append((head_rows(rows, rows[:, 0].astype(np.float64)), fixed, np.ones(6)))
    return RankingLists.of(lists)


@pytest.fixture
def trees():
    return fit_trees(heads(), 7)


@pytest.mark.parametrize("leaves", [2, 16])
def test_scores_are_lightgbms_own_to_the_last_bit(leaves):
    """Also of rows on the thresholds, and of trees that split nothing."""
    rng = np.random.default_rng(3)
    rows = rng.choice(np.linspace(-1, 1, 9), (400, 5)).astype(np.float32)
    rows[:, [2, 4]] = rng.random((400, 2))  # thresholds that single precision rounds
    parameters = {"num_leaves": leaves, "min_data_in_leaf": 1, "verbosity": -1, "num_threads": 1}
    booster = lightgbm.train(
        parameters, lightgbm.Dataset(rows, label=rows[:, 0] * rows[:, 4] + rows[:, 2]), 30
    )
    trees = Trees.of_model(booster.dump_model())
    tried = np.concatenate((rows, rng.normal(size=(300, 5)).astype(np.float32) * 2))
    place = rng.integers(0, len(trees.feature), len(tried))
    tried[np.arange(len(tried)), trees.feature[place, 0]] = trees.threshold[place, 0]
    tried[np.abs(tried) < 1e-30] = 0.0  # LightGBM's own thresholds around 0
    for some in (tried, tried[:1]):
        assert trees.scores(some).tolist() == booster.predict(some, num_threads=1).tolist()


def test_arrays_that_are_no_trees(trees):
    arrays = trees.to_arrays()
    for name, wrong in {
        "feature": arrays["feature"] + 9,
        "threshold": arrays["threshold"][:, 1:],
        "left": arrays["left"].ravel(),
        "leaves": arrays["leaves"] * np.nan,
    }.items():
        with pytest.raises(ValueError, match=name):
            Trees.from_arrays(arrays | {name: wrong}, 4)
    # any bits give every row a score
    left = np.random.default_rng(1).integers(0, 1 << 16, trees.left.shape).astype(np.uint16)
    assert np.isfinite(Trees.from_arrays(arrays | {"left": left}, 4).scores(heads().rows)).all()


def test_a_ranker_reorders_the_first_files_alone(trees):
    table = np.random.default_rng(4).random((30, 2)).astype(np.float32)
    plain = StageOne(("a", "b"), np.array([1.0, 0.0]))
    whole = replace(plain, ranker=HeadRanker(("a", "b"), trees, 50.0))
    before, after = plain.scores(table), whole.scores(table)
    linear, ranked = (np.argsort(-scores, kind="stable").tolist() for scores in (before, after))
    assert set(ranked[:6]) == set(linear[:6])
    assert ranked[6:] == linear[6:]
    assert after[ranked[6:]].tolist() == before[ranked[6:]].tolist()
    assert ranked[0] == max(linear[:6], key=lambda file: table[file, 1]) != linear[0]
    # files alike in everything stand in path order
    assert np.argsort(-whole.scores(np.full((30, 2), 0.5)), kind="stable").tolist() == list(
        range(30)
    )


def test_a_feature_that_the_weights_do_not_know_changes_no_bit(monkeypatch):
    monkeypatch.setattr(stage_one, "HEAD_DEPTH", 150)
    stage = shipped()[0]
    table = np.random.default_rng(1).random((400, len(stage.features))).astype(np.float32)
    names = (*stage.features[:17], *(f"new {number}" for number in range(20)), *stage.features[17:])
    other = stage.align(names)
    assert other is not None
    assert other.features == names
    assert (
        other.scores(np.insert(table, [17] * 20, 7.0, axis=1)).tolist()
        == stage.scores(table).tolist()
    )
    assert stage.align(stage.features[1:]) is None  # what it knows has to be there
