"""An encoder reranker's models on disk: what comes back, what is refused, and what an interruption leaves."""

import json
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch

from tests.reranking.encoder.epochs import Epochs
from tests.reranking.encoder.tiny import write_encoder
from tests.reranking.made import candidates
from tosloc.config import Config, StageTwoSettings
from tosloc.errors import CheckpointError, ConfigError, ToslocError
from tosloc.records import Progress, silent
from tosloc.reranking.encoder import models as module
from tosloc.reranking.encoder.batches import ChunkTable, TokenizedCandidates
from tosloc.reranking.encoder.models import RECORD, EncoderModels
from tosloc.reranking.encoder.training import Trainer, score_lists

MORE = {"weight": 0.5}
"""What a reranker adds to the record."""
CHUNKS = {
    "a": [np.array([2, 7, 3]), np.array([2, 8, 9, 3])],
    "b": [np.array([2, 5, 3])],
    "c": [np.array([2, 10, 11, 3])],
    "d": [np.array([2, 12, 3])],
}


def settings(encoder: Path, training: Mapping[str, Any] | None = None, **more: Any) -> StageTwoSettings:
    given = {"epochs": 3, "patience": 9, "device": "cpu", "learning_rate": 0.01, **(training or {})}
    values = {
        "code_encoder": str(encoder),
        "chunks": 2,
        "chunk_tokens": 8,
        "adapter_rank": 4,
        "training": given,
        **more,
    }
    return StageTwoSettings.model_validate(values)


def lists(number: int = 6) -> list[TokenizedCandidates]:
    made = []
    for place in range(number):
        right = place % 4
        tokens = np.array([2, 5 + right, 3], dtype=np.int32)
        made.append(TokenizedCandidates(candidates("a b c d", "0" * right + "1"), tokens))
    return made


def chunk_table(models: EncoderModels) -> ChunkTable:
    """Tokens where the code's encoder learns, else what it makes of them."""
    if models.settings.training.learns == "both":
        return ChunkTable.of_tokens(CHUNKS)
    with torch.inference_mode():
        vectors = {
            blob: models.code(*models.code.padded(chunks, "cpu")).numpy().astype(np.float16)
            for blob, chunks in CHUNKS.items()
        }
    return ChunkTable.of_vectors(vectors, models.code.width)


def learn(models: EncoderModels, folder: Path, seed: int = 3, progress: Progress = silent) -> EncoderModels:
    trainer = Trainer(models.whole, chunk_table(models), models.settings.training, folder, seed=seed)
    trainer.fit(lists(), lists(4), progress)
    models.renew_fingerprints()
    return models


def load(folder: Path) -> EncoderModels:
    models, record = EncoderModels.load(folder)
    assert record["weight"] == MORE["weight"]
    return models


def scores(models: EncoderModels) -> np.ndarray:
    return np.stack(list(score_lists(models.whole, chunk_table(models), lists())))


@pytest.fixture
def saved(encoder_folder: Path, tmp_path: Path) -> Path:
    EncoderModels.fresh(settings(encoder_folder)).save(tmp_path / "saved", MORE)
    return tmp_path / "saved"


def weights_of(folder: Path) -> Path:
    found: str = json.loads((folder / RECORD).read_text())["weights"]
    return folder / found


@pytest.mark.parametrize("learns", ["report", "both"])
@pytest.mark.parametrize("rank", [0, 2])
def test_what_was_saved_gives_the_same_scores(encoder_folder: Path, tmp_path: Path, learns: str, rank: int) -> None:
    models = EncoderModels.fresh(settings(encoder_folder, {"learns": learns, "lora_rank": rank}))
    learn(models, tmp_path / "work").save(tmp_path / "saved", MORE)
    loaded = load(tmp_path / "saved")
    assert np.array_equal(scores(loaded), scores(models))
    assert (loaded.code.fingerprint, loaded.report.fingerprint) == (models.code.fingerprint, models.report.fingerprint)
    loaded.save(tmp_path / "again", MORE)
    assert (tmp_path / "again" / RECORD).read_text() == (tmp_path / "saved" / RECORD).read_text()


