"""The last layer over term vectors: whom the encoder are asked about, and what the trees learn of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from tosloc.config import RankerSettings
from tosloc.errors import ToslocError
from tosloc.records import BugReport, Case
from tosloc.reranking.terms.combiner import chained, fit_last, last_rows, unknown
from tosloc.reranking.terms.dual_encoder import CachedDualEncoder, CandidateRows, DualEncoder

TREES = RankerSettings(rounds=40, min_leaf=5, leaves=4, l2=0.0, learning_rate=0.2, feature_fraction=1.0, depth=10)
TABLES = {side: np.zeros((1, 2), dtype=np.float16) for side in ("report", "content", "history")}
DAY = 86_400


def case(number: int, opened: int, fixed_at: int) -> Case:
    report = BugReport(str(number), "s", "d", datetime.fromtimestamp(opened, UTC))
    return Case(report, "fix", "before", fixed_at, (), ())


def lists(number: int, length: int = 12, seed: int = 0) -> list[CandidateRows]:
    rng, rows = np.random.default_rng(seed), np.arange(length)
    return [CandidateRows(n, rows, rows, rng.random(length) < 0.25, -rows.astype(float)) for n in range(number)]


def towers_of(number: int) -> DualEncoder:
    """DualEncoder that say how many reports they learned from."""
    return DualEncoder(TABLES, {"content": float(number), "history": 0.0})


def said(cached: CachedDualEncoder, one: CandidateRows) -> np.ndarray:
    return np.full((len(one.contents), 2), cached.encoder.gains["content"])


def test_towers_are_asked_of_later_reports_alone():
    cases = [case(n, n * DAY, n * DAY + 1) for n in range(20)]
    found = chained(lists(20), cases, towers_of, said)
    assert [len(parts) for parts in found] == [12] * 20
    assert all(np.isnan(parts).all() for parts in found[:8])
    assert [parts[0, 0] for parts in found[8:]] == [8] * 3 + [11] * 3 + [14] * 3 + [17] * 3


def test_a_report_opened_before_the_last_fix_learned_from_is_not_asked_about():
    cases = [case(n, n * DAY, n * DAY + 1) for n in range(20)]
    cases[9], cases[12] = case(9, 7 * DAY, 9 * DAY), case(12, 7 * DAY + 1, 12 * DAY)
    found = chained(lists(20), cases, towers_of, said)
    assert np.isnan(found[9]).all()  # the last of the first eight was fixed a second after it was opened
    assert np.isnan(found[12]).all()
    assert not np.isnan(found[8]).any()
    assert not np.isnan(found[13]).any()


def test_reports_that_teach_nothing_are_no_error():
    def teach(number: int) -> DualEncoder:
        if number < 14:
            raise ToslocError("nothing to learn from")
        return towers_of(number)

    cases = [case(n, n * DAY, n * DAY + 1) for n in range(20)]
    found = chained(lists(20), cases, teach, said)
    assert [bool(np.isnan(parts).all()) for parts in found] == [True] * 14 + [False] * 6
    assert chained([], [], teach, said) == []


def test_the_trees_learn_when_to_believe_the_towers():
    """The encoder are right where a feature says so, and wrong elsewhere: no sum of the two can tell."""
    rng, known = np.random.default_rng(3), lists(120, seed=1)
    features, parts = [], []
    for one in known:
        believed = float(rng.random() < 0.5)
        features.append(np.full((12, 1), believed, dtype=np.float32))
        right = np.where(one.fixed, 1.0, -1.0) * (1.0 if believed else -1.0)
        parts.append(np.column_stack([right, np.zeros(12)]) + rng.normal(size=(12, 2)) * 0.1)
    last = fit_last(TREES, known[:90], features[:90], parts[:90], seed=7, weight=2.0)
    assert last is not None
    assert last.weight_ == 2
    right, alone = [], []
    for one, rows, part in zip(known[90:], features[90:], parts[90:], strict=True):
        points = last.scores(last_rows(rows, part))
        right.append((points[one.fixed][:, None] > points[~one.fixed]).ravel())
        alone.append((part.sum(axis=1)[one.fixed][:, None] > part.sum(axis=1)[~one.fixed]).ravel())
    assert np.concatenate(right).mean() > 0.95
    assert 0.3 < np.concatenate(alone).mean() < 0.7
    again = fit_last(TREES, known[:90], features[:90], parts[:90], seed=7, weight=2.0)
    assert again.text() == last.text()


def test_unknown_towers_and_heads_without_a_fixed_file():
    rows = last_rows(np.zeros((3, 2), dtype=np.float32), unknown(3))
    assert rows.shape == (3, 5)
    assert rows.dtype == np.float32
    assert np.isnan(rows[:, 2:]).all()
    assert last_rows(np.zeros((0, 2), dtype=np.float32), unknown(0)).shape == (0, 5)
    deep = replace(lists(1)[0], fixed=np.arange(12) == 11)  # beyond the trees' depth
    assert fit_last(TREES, [deep], [np.zeros((12, 1))], [unknown(12)], seed=7, weight=1.0) is None


def test_how_far_a_file_is_below_the_best():
    rows = last_rows(np.zeros((2, 1), dtype=np.float32), np.array([[1.0, 2.0], [0.5, 0.5]]))
    assert rows[:, 3] == pytest.approx([0.0, -2.0])
