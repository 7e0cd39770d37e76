"""From features to one score: gradients, recovered weights, sampled rows, differential evolution."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tosloc.config import EvolutionSettings
from tosloc.metrics import rr_and_ap
from tosloc.rank.feature_tables import RankingLists
from tosloc.rank.fitting import fit_evolution, fit_listwise, list_quality, listwise_loss


def lists_of(tables, weights=None):
    """Lists of (rows, fixed) for each report."""
    rows = np.concatenate([np.asarray(rows, dtype=np.float32) for rows, _ in tables])
    fixed = np.concatenate([np.asarray(fixed, dtype=bool) for _, fixed in tables])
    starts = np.concatenate(([0], np.cumsum([len(fixed) for _, fixed in tables]))).astype(np.int64)
    each = np.ones(len(rows)) if weights is None else np.asarray(weights)
    return RankingLists(rows, fixed, starts, each.astype(np.float32))


def planted(weights, reports=60, files=30, seed=3):
    """Reports whose fixed file is drawn from the softmax of the weighted features."""
    rng = np.random.default_rng(seed)
    tables = []
    for _ in range(reports):
        rows = rng.random((files, len(weights)))
        score = rows @ np.asarray(weights)
        share = np.exp(score - score.max())
        fixed = np.zeros(files, dtype=bool)
        fixed[rng.choice(files, p=share / share.sum())] = True
        tables.append((rows, fixed))
    return lists_of(tables)


def test_loss_by_hand():
    """One report: fixed files with score 1 and 0, one other with 2 that stands for 3 files."""
    lists = lists_of([([[1.0], [0.0], [2.0]], [True, True, False])], [1, 1, 3])
    loss, _ = listwise_loss(np.array([1.0]), lists, 0.0, np.zeros(1), 0.0)
    first, second = np.e / (np.e + 3 * np.e**2), 1 / (1 + 3 * np.e**2)
    assert loss == pytest.approx(-(np.log(first) + np.log(second)) / 2, rel=1e-6)
    held, _ = listwise_loss(np.array([1.0]), lists, 0.1, np.array([3.0]), 0.01)
    assert held - loss == pytest.approx(0.1 * 1 + 0.01 * 4)


@pytest.mark.parametrize("seed", range(3))
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


def test_weights_recover_what_was_planted():
    truth = np.array([6.0, -4.0, 0.0])
    got = fit_listwise(planted(truth, reports=400))
    assert got == pytest.approx(truth, abs=0.8)


def test_a_pull_holds_the_weights_at_the_centre():
    lists, centre = planted([6.0, -4.0, 0.0]), np.array([1.0, 2.0, 3.0])
    near = fit_listwise(lists, centre=centre, pull=1e4)
    far = fit_listwise(lists, centre=centre, pull=1e-6)
    assert near == pytest.approx(centre, abs=1e-3)
    assert abs(far - centre).max() > 1


def test_rows_that_stand_for_many_weigh_as_many():
    tables = [([[0.9], [0.2], [0.4]], [True, False, False]), ([[0.3], [0.8], [0.5]], [True, False, False])]
    weighted = lists_of(tables, [1, 3, 1, 1, 2, 1])
    repeated = lists_of(
        [
            ([[0.9], [0.2], [0.2], [0.2], [0.4]], [True, False, False, False, False]),
            ([[0.3], [0.8], [0.8], [0.5]], [True, False, False, False]),
        ]
    )
    for weight in (-2.0, 0.0, 1.5):
        one = listwise_loss(np.array([weight]), weighted, 0.0, np.zeros(1), 0.0)
        many = listwise_loss(np.array([weight]), repeated, 0.0, np.zeros(1), 0.0)
        assert one[0] == pytest.approx(many[0], rel=1e-6)
        assert one[1] == pytest.approx(many[1], rel=1e-4, abs=1e-6)


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
@settings(max_examples=80, deadline=None)
def test_list_quality_equals_the_slow_version(tables, weights):
    got = list_quality(lists_of(tables))(np.array(weights))
    assert got == pytest.approx(slow_rr_and_ap(weights, tables))


def test_evolution_finds_the_top_of_a_hill_and_repeats():
    top = np.array([0.3, 0.8, 0.55])
    asked = []

    def hill(weights):
        asked.append(weights.copy())
        return -float(((weights - top) ** 2).sum())

    first = fit_evolution(3, hill, EvolutionSettings(generations=80), 11)
    assert first == pytest.approx(top, abs=0.01)
    assert all((weights >= 0).all() and (weights <= 1).all() for weights in asked)
    assert fit_evolution(3, hill, EvolutionSettings(generations=80), 11).tolist() == first.tolist()
    few = EvolutionSettings(generations=3, population=9)
    assert fit_evolution(3, hill, few, 7).tolist() != fit_evolution(3, hill, few, 12).tolist()


def test_evolution_separates_signal_from_noise():
    lists = planted([40.0, 0.0], reports=40)
    seen = []
    weights = fit_evolution(
        2, list_quality(lists), EvolutionSettings(generations=15), progress=lambda _, step, __: seen.append(step)
    )
    assert weights[0] > 4 * weights[1]
    assert list_quality(lists)(weights) >= list_quality(lists)(np.array([1.0, 0.2]))
    assert seen == list(range(1, len(seen) + 1))
    assert seen


def test_joining_taking_and_choosing_columns():
    one = lists_of([([[1.0, 2.0], [3.0, 4.0]], [True, False])], [1, 5])
    two = lists_of([([[5.0, 6.0]], [True]), ([[7.0, 8.0], [9.0, 0.0]], [False, True])])
    joined = RankingLists.join([one, two])
    assert len(joined) == 3
    assert joined.starts.tolist() == [0, 2, 3, 5]
    assert joined.rows[:, 0].tolist() == [1, 3, 5, 7, 9]
    assert joined.weights.tolist() == [1, 5, 1, 1, 1]
    taken = joined.take(np.array([0, 2]))
    assert taken.starts.tolist() == [0, 2, 4]
    assert taken.rows.tolist() == [[1, 2], [3, 4], [7, 8], [9, 0]]
    assert taken.fixed.tolist() == [True, False, False, True]
    assert taken.weights.tolist() == [1, 5, 1, 1]
    assert joined.columns([1]).rows.tolist() == [[2], [4], [6], [8], [0]]
    assert len(joined.take(np.zeros(0, dtype=np.int64))) == 0
