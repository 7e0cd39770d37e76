"""Inputs of DreamLoc's network: words with their vectors, snippets of code, wide features.

Shapes: B blobs, F files of a version, N paths, R labelled reports, V words of code, s snippets, L
distinct words of a snippet, d width of a word vector.
"""

from __future__ import annotations

import math
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Self, TypeAlias

import numpy as np
import torch
from scipy import sparse
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from tosloc.code.parsed_source import ParsedSource
from tosloc.core.arrays import Float32Array, FloatArray, LongArray
from tosloc.core.errors import require
from tosloc.core.reports import BugReport
from tosloc.lab.baselines.context import BaselineContext, BaselineQuery
from tosloc.lab.baselines.texts import (
    is_ignored_word,
    letter_parts,
    strip_bug_prefix,
    summary_and_description,
)
from tosloc.lab.baselines.training import DEVICE
from tosloc.lab.baselines.vsm import TermCounts, count_terms, divide_or_zero, row_cosines

WIDE_FEATURES: Final = 5
"""Number of wide features."""
MONTH_SECONDS: Final = 2_592_000.0
"""Thirty days in seconds: public code, section B.9.5."""
_TOKEN = re.compile(r"[A-Za-z]+(?:_+[A-Za-z]+)*")

Snippet: TypeAlias = tuple[Tensor, Tensor]
"""(L,) rows of the distinct words of a snippet in the word table, and (L,) ln of their counts."""


@cache
def word_and_parts(token: str) -> tuple[str, tuple[str, ...]]:
    """Return a token in lower case and, if it is a compound, its parts.

    The word is "" if it is a stop word, a keyword or one letter. Parts of this kind are left out.

    >>> word_and_parts("HTMLParser")
    ('htmlparser', ('html', 'parser'))
    >>> word_and_parts("aB"), word_and_parts("forSeed"), word_and_parts("for")
    (('ab', ()), ('forseed', ('seed',)), ('', ()))
    """
    word = token.lower()
    parts = letter_parts(token)
    is_compound = len(parts) > 1 and max(map(len, parts)) > 2
    if not is_compound:
        parts = []
    kept_parts = tuple(part for part in parts if not is_ignored_word(part))
    return "" if is_ignored_word(word) else word, kept_parts


def dream_words(text: str, parts_by_word: dict[str, tuple[str, ...]] | None = None) -> list[str]:
    """Return the words of a text in order, without stemming; a compound is followed by its parts.

    The parts of each compound, in its first spelling, are added to ``parts_by_word``.

    >>> dream_words("the HTMLParser2 of MAX_SIZE; aB")
    ['htmlparser', 'html', 'parser', 'max_size', 'max', 'size', 'ab']
    """
    words: list[str] = []
    for token in _TOKEN.findall(text):
        word, parts = word_and_parts(token)
        if word:
            words.append(word)
            if parts and parts_by_word is not None:
                parts_by_word.setdefault(word, parts)
        words += parts
    return words


def compounds_and_parts(text: str) -> list[str]:
    """Return the compounds of a text and their parts, by first appearance, without repetitions.

    >>> compounds_and_parts("parse with HTMLParser or URLParser")
    ['htmlparser', 'html', 'parser', 'urlparser', 'url']
    """
    words: dict[str, None] = {}  # used as an ordered set
    for token in _TOKEN.findall(text):
        word, parts = word_and_parts(token)
        if parts:
            if word:
                words[word] = None
            words.update(dict.fromkeys(parts))
    return list(words)


def truncate_words(words: Sequence[str], keywords: Sequence[str], length: int) -> list[str]:
    """Return at most ``length`` words of a report.

    A longer report keeps its first words, followed by ``keywords``: its compounds and their parts.
    If there are too many of these, the longest are kept.

    >>> truncate_words(["a", "b", "c", "xY"], ["xY"], 3)
    ['a', 'b', 'xY']
    >>> truncate_words(["a"], ["xY"], 3)
    ['a']
    """
    if len(words) <= length:
        return list(words)
    kept_keywords = list(keywords)
    if len(kept_keywords) > length:
        kept_keywords = sorted(kept_keywords, key=lambda word: (-len(word), word))[:length]
    return [*words[: length - len(kept_keywords)], *kept_keywords]


