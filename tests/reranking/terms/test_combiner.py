"""The combiner: whom the dual encoders are asked about, and what the trees learn of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.reranking.made import candidates, report
from tosloc.errors import ToslocError
from tosloc.learning import lambdamart
from tosloc.reranking.base import Candidates
from tosloc.reranking.terms import combiner as combiner_module
from tosloc.reranking.terms.combiner import combiner_rows, fit_combiner, out_of_fold_predictions
from tosloc.reranking.terms.dual_encoder import CachedDualEncoder, DualEncoder

TREES = {"ROUNDS": 40, "MIN_LEAF": 5, "LEAVES": 4, "L2": 0.0, "LEARNING_RATE": 0.2, "FEATURE_FRACTION": 1.0}


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in TREES.items():
        monkeypatch.setattr(lambdamart, name, value)
    monkeypatch.setattr(combiner_module, "DEPTH", 10)


TABLES = {side: np.zeros((1, 2), dtype=np.float16) for side in ("report", "content", "history")}
DAY = 86_400
LENGTH = 12
UNKNOWN = np.full((LENGTH, 2), np.nan)


def one(number: int, opened: int, fixed_at: int, fixed: str = "") -> Candidates:
    return candidates("f " * LENGTH, fixed, of=report(str(number), opened), fixed_at=fixed_at)


def daily(number: int) -> list[Candidates]:
    """Reports that are opened each day, and fixed a second later."""
    return [one(n, n * DAY, n * DAY + 1) for n in range(number)]


def encoder_of(number: int) -> DualEncoder:
    """Says how many reports it learned from."""
    return DualEncoder(TABLES, {"content": float(number), "history": 0.0})


def predict(encoder: CachedDualEncoder, number: int) -> np.ndarray:
    return np.full((LENGTH, 2), encoder.encoder.gains["content"])


def test_a_dual_encoder_is_asked_of_later_reports_alone():
    found = out_of_fold_predictions(daily(20), encoder_of, predict)
    assert [len(scores) for scores in found] == [LENGTH] * 20
    assert all(np.isnan(scores).all() for scores in found[:8])
    assert [scores[0, 0] for scores in found[8:]] == [8] * 3 + [11] * 3 + [14] * 3 + [17] * 3


def test_a_report_opened_before_the_last_fix_learned_from_is_not_asked_about():
    reports = daily(20)
    reports[9], reports[12] = one(9, 7 * DAY, 9 * DAY), one(12, 7 * DAY + 1, 12 * DAY)
    found = out_of_fold_predictions(reports, encoder_of, predict)
    assert np.isnan(found[9]).all()  # the last of the first eight was fixed a second after it was opened
    assert np.isnan(found[12]).all()
    assert not np.isnan(found[8]).any()
    assert not np.isnan(found[13]).any()


def test_each_report_is_asked_about_by_its_own_number():
    asked = list[int]()
    out_of_fold_predictions(daily(20), encoder_of, lambda encoder, number: asked.append(number) or UNKNOWN)
    assert asked == list(range(8, 20))


def test_reports_that_teach_nothing_are_no_error():
    def fit(number: int) -> DualEncoder:
        if number < 14:
            raise ToslocError("nothing to learn from")
        return encoder_of(number)

    found = out_of_fold_predictions(daily(20), fit, predict)
    assert [bool(np.isnan(scores).all()) for scores in found] == [True] * 14 + [False] * 6
    assert out_of_fold_predictions([], fit, predict) == []


def test_the_trees_learn_when_to_believe_the_dual_encoder():
    """It is right where a feature says so, and wrong elsewhere: no sum of the two can tell."""
    rng = np.random.default_rng(3)
    reports, predictions = [], []
    for number in range(120):
        fixed = rng.random(LENGTH) < 0.25
        believed = float(rng.random() < 0.5)
        features = np.full((LENGTH, 1), believed, dtype=np.float32)
        reports.append(replace(one(number, 0, 0), fixed=fixed, features=features))
        right = np.where(fixed, 1.0, -1.0) * (1.0 if believed else -1.0)
        predictions.append(np.column_stack([right, np.zeros(LENGTH)]) + rng.normal(size=(LENGTH, 2)) * 0.1)
    combiner = fit_combiner(reports[:90], predictions[:90], seed=7, weight=2.0)
    assert combiner is not None
    assert combiner.weight == 2
    right, alone = [], []
    for one_, scores in zip(reports[90:], predictions[90:], strict=True):
        learned, fixed = combiner.trees.scores(combiner_rows(one_.features, scores)), one_.fixed
        right.append((learned[fixed][:, None] > learned[~fixed]).ravel())
        alone.append((scores.sum(axis=1)[fixed][:, None] > scores.sum(axis=1)[~fixed]).ravel())
    assert np.concatenate(right).mean() > 0.95
    assert 0.3 < np.concatenate(alone).mean() < 0.7
    again = fit_combiner(reports[:90], predictions[:90], seed=7, weight=2.0)
    assert again is not None
    assert again.trees.leaves.tolist() == combiner.trees.leaves.tolist()


def test_unknown_predictions_and_heads_without_a_fixed_file():
    rows = combiner_rows(np.zeros((3, 2), dtype=np.float32), UNKNOWN[:3])
    assert rows.shape == (3, 5)
    assert rows.dtype == np.float32
    assert np.isnan(rows[:, 2:]).all()
    assert combiner_rows(np.zeros((0, 2), dtype=np.float32), UNKNOWN[:0]).shape == (0, 5)
    deep = one(0, 0, 0, "0" * (LENGTH - 1) + "1")  # beyond the trees' depth
    assert fit_combiner([deep], [UNKNOWN], seed=7, weight=1.0) is None


def test_how_far_a_file_is_below_the_best():
    rows = combiner_rows(np.zeros((2, 1), dtype=np.float32), np.array([[1.0, 2.0], [0.5, 0.5]]))
    assert rows[:, 3] == pytest.approx([0.0, -2.0])
