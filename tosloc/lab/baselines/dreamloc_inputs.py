"""What DreamLoc's network reads: words with their vectors, snippets of code, wide features.

Shapes: B blobs, F files of a version, N paths, R labelled reports, V words of code, s snippets, L distinct words of a
snippet, d width of a word vector.
"""

from __future__ import annotations

import math
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Self

import numpy as np
import torch
from scipy import sparse
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from tosloc.core.errors import require
from tosloc.core.records import BugReport, Float32Array, FloatArray, LongArray
from tosloc.lab.baselines.context import BaselineContext, BaselineQuery
from tosloc.lab.baselines.texts import (
    ParsedSource,
    dropped,
    letter_parts,
    summary_and_description,
    without_prefix,
)
from tosloc.lab.baselines.training import DEVICE
from tosloc.lab.baselines.vsm import Counts, count, ratio, row_cosines

WIDE: Final = 5
MONTH: Final = 2_592_000.0
_TOKEN = re.compile(r"[A-Za-z]+(?:_+[A-Za-z]+)*")


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
    return list(
        dict.fromkeys(word for whole, parts in tokens if parts for word in (whole, *parts) if word)
    )


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


def code_words(source: ParsedSource) -> list[str]:
    """Words of that text."""
    return dream_words(code_text(source))


@dataclass(frozen=True)
class DocumentFrequencies:
    """How many of some texts hold each word."""

    texts: int
    frequencies: Mapping[str, int]

    @classmethod
    def count(cls, texts: Iterable[Iterable[str]]) -> DocumentFrequencies:
        """Of texts given as words."""
        found, number = Counter[str](), 0
        for words in texts:
            found.update(set(words))
            number += 1
        return cls(number, found)

    def idf(self, words: Iterable[str]) -> FloatArray:
        """Smoothed: ln((1 + n) / (1 + df)) + 1."""
        df = np.array([self.frequencies.get(word, 0) for word in words], dtype=np.float64)
        return np.log((1.0 + self.texts) / (1.0 + df)) + 1.0


def skip_gram(
    texts: Sequence[Sequence[str]], *, width: int, least: int, epochs: int, seed: int
) -> Any:
    """Word vectors by gensim, the same for the same texts and seed; a word that is rarer than ``least`` has none."""
    require("word2vec", "lab", "gensim")
    from gensim.models import Word2Vec

    options = {
        "sg": 1,
        "window": 5,
        "negative": 5,
        "workers": 1,
    }  # several workers would race for the same vectors
    return Word2Vec(
        texts, vector_size=width, min_count=least, epochs=epochs, seed=seed, **options
    ).wv