def code_text(source: ParsedSource) -> str:
    """Return the text of a file after its imports, without a licence before them."""
    return source.text("code", "string", "javadoc", "comment")


def dream_code_words(source: ParsedSource) -> list[str]:
    """Return the words of a file after its imports."""
    return dream_words(code_text(source))


@dataclass(frozen=True)
class DocumentFrequencies:
    """Document frequencies: the number of texts that contain each word."""

    texts: int
    """Number of texts."""
    frequencies: Mapping[str, int]
    """Number of texts that contain each word."""

    @classmethod
    def count(cls, texts: Iterable[Iterable[str]]) -> DocumentFrequencies:
        """Return the document frequencies of texts, each given as words."""
        frequencies = Counter[str]()
        number = 0
        for words in texts:
            frequencies.update(set(words))
            number += 1
        return cls(number, frequencies)

    def idf(self, words: Iterable[str]) -> FloatArray:
        """Return the smoothed IDF of words: ln((1 + n) / (1 + df)) + 1."""
        df = np.array([self.frequencies.get(word, 0) for word in words], dtype=np.float64)
        return np.log((1.0 + self.texts) / (1.0 + df)) + 1.0


def train_skip_gram(
    texts: Sequence[Sequence[str]], *, width: int, min_count: int, epochs: int, seed: int
) -> Any:
    """Train word vectors with gensim, and return its ``KeyedVectors``.

    The same texts and seed give the same vectors. A word that occurs less often than ``min_count``
    times gets none.
    """
    require("word2vec", "lab", "gensim")
    from gensim.models import Word2Vec

    model = Word2Vec(
        texts,
        vector_size=width,
        min_count=min_count,
        epochs=epochs,
        seed=seed,
        sg=1,
        window=5,
        negative=5,
        workers=1,  # with several workers the vectors would depend on which one is first
    )
    return model.wv


class WordVectors:
    """Vectors of words.

    The vector of a compound is the mean of its parts' vectors; the vector of an unknown word is
    computed from its letters.
    """

    def __init__(self, words: Sequence[str], vectors: Float32Array) -> None:
        self.vectors = vectors
        """A row of width d for each word."""
        self.row_of_word = {word: row for row, word in enumerate(words)}

    @classmethod
    def learn(
        cls,
        texts: Sequence[list[str]],
        parts_by_word: Mapping[str, tuple[str, ...]],
        *,
        width: int,
        epochs: int,
        seed: int,
    ) -> Self:
        """Return skip-gram vectors that are learned from texts, each given as words.

        ``parts_by_word`` maps each compound to its parts.
        """
        keyed_vectors = train_skip_gram(texts, width=width, min_count=1, epochs=epochs, seed=seed)
        words = sorted(keyed_vectors.key_to_index)
        plain = np.array([keyed_vectors[word] for word in words], dtype=np.float32)
        learned = cls(words, plain.copy())
        for compound, parts in parts_by_word.items():
            rows = learned.known_rows(parts)
            if compound in learned.row_of_word and rows:
                learned.vectors[learned.row_of_word[compound]] = plain[rows].mean(axis=0)
        return learned

    def known_rows(self, words: Iterable[str]) -> list[int]:
        """Return the rows of those ``words`` that have a vector."""
        return [self.row_of_word[word] for word in words if word in self.row_of_word]

    def vector(self, word: str, parts: Sequence[str]) -> Float32Array:
        """Return (d,) the vector of a word.

        An unknown word has the mean of its known parts' vectors. Without a known part its
        components are between -.25 and .25 and depend only on its letters.
        """
        rows = self.known_rows([word]) or self.known_rows(parts)
        if rows:
            mean: Float32Array = self.vectors[rows].mean(axis=0)
            return mean
        rng = np.random.default_rng(zlib.crc32(word.encode()))
        return rng.uniform(-0.25, 0.25, self.vectors.shape[1:]).astype(np.float32)


