"""DreamLoc's words with their vectors, their document frequencies, and snippets of code.

Shapes: B blobs, s snippets, L distinct words of a snippet, d width of a word vector, V words of code.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Self

import numpy as np

from tosloc.errors import require
from tosloc.lab.baselines.texts import ParsedSource, dropped, letter_parts
from tosloc.records import Float32Array, FloatArray, IntArray, LongArray

_TOKEN = re.compile(r"[A-Za-z]+(?:_+[A-Za-z]+)*")
"""Runs of letters, joined by underscores."""


@cache
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


def dream_words(text: str, parts: dict[str, tuple[str, ...]] | None = None) -> list[str]:
    """Words of a text in order, whole and, if they are compounds, in their parts; no stemming.

    ``parts`` gets the parts of each compound, as it was written first.

    >>> dream_words("the HTMLParser2 of MAX_SIZE; aB")
    ['htmlparser', 'html', 'parser', 'max_size', 'max', 'size', 'ab']
    """
    words: list[str] = []
    for whole, own in map(word_and_parts, _TOKEN.findall(text)):
        if whole:
            words.append(whole)
            if own and parts is not None:
                parts.setdefault(whole, own)
        words += own
    return words


def compounds_and_parts(text: str) -> list[str]:
    """Compounds of a text and their parts, each once, by first appearance.

    >>> compounds_and_parts("parse with HTMLParser or URLParser")
    ['htmlparser', 'html', 'parser', 'urlparser', 'url']
    """
    tokens = map(word_and_parts, _TOKEN.findall(text))
    return list(dict.fromkeys(word for whole, parts in tokens if parts for word in (whole, *parts) if word))


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
    frequencies: Mapping[str, int]

    @classmethod
    def count(cls, texts: Iterable[Iterable[str]]) -> DocumentFrequencies:
        """Of texts given as words."""
        found: Counter[str] = Counter()
        number = 0
        for number, words in enumerate(texts, start=1):
            found.update(set(words))
        return cls(number, found)

    def idf(self, words: Iterable[str]) -> FloatArray:
        """Smoothed: ln((1 + n) / (1 + df)) + 1."""
        df = np.array([self.frequencies.get(word, 0) for word in words], dtype=np.float64)
        return np.log((1.0 + self.texts) / (1.0 + df)) + 1.0


def skip_gram(texts: Sequence[Sequence[str]], *, width: int, least: int, epochs: int, seed: int) -> Any:
    """Word vectors by gensim, the same for the same texts and seed; a word that is rarer than ``least`` has none."""
    require("word vectors", "lab", "gensim")
    from gensim.models import Word2Vec

    options = {"sg": 1, "window": 5, "negative": 5, "workers": 1}  # several workers would race for the same vectors
    return Word2Vec(texts, vector_size=width, min_count=least, epochs=epochs, seed=seed, **options).wv


class WordVectors:
    """Word vectors; a compound's is the mean of its parts', an unknown word's follows from its letters."""

    def __init__(self, words: Sequence[str], vectors: Float32Array) -> None:
        self.vectors, self.row_of_word = vectors, {word: row for row, word in enumerate(words)}

    @classmethod
    def learned(
        cls, texts: Sequence[list[str]], parts: Mapping[str, tuple[str, ...]], *, width: int, epochs: int, seed: int
    ) -> Self:
        """Skip-gram vectors of texts given as words, some of them compounds with ``parts``."""
        found = skip_gram(texts, width=width, least=1, epochs=epochs, seed=seed)
        words = sorted(found.key_to_index)
        plain = np.array([found[word] for word in words], dtype=np.float32)
        made = cls(words, plain.copy())
        for compound, pieces in parts.items():
            rows = made.rows_of(pieces)
            if compound in made.row_of_word and rows:
                made.vectors[made.row_of_word[compound]] = plain[rows].mean(axis=0)
        return made

    def rows_of(self, words: Iterable[str]) -> list[int]:
        """Rows of those words that have a vector."""
        return [self.row_of_word[word] for word in words if word in self.row_of_word]

    def of(self, word: str, parts: Sequence[str]) -> Float32Array:
        """(d,) vector of a word; without one in the texts the mean of its parts', or one between -.25 and .25."""
        rows = self.rows_of([word]) or self.rows_of(parts)
        if rows:
            mean: Float32Array = self.vectors[rows].mean(axis=0)
            return mean
        rng = np.random.default_rng(zlib.crc32(word.encode()))
        return rng.uniform(-0.25, 0.25, self.vectors.shape[1]).astype(np.float32)


class Snippets:
    """The snippets of every blob; each holds its distinct words and how often each one stands in it."""

    def __init__(self, sources: Sequence[ParsedSource], vectors: WordVectors, length: int, most: int) -> None:
        """At most ``most`` snippets of ``length`` words a blob."""
        unseen: dict[tuple[str, tuple[str, ...]], int] = {}

        @cache
        def rows_of_token(token: str) -> list[int]:
            """Rows of a token's words, that of a compound before its parts'."""
            whole, parts = word_and_parts(token)
            found = [*([(whole, parts)] if whole else []), *((part, ()) for part in parts)]
            return [
                vectors.row_of_word[word[0]]
                if word[0] in vectors.row_of_word
                else unseen.setdefault(word, len(vectors.vectors) + len(unseen))
                for word in found
            ]

        def first_rows(text: str) -> IntArray:
            """Rows of the first words of a text."""
            rows: list[int] = []
            for token in _TOKEN.findall(text):
                rows += rows_of_token(token)
                if len(rows) >= length * most:
                    break
            return np.array(rows[: length * most], dtype=np.int32)

        words, logs = [np.zeros(0, dtype=np.int32)], [np.zeros(0, dtype=np.float32)]
        sizes: list[int] = []
        for source in sources:
            own = first_rows(code_text(source))
            for start in range(0, len(own), length):
                distinct, counts = np.unique(own[start : start + length], return_counts=True)
                words.append(distinct)
                logs.append(np.log(counts).astype(np.float32))
            sizes.append(-(-len(own) // length))
        self.sizes: LongArray = np.array(sizes, dtype=np.int64)
        """(B,) snippets of each blob."""
        self._first_snippet = np.cumsum(self.sizes) - self.sizes
        self._words, self._log_counts = np.concatenate(words), np.concatenate(logs)
        self._lengths = np.array(list(map(len, words[1:])), dtype=np.int64)
        self._first_word = np.cumsum(self._lengths) - self._lengths
        of_unseen = np.array([vectors.of(*word) for word in unseen], dtype=np.float32)
        self.table: Float32Array = np.concatenate([vectors.vectors, of_unseen.reshape(-1, vectors.vectors.shape[1])])
        """(V, d) vectors of all words of code; those that training never saw come last."""

    def of_blobs(self, rows: LongArray) -> tuple[LongArray, Float32Array]:
        """(s, L) words of all snippets of blobs in order, and the logs of their counts; -inf where one has no more."""
        sizes = self.sizes[rows]
        snippets = np.repeat(self._first_snippet[rows] - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())
        lengths = self._lengths[snippets]
        columns = np.arange(int(lengths.max()))
        real = columns < lengths[:, None]
        at = np.where(real, self._first_word[snippets][:, None] + columns, 0)
        return self._words[at].astype(np.int64), np.where(real, self._log_counts[at], -np.inf).astype(np.float32)