@pytest.mark.parametrize("learns", ["report", "both"])
def test_adapters_alone_learn(encoder_folder: Path, tmp_path: Path, learns: str) -> None:
    plain = EncoderModels.fresh(settings(encoder_folder, {"learns": learns}))
    models = EncoderModels.fresh(settings(encoder_folder, {"learns": learns, "lora_rank": 2}))
    encoder = models.report
    assert torch.equal(
        models.head.state_dict()["chunk_pooling.weight.weight"], plain.head.state_dict()["chunk_pooling.weight.weight"]
    )
    assert np.array_equal(scores(plain), scores(models))  # at first they change nothing
    before = {name: value.clone() for name, value in encoder.model.state_dict().items()}
    learn(models, tmp_path)
    after = encoder.model.state_dict()
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed == set(encoder.adapters)
    assert len(changed) == 4  # queries and values of one layer, two factors each
    assert not np.array_equal(scores(plain), scores(models))
    learning = [name for name, value in encoder.named_parameters() if value.requires_grad]
    assert all(".lora_" in name for name in learning)


def test_a_checkpoint_of_adapters_holds_no_encoder(make_encoder: Callable[..., Path], tmp_path: Path) -> None:
    base = make_encoder(width=64)
    models = EncoderModels.fresh(settings(base, {"learns": "report", "lora_rank": 1}))
    learn(models, tmp_path / "work").save(tmp_path / "saved", MORE)
    [place] = (tmp_path / "saved").glob("report-*")
    assert [file.name for file in place.iterdir()] == ["adapters.safetensors"]
    assert (place / "adapters.safetensors").stat().st_size < (base / "model.safetensors").stat().st_size / 10
    state = torch.load(tmp_path / "work/state.pt", weights_only=True)
    assert {name for name in state["parameters"] if name.startswith("report.")} == {
        f"report.model.{name}" for name in models.report.adapters
    }


def test_adapters_without_their_encoder_are_one_sentence(make_encoder: Callable[..., Path], tmp_path: Path) -> None:
    base, other = make_encoder(), make_encoder(seed=2)
    EncoderModels.fresh(settings(base, {"learns": "both", "lora_rank": 1})).save(tmp_path / "saved", MORE)
    record = json.loads((tmp_path / "saved" / RECORD).read_text())
    assert record["encoders"]["code"]["base"]["place"] == str(base)
    shutil.move(base, tmp_path / "away")
    with pytest.raises(CheckpointError, match="holds adapters alone; the encoder that they adapt is missing"):
        load(tmp_path / "saved")
    shutil.copytree(other, base)
    with pytest.raises(CheckpointError, match=r"not the encoder that the adapters of .* were trained on"):
        load(tmp_path / "saved")


def test_adapters_of_another_model_are_one_sentence(make_encoder: Callable[..., Path], tmp_path: Path) -> None:
    base = make_encoder()
    for rank in (1, 2):
        EncoderModels.fresh(settings(base, {"learns": "both", "lora_rank": rank})).save(tmp_path / str(rank), MORE)
    [one], [two] = ((tmp_path / name).glob("code-*/adapters.safetensors") for name in "12")
    shutil.copyfile(two, one)
    with pytest.raises(CheckpointError, match=r"incomplete or damaged .*another model"):
        load(tmp_path / "1")


def test_an_encoder_without_such_projections_is_one_sentence(encoder_folder: Path) -> None:
    models = EncoderModels.fresh(settings(encoder_folder))
    models.code.model = torch.nn.Sequential(torch.nn.Linear(3, 3))
    with pytest.raises(ToslocError, match="no query and value projections"):
        models.code.adapt(2)


