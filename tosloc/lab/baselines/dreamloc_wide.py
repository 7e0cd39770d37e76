"""DreamLoc's wide features: text, complexity, similar reports, number of fixes and time since the last.

Shapes: B blobs, F files of a version, N paths, R labelled reports, V words of code.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from scipy import sparse

from tosloc.lab.baselines.context import BaselineContext, BaselineQuery
from tosloc.lab.baselines.dreamloc_words import DocumentFrequencies, code_text, compounds_and_parts, dream_words
from tosloc.lab.baselines.texts import ParsedSource, summary_and_description, without_prefix
from tosloc.lab.baselines.vsm import Counts, count, row_cosines
from tosloc.records import BugReport, Float32Array, FloatArray, LongArray

WIDE: Final = 5
MONTH: Final = 2_592_000.0


def code_words(source: ParsedSource) -> list[str]:
    """Words of a file behind its imports."""
    return dream_words(code_text(source))


def fix_recency(query: BaselineQuery) -> FloatArray:
    """(N,) 1 / (whole months + 1) since the last fix; 0 where there is none."""
    history = query.history
    seconds = history.time - history.latest(history.fix_history.fixed_at)
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
    keyword: tuple[float, float]
    """Least and largest IDF of compounds and their parts in reports."""
    complexity: tuple[float, float]
    """Least and largest complexity of a file."""
    fixes: float
    recency: float


class WideFeatures:
    """The wide features on one project."""

    def __init__(self, context: BaselineContext, statistics: WideStatistics) -> None:
        self.context, self.statistics = context, statistics
        self.counts = context.files.counts(code_words)
        """(B, V) counts of the words of code."""
        self.summaries = count(dream_words(without_prefix(case.report.summary)) for case in context.fix_history.cases)
        """(R, V) counts of the words of the labelled reports' summaries."""
        self._summary_idf = statistics.summary.idf(self.summaries.vocabulary)
        self._complexity = between(complexities(context), *statistics.complexity)

    @cached_property
    def _file_vectors(self) -> sparse.csr_array:
        """(B, V) term weights of code, each row of length 1."""
        made = self.counts.matrix.copy()
        made.data *= self.statistics.text.idf(self.counts.vocabulary)[made.indices]
        norms = np.sqrt(np.asarray(made.power(2).sum(axis=1)).ravel())
        made.data /= np.repeat(np.where(norms > 0, norms, 1.0), np.diff(made.indptr))
        return made

    def of(self, query: BaselineQuery) -> Float32Array:
        """(F, 5) features of all files."""
        version, history, statistics = query.version, query.history, self.statistics
        return np.column_stack(
            [
                version.to_files(self._text(query.report)),
                version.to_files(self._complexity),
                version.from_paths(self._similar_reports(query.report, history.reports)),
                version.from_paths(sigmoid_if_positive(history.fixes, statistics.fixes)),
                version.from_paths(sigmoid_if_positive(fix_recency(query), statistics.recency)),
            ]
        ).astype(np.float32)

    def _text(self, report: BugReport) -> FloatArray:
        """(B,) cosine of term weights; in the report those of compounds and their parts are raised."""
        text, frequencies = summary_and_description(report), self.statistics.text
        keywords = set(compounds_and_parts(text))
        words, weights = weighted(text, frequencies)
        if not words:
            return np.zeros(len(self.context.files))
        raised = 1.0 + between(frequencies.idf(words), *self.statistics.keyword)
        weights *= np.where([word in keywords for word in words], raised, 1.0)
        return (self._file_vectors @ in_columns(self.counts, words, weights)) / float(np.sqrt((weights**2).sum()))

    def _similar_reports(self, report: BugReport, known: LongArray) -> FloatArray:
        """(N,) cosine of the summary and of all summaries together for which each path was fixed."""
        touched = self.context.fix_history.touched
        words, weights = weighted(without_prefix(report.summary), self.statistics.summary)
        together = sparse.csr_array(sparse.csr_array(touched[known].T) @ self.summaries.matrix[known])
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
