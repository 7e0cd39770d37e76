"""The training loop learns and goes on after an interruption; scores and the loss by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn import functional

from tests.rerank.encoder.tiny import Epochs
from tests.rerank.made import candidates, report
from tosloc.core.config import StageTwoSettings
from tosloc.rerank.encoder.encoders import Encoder
from tosloc.rerank.encoder.reranker import PATIENCE, STATE, Trainer
from tosloc.rerank.encoder.scoring import (
    EncodedQuery,
    RerankingModel,
    ScoringHead,
    contrastive_loss,
)

WIDTH = 16


def world():
    """Files whose vectors a hidden rotation turns into those of the reports that mean them."""
    rng, lists = np.random.default_rng(1), []
    files = {f"f{n}": rng.normal(size=(1 + n % 3, WIDTH)).astype(np.float16) for n in range(12)}
    turn = np.linalg.qr(rng.normal(size=(WIDTH, WIDTH)))[0]
    for number in range(60):
        blobs, right = rng.permutation(list(files))[:6], number % 6
        asked = files[blobs[right]].mean(0, keepdims=True).astype(np.float64) @ turn
        one = candidates(" ".join(blobs), "0" * right + "1", of=report(str(number), 1000))
        lists.append(EncodedQuery(one, asked.astype(np.float16)))
    return files, lists


CHUNKS_OF, LISTS = world()


@pytest.fixture
def make(encoder_folder, tmp_path):
    def trainer(folder="work", key="k", **training):
        given = {"epochs": 30, "pairs": 24, "learning_rate": 0.02, **training}
        encoder = Encoder.load(str(encoder_folder), "mean")
        model = RerankingModel(
            StageTwoSettings.model_validate({"training": given}), encoder, encoder, seed=5
        )
        return Trainer(model, CHUNKS_OF, tmp_path / folder, 3, key)

    return trainer


def test_it_learns_to_find_what_it_has_not_seen_and_nothing_frozen_moves(make):
    trainer = make()
    frozen = trainer.model.code.compute_fingerprint()
    curve = trainer.fit(LISTS[:45], LISTS[45:])
    assert curve[-1]["loss"] < 0.2 < curve[1]["loss"]
    assert trainer.validate(LISTS[45:])["mrr"] > max(0.8, curve[0]["mrr"] + 0.2)
    assert trainer.model.code.compute_fingerprint() == frozen
    # validation is by reports opened after what was learned: others keep stage one's order
    early = [
        replace(one, candidates=replace(one.candidates, report=report("r", 99)))
        for one in LISTS[45:]
    ]
    by_stage_one = np.mean([1 / (1 + int(one.candidates.fixed.argmax())) for one in early])
    for until, known in ((99, True), (100, False)):
        trainer.trained_until = until
        assert (trainer.validate(early)["mrr"] == pytest.approx(by_stage_one)) != known


def test_without_gain_the_first_parameters_stay(make):
    upside_down = [
        replace(one, candidates=replace(one.candidates, fixed=~one.candidates.fixed))
        for one in LISTS[45:]
    ]
    trainer = make()
    first = {
        name: value.detach().clone() for name, value in trainer.model.trainable_parameters.items()
    }
    assert len(trainer.fit(LISTS[:12], upside_down)) == 1 + PATIENCE
    assert all(
        torch.equal(value, first[name])
        for name, value in trainer.model.trainable_parameters.items()
    )


def test_a_training_goes_on_to_the_same_end_but_not_from_another_or_half_a_state(make, tmp_path):
    def run(folder, epochs, **more):
        seen = Epochs()
        return make(folder, epochs=epochs, **more).fit(LISTS[:12], LISTS[45:], seen), seen.begun

    whole, _ = run("whole", 2)
    assert run("half", 1)[0] == whole[:2]
    assert run("half", 2) == (whole, [1])
    assert run("half", 2, key="another")[1] == [0, 1]
    state = tmp_path / "half" / STATE
    state.write_bytes(state.read_bytes()[:100])
    assert run("half", 2) == (whole, [0, 1])


def test_training_keeps_the_random_state_of_its_caller(make):
    before = torch.get_rng_state()
    make(epochs=1).fit(LISTS[:10], LISTS[45:])
    assert torch.equal(torch.get_rng_state(), before)


# Scores and the loss by hand


# 3 candidates, 4 chunks, width 5
CHUNKS = torch.randn((3, 4, 5), generator=torch.Generator().manual_seed(3))
REAL = torch.tensor([[1, 1, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0]]).bool()
REPORT = torch.randn(5, generator=torch.Generator().manual_seed(4))


@pytest.mark.parametrize("cosine", [False, True])
def test_padding_changes_no_score(cosine):
    torch.manual_seed(0)
    head = ScoringHead(5, cosine=cosine).eval()
    other = torch.where(REAL.unsqueeze(-1), CHUNKS, torch.full_like(CHUNKS, 77.0))
    scores = head(REPORT, CHUNKS, REAL)
    assert torch.isfinite(scores).all()
    assert torch.allclose(scores, head(REPORT, other, REAL))
    assert torch.allclose(scores[:1], head(REPORT, CHUNKS[:1, :2], REAL[:1, :2]), atol=1e-6)


def test_the_papers_score_is_a_dot_product_with_a_softmax_over_the_real_chunks():
    head = ScoringHead(5, cosine=False)
    assert sorted(head.state_dict()) == ["pooling.weight.bias", "pooling.weight.weight"]
    two, files = CHUNKS[0, :2], head.pooling(CHUNKS, REAL)
    share = torch.softmax(head.pooling.weight(functional.normalize(two, dim=-1)).squeeze(-1), 0)
    assert torch.allclose(files[0], share @ two, atol=1e-6)
    assert files[2].abs().sum() == 0  # a file without chunks
    assert torch.allclose(head(REPORT, CHUNKS, REAL), files @ REPORT)


@pytest.mark.parametrize(
    ("fixed", "right", "wrong"), [([0, 1, 0], [2.0], [1.0, 0.5]), ([1, 1, 0], [2.0, 1.0], [0.5])]
)
def test_the_loss_is_a_softmax_in_which_another_fixed_file_is_no_negative(fixed, right, wrong):
    loss = contrastive_loss(torch.tensor([1.0, 2.0, 0.5]), torch.tensor(fixed).bool()).item()
    rest = sum(map(math.exp, wrong))
    assert loss == pytest.approx(
        -sum(math.log(math.exp(one) / (math.exp(one) + rest)) for one in right) / len(right)
    )


def test_encoding_in_parts_changes_neither_scores_nor_gradients(encoder_folder):
    chunks = {"a": [[2, 7, 3], [2, 8, 9, 3]], "b": [[2, 5, 3]]}
    found = []
    for at_once in (0, 1):
        settings = StageTwoSettings.model_validate(
            {"training": {"learns": "both", "chunks_at_once": at_once}}
        )
        encoder = Encoder.load(str(encoder_folder), "mean")
        model = RerankingModel(settings, encoder, encoder, seed=1).eval()
        scores = model(EncodedQuery(candidates("a gone b"), [[2, 7, 8, 3]]), chunks)
        (scores[0] - scores[2]).backward()
        found.append((scores.detach(), encoder.model.get_input_embeddings().weight.grad))
    assert torch.allclose(found[0][0], found[1][0], atol=1e-6)
    assert torch.allclose(found[0][1], found[1][1], atol=1e-6)
    assert found[0][0][1] == 0  # a blob that nobody knows
