"""An encoder that uses word vectors instead of a transformer: word2vec, trained on given texts.

It is for a row of the paper's table 6. Shapes: S sequences, L tokens of the longest sequence, V
words, d width of a vector.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Final

import numpy as np
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from torch import Tensor, nn
from transformers import PreTrainedTokenizerFast

from tosloc.code.text import split_identifier, words
from tosloc.core.errors import ToslocError
from tosloc.lab.baselines.dreamloc_inputs import train_skip_gram
from tosloc.rerank.encoder.encoders import Encoder, Piece

WIDTH: Final = 100
"""Width of a word vector."""
_MIN_COUNT: Final = 3
"""Smallest number of occurrences of a word that gets a vector."""
_EPOCHS: Final = 5
_PADDING: Final = "[PAD]"
"""Token of the padding, which cannot be a word of a text."""
_SENTENCE_WORDS: Final = 10_000
"""Length of the longest sequence that gensim reads; it ignores the rest of a longer one."""


def word_parts(text: str) -> list[str]:
    """Return the words of code or of a report in lower case; identifiers are split.

    >>> word_parts("openFile(pathName);")
    ['open', 'file', 'path', 'name']
    """
    parts: list[str] = []
    for word in words(text):
        parts += [part.lower() for part in split_identifier(word)]
    return parts


class WordEncoder(Encoder):
    """An encoder of word vectors; words without a vector are left out."""

    def pieces(self, texts: Sequence[str], length: int, most: int = 1) -> list[list[Piece]]:
        """Return at most ``most`` consecutive pieces of each text.

        A piece has at most ``length`` known words.
        """
        vocabulary = self.tokenizer.get_vocab()
        known_texts: list[str] = []
        for text in texts:
            known_texts.append(" ".join(part for part in word_parts(text) if part in vocabulary))
        return super().pieces(known_texts, length, most)


class WordTable(nn.Module):
    """A table with one vector for each word, whatever words are around it."""

    def __init__(self, rows_Vd: Tensor) -> None:
        super().__init__()
        self.rows = nn.Embedding.from_pretrained(rows_Vd, freeze=True)  # type: ignore[no-untyped-call]
        self.config = SimpleNamespace(
            hidden_size=rows_Vd.shape[1], model_type="word2vec", max_position_embeddings=2**31 - 1
        )

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> SimpleNamespace:
        """Return (S, L, d) vectors, as the attribute that a transformer's output has."""
        # Older tokenizers return floats for a text without known words.
        return SimpleNamespace(last_hidden_state=self.rows(input_ids.long()))


def word_encoder(texts: Sequence[str], seed: int) -> Encoder:
    """Return an encoder with skip-gram vectors; equal texts and seeds give equal encoders.

    The vector of a text is the mean of its words' vectors, weighted by IDF. Raises ToslocError if
    no word is frequent enough.
    """
    sentences = [word_parts(text) for text in texts]
    counts: Counter[str] = Counter()
    document_frequencies: Counter[str] = Counter()
    for sentence in sentences:
        counts.update(sentence)
        document_frequencies.update(set(sentence))
    vocabulary = sorted(word for word, count in counts.items() if count >= _MIN_COUNT)
    if not vocabulary:
        raise ToslocError(
            f"word2vec cannot learn, because no word occurs {_MIN_COUNT} times in the training"
            " texts"
        )
    pieces: list[list[str]] = []
    for sentence in sentences:
        for start in range(0, len(sentence), _SENTENCE_WORDS):
            pieces.append(sentence[start : start + _SENTENCE_WORDS])
    learned = train_skip_gram(pieces, width=WIDTH, min_count=_MIN_COUNT, epochs=_EPOCHS, seed=seed)
    vectors_Vd = np.array([learned[word] for word in vocabulary], dtype=np.float64)
    idf_V = np.array(
        [np.log(1 + len(sentences) / document_frequencies[word]) for word in vocabulary]
    )
    padding_row = np.zeros((1, WIDTH))
    rows_Vd = np.concatenate([padding_row, vectors_Vd * idf_V[:, None]]).astype(np.float32)
    token_numbers = {token: number for number, token in enumerate([_PADDING, *vocabulary])}
    backend = Tokenizer(models.WordLevel(token_numbers, unk_token=_PADDING))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, pad_token=_PADDING)  # type: ignore[no-untyped-call]
    return WordEncoder(WordTable(torch.from_numpy(rows_Vd)), tokenizer, "mean", "word2vec")
