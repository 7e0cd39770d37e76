"""The learned ranker of the head, its trees as arrays, and stage one's scores with it."""

from dataclasses import replace

import lightgbm
import numpy as np
import pytest

from tosloc.core.arrays import Float32Array
from tosloc.localize.checkpoint import shipped
from tosloc.rank.model import stage_one
from tosloc.rank.model.ranking_lists import RankingLists
from tosloc.rank.model.stage_one import HeadRanker, StageOne, Trees, head_rows

pytestmark = pytest.mark.usefixtures("small_trees")


def make_heads(seed=1):
    """Return heads of 6 files with 2 features; the largest second feature is the fixed file's."""
    lists = []
    tables: Float32Array = np.random.default_rng(seed).random((40, 6, 2)).astype(np.float32)
    for table in tables:
        rows = table[np.argsort(-table[:, 0])]
        fixed = rows[:, 1] == rows[:, 1].max()
        lists.append(
            (head_rows(rows, rows[:, 0].astype(np.float64)), fixed, np.ones(6, np.float32))
        )
    return RankingLists.of(lists)


@pytest.fixture
def trees():
    return Trees.fit(make_heads(), 7)


@pytest.mark.parametrize("leaves", [2, 16])
def test_scores_are_lightgbms_own_to_the_last_bit(leaves):
    """Also for rows on the thresholds, and for trees without a split."""
    rng = np.random.default_rng(3)
    rows = rng.choice(np.linspace(-1, 1, 9), (400, 5)).astype(np.float32)
    rows[:, [2, 4]] = rng.random((400, 2))  # thresholds that single precision rounds
    labels = rows[:, 0] * rows[:, 4] + rows[:, 2]
    parameters = {"num_leaves": leaves, "min_data_in_leaf": 1, "verbosity": -1, "num_threads": 1}
    booster = lightgbm.train(parameters, lightgbm.Dataset(rows, label=labels), 30)
    trees = Trees.of_model(booster.dump_model())
    questions = np.concatenate((rows, rng.normal(size=(300, 5)).astype(np.float32) * 2))
    tree = rng.integers(0, len(trees.feature), len(questions))
    first_feature = trees.feature[tree, 0]
    questions[np.arange(len(questions)), first_feature] = trees.threshold[tree, 0]
    questions[np.abs(questions) < 1e-30] = 0.0  # LightGBM's own thresholds around 0
    expected = np.asarray(booster.predict(questions, num_threads=1)).tolist()
    assert trees.scores(questions).tolist() == expected
    assert trees.scores(questions[:1]).tolist() == expected[:1]


def test_lowest_bits_are_those_of_each_16_bit_number():
    """Without a set bit it is the last leaf, as in trees from damaged files."""
    positions = stage_one._lowest_bits()
    assert positions[[0b1, 0b10, 0b1100, 0b1 << 15]].tolist() == [0, 1, 2, 15]
    assert positions[0] == 15


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("feature", lambda array: array + 9),
        ("threshold", lambda array: array[:, 1:]),
        ("left", np.ravel),
        ("leaves", lambda array: array * np.nan),
    ],
    ids=["unknown feature", "too few thresholds", "another shape", "no number"],
)
def test_arrays_that_are_no_trees_are_an_error(trees, name, change):
    arrays = trees.to_arrays()
    with pytest.raises(ValueError, match=name):
        Trees.from_arrays(arrays | {name: change(arrays[name])}, 4)


def test_any_bits_of_leaves_give_every_row_a_finite_score(trees):
    left = np.random.default_rng(1).integers(0, 1 << 16, trees.left.shape).astype(np.uint16)
    damaged = Trees.from_arrays(trees.to_arrays() | {"left": left}, 4)
    assert np.isfinite(damaged.scores(make_heads().rows)).all()


@pytest.fixture
def linear():
    """Return a stage one without a ranker, by the first of two features."""
    return StageOne(("a", "b"), np.array([1.0, 0.0]))


@pytest.fixture
def ranked(linear, trees):
    """Return the same stage one with a ranker."""
    return replace(linear, ranker=HeadRanker(("a", "b"), trees, 50.0))


def score(stage, table):
    """Return the scores of a table whose report states nothing outright."""
    return stage.scores(table, np.zeros(len(table)))


def order_of(scores):
    return np.argsort(-scores, kind="stable").tolist()


def test_a_ranker_reorders_the_first_files_alone(linear, ranked):
    table = np.random.default_rng(4).random((30, 2)).astype(np.float32)
    before = score(linear, table)
    after = score(ranked, table)
    head = order_of(before)[:6]
    rest = order_of(before)[6:]
    assert set(order_of(after)[:6]) == set(head)
    assert order_of(after)[6:] == rest
    assert after[rest].tolist() == before[rest].tolist()
    best_by_second = max(head, key=lambda file: table[file, 1])
    assert order_of(after)[0] == best_by_second
    assert best_by_second != head[0]


def test_files_that_are_alike_in_everything_keep_path_order(ranked):
    assert order_of(score(ranked, np.full((30, 2), 0.5))) == list(range(30))


NEW_NAMES = tuple(f"new {number}" for number in range(20))


def test_a_feature_that_the_weights_do_not_know_changes_no_bit(monkeypatch):
    monkeypatch.setattr(stage_one, "HEAD_DEPTH", 150)
    stage, *_ = shipped()
    table = np.random.default_rng(1).random((400, len(stage.features))).astype(np.float32)
    names = (*stage.features[:17], *NEW_NAMES, *stage.features[17:])
    aligned = stage.align(names)
    assert aligned is not None
    assert aligned.features == names
    wider = np.insert(table, [17] * len(NEW_NAMES), 7.0, axis=1)
    assert score(aligned, wider).tolist() == score(stage, table).tolist()


def test_a_stage_one_is_not_aligned_to_names_without_its_features():
    stage, *_ = shipped()
    assert stage.align(stage.features[1:]) is None
