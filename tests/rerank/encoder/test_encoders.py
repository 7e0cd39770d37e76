"""Encoders by folder and rerankers on disk: pieces, pooling, one sentence for what cannot be used; each blob once."""

import builtins
import json
import os
import shutil

import numpy as np
import pytest
import safetensors.torch
import torch

from tests.rerank.made import report
from tosloc.core.config import Config
from tosloc.core.errors import CheckpointError, ToslocError
from tosloc.rerank.encoder import encoders as module
from tosloc.rerank.encoder.encoders import ChunkReader, Encoder, report_text, strip_licence
from tosloc.rerank.encoder.reranker import HEAD, RECORD, EncoderReranker


def test_pieces_follow_each_other_with_their_marks(encoder_folder):
    encoder = Encoder.load(str(encoder_folder), "mean")
    whole, cut = (
        encoder.pieces(["door opens window fails key", ""], 4, 10),
        encoder.pieces(["door opens key"], 4),
    )
    assert whole == [[[2, 7, 11, 3], [2, 8, 12, 3], [2, 10, 3]], [[2, 3]]]
    assert cut == [[[2, 7, 11, 3]]]
    assert encoder.pieces(["door \udce9 opens"], 9) == encoder.pieces(
        ["door ? opens"], 9
    )  # half a character
    # licences and frames are not read
    assert strip_licence("// (c) 2020 us\n/* Licensed so */\nclass A {}") == "\nclass A {}"
    assert (
        report_text(report(summary="Fails", description="at a.B.c(B.java:1)\nalways"))
        == "Fails\nalways"
    )


@pytest.mark.parametrize(
    ("pooling", "roberta"), [("mean", False), ("first", False), ("mean", True)]
)
def test_padding_changes_no_vector(make_encoder, pooling, roberta):
    encoder = Encoder.load(str(make_encoder(roberta=roberta)), pooling).eval()
    assert encoder.max_tokens == 34
    short, long = [2, 7, 8, 3], [2, *range(4, 12), 3]
    with torch.inference_mode():
        alone, together = encoder([short]), encoder([long, short])
        hidden = encoder.model(input_ids=torch.tensor([short])).last_hidden_state[
            0
        ]  # no token is left out
    assert torch.allclose(alone[0], together[1], atol=1e-6)
    assert torch.allclose(alone[0], hidden[0] if pooling == "first" else hidden.mean(0), atol=1e-6)
    assert np.allclose(encoder.vectors([short, long]), together.flip(0).numpy(), atol=1e-3)


def test_the_fingerprint_is_of_weights_and_pooling(make_encoder, tmp_path):
    one, other = make_encoder(seed=1), make_encoder(seed=2)
    saved = Encoder.load(str(one), "mean")
    saved.pieces(["door opens window"], 4)  # which no file of it must remember
    saved.save(tmp_path / "saved")
    places = [
        (tmp_path / "saved", "mean"),
        *((place, pooling) for place in (one, other) for pooling in ("mean", "first")),
    ]
    found = [Encoder.load(str(place), pooling).fingerprint for place, pooling in places]
    assert saved.fingerprint == found[0] == found[1]
    assert len(set(found)) == 4


def changed(file, **values):
    file.write_text(json.dumps(json.loads(file.read_text()) | values))


