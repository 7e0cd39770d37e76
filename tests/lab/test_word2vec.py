"""Word vectors in place of a transformer."""

import sys

import numpy as np
import pytest
import torch

from tosloc.errors import ToslocError
from tosloc.lab.word2vec import WIDTH, word_encoder
from tosloc.rerank.encoder.encoders import Encoder

TEXTS = [f"the {colour}Door {verb} the key" for colour in ("red", "blue") for verb in ("opens", "shuts")] * 30
TEXTS += ["rare words opensWindow"]


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return word_encoder(TEXTS, seed=3, epochs=2)


def vector(encoder: Encoder, text: str) -> np.ndarray:
    [[piece]] = encoder.pieces([text], 8)
    return encoder.vectors([piece])[0]


def test_a_text_is_the_mean_of_its_words(encoder: Encoder) -> None:
    door, key = vector(encoder, "door"), vector(encoder, "Key")
    assert encoder.width == len(door) == WIDTH
    assert np.allclose(vector(encoder, "doorKey"), (door.astype(float) + key) / 2, atol=2e-3)
    assert not np.allclose(door, key, atol=1e-2)


def test_unknown_words_are_left_out(encoder: Encoder) -> None:
    known = set(encoder.tokenizer.get_vocab())
    assert known == {"[PAD]", *"red blue door opens shuts key the".split()}  # what stands once or twice is unknown
    assert np.array_equal(vector(encoder, "rare door elephant"), vector(encoder, "door"))
    assert not vector(encoder, "elephant").any()


def test_the_same_texts_and_seed_give_the_same_vectors(encoder: Encoder) -> None:
    again = word_encoder(TEXTS, seed=3, epochs=2)
    assert again.fingerprint == encoder.fingerprint
    assert torch.equal(again.model.rows.weight, encoder.model.rows.weight)
    assert word_encoder(TEXTS, seed=4, epochs=2).fingerprint != encoder.fingerprint


def test_what_is_lacking_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ToslocError, match="no word stands 3 times"):
        word_encoder(["one two"], seed=1)
    monkeypatch.setitem(sys.modules, "gensim", None)
    with pytest.raises(ToslocError, match=r"word2vec needs gensim; run: .*pip install .*\[lab\]"):
        word_encoder(TEXTS, seed=3)