class WordVectors:
    """Word vectors; a compound's is the mean of its parts', an unknown word's follows from its letters."""

    def __init__(self, words: Sequence[str], vectors: Float32Array) -> None:
        self.vectors, self.row_of_word = vectors, {word: row for row, word in enumerate(words)}

    @classmethod
    def learned(
        cls,
        texts: Sequence[list[str]],
        parts: Mapping[str, tuple[str, ...]],
        *,
        width: int,
        epochs: int,
        seed: int,
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
            made: Float32Array = self.vectors[rows].mean(axis=0)
        else:
            rng = np.random.default_rng(zlib.crc32(word.encode()))
            made = rng.uniform(-0.25, 0.25, self.vectors.shape[1:]).astype(np.float32)
        return made


class Snippets:
    """The snippets of every blob; each holds its distinct words and how often each one stands in it."""

    def __init__(
        self, sources: Sequence[ParsedSource], vectors: WordVectors, length: int, most: int
    ) -> None:
        """At most ``most`` snippets of ``length`` words a blob."""
        numbers: dict[tuple[str, tuple[str, ...]], int] = {}
        self.of_blob: list[list[tuple[Tensor, Tensor]]] = []
        """Of each blob's snippets the words, as rows of the table, and the logs of their counts."""

        @cache
        def numbers_of(token: str) -> list[int]:
            """Of a token's words, that of a compound before its parts'; one that training saw is itself alone."""
            whole, parts = word_and_parts(token)
            found = [(whole, () if whole in vectors.row_of_word else parts)] * bool(whole) + [
                (one, ()) for one in parts
            ]
            return [numbers.setdefault(word, len(numbers)) for word in found]

        for source in sources:
            words: list[int] = []
            for token in _TOKEN.findall(code_text(source)):
                words += numbers_of(token)
                if len(words) >= length * most:
                    break
            parts = (
                words[start : start + length]
                for start in range(0, min(len(words), length * most), length)
            )
            counted = (torch.unique(torch.tensor(part), return_counts=True) for part in parts)
            self.of_blob.append([(distinct, counts.log()) for distinct, counts in counted])
        table = np.array([vectors.of(*word) for word in numbers], dtype=np.float32)
        self.table = torch.from_numpy(table.reshape(-1, vectors.vectors.shape[1])).to(DEVICE)
        """(V, d) vectors of all words of code."""

    def padded(self, snippets: Sequence[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
        """(s, L) words of snippets, and the logs of their counts; -inf where a snippet has no more."""
        words, logs = map(list, zip(*snippets, strict=True))
        return pad_sequence(words, True).to(DEVICE), pad_sequence(logs, True, -math.inf).to(DEVICE)


# Wide features


def fix_recency(query: BaselineQuery) -> FloatArray:
    """(N,) 1 / (whole months + 1) since the last fix; 0 where there is none."""
    seconds = query.report.opened_seconds - query.latest(query.fix_history.fixed_at)
    return 1.0 / (np.floor(np.maximum(seconds, 0.0) / MONTH) + 1.0)


def sigmoid_if_positive(values: FloatArray, most: float) -> FloatArray:
    """sigmoid(x / most), but 0 where x is 0: a file that was ever fixed stands .5 above one that was not."""
    share = values / most if most > 0 else values
    return np.where(values > 0, 1.0 / (1.0 + np.exp(-np.minimum(share, 1.0))), 0.0)


def between(values: FloatArray, low: float, high: float) -> FloatArray:
    """Values as shares of the way from ``low`` to ``high``, cut to 0..1; all 0 when there is no way."""
    return np.clip((values - low) / (high - low), 0.0, 1.0) if high > low else np.zeros(len(values))


def range_of(values: FloatArray) -> tuple[float, float]:
    """Least and largest value; 0, 0 of none."""
    return (float(values.min()), float(values.max())) if len(values) else (0.0, 0.0)


@dataclass(frozen=True, eq=False)
class WideStatistics:
    """What the wide features are measured by: all of it from the training reports and their versions."""

    text: DocumentFrequencies
    summary: DocumentFrequencies
    report: DocumentFrequencies
    keyword: tuple[float, float]  # least and largest IDF of compounds and their parts in reports
    complexity: tuple[float, float]  # least and largest of a file
    fixes: float
    recency: float


class WideFeatures:
    """The wide features on one project."""

    def __init__(self, context: BaselineContext, statistics: WideStatistics) -> None:
        self.context, self.statistics = context, statistics
        self.counts = context.files.counts(code_words)  # (B, V) of the words of code
        self.summaries = count(
            dream_words(without_prefix(case.report.summary)) for case in context.fix_history.cases
        )
        """(R, V) of the words of the labelled reports' summaries."""
        self._summary_idf = statistics.summary.idf(self.summaries.vocabulary)
        self._complexity = between(complexities(context), *statistics.complexity)
        weights = self.counts.matrix.copy()
        weights.data *= statistics.text.idf(self.counts.vocabulary)[weights.indices]
        self._file_weights, self._file_norms = (
            weights,
            np.sqrt(np.asarray(weights.power(2).sum(axis=1)).ravel()),
        )

    def of(self, query: BaselineQuery) -> Float32Array:
        """(F, 5) features of all files."""
        version, statistics = query.version, self.statistics
        return np.column_stack(
            [
                version.to_files(self._text(query.report)),
                version.to_files(self._complexity),
                version.from_paths(self._similar_reports(query.report, query.reports)),
                version.from_paths(sigmoid_if_positive(query.fixes, statistics.fixes)),
                version.from_paths(sigmoid_if_positive(fix_recency(query), statistics.recency)),
            ]
        ).astype(np.float32)

    def _text(self, report: BugReport) -> FloatArray:
        """(B,) cosine of term weights; in the report those of compounds and their parts are raised."""
        text, frequencies = summary_and_description(report), self.statistics.text
        words, weights = weighted(text, frequencies)
        keywords, raised = (
            {*compounds_and_parts(text)},
            between(frequencies.idf(words), *self.statistics.keyword),
        )
        weights *= 1.0 + raised * [word in keywords for word in words]
        query = in_columns(self.counts, words, weights)
        return ratio(self._file_weights @ query, self._file_norms * np.sqrt((weights**2).sum()))

    def _similar_reports(self, report: BugReport, known: LongArray) -> FloatArray:
        """(N,) cosine of the summary and of all summaries together for which each path was fixed."""
        touched = self.context.fix_history.touched
        words, weights = weighted(without_prefix(report.summary), self.statistics.summary)
        together = sparse.csr_array(
            sparse.csr_array(touched[known].T) @ self.summaries.matrix[known]
        )
        together.data *= self._summary_idf[together.indices]
        query = in_columns(self.summaries, words, weights)
        return row_cosines(together, query, float(np.sqrt((weights**2).sum())))


def complexities(context: BaselineContext) -> FloatArray:
    """(B,) summed cyclomatic numbers of the functions of each blob."""
    return np.array([source.complexity for source in context.files.sources], dtype=np.float64)


def weighted(text: str, frequencies: DocumentFrequencies) -> tuple[list[str], FloatArray]:
    """Distinct words of a text, sorted, and their weights: count x IDF."""
    counted = Counter(dream_words(text))
    words = sorted(counted)
    return words, np.array([counted[word] for word in words]) * frequencies.idf(words)


def in_columns(counts: Counts, words: Sequence[str], weights: FloatArray) -> FloatArray:
    """(V,) weights of distinct words in the columns of counts; a word without a column is left out."""
    found = np.zeros(counts.matrix.shape[1])
    columns = np.array([counts.vocabulary.get(word, -1) for word in words], dtype=np.int64)
    found[columns[columns >= 0]] = weights[columns >= 0]
    return found
