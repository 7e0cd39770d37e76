"""Word vectors in place of a transformer: word2vec, trained on the texts at hand (the paper, table 6)."""

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

# S sequences, L tokens of the longest, V words, d width

WIDTH: Final = 100
_LEAST: Final = 3
"""Rarer words have no vector."""
_PADDING: Final = "[PAD]"
"""No word, so that its number is free."""
_SENTENCE: Final = 10_000
"""Words that gensim reads at once; of a longer text it would leave out the rest."""


def parts(text: str) -> list[str]:
    """Words of code or of a report, identifiers split, in small letters.

    >>> parts("openFile(pathName);")
    ['open', 'file', 'path', 'name']
    """
    return [part.lower() for word in words(text) for part in split_identifier(word)]


class WordEncoder(Encoder):
    """Word vectors as an encoder; words without one are left out."""

    def pieces(self, texts: Sequence[str], length: int, most: int = 1) -> list[list[Piece]]:
        """Of each text at most ``most`` consecutive pieces of at most ``length`` known words."""
        known = self.tokenizer.get_vocab()
        return super().pieces(
            [" ".join(part for part in parts(text) if part in known) for text in texts],
            length,
            most,
        )


class WordTable(nn.Module):
    """A vector for each word, whatever stands beside it."""

    def __init__(self, rows_Vd: Tensor) -> None:
        super().__init__()
        self.rows = nn.Embedding.from_pretrained(rows_Vd, freeze=True)  # type: ignore[no-untyped-call]
        self.config = SimpleNamespace(
            hidden_size=rows_Vd.shape[1], model_type="word2vec", max_position_embeddings=2**31 - 1
        )

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> SimpleNamespace:
        """(S, L, d) vectors, named as those of a transformer."""
        numbers = input_ids.long()  # older tokenizers give floats for a text without known words
        return SimpleNamespace(last_hidden_state=self.rows(numbers))


def word_encoder(texts: Sequence[str], seed: int) -> Encoder:
    """Encoder by skip-gram vectors, the same for the same texts: a text is the mean of its words by idf."""
    sentences = [parts(text) for text in texts]
    counts = Counter(word for sentence in sentences for word in sentence)
    holding = Counter(word for sentence in sentences for word in set(sentence))
    vocabulary = sorted(word for word, count in counts.items() if count >= _LEAST)
    if not vocabulary:
        raise ToslocError(
            f"word2vec has nothing to learn: no word stands {_LEAST} times in the training texts"
        )
    pieces = [
        sentence[start : start + _SENTENCE]
        for sentence in sentences
        for start in range(0, len(sentence), _SENTENCE)
    ]
    learned = train_skip_gram(pieces, width=WIDTH, min_count=_LEAST, epochs=5, seed=seed)
    vectors_Vd = np.array([learned[word] for word in vocabulary], dtype=np.float64)
    idf_V = np.array([np.log(1 + len(sentences) / holding[word]) for word in vocabulary])
    rows_Vd = np.concatenate([np.zeros((1, WIDTH)), vectors_Vd * idf_V[:, None]]).astype(np.float32)
    numbers = {_PADDING: 0} | {word: number for number, word in enumerate(vocabulary, start=1)}
    backend = Tokenizer(models.WordLevel(numbers, unk_token=_PADDING))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, pad_token=_PADDING)  # type: ignore[no-untyped-call]
    return WordEncoder(WordTable(torch.from_numpy(rows_Vd)), tokenizer, "mean", "word2vec")
