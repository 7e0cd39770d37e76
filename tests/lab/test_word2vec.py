"""Word vectors in place of a transformer."""

import sys
from collections import defaultdict

import numpy as np
import pytest

from tosloc.core.errors import ToslocError
from tosloc.lab import word2vec
from tosloc.lab.word2vec import WIDTH, word_encoder

TEXTS = [
    f"the {colour}Door {verb} the key" for colour in ("red", "blue") for verb in ("opens", "shuts")
] * 30
TEXTS += ["rare words opensWindow"]


@pytest.fixture(scope="module")
def encoder():
    return word_encoder(TEXTS, 3)


@pytest.fixture(scope="module")
def vector(encoder):
    """Function (text) -> its vector."""
    return lambda text: encoder.vectors([piece for [piece] in encoder.pieces([text], 8)])[0]


def test_a_text_is_the_mean_of_its_known_words(encoder, vector):
    door, key = vector("door"), vector("Key")
    assert len(door) == WIDTH
    assert np.allclose(vector("doorKey"), (door.astype(float) + key) / 2, atol=2e-3)
    assert not np.allclose(door, key, atol=1e-2)
    known = set(encoder.tokenizer.get_vocab())
    assert known == {
        "[PAD]",
        *"red blue door opens shuts key the".split(),
    }  # what stands once or twice is unknown
    assert np.array_equal(vector("rare door elephant"), door)
    assert not vector("elephant").any()


def test_words_weigh_by_their_rarity(monkeypatch):
    monkeypatch.setattr(
        word2vec, "train_skip_gram", lambda *_, **__: defaultdict(lambda: np.ones(WIDTH))
    )
    encoder = word_encoder(TEXTS, 3)
    for word, texts in (("the", 120), ("red", 60)):
        [[piece]] = encoder.pieces([word], 8)
        assert encoder.vectors([piece])[0, 0] == pytest.approx(np.log(1 + 121 / texts), abs=1e-3)


def test_the_same_texts_and_seed_give_the_same_vectors(encoder):
    assert (
        word_encoder(TEXTS, 3).fingerprint
        == encoder.fingerprint
        != word_encoder(TEXTS, 4).fingerprint
    )


def test_what_is_lacking_is_one_sentence(monkeypatch):
    with pytest.raises(ToslocError, match="no word stands 3 times"):
        word_encoder(["one two"], 1)
    monkeypatch.setitem(sys.modules, "gensim", None)
    with pytest.raises(ToslocError, match=r"word2vec needs gensim; run: .*pip .*install .*\[lab\]"):
        word_encoder(TEXTS, 3)
