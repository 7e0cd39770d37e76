"""The encoder of word vectors in place of a transformer."""

import sys
from collections import defaultdict

import numpy as np
import pytest

from tosloc.core.errors import ToslocError
from tosloc.lab import word2vec
from tosloc.lab.word2vec import WIDTH, word_encoder

SENTENCES = [
    f"the {colour}Door {verb} the key" for colour in ("red", "blue") for verb in ("opens", "shuts")
]
TEXTS = [*SENTENCES * 30, "rare words opensWindow"]


@pytest.fixture(scope="module")
def encoder():
    return word_encoder(TEXTS, 3)


@pytest.fixture(scope="module")
def vector(encoder):
    """Return a function that returns the vector of a text."""

    def text_vector(text):
        [[piece]] = encoder.pieces([text], 8)
        [piece_vector] = encoder.vectors([piece])
        return piece_vector

    return text_vector


def test_words_have_different_vectors(vector):
    assert len(vector("door")) == WIDTH
    assert not np.allclose(vector("door"), vector("Key"), atol=1e-2)


def test_vector_of_a_text_is_the_mean_of_its_words(vector):
    mean = (vector("door").astype(float) + vector("Key")) / 2
    assert np.allclose(vector("doorKey"), mean, atol=2e-3)


def test_only_words_that_occur_three_times_have_a_vector(encoder):
    words = "red blue door opens shuts key the".split()
    assert set(encoder.tokenizer.get_vocab()) == {"[PAD]", *words}


def test_unknown_words_are_ignored(vector):
    assert np.array_equal(vector("rare door elephant"), vector("door"))
    assert not vector("elephant").any()


@pytest.mark.parametrize(("word", "texts"), [("the", 120), ("red", 60)])
def test_words_are_weighted_by_idf(word, texts, monkeypatch):
    ones = defaultdict(lambda: np.ones(WIDTH))
    monkeypatch.setattr(word2vec, "train_skip_gram", lambda *_, **__: ones)
    encoder = word_encoder(TEXTS, 3)
    [[piece]] = encoder.pieces([word], 8)
    idf = np.log(1 + 121 / texts)
    assert encoder.vectors([piece])[0, 0] == pytest.approx(idf, abs=1e-3)


def test_same_texts_and_seed_give_the_same_encoder(encoder):
    assert word_encoder(TEXTS, 3).fingerprint == encoder.fingerprint
    assert word_encoder(TEXTS, 4).fingerprint != encoder.fingerprint


def test_texts_without_a_frequent_word_are_refused():
    with pytest.raises(ToslocError, match="no word occurs 3 times"):
        word_encoder(["one two"], 1)


def test_missing_gensim_is_reported_with_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "gensim", None)
    with pytest.raises(ToslocError, match=r"word2vec needs gensim; run: .*pip .*install .*\[lab\]"):
        word_encoder(TEXTS, 3)