class Snippets:
    """The snippets of every blob, as distinct words and their counts."""

    def __init__(
        self, sources: Sequence[ParsedSource], vectors: WordVectors, length: int, max_snippets: int
    ) -> None:
        """Cut each source into at most ``max_snippets`` snippets of ``length`` words."""
        number_of_word: dict[tuple[str, tuple[str, ...]], int] = {}

        @cache
        def word_numbers(token: str) -> list[int]:
            """Return the numbers of a token's words; a compound comes before its parts."""
            word, parts = word_and_parts(token)
            keys: list[tuple[str, tuple[str, ...]]] = []
            if word:
                # A word that has a vector of its own does not depend on its parts.
                keys.append((word, () if word in vectors.row_of_word else parts))
            keys += [(part, ()) for part in parts]
            return [number_of_word.setdefault(key, len(number_of_word)) for key in keys]

        self.by_blob: list[list[Snippet]] = []
        """The snippets of each blob."""
        max_words = length * max_snippets
        for source in sources:
            numbers: list[int] = []
            for token in _TOKEN.findall(code_text(source)):
                numbers += word_numbers(token)
                if len(numbers) >= max_words:
                    break
            self.by_blob.append(_split_snippets(numbers[:max_words], length))
        table = np.array([vectors.vector(*key) for key in number_of_word], dtype=np.float32)
        self.table = torch.from_numpy(table.reshape(-1, vectors.vectors.shape[1])).to(DEVICE)
        """(V, d) vectors of all words of code."""

    def pad(self, snippets: Sequence[Snippet]) -> tuple[Tensor, Tensor]:
        """Return (s, L) the rows of the snippets' words, and (s, L) the logarithms of their counts.

        Shorter snippets are padded; the logarithm of the padding is -inf.
        """
        words = [snippet_words for snippet_words, _ in snippets]
        logs = [snippet_logs for _, snippet_logs in snippets]
        return pad_sequence(words, True).to(DEVICE), pad_sequence(logs, True, -math.inf).to(DEVICE)


def _split_snippets(numbers: Sequence[int], length: int) -> list[Snippet]:
    snippets: list[Snippet] = []
    for start in range(0, len(numbers), length):
        words = torch.tensor(numbers[start : start + length])
        distinct, counts = torch.unique(words, return_counts=True)
        snippets.append((distinct, counts.log()))
    return snippets


# Wide features


def fix_recency(query: BaselineQuery) -> FloatArray:
    """Return (N,) 1 / (whole months since the last known fix + 1); 0 for a path without a fix."""
    last_fix = query.latest_by_path(query.fix_history.fixed_at)
    seconds = query.report.opened_seconds - last_fix
    return 1.0 / (np.floor(np.maximum(seconds, 0.0) / MONTH_SECONDS) + 1.0)


def sigmoid_if_positive(values: FloatArray, maximum: float) -> FloatArray:
    """Return sigmoid(x / maximum) of each value x, but 0 if x is 0.

    The value of a file that was ever fixed is therefore above .5, and 0 for other files.
    """
    shares = values / maximum if maximum > 0 else values
    return np.where(values > 0, 1.0 / (1.0 + np.exp(-np.minimum(shares, 1.0))), 0.0)


def scale_to_range(values: FloatArray, low: float, high: float) -> FloatArray:
    """Return values scaled from ``low``..``high`` to 0..1 and clipped; 0 for an empty range."""
    if high > low:
        return np.clip((values - low) / (high - low), 0.0, 1.0)
    return np.zeros(len(values))


def value_range(values: FloatArray) -> tuple[float, float]:
    """Return the smallest and the largest value; 0 and 0 if there are no values."""
    return (float(values.min()), float(values.max())) if len(values) else (0.0, 0.0)


@dataclass(frozen=True, eq=False)
class WideStatistics:
    """Statistics by which the wide features are scaled, all from the training reports."""

    text: DocumentFrequencies
    """Frequencies in the training reports and in the files of their versions."""
    summary: DocumentFrequencies
    """Frequencies in the summaries of the training reports."""
    report: DocumentFrequencies
    """Frequencies in the training reports."""
    keyword: tuple[float, float]
    """Range of the IDF of compounds and their parts in reports."""
    complexity: tuple[float, float]
    """Range of the complexity of a file."""
    fixes: float
    """Largest number of fixes of a path."""
    recency: float
    """Largest recency of a path's last fix."""


