"""Encoders by folder: marks, chunks, pooling, and one sentence for what cannot be used."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from tosloc.errors import CheckpointError
from tosloc.reranking.encoder.encoders import Encoder


def test_marks_and_chunks(encoder_folder: Path) -> None:
    words = Encoder.load(str(encoder_folder), "mean").words
    assert (words.before, words.after, words.padding) == ((2,), (3,), 0)
    [tokens] = words.tokens(["door opens window fails key"])
    assert len(tokens) == 5
    pieces = words.chunks(tokens, 4, 10)
    assert [piece.tolist() for piece in pieces] == [[2, *tokens[:2], 3], [2, *tokens[2:4], 3], [2, tokens[4], 3]]
    assert len(words.chunks(tokens, 4, 2)) == 2
    assert words.chunks([], 4, 2)[0].tolist() == [2, 3]
    assert words.marked(tokens, 4).tolist() == [2, *tokens[:2], 3]


def test_half_a_character_is_read_as_an_unknown_one(encoder_folder: Path) -> None:
    words = Encoder.load(str(encoder_folder), "mean").words
    assert words.tokens(["door \udce9 opens"]) == words.tokens(["door ? opens"])
    assert words.tokens(["door ü opens", ""])[1] == []


@pytest.mark.parametrize("pooling", ["mean", "first"])
@pytest.mark.parametrize("roberta", [False, True])
def test_padding_changes_no_vector(make_encoder: Callable[..., Path], pooling: str, roberta: bool) -> None:
    encoder = Encoder.load(str(make_encoder(roberta=roberta)), pooling).eval()
    assert encoder.longest == 34
    short = np.array([2, 7, 8, 3], dtype=np.int32)
    long = np.array([2, *range(4, 12), 3], dtype=np.int32)
    with torch.inference_mode():
        alone = encoder(*encoder.padded([short], "cpu"))
        together = encoder(*encoder.padded([short, long], "cpu"))
    assert alone.shape == (1, encoder.width)
    assert torch.allclose(alone[0], together[0], atol=1e-6)


def test_mean_leaves_no_token_out(encoder_folder: Path) -> None:
    first, mean = (Encoder.load(str(encoder_folder), pooling).eval() for pooling in ("first", "mean"))
    tokens, real = mean.padded([np.array([2, 7, 3], dtype=np.int32)], "cpu")
    with torch.inference_mode():
        hidden = mean.model(input_ids=tokens, attention_mask=real.long()).last_hidden_state[0]
        assert torch.allclose(mean(tokens, real)[0], hidden.mean(0), atol=1e-6)
        assert torch.allclose(first(tokens, real)[0], hidden[0])


def test_the_fingerprint_is_of_weights_and_pooling(make_encoder: Callable[..., Path]) -> None:
    one, other = make_encoder(seed=1), make_encoder(seed=2)
    assert Encoder.load(str(one), "mean").fingerprint == Encoder.load(str(one), "mean").fingerprint
    seen = {Encoder.load(str(place), pooling).fingerprint for place in (one, other) for pooling in ("mean", "first")}
    assert len(seen) == 4


def test_what_is_no_encoder_is_one_sentence(make_encoder: Callable[..., Path], tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(CheckpointError, match="no encoder can be loaded from there"):
        Encoder.load(str(tmp_path / "empty"), "mean")
    half = make_encoder()
    (half / "model.safetensors").unlink()
    with pytest.raises(CheckpointError, match="no encoder can be loaded from there"):
        Encoder.load(str(half), "mean")


def test_a_foreign_tokenizer_is_one_sentence(make_encoder: Callable[..., Path]) -> None:
    folder = make_encoder()
    told = json.loads((folder / "tokenizer.json").read_text())
    for number in range(9):
        told["model"]["vocab"][f"more{number}"] = 100 + number
    told["model"]["vocab"] |= {f"word{number}": 200 + number for number in range(30)}
    (folder / "tokenizer.json").write_text(json.dumps(told))
    with pytest.raises(CheckpointError, match="do not belong together"):
        Encoder.load(str(folder), "mean")
