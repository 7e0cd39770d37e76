"""The training loop, which goes on after an interruption; scores and the loss by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn import functional

from tests.rerank.by_hand import candidates, report
from tests.rerank.encoder.tiny import Epochs
from tosloc.core.config import StageTwoSettings
from tosloc.core.errors import ToslocError
from tosloc.core.progress import ANNOUNCEMENT
from tosloc.rerank.encoder.encoders import Encoder
from tosloc.rerank.encoder.reranker import PATIENCE, STATE, Trainer
from tosloc.rerank.encoder.scoring import (
    EncodedQuery,
    RerankingModel,
    ScoringHead,
    contrastive_loss,
)

WIDTH = 16
OPENED = 1000


def make_queries():
    """Return files' chunks, and 60 reports with six candidates each, one of which is fixed.

    A hidden rotation turns the vector of the fixed file into that of the report.
    """
    rng = np.random.default_rng(1)
    files = {}
    for number in range(12):
        files[f"f{number}"] = rng.normal(size=(1 + number % 3, WIDTH)).astype(np.float16)
    rotation = np.linalg.qr(rng.normal(size=(WIDTH, WIDTH)))[0]
    queries = []
    for number in range(60):
        blobs = rng.permutation(list(files))[:6]
        fixed = number % 6
        file = files[blobs[fixed]].mean(0, keepdims=True).astype(np.float64)
        report_candidates = candidates(
            " ".join(blobs), "0" * fixed + "1", of=report(str(number), OPENED)
        )
        queries.append(EncodedQuery(report_candidates, (file @ rotation).astype(np.float16)))
    return files, queries


CHUNKS_BY_BLOB, QUERIES = make_queries()
TRAIN = QUERIES[:45]
FEW = QUERIES[:12]
VALIDATION = QUERIES[45:]


@pytest.fixture
def make_trainer(encoder_folder, tmp_path):
    """Return a function that makes a trainer of a head over a frozen encoder."""

    def make(folder="work", key="k", **training):
        settings = {"epochs": 30, "pairs": 24, "learning_rate": 0.02, **training}
        encoder = Encoder.load(str(encoder_folder), "mean")
        model = RerankingModel(
            StageTwoSettings.model_validate({"training": settings}), encoder, encoder, seed=5
        )
        return Trainer(model, CHUNKS_BY_BLOB, tmp_path / folder, 3, key)

    return make


def copy_parameters(trainer):
    parameters = trainer.model.trainable_parameters
    return {name: value.detach().clone() for name, value in parameters.items()}


def test_training_finds_the_files_of_unseen_reports(make_trainer):
    trainer = make_trainer()
    curve = trainer.fit(TRAIN, VALIDATION)
    assert curve[1]["loss"] > 0.2
    assert curve[-1]["loss"] < 0.2
    assert trainer.validate(VALIDATION)["mrr"] > max(0.8, curve[0]["mrr"] + 0.2)


def test_training_does_not_change_a_frozen_encoder(make_trainer):
    trainer = make_trainer(epochs=2)
    before = trainer.model.code.compute_fingerprint()
    trainer.fit(FEW, VALIDATION)
    assert trainer.model.code.compute_fingerprint() == before


@pytest.mark.parametrize(
    ("trained_until", "by_stage_one"),
    [(99, False), (100, True)],
    ids=["opened at the last fix", "opened before it"],
)
def test_validation_keeps_stage_ones_order_of_early_reports(
    make_trainer, trained_until, by_stage_one
):
    early = []
    reciprocal_ranks = []
    for query in VALIDATION:
        early.append(replace(query, candidates=replace(query.candidates, report=report("r", 99))))
        reciprocal_ranks.append(1 / (1 + int(query.candidates.fixed.argmax())))
    trainer = make_trainer()
    trainer.trained_until = trained_until
    is_stage_ones = trainer.validate(early)["mrr"] == pytest.approx(np.mean(reciprocal_ranks))
    assert is_stage_ones == by_stage_one


def test_without_gain_the_first_parameters_stay(make_trainer):
    upside_down = []
    for query in VALIDATION:
        not_fixed = ~query.candidates.fixed
        upside_down.append(replace(query, candidates=replace(query.candidates, fixed=not_fixed)))
    trainer = make_trainer()
    before = copy_parameters(trainer)
    assert len(trainer.fit(FEW, upside_down)) == 1 + PATIENCE
    for name, value in trainer.model.trainable_parameters.items():
        assert torch.equal(value, before[name])


@pytest.fixture
def train_epochs(make_trainer):
    """Return a function that trains in a folder; it returns the curve and the epochs begun."""

    def train(folder, epochs, **options):
        progress = Epochs()
        curve = make_trainer(folder, epochs=epochs, **options).fit(FEW, VALIDATION, progress)
        return curve, progress.begun

    return train


def test_an_interrupted_training_goes_on_to_the_same_end(train_epochs):
    uninterrupted, _ = train_epochs("whole", 2)
    first_half, _ = train_epochs("half", 1)
    resumed, begun = train_epochs("half", 2)
    assert first_half == uninterrupted[:2]
    assert resumed == uninterrupted
    assert begun == [1]


class Announcements:
    """Progress that records what is announced."""

    def __init__(self):
        self.sentences = []

    def __call__(self, what, done, total):
        if total == ANNOUNCEMENT:
            self.sentences.append(what)


def test_training_announces_epochs_time_and_device(make_trainer):
    progress = Announcements()
    curve = make_trainer(epochs=2).fit(FEW, VALIDATION, progress)
    start, first, second, end = progress.sentences
    assert start == "stage two trains the head on the CPU in float32: 12 reports, 4 for one step"
    assert first.startswith(f"stage two, epoch 1 of at most 2: loss {curve[1]['loss']:.3f}, ")
    assert f"validation MRR {curve[2]['mrr']:.3f}, MAP {curve[2]['map']:.3f}, " in second
    assert end.startswith("stage two: 2 epochs took ")


def test_a_resumed_training_counts_the_time_before_the_interruption(make_trainer):
    first = make_trainer(epochs=1)
    first.fit(FEW, VALIDATION)
    progress = Announcements()
    resumed = make_trainer(epochs=2)
    resumed.fit(FEW, VALIDATION, progress)
    assert progress.sentences[1] == (
        "stage two resumes a training that was interrupted after 1 epoch"
    )
    assert progress.sentences[-1].startswith("stage two: 2 epochs took ")
    assert resumed.epoch_seconds[0] == first.epoch_seconds[0]


def loss_with_faults(faulty_calls):
    """Return a loss that is no number at some of its calls, which count from 0."""
    calls = iter(range(1000))

    def loss(scores, fixed):
        factor = math.nan if next(calls) in faulty_calls else 1.0
        return factor * contrastive_loss(scores, fixed)

    return loss


def test_a_loss_that_is_no_number_is_left_out(make_trainer):
    trainer = make_trainer(epochs=1)
    trainer.loss = loss_with_faults({0, 1, 2, 3, 6})  # all of the first step, one of the second
    progress = Announcements()
    [_, epoch] = trainer.fit(FEW, VALIDATION, progress)
    assert math.isfinite(epoch["loss"])
    sentence = "nothing was learned from 5 reports, whose loss was no finite number"
    assert f"stage two, epoch 1: {sentence}" in progress.sentences
    for value in trainer.model.trainable_parameters.values():
        assert value.isfinite().all()


def test_gradients_that_are_no_numbers_change_no_parameter(make_trainer):
    trainer = make_trainer(epochs=1)
    # The square root of 0 has an infinite gradient, which times 0 is no number.
    trainer.loss = lambda scores, fixed: 0 * (scores.sum() * 0).sqrt()
    before = copy_parameters(trainer)
    trainer.fit(FEW, VALIDATION)
    for name, value in trainer.model.trainable_parameters.items():
        assert torch.equal(value, before[name])


def test_training_without_any_finite_loss_is_one_sentence(make_trainer):
    trainer = make_trainer(epochs=1)
    trainer.loss = loss_with_faults(range(1000))
    with pytest.raises(ToslocError, match="cannot learn in float32: no loss is a finite number"):
        trainer.fit(FEW, VALIDATION)


def test_training_begins_anew_with_another_key(train_epochs):
    train_epochs("half", 1)
    _, begun = train_epochs("half", 2, key="another")
    assert begun == [0, 1]


def test_training_begins_anew_from_half_a_state(train_epochs, tmp_path):
    uninterrupted, _ = train_epochs("half", 2)
    state = tmp_path / "half" / STATE
    state.write_bytes(state.read_bytes()[:100])
    again, begun = train_epochs("half", 2)
    assert again == uninterrupted
    assert begun == [0, 1]


def test_training_keeps_the_random_state_of_its_caller(make_trainer):
    before = torch.get_rng_state()
    make_trainer(epochs=1).fit(QUERIES[:10], VALIDATION)
    assert torch.equal(torch.get_rng_state(), before)


# Scores and the loss by hand


# 3 candidates, 4 chunks, width 5; the third candidate has no real chunk
CHUNKS = torch.randn((3, 4, 5), generator=torch.Generator().manual_seed(3))
REAL = torch.tensor([[1, 1, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0]]).bool()
REPORT = torch.randn(5, generator=torch.Generator().manual_seed(4))


@pytest.mark.parametrize("cosine", [False, True], ids=["dot product", "cosine"])
def test_padding_changes_no_score(cosine):
    torch.manual_seed(0)
    head = ScoringHead(5, cosine=cosine).eval()
    other_padding = torch.where(REAL.unsqueeze(-1), CHUNKS, torch.full_like(CHUNKS, 77.0))
    scores = head(REPORT, CHUNKS, REAL)
    assert torch.isfinite(scores).all()
    assert torch.allclose(scores, head(REPORT, other_padding, REAL))
    assert torch.allclose(scores[:1], head(REPORT, CHUNKS[:1, :2], REAL[:1, :2]), atol=1e-6)


@pytest.fixture
def paper_head():
    """Return the scoring head of the paper."""
    return ScoringHead(5, cosine=False)


def test_the_papers_head_learns_only_its_pooling(paper_head):
    assert sorted(paper_head.state_dict()) == ["pooling.weight.bias", "pooling.weight.weight"]


def test_the_papers_pooling_is_a_softmax_over_the_real_chunks(paper_head):
    files = paper_head.pooling(CHUNKS, REAL)
    two = CHUNKS[0, :2]
    logits = paper_head.pooling.weight(functional.normalize(two, dim=-1)).squeeze(-1)
    assert torch.allclose(files[0], torch.softmax(logits, 0) @ two, atol=1e-6)


def test_the_vector_of_a_file_without_chunks_is_0(paper_head):
    assert paper_head.pooling(CHUNKS, REAL)[2].abs().sum() == 0


def test_the_papers_score_is_a_dot_product(paper_head):
    files = paper_head.pooling(CHUNKS, REAL)
    assert torch.allclose(paper_head(REPORT, CHUNKS, REAL), files @ REPORT)


@pytest.mark.parametrize(
    ("fixed", "right", "wrong"),
    [([0, 1, 0], [2.0], [1.0, 0.5]), ([1, 1, 0], [2.0, 1.0], [0.5])],
    ids=["one fixed file", "another fixed file is not a negative"],
)
def test_the_loss_is_a_softmax_over_a_fixed_file_and_all_wrong_ones(fixed, right, wrong):
    loss = contrastive_loss(torch.tensor([1.0, 2.0, 0.5]), torch.tensor(fixed).bool()).item()
    wrong_sum = sum(math.exp(score) for score in wrong)
    log_likelihoods = []
    for score in right:
        log_likelihoods.append(math.log(math.exp(score) / (math.exp(score) + wrong_sum)))
    assert loss == pytest.approx(-sum(log_likelihoods) / len(right))


def scores_and_gradient(encoder_folder, chunks_at_once):
    """Return scores of three candidates, the second of which is unknown, and a gradient."""
    chunks = {"a": [[2, 7, 3], [2, 8, 9, 3]], "b": [[2, 5, 3]]}
    training = {"learns": "both", "chunks_at_once": chunks_at_once}
    settings = StageTwoSettings.model_validate({"training": training})
    encoder = Encoder.load(str(encoder_folder), "mean")
    model = RerankingModel(settings, encoder, encoder, seed=1).eval()
    scores = model(EncodedQuery(candidates("a gone b"), [[2, 7, 8, 3]]), chunks)
    (scores[0] - scores[2]).backward()
    return scores.detach(), encoder.model.get_input_embeddings().weight.grad


def test_encoding_in_parts_changes_neither_scores_nor_gradients(encoder_folder):
    scores, gradient = scores_and_gradient(encoder_folder, chunks_at_once=0)
    scores_in_parts, gradient_in_parts = scores_and_gradient(encoder_folder, chunks_at_once=1)
    assert torch.allclose(scores, scores_in_parts, atol=1e-6)
    assert torch.allclose(gradient, gradient_in_parts, atol=1e-6)


def test_an_unknown_blob_scores_0(encoder_folder):
    scores, _ = scores_and_gradient(encoder_folder, chunks_at_once=0)
    assert scores[1] == 0