class WideFeatures:
    """The wide features on one project (docs/method.md, section B.9.5)."""

    def __init__(self, context: BaselineContext, statistics: WideStatistics) -> None:
        self.context = context
        self.statistics = statistics
        self.counts = context.files.counts(dream_code_words)
        """(B, V) counts of the words of code."""
        self.summary_counts = count_terms(
            dream_words(strip_bug_prefix(case.report.summary)) for case in context.fix_history.cases
        )
        """(R, V) counts of the words of the labelled reports' summaries."""
        self._summary_idf = statistics.summary.idf(self.summary_counts.vocabulary)
        self._complexity = scale_to_range(complexities(context), *statistics.complexity)
        weights = self.counts.matrix.copy()
        weights.data *= statistics.text.idf(self.counts.vocabulary)[weights.indices]
        self._file_weights = weights
        self._file_norms = np.sqrt(np.asarray(weights.power(2).sum(axis=1)).ravel())

    def compute(self, query: BaselineQuery) -> Float32Array:
        """Return (F, 5) the wide features of all files of the version."""
        version = query.version
        statistics = self.statistics
        similar_reports = self._similar_reports(query.report, query.known_reports)
        fixes = sigmoid_if_positive(query.fix_counts, statistics.fixes)
        recency = sigmoid_if_positive(fix_recency(query), statistics.recency)
        return np.column_stack(
            [
                version.from_blobs(self._text_similarity(query.report)),
                version.from_blobs(self._complexity),
                version.from_paths(similar_reports),
                version.from_paths(fixes),
                version.from_paths(recency),
            ]
        ).astype(np.float32)

    def _text_similarity(self, report: BugReport) -> FloatArray:
        """Return (B,) the cosine of term weights; compounds and their parts have larger weights."""
        text = summary_and_description(report)
        frequencies = self.statistics.text
        words, weights = weigh_words(text, frequencies)
        keywords = set(compounds_and_parts(text))
        is_keyword = np.array([word in keywords for word in words], dtype=np.bool_)
        gains = scale_to_range(frequencies.idf(words), *self.statistics.keyword)
        weights *= 1.0 + gains * is_keyword
        query = scatter_to_columns(self.counts, words, weights)
        query_norm = np.sqrt((weights**2).sum())
        return divide_or_zero(self._file_weights @ query, self._file_norms * query_norm)

    def _similar_reports(self, report: BugReport, known_reports: LongArray) -> FloatArray:
        """Return (N,) the cosine of a report's summary with the summaries of each path's reports.

        Only known reports whose fixes changed the path count; their summaries are joined.
        """
        touched = self.context.fix_history.touched
        words, weights = weigh_words(strip_bug_prefix(report.summary), self.statistics.summary)
        reports_by_path = sparse.csr_array(touched[known_reports].T)
        joined = sparse.csr_array(reports_by_path @ self.summary_counts.matrix[known_reports])
        joined.data *= self._summary_idf[joined.indices]
        query = scatter_to_columns(self.summary_counts, words, weights)
        return row_cosines(joined, query, float(np.sqrt((weights**2).sum())))


def complexities(context: BaselineContext) -> FloatArray:
    """Return (B,) the summed cyclomatic complexity of the functions of each blob."""
    return np.array([source.complexity for source in context.files.sources], dtype=np.float64)


def weigh_words(text: str, frequencies: DocumentFrequencies) -> tuple[list[str], FloatArray]:
    """Return the distinct words of a text, sorted, and their weights: count x IDF."""
    counter = Counter(dream_words(text))
    words = sorted(counter)
    return words, np.array([counter[word] for word in words]) * frequencies.idf(words)


def scatter_to_columns(counts: TermCounts, words: Sequence[str], weights: FloatArray) -> FloatArray:
    """Return (V,) the weights of distinct words, placed in the columns of ``counts``.

    A word without a column is left out.
    """
    vector = np.zeros(counts.matrix.shape[1])
    columns = np.array([counts.vocabulary.get(word, -1) for word in words], dtype=np.int64)
    vector[columns[columns >= 0]] = weights[columns >= 0]
    return vector
