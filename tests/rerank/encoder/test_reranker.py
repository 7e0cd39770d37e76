"""An encoder reranker on disk: what comes back, what is refused, and what an interruption leaves."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch

from tests.rerank.encoder.tiny import write_encoder
from tosloc.config import Config
from tosloc.errors import CheckpointError
from tosloc.rerank.encoder.encoders import Encoder
from tosloc.rerank.encoder.reranker import HEAD, RECORD, EncoderReranker


def reranker(encoder: Path, learns: str = "head", **two: Any) -> EncoderReranker:
    values = {"code_encoder": str(encoder), "training": {"learns": learns}, **two}
    return EncoderReranker.configured(Config.of({"stage_two": values}, "two.toml"))


@pytest.fixture
def saved(encoder_folder: Path, tmp_path: Path) -> Path:
    reranker(encoder_folder).save(tmp_path / "saved")
    return tmp_path / "saved"


def change(folder: Path, **values: Any) -> None:
    record = json.loads((folder / RECORD).read_text())
    (folder / RECORD).write_text(json.dumps(record | values))


@pytest.mark.parametrize(("learns", "own"), [("head", []), ("report", ["report"]), ("both", ["code"])])
@pytest.mark.parametrize("scoring", ["cosine", "dot"])
def test_what_was_saved_comes_back(
    encoder_folder: Path, tmp_path: Path, learns: str, own: list[str], scoring: str
) -> None:
    made = reranker(encoder_folder, learns, scoring=scoring)
    with torch.no_grad():
        for value in made.model.learned.values():
            value.add_(0.1)
    for encoder in made.model.learning.values():
        encoder.fingerprint = encoder.fingerprint_now()
    made.save(tmp_path / "saved")
    assert sorted(path.name for path in (tmp_path / "saved").iterdir() if path.is_dir()) == own
    loaded = EncoderReranker.load(tmp_path / "saved")
    again = loaded.model.state_dict()
    assert all(torch.equal(value, again[name]) for name, value in made.model.state_dict().items())
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again" / RECORD).read_text() == (tmp_path / "saved" / RECORD).read_text()


def test_an_interrupted_save_keeps_the_last_good_one(
    encoder_folder: Path, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {path.name: path.read_bytes() for path in saved.iterdir()}
    with monkeypatch.context() as patched:

        def killed(*_: object) -> None:
            raise KeyboardInterrupt

        patched.setattr(Encoder, "save", killed)
        with pytest.raises(KeyboardInterrupt):
            reranker(encoder_folder, "both").save(saved)
    assert {path.name: path.read_bytes() for path in saved.iterdir()} == before
    reranker(encoder_folder, "both").save(saved)
    assert sorted(path.name for path in saved.iterdir()) == ["code", RECORD, HEAD]


def test_a_folder_of_other_things_is_left_alone(saved: Path, make_encoder: Callable[..., Path]) -> None:
    folder = make_encoder()
    with pytest.raises(CheckpointError, match="holds other things than a second stage"):
        EncoderReranker.load(saved).save(folder)
    assert (folder / "model.safetensors").exists()


def test_weights_of_other_dimensions_are_one_sentence(saved: Path, encoder_folder: Path) -> None:
    reranker(encoder_folder, scoring="dot").save(saved.with_name("other"))
    for head in ((saved.with_name("other") / HEAD).read_bytes(), safetensors.torch.save({"a": torch.ones(1)}), b"x"):
        (saved / HEAD).write_bytes(head)
        with pytest.raises(CheckpointError, match="this second stage is incomplete or damaged"):
            EncoderReranker.load(saved)


def test_what_is_no_record_of_today_is_one_sentence(saved: Path) -> None:
    whole = (saved / RECORD).read_text()
    for values, sentence in (
        ({"schema": 99}, "written by another version of TosLoc"),
        ({"weight": -1}, "a weight is out of bounds"),
        ({"encoders": {"../code": {"place": None, "fingerprint": ""}}}, "incomplete or damaged"),
        ({"settings": {"magic": 1}}, "incomplete or damaged"),
    ):
        (saved / RECORD).write_text(whole)
        change(saved, **values)
        with pytest.raises(CheckpointError, match=sentence) as caught:
            EncoderReranker.load(saved)
        assert "\n" not in str(caught.value)


def test_a_checkpoint_that_names_the_hub_asks_nobody(saved: Path, asked_hosts: list[str]) -> None:
    change(saved, encoders={"code": {"place": "acme/no-such-encoder", "fingerprint": ""}})
    with pytest.raises(CheckpointError, match=r"acme/no-such-encoder: no encoder can be loaded from there"):
        EncoderReranker.load(saved)
    assert asked_hosts == []


def test_another_encoder_is_one_sentence(saved: Path, encoder_folder: Path, tmp_path: Path) -> None:
    other = write_encoder(tmp_path / "other", seed=2)
    change(saved, encoders={"code": {"place": str(other), "fingerprint": "0"}})
    with pytest.raises(CheckpointError, match="not the encoder that"):
        EncoderReranker.load(saved)
    wide = write_encoder(tmp_path / "wide", width=32)
    with pytest.raises(CheckpointError, match="do not fit together"):
        reranker(encoder_folder, report_encoder=str(wide))