class Touching:
    """Unpickled, it makes a folder."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def ask_for_code(folder, owned):
    own = f"import os\nos.mkdir({str(owned)!r})\nfrom transformers import BertConfig, BertModel\n"
    (folder / "own.py").write_text(own)
    changed(
        folder / "config.json",
        auto_map={"AutoConfig": "own.BertConfig", "AutoModel": "own.BertModel"},
    )


def pickled(folder, owned):
    weights = safetensors.torch.load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    torch.save(
        [weights, Touching(owned)] if owned.name == "owned" else weights,
        folder / "pytorch_model.bin",
    )


def foreign(folder, _):
    told = json.loads((folder / "tokenizer.json").read_text())
    told["model"]["vocab"] |= {f"word{number}": 100 + number for number in range(40)}
    (folder / "tokenizer.json").write_text(json.dumps(told))


OWN = {"auto_map": {"AutoTokenizer": ["own.Own", "own.Own"]}, "tokenizer_class": "Own"}
HUB = {"auto_map": {"AutoConfig": "acme/evil--own.BertConfig"}, "model_type": "own"}
HOSTILE = {
    "code of a type that is known": ask_for_code,
    "code of the hub": lambda folder, _: changed(folder / "config.json", **HUB),
    "code of a tokenizer": lambda folder, _: changed(folder / "tokenizer_config.json", **OWN),
    "a pickle": pickled,
    "a harmless pickle": lambda folder, owned: pickled(folder, owned.parent),
    "a foreign tokenizer": foreign,
}


@pytest.mark.parametrize("hostile", HOSTILE)
def test_no_file_of_an_encoder_is_run_and_what_is_none_is_one_sentence(
    make_encoder, tmp_path, monkeypatch, asked_hosts, hostile
):
    monkeypatch.setattr(builtins, "input", lambda *_: "y")  # who is asked says yes
    folder, owned = make_encoder(), tmp_path / "owned"
    HOSTILE[hostile](folder, owned)
    words = (
        "do not belong together"
        if hostile == "a foreign tokenizer"
        else "no encoder can be loaded from there"
    )
    with pytest.raises(CheckpointError, match=words):
        Encoder.load(str(folder), "mean")
    assert not owned.exists()
    assert asked_hosts == []


def test_the_hub_is_asked_only_where_the_user_allows_it(monkeypatch, asked_hosts):
    with pytest.raises(CheckpointError, match="TOSLOC_HUB=1 to fetch a name from the hub"):
        Encoder.load("acme/no-such-encoder", "mean")
    assert asked_hosts == []
    seen = []

    def ask(_, *, trust_remote_code, local_files_only):
        seen.append((trust_remote_code, local_files_only))
        raise OSError

    monkeypatch.setattr(module.AutoTokenizer, "from_pretrained", ask)
    monkeypatch.setenv("TOSLOC_HUB", "1")
    with pytest.raises(CheckpointError):
        Encoder.load("acme/no-such-encoder", "mean")
    assert seen == [(False, False)]


def test_a_name_that_was_fetched_is_loaded_without_a_request(
    monkeypatch, tmp_path, make_encoder, asked_hosts
):
    folder = tmp_path / "models--acme--tiny"
    shutil.copytree(make_encoder(), folder / "snapshots" / ("a" * 40))
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text("a" * 40)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    encoder = Encoder.load("acme/tiny", "mean")
    assert encoder.name == "acme/tiny"
    assert asked_hosts == []


TEXTS = {
    "1": "door opens",
    "2": "/* Copyright */ window fails lock " * 4,
    "3": "",
    "4": "key " * 50,
}


def test_each_blob_is_encoded_once(encoder_folder, tmp_path):
    asked, path = list[str](), tmp_path / "new/v.sqlite"

    def texts(blobs):
        asked.extend(blobs)
        return ((blob, TEXTS.get(blob)) for blob in blobs)

    encoder, other = (Encoder.load(str(encoder_folder), pooling) for pooling in ("mean", "first"))
    reader = ChunkReader(encoder, 3, 8, texts)
    reader.vectors(["1", "2", "3"], path)
    found, again = (reader.vectors(list(TEXTS), path) for _ in range(2))
    assert asked == ["1", "2", "3", "4"]
    assert {blob: vectors.tolist() for blob, vectors in again.items()} == {
        b: v.tolist() for b, v in found.items()
    }
    assert {blob: len(vectors) for blob, vectors in found.items()} == {
        "1": 1,
        "2": 3,
        "3": 0,
        "4": 3,
    }
    with torch.inference_mode():
        assert np.allclose(found["1"][0], encoder([[2, 7, 11, 3]])[0].numpy(), atol=1e-3)
    for another in (ChunkReader(encoder, 2, 8, texts), ChunkReader(other, 3, 8, texts)):
        another.vectors(["1"], path)
    assert asked[4:] == ["1", "1"]


# An encoder reranker on disk: what comes back, what is refused, and what an interruption leaves


def reranker(encoder, learns="head", **two):
    values = {
        "code_encoder": str(encoder),
        "chunk_tokens": 16,
        "training": {"learns": learns},
        **two,
    }
    return EncoderReranker.from_config(Config.of({"stage_two": values}, "two.toml"))


NO_HUB = "acme/no-such-encoder"
DAMAGED = "incomplete or damaged"


@pytest.mark.parametrize(
    ("values", "head", "sentence"),
    [
        ({"schema": 99}, None, "written by another version of TosLoc"),
        ({"weight": -1}, None, "a weight is out of bounds"),
        ({"encoders": {}}, None, DAMAGED),
        ({"settings": {"magic": 1}}, None, DAMAGED),
        (
            {"encoders": {"code": {"place": NO_HUB, "fingerprint": ""}}},
            None,
            f"{NO_HUB}: no encoder can be loaded",
        ),
        (
            {"encoders": {"code": {"place": "OTHER", "fingerprint": "0"}}},
            None,
            "not the encoder that",
        ),
        *(({}, data, DAMAGED) for data in (safetensors.torch.save({"a": torch.ones(1)}), b"x")),
    ],
)
def test_what_is_not_a_second_stage_of_today_is_one_sentence(
    encoder_folder, make_encoder, tmp_path, asked_hosts, values, head, sentence
):
    saved = tmp_path / "saved"
    reranker(encoder_folder).save(saved)
    told = json.dumps(json.loads((saved / RECORD).read_text()) | values)
    (saved / RECORD).write_text(told.replace("OTHER", str(make_encoder(seed=2))))
    (saved / HEAD).write_bytes(head or (saved / HEAD).read_bytes())
    with pytest.raises(CheckpointError, match=rf"\A[^\n]*{sentence}[^\n]*\Z"):
        EncoderReranker.load(saved)
    assert asked_hosts == []


def test_what_does_not_fit_together_is_one_sentence(encoder_folder, make_encoder):
    wide = make_encoder(width=32)
    with pytest.raises(CheckpointError, match="do not fit together"):
        reranker(encoder_folder, report_encoder=str(wide))
    with pytest.raises(ToslocError, match="reads at most 34 tokens"):
        reranker(encoder_folder, chunk_tokens=35)
    with pytest.raises(CheckpointError, match="holds other things than a second stage"):
        reranker(encoder_folder).save(wide)
    assert (wide / "model.safetensors").exists()


@pytest.mark.parametrize(
    ("learns", "own", "scoring"), [("head", [], "cosine"), ("both", ["code"], "dot")]
)
def test_what_was_saved_comes_back(encoder_folder, tmp_path, learns, own, scoring):
    made = reranker(encoder_folder, learns, scoring=scoring)
    with torch.no_grad():
        for value in made.model.trainable_parameters.values():
            value.add_(0.1)
    for encoder in made.model.trainable_encoders.values():
        encoder.fingerprint = encoder.compute_fingerprint()
    made.save(tmp_path / "saved")
    assert sorted(path.name for path in (tmp_path / "saved").iterdir() if path.is_dir()) == own
    again = EncoderReranker.load(tmp_path / "saved").model.state_dict()
    assert all(torch.equal(value, again[name]) for name, value in made.model.state_dict().items())