def test_without_peft_one_sentence_says_what_to_install(encoder_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(ToslocError, match=r"tosloc\[encoder\]"):
        EncoderModels.fresh(settings(encoder_folder, {"learns": "report", "lora_rank": 2}))


def test_adapters_that_are_interrupted_end_the_same(encoder_folder: Path, tmp_path: Path) -> None:
    given = settings(encoder_folder, {"learns": "both", "lora_rank": 2, "chunks_at_once": 3})
    whole = learn(EncoderModels.fresh(given), tmp_path / "whole")
    cut, rest = Epochs(interrupted=1), Epochs()
    with pytest.raises(KeyboardInterrupt):
        learn(EncoderModels.fresh(given), tmp_path / "cut", progress=cut)
    again = learn(EncoderModels.fresh(given), tmp_path / "cut", progress=rest)
    assert (cut.begun, rest.begun) == ([0, 1], [1, 2])
    assert again.code.fingerprint == whole.code.fingerprint
    assert np.array_equal(scores(again), scores(whole))


def test_a_checkpoint_of_other_dimensions_is_one_sentence(saved: Path, encoder_folder: Path, tmp_path: Path) -> None:
    EncoderModels.fresh(settings(encoder_folder, adapter_rank=3)).save(tmp_path / "other", MORE)
    shutil.copyfile(weights_of(tmp_path / "other"), weights_of(saved))
    with pytest.raises(CheckpointError, match=r"the weights are of other dimensions than encoder.json says"):
        load(saved)
    safetensors.torch.save_file({"nothing": torch.zeros(1)}, weights_of(saved))
    with pytest.raises(CheckpointError, match="the weights are of other dimensions"):
        load(saved)


def test_a_checkpoint_for_another_width_is_one_sentence(saved: Path, tmp_path: Path) -> None:
    write_encoder(tmp_path / "wide", width=32)
    EncoderModels.fresh(settings(tmp_path / "wide")).save(tmp_path / "other", MORE)
    record, other = (json.loads((folder / RECORD).read_text()) for folder in (saved, tmp_path / "other"))
    shutil.copyfile(weights_of(tmp_path / "other"), saved / other["weights"])
    for name in ("head", "weights"):
        record[name] = other[name]
    (saved / RECORD).write_text(json.dumps(record))
    with pytest.raises(CheckpointError, match=r"made for an encoder of width 32, but .* has 16"):
        load(saved)


def test_a_newer_form_is_one_sentence(saved: Path) -> None:
    record = json.loads((saved / RECORD).read_text())
    (saved / RECORD).write_text(json.dumps(record | {"schema": 99}))
    with pytest.raises(CheckpointError, match="written by a newer TosLoc"):
        load(saved)


def test_a_checkpoint_that_names_the_hub_asks_nobody(saved: Path, asked_hosts: list[str]) -> None:
    record = json.loads((saved / RECORD).read_text())
    record["encoders"]["code"]["place"] = "acme/no-such-encoder"
    (saved / RECORD).write_text(json.dumps(record))
    with pytest.raises(CheckpointError, match=r"acme/no-such-encoder: no encoder can be loaded from there"):
        load(saved)
    assert asked_hosts == []


@pytest.mark.slow
@pytest.mark.parametrize("rank", [0, 2])
@pytest.mark.parametrize("part", ["head", "encoder", "record"])
def test_an_interrupted_save_keeps_the_last_good_one(
    encoder_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rank: int, part: str
) -> None:
    given = settings(encoder_folder, {"learns": "report", "lora_rank": rank})
    first = learn(EncoderModels.fresh(given), tmp_path / "one")
    first.save(tmp_path / "saved", MORE)
    expected = scores(first)
    other = learn(EncoderModels.fresh(given), tmp_path / "two", seed=8)
    assert not np.array_equal(scores(other), expected)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    writers = {"head": "_write", "encoder": "_write_encoder", "record": "write_text"}
    with monkeypatch.context() as patched:
        patched.setattr(module, writers[part], killed)
        with pytest.raises(KeyboardInterrupt):
            other.save(tmp_path / "saved", MORE)
    assert np.array_equal(scores(load(tmp_path / "saved")), expected)
    other.save(tmp_path / "saved", MORE)
    assert np.array_equal(scores(load(tmp_path / "saved")), scores(other))
    names = sorted(path.name.partition("-")[0] for path in (tmp_path / "saved").iterdir())
    assert names == [RECORD, "head", "report"]  # what the first one alone needed is gone


def test_an_interruption_within_an_encoder_leaves_no_half_of_it(
    encoder_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = EncoderModels.fresh(settings(encoder_folder, {"learns": "report"}))
    models.save(tmp_path / "saved", MORE)
    real = module._write

    def killed(path: Path, values: Mapping[str, torch.Tensor]) -> None:
        if path.name == module._WEIGHTS:
            raise KeyboardInterrupt
        real(path, values)

    with monkeypatch.context() as patched:
        patched.setattr(module, "_write", killed)
        with pytest.raises(KeyboardInterrupt):
            models.save(tmp_path / "saved", MORE)  # the same weights, so the same names
    assert not list((tmp_path / "saved").glob(".*"))
    assert np.array_equal(scores(load(tmp_path / "saved")), scores(models))


def test_a_rank_for_what_does_not_learn_is_refused() -> None:
    with pytest.raises(ConfigError, match="lora_rank is of encoders that learn"):
        Config.of({"stage_two": {"training": {"lora_rank": 4}}}, "two.toml")
