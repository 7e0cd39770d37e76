"""The two encoder: scores, what they learn, and that they learn the same each time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from tosloc.config import TermsSettings
from tosloc.errors import ToslocError
from tosloc.reranking.encoder.losses import spread
from tosloc.reranking.terms.dual_encoder import CachedDualEncoder, CandidateRows, DualEncoder
from tosloc.reranking.terms.training import DualEncoderTrainingSet, TrainableDualEncoder, averaged, draw, fit
from tosloc.reranking.terms.vocabulary import SparseVectors

torch.set_num_threads(1)
V, D = 9, 4
SETTINGS = TermsSettings(epochs=40, learning_rate=0.05, reports=4, dropout=0.0, negatives=3)


def bags(*rows: tuple[int, ...]) -> SparseVectors:
    """SparseVectors of equal weights."""
    terms, weights = np.zeros((len(rows), 3), dtype=np.int32), np.zeros((len(rows), 3), dtype=np.float32)
    for row, some in enumerate(rows):
        terms[row, : len(some)] = some
        weights[row, : len(some)] = max(len(some), 1) ** -0.5
    return SparseVectors(terms, weights)


def start() -> np.ndarray:
    made = np.random.default_rng(0).standard_normal((V, D)).astype(np.float32)
    made[0] = 0
    return made


REPORTS = bags((1,), (2,), (3,), (1, 2))
CONTENTS = bags((4,), (5,), (6,), (7,))
HISTORIES = bags((8,), (), (4, 5), (1,))


def lists() -> list[CandidateRows]:
    """Report r is fixed in file r, which shares no term with it."""
    rows = np.arange(4)
    return [CandidateRows(r, rows, np.zeros(4, dtype=np.int64), rows == r % 3, np.linspace(1, 0, 4)) for r in range(4)]


def test_scores_by_hand():
    tables = {side: np.zeros((V, 2), dtype=np.float16) for side in ("report", "content", "history")}
    tables["report"][1] = (2, 0)
    tables["content"][4], tables["content"][5] = (3, 0), (1, 1)
    tables["history"][8] = (-1, 0)
    encoder = DualEncoder(tables, {"content": 1.0, "history": 0.5})
    found = encoder.scores(REPORTS.take(np.array([0])), CONTENTS, HISTORIES)
    assert found == pytest.approx([1 - 0.5, 0.5**0.5, 0, 0], abs=1e-6)
    [best] = encoder.matches(
        REPORTS.take(np.array([0])), CONTENTS.take(np.array([1])), HISTORIES.take(np.array([1])), 3
    )
    assert (best.asked, best.found) == (1, 5)
    assert best.share == pytest.approx(0.5**0.5, abs=1e-6)


def test_the_shares_of_the_matches_make_the_score():
    encoder = fit(SETTINGS, start(), DualEncoderTrainingSet(REPORTS, CONTENTS, HISTORIES, lists()), seed=1)
    asked, content, history = REPORTS.take(np.array([3])), CONTENTS.take(np.array([2])), HISTORIES.take(np.array([2]))
    matches = encoder.matches(asked, content, history, 3)
    total = sum(match.share for match in matches)
    # those that do not help are not listed
    assert total >= float(encoder.scores(asked, content, history)[0]) - 1e-5
    assert {match.asked for match in matches} <= {1, 2}
    assert {match.found for match in matches} <= {4, 5, 6}


def test_learning_brings_the_fixed_file_first_whatever_stage_one_said():
    before = DualEncoder({side: start().astype(np.float16) for side in ("report", "content", "history")})
    encoder = fit(SETTINGS, start(), DualEncoderTrainingSet(REPORTS, CONTENTS, HISTORIES, lists()), seed=1)

    def first(some: DualEncoder) -> int:
        deep = [some.scores(REPORTS.take(np.array([r])), CONTENTS, HISTORIES.take(np.zeros(4, int))) for r in range(3)]
        return sum(int(scores.argmax() == r) for r, scores in enumerate(deep))

    assert first(before) < first(encoder) == 3
    assert encoder.shape == (V, D)
    assert encoder.tables["report"].dtype == np.float16
    assert np.array_equal(encoder.tables["report"][0], np.zeros(D))


def test_the_same_seed_gives_the_same_towers():
    settings = SETTINGS.model_copy(update={"dropout": 0.5, "epochs": 3})
    one, two, other = (
        fit(settings, start(), DualEncoderTrainingSet(REPORTS, CONTENTS, HISTORIES, lists()), seed=seed)
        for seed in (1, 1, 2)
    )
    assert one.digest == two.digest != other.digest
    assert one.gains == two.gains


def test_the_vectors_are_the_mean_of_several_trainings():
    settings = SETTINGS.model_copy(update={"dropout": 0.5, "epochs": 3})
    told = list[tuple[int, int]]()

    def fitted(number: int) -> DualEncoder:
        more = settings.model_copy(update={"averaged": number})
        return fit(
            more,
            start(),
            DualEncoderTrainingSet(REPORTS, CONTENTS, HISTORIES, lists()),
            seed=1,
            progress=lambda _, *at: told.append(at),
        )

    one, two = fitted(1), fitted(2)
    assert told == [(step, 3) for step in range(1, 4)] + [(step, 6) for step in range(1, 7)]
    other = {side: 2.0 * two.tables[side].astype(float) - one.tables[side] for side in one.tables}
    # what the second one learned differs, and begins from the same vectors
    moved = {side: np.abs(other[side] - one.tables[side].astype(float)).max() for side in other}
    assert all(0.01 < most < 1 for most in moved.values())
    models = [TrainableDualEncoder(start()) for _ in range(2)]
    with torch.no_grad():
        models[1].moved["content"] += 1.0
        models[1].gains["history"] += 1.0
    mean = averaged(models)
    assert mean.tables["content"] == pytest.approx(start() + 0.5, abs=2e-3)
    assert mean.tables["report"] == pytest.approx(start(), abs=2e-3)
    assert mean.gains == {"content": 1.0, "history": 1.5}


def test_a_score_does_not_depend_on_what_else_is_scored():
    encoder = fit(SETTINGS, start(), DualEncoderTrainingSet(REPORTS, CONTENTS, HISTORIES, lists()), seed=1)
    asked = REPORTS.take(np.array([0]))
    together = encoder.scores(asked, CONTENTS, HISTORIES)
    for row in range(4):
        only = np.array([row])
        assert encoder.scores(asked, CONTENTS.take(only), HISTORIES.take(only))[0] == together[row]


def test_the_vector_of_a_bag_is_made_once(monkeypatch):
    encoder = fit(SETTINGS, start(), DualEncoderTrainingSet(REPORTS, CONTENTS, HISTORIES, lists()), seed=1)
    made = list[tuple[str, int]]()
    vectors = DualEncoder.vectors

    def noted(self, side, some):
        made.append((side, len(some)))
        return vectors(self, side, some)

    cached, wanted = CachedDualEncoder(encoder), list[np.ndarray]()
    asks = [(0, 2, [1, 0]), (1, 4, [3, 1, 3]), (2, 4, [0, 2])]  # report, bags in the shelves by then, rows
    for report, _, rows in asks:
        places = np.array(rows)
        asked, contents, histories = REPORTS.take(np.array([report])), CONTENTS.take(places), HISTORIES.take(places)
        wanted.append(encoder.parts(asked, contents, histories))
    monkeypatch.setattr(DualEncoder, "vectors", noted)
    for (report, known, rows), right in zip(asks, wanted, strict=True):
        cache, places = np.arange(known), np.array(rows)
        one = replace(lists()[0], contents=places, histories=places)
        found = cached.parts(REPORTS.take(np.array([report])), CONTENTS.take(cache), HISTORIES.take(cache), one)
        assert np.array_equal(found, right)
    assert [number for side, number in made if side == "content"] == [2, 1, 1]
    assert [number for side, number in made if side == "history"] == [2, 1, 1]


def test_what_is_drawn():
    one = replace(lists()[0], contents=np.arange(40), fixed=np.arange(40) % 10 == 0, scores=np.linspace(1, 0, 40))
    settings = SETTINGS.model_copy(update={"positives": 2, "negatives": 5})
    rng = np.random.default_rng(0)
    found = [draw(one, settings, rng) for _ in range(300)]
    assert {tuple(places[:2].tolist()) for places in found} == {(0, 10)}
    wrong = np.concatenate([places[2:] for places in found])
    assert not one.fixed[wrong].any()
    assert len(found[0]) == 7
    assert (wrong < 20).mean() > 0.65


def test_a_list_of_one_kind_teaches_nothing():
    for kind in (True, False):
        same = [replace(one, fixed=np.full(4, kind)) for one in lists()]
        with pytest.raises(ToslocError, match="both fixed and wrong"):
            fit(SETTINGS, start(), DualEncoderTrainingSet(REPORTS, CONTENTS, HISTORIES, same), seed=1)


def test_spread_loss_by_hand():
    score = torch.tensor([[0.0, 0.0, 0.0, 5.0]])
    fixed, real = torch.tensor([[True, True, False, False]]), torch.tensor([[True, True, True, False]])
    assert float(spread(score, fixed, real)) == pytest.approx(np.log(3))
