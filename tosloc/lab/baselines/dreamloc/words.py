"""DreamLoc's words: tokens with the parts of compounds, their document frequencies and their vectors."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from tosloc.arrays import Array, Arrays, pack_words, unpack_words
from tosloc.errors import ToslocError
from tosloc.lab.baselines.dreamloc.settings import DreamLocSettings
from tosloc.lab.baselines.parsed_source import ParsedSource
from tosloc.lab.baselines.texts import dropped, letter_parts
from tosloc.records import Float32Array, FloatArray

_TOKEN = re.compile(r"[A-Za-z]+(?:_+[A-Za-z]+)*")


def tokens_of(text: str) -> list[str]:
    """Runs of letters, joined by underscores, as they are written."""
    return _TOKEN.findall(text)


def word_and_parts(token: str) -> tuple[str, tuple[str, ...]]:
    """A token in lower case ("" if it is dropped) and its parts, if it is a compound.

    >>> word_and_parts("HTMLParser"), word_and_parts("aB"), word_and_parts("forSeed"), word_and_parts("for")
    (('htmlparser', ('html', 'parser')), ('ab', ()), ('forseed', ('seed',)), ('', ()))
    """
    whole = token.lower()
    parts = letter_parts(token)
    compound = len(parts) > 1 and max(map(len, parts)) > 2
    kept = tuple(part for part in parts if not dropped(part)) if compound else ()
    return "" if dropped(whole) else whole, kept


class DreamLocTokenizer:
    """dream_words: every word whole and, if it is a compound, in its parts; no stemming."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, ...]] = {}
        self.parts: dict[str, tuple[str, ...]] = {}
        """Compound -> its parts, as it was written first."""

    def __call__(self, text: str) -> list[str]:
        """Words of a text, in order.

        >>> DreamLocTokenizer()("the HTMLParser2 of MAX_SIZE; aB")
        ['htmlparser', 'html', 'parser', 'max_size', 'max', 'size', 'ab']
        """
        known = self._known
        words: list[str] = []
        for token in tokens_of(text):
            if token not in known:
                whole, parts = word_and_parts(token)
                if whole and parts:
                    self.parts.setdefault(whole, parts)
                known[token] = ((whole,) if whole else ()) + parts
            words += known[token]
        return words


def compounds_and_parts(text: str) -> list[str]:
    """Compounds of a text and their parts, each once, by first appearance.

    >>> compounds_and_parts("parse with HTMLParser or URLParser")
    ['htmlparser', 'html', 'parser', 'urlparser', 'url']
    """
    found: dict[str, None] = {}
    for token in tokens_of(text):
        whole, parts = word_and_parts(token)
        if parts:
            found.update(dict.fromkeys(((whole,) if whole else ()) + parts))
    return list(found)


def truncated(words: Sequence[str], keywords: Sequence[str], length: int) -> list[str]:
    """A long report's first words, then its compounds and their parts; of too many compounds the longest words.

    >>> truncated(["a", "b", "c", "xY"], ["xY"], 3), truncated(["a"], ["xY"], 3)
    (['a', 'b', 'xY'], ['a'])
    """
    if len(words) <= length:
        return list(words)
    kept = list(keywords)
    if len(kept) > length:
        kept = sorted(kept, key=lambda word: (-len(word), word))[:length]
    return [*words[: length - len(kept)], *kept]


def code_text(source: ParsedSource) -> str:
    """A file's text behind its imports, without a licence in front of them."""
    return source.text("code", "string", "javadoc", "comment")


@dataclass(frozen=True)
class DocumentFrequencies:
    """How many of some texts hold each word."""

    texts: int
    frequencies: dict[str, int]

    @classmethod
    def count(cls, texts: Iterable[Iterable[str]]) -> DocumentFrequencies:
        """Of texts given as words."""
        found: Counter[str] = Counter()
        number = 0
        for words in texts:
            found.update(set(words))
            number += 1
        return cls(number, dict(sorted(found.items())))

    def idf(self, words: Iterable[str]) -> FloatArray:
        """Smoothed: ln((1 + n) / (1 + df)) + 1."""
        df = np.array([self.frequencies.get(word, 0) for word in words], dtype=np.float64)
        return np.log((1.0 + self.texts) / (1.0 + df)) + 1.0

    def arrays(self, name: str) -> Arrays:
        """To be saved under a name."""
        return {
            f"{name}/words": pack_words(self.frequencies),
            f"{name}/df": np.array(list(self.frequencies.values()), dtype=np.int64),
            f"{name}/texts": np.array([self.texts], dtype=np.int64),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], name: str) -> DocumentFrequencies:
        """What ``arrays`` gave."""
        words = unpack_words(arrays[f"{name}/words"])
        return cls(int(arrays[f"{name}/texts"].item()), dict(zip(words, arrays[f"{name}/df"].tolist(), strict=True)))


class WordVectors:
    """Word vectors; a compound's is the mean of its parts', an unknown word's follows from its letters."""

    def __init__(self, words: Sequence[str], vectors: Float32Array) -> None:
        self.words, self.vectors = tuple(words), vectors
        self.row_of_word = {word: row for row, word in enumerate(words)}

    @classmethod
    def learned(
        cls, texts: Sequence[list[str]], parts: Mapping[str, tuple[str, ...]], settings: DreamLocSettings, seed: int
    ) -> Self:
        """Skip-gram vectors of texts given as words, the same for the same seed. Raises ToslocError without gensim."""
        try:
            from gensim.models import Word2Vec
        except ImportError as error:
            raise ToslocError('word vectors need gensim; install it with: pip install "tosloc[lab]"') from error

        if not any(texts):
            return cls([], np.zeros((0, settings.embedding), dtype=np.float32))
        model = Word2Vec(
            texts,
            vector_size=settings.embedding,
            window=settings.word2vec_window,
            negative=settings.word2vec_negatives,
            epochs=settings.word2vec_epochs,
            min_count=1,
            sg=1,
            workers=1,  # several would race for the same vectors
            seed=seed,
        )
        words = sorted(model.wv.key_to_index)
        plain = np.array([model.wv[word] for word in words], dtype=np.float32)
        made = cls(words, plain.copy())
        for compound, pieces in parts.items():
            rows = made.rows_of(pieces)
            if compound in made.row_of_word and rows:
                made.vectors[made.row_of_word[compound]] = plain[rows].mean(axis=0)
        return made

    def rows_of(self, words: Iterable[str]) -> list[int]:
        """Rows of those words that have a vector."""
        return [self.row_of_word[word] for word in words if word in self.row_of_word]

    def unknown(self, word: str, parts: Sequence[str]) -> Float32Array:
        """(d,) vector of a word that was not in the texts."""
        rows = self.rows_of(parts)
        if rows:
            mean: Float32Array = self.vectors[rows].mean(axis=0)
            return mean
        rng = np.random.default_rng(zlib.crc32(word.encode()))
        return rng.uniform(-0.25, 0.25, (self.vectors.shape[1],)).astype(np.float32)
