"""The precision of training on each kind of device; no GPU is used, only its answers are faked."""

import numpy as np
import pytest
import torch

from tests.rerank.by_hand import candidates
from tosloc.core.config import StageTwoSettings
from tosloc.rerank.encoder import reranker
from tosloc.rerank.encoder.encoders import Encoder
from tosloc.rerank.encoder.precision import (
    autocast,
    choose_precision,
    computes_in_float16,
    make_gradient_scaler,
)
from tosloc.rerank.encoder.reranker import STATE, Trainer
from tosloc.rerank.encoder.scoring import EncodedQuery, RerankingModel

CPU = torch.device("cpu")
GPU = torch.device("cuda", 0)


@pytest.fixture
def fake_gpu(monkeypatch):
    """Return a function that lets torch describe a GPU of this capability."""

    def fake(capability):
        def is_bf16_supported(including_emulation=True):
            return including_emulation or capability >= (8, 0)

        monkeypatch.setattr(torch.cuda, "is_bf16_supported", is_bf16_supported)
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)

    return fake


@pytest.mark.parametrize(
    ("capability", "precision"),
    [
        ((9, 0), "bfloat16"),
        ((8, 0), "bfloat16"),
        ((7, 5), "float16"),
        ((7, 0), "float16"),
        ((6, 1), "float32"),
    ],
    ids=["H100", "A100", "T4", "V100", "GTX 1080"],
)
def test_a_gpu_computes_in_the_shortest_format_that_it_is_made_for(fake_gpu, capability, precision):
    fake_gpu(capability)
    assert choose_precision("auto", GPU) == precision


def test_a_cpu_computes_in_float32(fake_gpu):
    fake_gpu((9, 0))
    assert choose_precision("auto", CPU) == "float32"


@pytest.mark.parametrize("setting", ["float32", "float16", "bfloat16"])
def test_an_explicit_precision_is_used_as_it_is(fake_gpu, setting):
    fake_gpu((7, 0))
    assert choose_precision(setting, GPU) == setting


@pytest.mark.parametrize(
    ("precision", "dtype"),
    [
        ("float32", torch.float32),
        ("bfloat16", torch.bfloat16),
        ("float16", torch.float16),
    ],
)
def test_matrix_products_have_the_chosen_precision(precision, dtype):
    matrix = torch.ones((2, 2))
    with autocast(precision, CPU):
        assert (matrix @ matrix).dtype == dtype
        assert computes_in_float16(CPU) == (precision == "float16")
    assert not computes_in_float16(CPU)


@pytest.mark.parametrize(
    ("precision", "scales"), [("float32", False), ("bfloat16", False), ("float16", True)]
)
def test_only_float16_needs_a_gradient_scaler(precision, scales):
    assert make_gradient_scaler(precision, CPU).is_enabled() == scales


# Training in float16, which a CPU can do, too


CHUNKS = {"a": [[2, 7, 8, 3], [2, 9, 3]], "b": [[2, 10, 11, 3]], "c": [[2, 12, 5, 3]]}
QUERIES = [
    EncodedQuery(candidates("a b c", "001"), [[2, 12, 3]]),
    EncodedQuery(candidates("c a b", "01"), [[2, 7, 8, 3]]),
    EncodedQuery(candidates("b c a", "1"), [[2, 10, 3]]),
]


@pytest.fixture
def make_trainer(encoder_folder, tmp_path):
    """Return a function that makes a trainer of an encoder with the paper's scoring."""

    def make(folder="work", precision="auto", epochs=3):
        training = {
            "learns": "both",
            "learning_rate": 0.01,
            "pairs": 3,
            "chunks_at_once": 2,
            "epochs": epochs,
            "precision": precision,
        }
        settings = StageTwoSettings.model_validate({"scoring": "dot", "training": training})
        encoder = Encoder.load(str(encoder_folder), "mean")
        model = RerankingModel(settings, encoder, encoder, seed=5)
        return Trainer(model, CHUNKS, tmp_path / folder, 3, "k")

    return make


@pytest.fixture
def fake_v100(monkeypatch):
    """Let training believe that the CPU is a device that computes in float16."""

    def choose(setting, device):
        return "float16" if setting == "auto" else setting

    monkeypatch.setattr(reranker, "choose_precision", choose)


def parameters(trainer):
    return [value.detach().clone() for value in trainer.model.trainable_parameters.values()]


def test_float16_learns(make_trainer, fake_v100):
    curve = make_trainer(epochs=6).fit(QUERIES, QUERIES)
    assert curve[-1]["loss"] < curve[1]["loss"] / 2


def test_float16_is_used_in_training(make_trainer, fake_v100):
    halves = make_trainer("half", epochs=1).fit(QUERIES, QUERIES)
    full = make_trainer("full", "float32", epochs=1).fit(QUERIES, QUERIES)
    assert halves != full


def test_an_interrupted_float16_training_goes_on_to_the_same_end(make_trainer, fake_v100):
    uninterrupted = make_trainer("whole")
    curve = uninterrupted.fit(QUERIES, QUERIES)
    make_trainer("half", epochs=1).fit(QUERIES, QUERIES)
    resumed = make_trainer("half")
    assert resumed.fit(QUERIES, QUERIES) == curve
    for value, expected in zip(parameters(resumed), parameters(uninterrupted), strict=True):
        assert torch.equal(value, expected)


def test_the_scale_of_gradients_survives_an_interruption(make_trainer, fake_v100, tmp_path):
    make_trainer("half", epochs=1).fit(QUERIES, QUERIES)
    state = torch.load(tmp_path / "half" / STATE, weights_only=True)
    assert state["scaler"]["scale"] > 1


def test_training_begins_anew_in_another_precision(make_trainer, fake_v100):
    make_trainer("half", epochs=2).fit(QUERIES, QUERIES)
    again = make_trainer("half", "float32").fit(QUERIES, QUERIES)
    assert again == make_trainer("new", "float32").fit(QUERIES, QUERIES)


def test_a_step_whose_gradients_overflow_is_skipped(make_trainer, fake_v100):
    trainer = make_trainer(epochs=1)
    trainer.loss = lambda scores, fixed: scores.sum() * 1e34  # times the scale it is infinite
    before = parameters(trainer)
    trainer.fit(QUERIES, QUERIES)
    for value, expected in zip(parameters(trainer), before, strict=True):
        assert torch.equal(value, expected)


def test_large_vectors_do_not_overflow_the_score_in_float16(encoder_folder):
    encoder = Encoder.load(str(encoder_folder), "mean")
    settings = StageTwoSettings.model_validate({"scoring": "dot"})
    model = RerankingModel(settings, encoder, encoder, seed=5)
    vectors = {"a": np.full((1, encoder.width), 1000, dtype=np.float16)}
    query = EncodedQuery(candidates("a"), vectors["a"])
    with torch.inference_mode(), autocast("float16", CPU):
        score = model(query, vectors)
    assert score.item() == pytest.approx(1000 * 1000 * encoder.width)
