"""The learned ranker of the head, its trees as arrays, and stage one's decision with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lightgbm
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tosloc.checkpoint import shipped
from tosloc.rank import lambdamart
from tosloc.rank.feature_tables import RankingLists
from tosloc.rank.lambdamart import HeadRanker, Trees, fit_trees, head_rows, raised
from tosloc.rank.stage_one import StageOne
from tosloc.records import Ranking

pytestmark = pytest.mark.usefixtures("small_trees")


def heads(reports: int = 40, seed: int = 1) -> RankingLists:
    """Lists of 6 files and 2 features; the file with the larger second feature is the fixed one."""
    rng = np.random.default_rng(seed)
    rows, fixed = [], []
    for _ in range(reports):
        table = rng.random((6, 2)).astype(np.float32)
        table = table[np.argsort(-table[:, 0])]
        rows.append(head_rows(table, table[:, 0].astype(np.float64)))
        fixed.append(table[:, 1] == table[:, 1].max())
    return RankingLists.of(list(zip(rows, fixed, strict=True)))


@pytest.fixture
def trees() -> Trees:
    return fit_trees(heads(), 7)


def test_it_learns_what_the_linear_order_misses_and_the_same_each_time(trees: Trees) -> None:
    test, again = heads(seed=2), fit_trees(heads(), 7)
    right = trees.scores(test.rows).reshape(-1, 6).argmax(axis=1) == test.fixed.reshape(-1, 6).argmax(axis=1)
    assert right.mean() > 0.6  # the linear order is right one time in six
    assert all(np.array_equal(array, again.to_arrays()[name]) for name, array in trees.to_arrays().items())


@pytest.mark.parametrize("leaves", [2, 15, 16])
def test_scores_are_lightgbms_own_to_the_last_bit(leaves: int) -> None:
    """Also of rows on the thresholds, and of trees that split nothing."""
    rng = np.random.default_rng(3)
    rows = rng.choice(np.linspace(-1, 1, 9), (400, 5)).astype(np.float32)
    rows[:, 4] = rng.random(400)
    parameters = {"num_leaves": leaves, "min_data_in_leaf": 1, "verbosity": -1, "num_threads": 1}
    booster = lightgbm.train(parameters, lightgbm.Dataset(rows, label=rows[:, 0] * rows[:, 4] + rows[:, 2]), 30)
    trees = Trees.of_model(booster.dump_model())
    tried = np.concatenate((rows, rng.normal(size=(300, 5)).astype(np.float32) * 2))
    place = rng.integers(0, len(trees.feature), len(tried))
    tried[np.arange(len(tried)), trees.feature[place, 0]] = trees.threshold[place, 0]
    tried[np.abs(tried) < 1e-30] = 0.0  # LightGBM's own thresholds around 0
    assert trees.scores(tried).tolist() == booster.predict(tried, num_threads=1).tolist()
    assert trees.scores(tried[:1]).tolist() == booster.predict(tried[:1], num_threads=1).tolist()
    assert trees.scores(tried[:0]).tolist() == []


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("feature", lambda a: a + 9),
        ("feature", lambda a: a[:-1]),
        ("threshold", lambda a: a * np.nan),
        ("left", lambda a: a.ravel()),
        ("leaves", lambda a: a + 1e10),
        ("leaves", lambda a: a * np.nan),
    ],
)
def test_arrays_that_are_no_trees(trees: Trees, name: str, change: Callable[[Any], Any]) -> None:
    arrays = trees.to_arrays()
    with pytest.raises(ValueError, match=r"."):
        Trees.from_arrays(arrays | {name: change(arrays[name])}, 4)
    with pytest.raises(KeyError):
        Trees.from_arrays({other: array for other, array in arrays.items() if other != name}, 4)
    # any bits give every row a score
    left = np.random.default_rng(1).integers(0, 1 << 16, trees.left.shape).astype(np.uint16)
    assert np.isfinite(Trees.from_arrays(arrays | {"left": left}, 4).scores(heads().rows)).all()


@given(
    st.lists(st.floats(-5, 5), min_size=1, max_size=12),
    st.lists(st.floats(-50, 50), min_size=12, max_size=12),
    st.integers(1, 12),
)
def test_the_tail_keeps_its_places(scores: list[float], points: list[float], depth: int) -> None:
    values = np.array(scores)
    order = np.argsort(-values, kind="stable")
    head = order[:depth]
    new = raised(values, head, np.array(points[: len(head)]))
    after = np.argsort(-new, kind="stable")
    assert sorted(after[: len(head)].tolist()) == sorted(head.tolist())
    assert after[len(head) :].tolist() == order[depth:].tolist()
    assert new[order[depth:]].tolist() == values[order[depth:]].tolist()


def test_stage_one_with_a_ranker(trees: Trees) -> None:
    """The ranker reorders the first 6 of 30 files; the others stand as the linear sum has them."""
    table = np.random.default_rng(4).random((30, 2)).astype(np.float32)
    paths = [f"{number:02}" for number in range(30)]
    plain = StageOne(("a", "b"), np.array([1.0, 0.0]))
    whole = StageOne(plain.features, plain.weights, HeadRanker(("a", "b"), trees, 50.0))
    linear, ranked = (Ranking.from_scores("r", paths, stage.scores(table)) for stage in (plain, whole))
    assert set(ranked.paths[:6]) == set(linear.paths[:6])
    assert ranked.paths[6:] == linear.paths[6:]
    assert ranked.paths[:6] != linear.paths[:6]
    assert ranked.scores[6:].tolist() == linear.scores[6:].tolist()
    assert ranked.paths[0] == max(linear.paths[:6], key=lambda path: table[int(path), 1])
    # files alike in everything stand in path order
    alike = whole.scores(np.full((30, 2), 0.5, dtype=np.float32))
    assert np.argsort(-alike, kind="stable").tolist() == list(range(30))


@pytest.mark.parametrize("where", [0, 17, 50])
def test_a_feature_that_the_weights_do_not_know_changes_no_bit(where: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lambdamart, "DEPTH", 150)
    stage = shipped()[0]
    table = np.random.default_rng(1).random((400, len(stage.features))).astype(np.float32)
    names = (*stage.features[:where], *(f"new {number}" for number in range(20)), *stage.features[where:])
    wider = np.insert(table, [where] * 20, 7.0, axis=1)
    other = stage.aligned(names)
    assert other is not None
    assert other.features == names
    assert other.scores(wider).tolist() == stage.scores(table).tolist()
    assert stage.aligned(names[::-1]) is not None
    assert stage.aligned(stage.features[1:]) is None  # what it knows has to be there
