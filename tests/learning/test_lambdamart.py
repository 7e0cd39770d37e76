"""The learned ranker of the head, and stage one's decision with it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tosloc.config import RankerSettings
from tosloc.errors import CheckpointError
from tosloc.learning.lambdamart import HeadRanker, head_rows, reorder_head
from tosloc.learning.ranking_lists import RankingLists
from tosloc.records import Ranking
from tosloc.retrieval.stage_one import StageOne

SETTINGS = RankerSettings(depth=6, rounds=10, leaves=4, min_leaf=2, l2=0.1, feature_fraction=1.0)


def heads(reports=40, seed=1):
    """Lists of 6 files and 2 features; the file with the larger second feature is the fixed one."""
    rng = np.random.default_rng(seed)
    rows, fixed = [], []
    for _ in range(reports):
        table = rng.random((6, 2)).astype(np.float32)
        table = table[np.argsort(-table[:, 0])]
        rows.append(head_rows(table, table[:, 0].astype(np.float64)))
        fixed.append(table[:, 1] == table[:, 1].max())
    return RankingLists.of(list(zip(rows, fixed, strict=True)))


@pytest.fixture(scope="module")
def ranker():
    return HeadRanker(SETTINGS).fit(heads())


def test_rows_of_the_head():
    rows = head_rows(np.array([[5.0], [6.0], [7.0]], dtype=np.float32), np.array([2.0, 1.5, 0.0]))
    assert rows == pytest.approx(
        np.array([[5, 0, math.log(2)], [6, -0.5, math.log(3)], [7, -2, math.log(4)]]), rel=1e-6
    )
    assert rows.dtype == np.float32
    assert head_rows(np.zeros((0, 4), dtype=np.float32), np.zeros(0)).shape == (0, 6)


def test_it_learns_what_the_linear_order_misses(ranker):
    test = heads(seed=2)
    points = ranker.scores(test.rows).reshape(-1, 6)
    fixed = test.fixed.reshape(-1, 6)
    right = (points.argmax(axis=1) == fixed.argmax(axis=1)).mean()
    assert right > 0.6  # the linear order is right one time in six


def test_the_same_seed_gives_the_same_trees(ranker):
    again = HeadRanker(SETTINGS).fit(heads(seed=9)).fit(heads())  # forgets the first
    assert again.text() == ranker.text()


@pytest.mark.parametrize(
    ("setting", "value", "parameter"),
    [
        ("truncation", 1, "lambdarank_truncation_level: 1"),
        ("leaves", 3, "num_leaves: 3"),
        ("learning_rate", 0.2, "learning_rate: 0.2"),
        ("min_leaf", 30, "min_data_in_leaf: 30"),
        ("l2", 40.0, "lambda_l2: 40"),
        ("feature_fraction", 0.5, "feature_fraction: 0.5"),
        ("rounds", 3, "num_iterations: 3"),
    ],
)
def test_each_setting_reaches_the_trees(ranker, setting, value, parameter):
    other = HeadRanker(SETTINGS.model_copy(update={setting: value})).fit(heads())
    assert f"[{parameter}]" in other.text()
    rows = heads(seed=3).rows
    assert other.scores(rows).tolist() != ranker.scores(rows).tolist()


def test_round_trip_by_text(ranker):
    read = HeadRanker.from_text(ranker.text(), SETTINGS, 0.5)
    rows = heads(seed=3).rows
    assert read.scores(rows).tolist() == ranker.scores(rows).tolist()
    assert read.weight_ == 0.5
    assert ranker.weighted(2.0).weight_ == 2.0
    assert ranker.weighted(2.0).scores(rows).tolist() == ranker.scores(rows).tolist()


@pytest.mark.parametrize("text", ["", "tree\nversion=v4\n", "nonsense"])
def test_damaged_text(text):
    with pytest.raises(CheckpointError, match="train again"):
        HeadRanker.from_text(text, SETTINGS, 1.0)


def test_reordered_head_by_hand():
    # head: files 3 and 1; points lift file 1, (6 + 4) / 2, over file 3, (8 + 0) / 2; both stay above file 2 (3)
    new = reorder_head(np.array([0.0, 6.0, 3.0, 8.0]), np.array([3, 1]), np.array([0.0, 4.0]), 1.0)
    assert new.tolist() == [0.0, 5.0, 3.0, 4.0]
    # points that would push file 1 below file 2: the head as a whole is lifted
    sunk = reorder_head(np.array([0.0, 4.0, 3.0, 5.0]), np.array([3, 1]), np.array([0.0, -9.0]), 1.0)
    assert sunk[0] == 0.0
    assert sunk[2] == 3.0
    assert sunk[3] - sunk[1] == pytest.approx(5.0)  # (5 + 0) / 2 - (4 - 9) / 2
    assert sunk[1] > 3.0


@settings(deadline=None)
@given(
    st.lists(st.floats(-5, 5), min_size=1, max_size=12),
    st.lists(st.floats(-50, 50), min_size=12, max_size=12),
    st.integers(1, 12),
    st.sampled_from([0.25, 1.0, 2.0]),
)
def test_the_tail_keeps_its_places(scores, points, depth, mix):
    values = np.array(scores)
    order = np.argsort(-values, kind="stable")
    head = order[:depth]
    new = reorder_head(values, head, np.array(points[: len(head)]), mix)
    after = np.argsort(-new, kind="stable")
    assert sorted(after[: len(head)].tolist()) == sorted(head.tolist())
    assert after[len(head) :].tolist() == order[depth:].tolist()
    assert new[order[depth:]].tolist() == values[order[depth:]].tolist()


def test_linear_scores():
    stage = StageOne(("a", "b"), np.array([2.0, -0.5]))
    table = np.array([[1.0, 0.0], [0.5, 1.0], [0.0, 0.0]])
    assert stage.scores(table).tolist() == [2.0, 0.5, 0.0]
    assert stage.scores(np.zeros((0, 2))).tolist() == []
    with pytest.raises(ValueError, match="2 features but 1 weights"):
        StageOne(("a", "b"), np.array([1.0]))


def test_stage_one_with_a_ranker(ranker):
    """The ranker reorders the first 6 of 30 files; the others stand as the linear sum has them."""
    rng = np.random.default_rng(4)
    table = rng.random((30, 2)).astype(np.float32)
    weights = np.array([1.0, 0.0])
    paths = [f"{number:02}" for number in range(30)]
    linear = Ranking.from_scores("r", paths, StageOne(("a", "b"), weights).scores(table))
    ranked = Ranking.from_scores("r", paths, StageOne(("a", "b"), weights, ranker.weighted(50.0)).scores(table))
    assert set(ranked.paths[:6]) == set(linear.paths[:6])
    assert ranked.paths[6:] == linear.paths[6:]
    assert ranked.paths[:6] != linear.paths[:6]
    assert ranked.scores[6:].tolist() == linear.scores[6:].tolist()
    best = max(linear.paths[:6], key=lambda path: table[int(path), 1])
    assert ranked.paths[0] == best


def test_files_alike_in_everything_stand_in_path_order(ranker):
    table = np.full((30, 2), 0.5, dtype=np.float32)
    stage = StageOne(("a", "b"), np.array([1.0, 1.0]))
    assert np.argsort(-stage.scores(table), kind="stable").tolist() == list(range(30))
