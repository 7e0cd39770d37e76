"""DreamLoc's settings (sources: configs/baselines/dreamloc.toml), words with their vectors, and snippets of code."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Self

import numpy as np
import numpy.typing as npt
from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt, model_validator

from tosloc.errors import ToslocError
from tosloc.lab.baselines.parsed_source import ParsedSource
from tosloc.lab.baselines.texts import dropped, letter_parts
from tosloc.lab.baselines.training import LearningSettings
from tosloc.records import Float32Array, FloatArray, IntArray, LongArray


class DreamLocSettings(LearningSettings):
    """Settings of DreamLoc beside those that every learned technique has; the defaults suit a processor."""

    NO_UPSTREAM: ClassVar[str] = (
        "DreamLoc has no upstream profile: the features of its public code tell the label; use it with the profile"
        " 'clean'"
    )

    validation_reports: PositiveInt = 60
    embedding: PositiveInt = 100
    """Width of a word vector."""
    word2vec_epochs: PositiveInt = 5
    word2vec_window: PositiveInt = 5
    word2vec_negatives: PositiveInt = 5
    word2vec_words: NonNegativeInt = 2_000
    """First words of each file that vectors are learned from; 0 for all."""
    report_length: PositiveInt = 300
    snippet_length: PositiveInt = 100
    snippets: PositiveInt = 20
    match_hidden: Annotated[int, Field(ge=2)] = 100
    best_snippets: PositiveInt = 3
    wide_hidden: PositiveInt = 20
    fusion_hidden: Annotated[int, Field(ge=2)] = 100
    negatives: PositiveInt = 50
    """Sampled wrong files of each report."""
    epochs: PositiveInt = 10
    batch: PositiveInt = 64
    margin: PositiveFloat = 1.0
    cache_mb: NonNegativeInt = 512
    """Memory for what report words gave files."""

    @model_validator(mode="after")
    def _enough_snippets(self) -> Self:
        if self.best_snippets > self.snippets:
            raise ValueError("best_snippets cannot be more than snippets")
        return self


_TOKEN = re.compile(r"[A-Za-z]+(?:_+[A-Za-z]+)*")
"""Runs of letters, joined by underscores."""


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
        for token in _TOKEN.findall(text):
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
    for token in _TOKEN.findall(text):
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


class Snippets:
    """The snippets of every blob; each holds its distinct words and how often each one stands in it."""

    def __init__(self, sources: Sequence[ParsedSource], vectors: WordVectors, length: int, most: int) -> None:
        """At most ``most`` snippets of ``length`` words a blob."""
        unseen: dict[tuple[str, tuple[str, ...]], int] = {}
        rows_of_token: dict[str, list[int]] = {}

        def first_rows(text: str) -> IntArray:
            """Rows of the first words of a text, those of compounds before their parts."""
            rows: list[int] = []
            for token in _TOKEN.findall(text):
                if token not in rows_of_token:
                    whole, parts = word_and_parts(token)
                    found = [*([(whole, parts)] if whole else []), *((part, ()) for part in parts)]
                    for word in found:
                        if word[0] not in vectors.row_of_word:
                            unseen.setdefault(word, len(vectors.words) + len(unseen))
                    rows_of_token[token] = [vectors.row_of_word.get(word[0], unseen.get(word, -1)) for word in found]
                rows += rows_of_token[token]
                if len(rows) >= length * most:
                    break
            return np.array(rows[: length * most], dtype=np.int32)

        words: list[npt.NDArray[np.int32]] = []
        logs: list[Float32Array] = []
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
        self._first_snippet = np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)
        self._words = np.concatenate(words) if words else np.zeros(0, dtype=np.int32)
        self._log_counts = np.concatenate(logs) if logs else np.zeros(0, dtype=np.float32)
        self._lengths = np.array([len(distinct) for distinct in words], dtype=np.int64)
        self._first_word = np.concatenate([[0], np.cumsum(self._lengths)]).astype(np.int64)
        of_unseen = [vectors.unknown(word, parts) for word, parts in unseen]
        rows = np.array(of_unseen, dtype=np.float32).reshape(-1, vectors.vectors.shape[1])
        self.table: Float32Array = np.concatenate([vectors.vectors, rows])
        """(V, d) vectors of all words of code; those that training never saw come last."""

    def of_rows(self, rows: npt.NDArray[np.integer]) -> LongArray:
        """Numbers of the snippets of blobs, in their order."""
        sizes = self.sizes[rows]
        ends = np.cumsum(sizes)
        return np.repeat(self._first_snippet[rows] - (ends - sizes), sizes) + np.arange(ends[-1] if len(ends) else 0)

    def padded(self, snippets: LongArray) -> tuple[LongArray, Float32Array]:
        """(s, L) words of snippets and the logs of their counts, -inf where a snippet has no more."""
        lengths = self._lengths[snippets]
        columns = np.arange(int(lengths.max()))
        real = columns < lengths[:, None]
        at = np.where(real, self._first_word[snippets][:, None] + columns, 0)
        return self._words[at].astype(np.int64), np.where(real, self._log_counts[at], -np.inf).astype(np.float32)
