"""The dual encoder: scores, what it learns, and that it learns the same each time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from tosloc.config import TermsSettings
from tosloc.errors import ToslocError
from tosloc.reranking.terms.dual_encoder import CachedDualEncoder, DualEncoder
from tosloc.reranking.terms.file_vectors import CandidateRows
from tosloc.reranking.terms.sparse_vectors import SparseVectors
from tosloc.reranking.terms.training import (
    DrawnCandidates,
    DualEncoderTrainingSet,
    LabelledRows,
    TrainableDualEncoder,
    averaged,
    draw,
    even_mass_loss,
    fit_dual_encoder,
)

torch.set_num_threads(1)
V, D = 9, 4
SETTINGS = TermsSettings(epochs=40, learning_rate=0.05, reports=4, dropout=0.0, negatives=3)


def vectors(*rows: tuple[int, ...]) -> SparseVectors:
    """Sparse vectors of equal weights."""
    terms, weights = np.zeros((len(rows), 3), dtype=np.int32), np.zeros((len(rows), 3), dtype=np.float32)
    for row, some in enumerate(rows):
        terms[row, : len(some)] = some
        weights[row, : len(some)] = max(len(some), 1) ** -0.5
    return SparseVectors(terms, weights)


def start() -> np.ndarray:
    made = np.random.default_rng(0).standard_normal((V, D)).astype(np.float32)
    made[0] = 0
    return made


REPORTS = vectors((1,), (2,), (3,), (1, 2))
CONTENTS = vectors((4,), (5,), (6,), (7,))
HISTORIES = vectors((8,), (), (4, 5), (1,))


def lists() -> list[LabelledRows]:
    """Report r is fixed in file r, which shares no term with it."""
    rows = np.arange(4)
    files = CandidateRows(rows, np.zeros(4, dtype=np.int64))
    return [LabelledRows(r, files, rows == r % 3, np.linspace(1, 0, 4)) for r in range(4)]


def training_set(some: list[LabelledRows] | None = None) -> DualEncoderTrainingSet:
    return DualEncoderTrainingSet(REPORTS, CONTENTS, HISTORIES, lists() if some is None else some)


def scores(encoder: DualEncoder, report: SparseVectors, contents: SparseVectors, histories: SparseVectors):
    """(C,) scores of files for one report."""
    files = {"content": encoder.encode("content", contents), "history": encoder.encode("history", histories)}
    return encoder.component_scores(encoder.encode("report", report)[0], files).sum(axis=1)


def only(texts: SparseVectors, *rows: int) -> SparseVectors:
    return texts.take(np.array(rows))


def test_scores_by_hand():
    tables = {side: np.zeros((V, 2), dtype=np.float16) for side in ("report", "content", "history")}
    tables["report"][1] = (2, 0)
    tables["content"][4], tables["content"][5] = (3, 0), (1, 1)
    tables["history"][8] = (-1, 0)
    encoder = DualEncoder(tables, {"content": 1.0, "history": 0.5})
    found = scores(encoder, only(REPORTS, 0), CONTENTS, HISTORIES)
    assert found == pytest.approx([1 - 0.5, 0.5**0.5, 0, 0], abs=1e-6)
    [best] = encoder.matches(only(REPORTS, 0), only(CONTENTS, 1), only(HISTORIES, 1), 3)
    assert (best.asked, best.found) == (1, 5)
    assert best.share == pytest.approx(0.5**0.5, abs=1e-6)


def test_the_shares_of_the_matches_make_the_score():
    encoder = fit_dual_encoder(SETTINGS, start(), training_set(), seed=1)
    asked, content, history = only(REPORTS, 3), only(CONTENTS, 2), only(HISTORIES, 2)
    matches = encoder.matches(asked, content, history, 3)
    total = sum(match.share for match in matches)
    # those that do not help are not listed
    assert total >= float(scores(encoder, asked, content, history)[0]) - 1e-5
    assert {match.asked for match in matches} <= {1, 2}
    assert {match.found for match in matches} <= {4, 5, 6}


def test_learning_brings_the_fixed_file_first_whatever_stage_one_said():
    before = DualEncoder({side: start().astype(np.float16) for side in ("report", "content", "history")})
    encoder = fit_dual_encoder(SETTINGS, start(), training_set(), seed=1)

    def first(some: DualEncoder) -> int:
        found = [scores(some, only(REPORTS, r), CONTENTS, only(HISTORIES, 0, 0, 0, 0)) for r in range(3)]
        return sum(int(each.argmax() == r) for r, each in enumerate(found))

    assert first(before) < first(encoder) == 3
    assert encoder.shape == (V, D)
    assert encoder.tables["report"].dtype == np.float16
    assert np.array_equal(encoder.tables["report"][0], np.zeros(D))


def test_the_same_seed_gives_the_same_vectors():
    settings = SETTINGS.model_copy(update={"dropout": 0.5, "epochs": 3})
    one, two, other = (fit_dual_encoder(settings, start(), training_set(), seed=seed) for seed in (1, 1, 2))
    assert one.digest == two.digest != other.digest
    assert one.gains == two.gains


def test_the_vectors_are_the_mean_of_several_trainings():
    settings = SETTINGS.model_copy(update={"dropout": 0.5, "epochs": 3})
    told = list[tuple[int, int]]()

    def fitted(number: int) -> DualEncoder:
        more = settings.model_copy(update={"averaged": number})
        return fit_dual_encoder(
            more,
            start(),
            training_set(),
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
    encoder = fit_dual_encoder(SETTINGS, start(), training_set(), seed=1)
    asked = only(REPORTS, 0)
    together = scores(encoder, asked, CONTENTS, HISTORIES)
    for row in range(4):
        assert scores(encoder, asked, only(CONTENTS, row), only(HISTORIES, row))[0] == together[row]


def test_each_file_is_encoded_once(monkeypatch):
    encoder = fit_dual_encoder(SETTINGS, start(), training_set(), seed=1)
    made = list[tuple[str, int]]()
    encode = DualEncoder.encode

    def noted(self, side, texts):
        made.append((side, len(texts)))
        return encode(self, side, texts)

    asks = [(0, 2, [1, 0]), (1, 4, [3, 1, 3]), (2, 4, [0, 2])]  # report, vectors in the tables by then, rows
    wanted = [scores(encoder, only(REPORTS, r), only(CONTENTS, *rows), only(HISTORIES, *rows)) for r, _, rows in asks]
    cached = CachedDualEncoder(encoder)
    monkeypatch.setattr(DualEncoder, "encode", noted)
    for (report, known, rows), right in zip(asks, wanted, strict=True):
        contents, histories = only(CONTENTS, *range(known)), only(HISTORIES, *range(known))
        found = cached.component_scores(only(REPORTS, report), contents, np.array(rows), histories, np.array(rows))
        assert np.array_equal(found.sum(axis=1), right)
    assert [number for side, number in made if side == "content"] == [2, 1, 1]
    assert [number for side, number in made if side == "history"] == [2, 1, 1]


def test_what_is_drawnn():
    files = CandidateRows(np.arange(40), np.arange(40))
    one = LabelledRows(0, files, np.arange(40) % 10 == 0, np.linspace(1, 0, 40))
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
            fit_dual_encoder(SETTINGS, start(), training_set(same), seed=1)


def test_the_fixed_files_share_the_mass():
    score = torch.tensor([[0.0, 0.0, 0.0, 5.0]])
    fixed, real = torch.tensor([[True, True, False, False]]), torch.tensor([[True, True, True, False]])
    assert float(even_mass_loss(score, fixed, real)) == pytest.approx(np.log(3))
    assert float(even_mass_loss(score, torch.tensor([[True, False, False, False]]), real)) == pytest.approx(np.log(3))


def test_padding_changes_no_score_of_a_step():
    """Reports with fewer candidates than the longest list are scored as alone."""
    model, generator = TrainableDualEncoder(start()), torch.Generator()
    chosen = [np.array([2, 0]), np.array([1, 3, 0])]
    together = DrawnCandidates.of(lists()[:2], chosen)
    assert together.real_BC.tolist() == [[True, True, False], [True, True, True]]
    assert together.fixed_BC.tolist() == [[False, True, False], [True, False, False]]
    with torch.no_grad():
        found = together.scores(model, training_set(), 0.0, generator)
        for row, (one, positions) in enumerate(zip(lists()[:2], chosen, strict=True)):
            alone = DrawnCandidates.of([one], [positions]).scores(model, training_set(), 0.0, generator)
            assert alone.shape == (1, len(positions))
            assert torch.allclose(found[row, : len(positions)], alone[0], atol=1e-6)
