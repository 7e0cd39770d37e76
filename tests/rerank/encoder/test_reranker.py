"""An encoder reranker on disk: what comes back, what is refused, and what an interruption leaves."""

import json
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch

from tosloc.config import Config
from tosloc.errors import CheckpointError
from tosloc.rerank.encoder.reranker import HEAD, RECORD, EncoderReranker


def reranker(encoder: Path, learns: str = "head", **two: Any) -> EncoderReranker:
    values = {"code_encoder": str(encoder), "training": {"learns": learns}, **two}
    return EncoderReranker.configured(Config.of({"stage_two": values}, "two.toml"))


@pytest.fixture
def saved(encoder_folder: Path, tmp_path: Path) -> Path:
    reranker(encoder_folder).save(tmp_path / "saved")
    return tmp_path / "saved"


def test_what_is_not_a_second_stage_of_today_is_one_sentence(saved, encoder_folder, make_encoder, asked_hosts):
    whole, head = (saved / RECORD).read_text(), (saved / HEAD).read_bytes()
    damaged, hub, other = "incomplete or damaged", "acme/no-such-encoder", str(make_encoder(seed=2))
    for values, content, sentence in (
        ({"schema": 99}, head, "written by another version of TosLoc"),
        ({"weight": -1}, head, "a weight is out of bounds"),
        ({"encoders": {"../code": {"place": None, "fingerprint": ""}}}, head, damaged),
        ({"settings": {"magic": 1}}, head, damaged),
        ({"encoders": {"code": {"place": hub, "fingerprint": ""}}}, head, f"{hub}: no encoder can be loaded"),
        ({"encoders": {"code": {"place": other, "fingerprint": "0"}}}, head, "not the encoder that"),
        *(({}, data, damaged) for data in (safetensors.torch.save({"a": torch.ones(1)}), b"x")),
    ):
        (saved / RECORD).write_text(json.dumps(json.loads(whole) | values))
        (saved / HEAD).write_bytes(content)
        with pytest.raises(CheckpointError, match=sentence) as caught:
            EncoderReranker.load(saved)
        assert "\n" not in str(caught.value)
    assert asked_hosts == []
    with pytest.raises(CheckpointError, match="do not fit together"):
        reranker(encoder_folder, report_encoder=str(make_encoder(width=32)))
    with pytest.raises(CheckpointError, match="holds other things than a second stage"):
        reranker(encoder_folder).save(Path(other))
    assert (Path(other) / "model.safetensors").exists()


@pytest.mark.parametrize(
    ("learns", "own", "scoring"), [("head", [], "dot"), ("report", ["report"], "cosine"), ("both", ["code"], "dot")]
)
def test_what_was_saved_comes_back(encoder_folder, tmp_path, learns, own, scoring):
    made = reranker(encoder_folder, learns, scoring=scoring)
    with torch.no_grad():
        for value in made.model.learned.values():
            value.add_(0.1)
    for encoder in made.model.learning.values():
        encoder.fingerprint = encoder.fingerprint_now()
    made.save(tmp_path / "saved")
    assert sorted(path.name for path in (tmp_path / "saved").iterdir() if path.is_dir()) == own
    again = EncoderReranker.load(tmp_path / "saved").model.state_dict()
    assert all(torch.equal(value, again[name]) for name, value in made.model.state_dict().items())
