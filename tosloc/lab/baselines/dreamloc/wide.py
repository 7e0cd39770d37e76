"""DreamLoc's wide features: text, complexity, similar reports, number of fixes and time since the last."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from scipy import sparse

from tosloc.lab.baselines.context import BaselineContext, BaselineQuery
from tosloc.lab.baselines.dreamloc.words import DocumentFrequencies, DreamLocTokenizer, code_text, compounds_and_parts
from tosloc.lab.baselines.texts import summary_and_description, without_prefix
from tosloc.lab.baselines.vsm import Counts, count, row_cosines
from tosloc.records import BugReport, Float32Array, FloatArray, LongArray

WIDE: Final = 5
MONTH: Final = 2_592_000.0


def fix_recency(seconds: FloatArray) -> FloatArray:
    """1 / (whole months + 1) since the last fix; 0 where there is none.

    >>> fix_recency(np.array([29, 30, 60, 365, np.inf]) * 86400.0).tolist()
    [1.0, 0.5, 0.3333333333333333, 0.07692307692307693, 0.0]
    """
    return 1.0 / (np.floor(np.maximum(seconds, 0.0) / MONTH) + 1.0)


def sigmoid_if_positive(values: FloatArray, most: float) -> FloatArray:
    """sigmoid(x / most), but 0 where x is 0: a file that was ever fixed stands .5 above one that was not."""
    share = values / most if most > 0 else values
    return np.where(values > 0, 1.0 / (1.0 + np.exp(-np.minimum(share, 1.0))), 0.0)


def between(values: FloatArray, low: float, high: float) -> FloatArray:
    """Values as shares of the way from ``low`` to ``high``, cut to 0..1; all 0 when there is no way."""
    if high <= low:
        return np.zeros(len(values))
    return np.clip((values - low) / (high - low), 0.0, 1.0)


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

    @classmethod
    def of(cls, text: dict[str, Any], summary: dict[str, Any], report: dict[str, Any], **ranges: Any) -> WideStatistics:
        """From what ``asdict`` made of it."""
        return cls(DocumentFrequencies(**text), DocumentFrequencies(**summary), DocumentFrequencies(**report), **ranges)


class WideFeatures:
    """The wide features on one project."""

    def __init__(self, context: BaselineContext, statistics: WideStatistics) -> None:
        self.context, self.statistics = context, statistics
        tokenizer = self.tokenizer = DreamLocTokenizer()
        self.counts: Counts = context.files.counts("dreamloc", lambda source: tokenizer(code_text(source)))
        """(B, V) counts of the words of code."""
        summaries = (without_prefix(case.report.summary) for case in context.fix_history.cases)
        self.summaries: Counts = count(map(tokenizer, summaries))
        """(R, V) counts of the words of the labelled reports' summaries."""
        self._summary_idf = statistics.summary.idf(self.summaries.vocabulary)
        self._complexity = between(complexities(context), *statistics.complexity)

    @cached_property
    def _file_vectors(self) -> sparse.csr_array:
        """(B, V) term weights of code, each row of length 1."""
        made = self.counts.matrix.copy()
        made.data *= self.statistics.text.idf(self.counts.vocabulary)[made.indices]
        rows = np.repeat(np.arange(made.shape[0]), np.diff(made.indptr))
        norms = np.sqrt(np.bincount(rows, made.data**2, made.shape[0]))
        made.data /= np.repeat(np.where(norms > 0, norms, 1.0), np.diff(made.indptr))
        return made

    def of(self, query: BaselineQuery) -> Float32Array:
        """(F, 5) features of all files."""
        version, report, history, statistics = query.version, query.report, query.history, self.statistics
        recency = fix_recency(report.opened_seconds - history.last_fix)
        return np.column_stack(
            [
                version.to_files(self._text(report)),
                version.to_files(self._complexity),
                version.from_paths(self._similar_reports(report, history.reports)),
                version.from_paths(sigmoid_if_positive(history.fixes, statistics.fixes)),
                version.from_paths(sigmoid_if_positive(recency, statistics.recency)),
            ]
        ).astype(np.float32)

    def _text(self, report: BugReport) -> FloatArray:
        """(B,) cosine of term weights; in the report those of compounds and their parts are raised."""
        text = summary_and_description(report)
        counted = Counter(self.tokenizer(text))
        words = sorted(counted)
        if not words:
            return np.zeros(len(self.context.files))
        idf = self.statistics.text.idf(words)
        weights = np.array([counted[word] for word in words]) * idf
        keywords = set(compounds_and_parts(text))
        is_keyword = np.array([word in keywords for word in words])
        weights *= np.where(is_keyword, 1.0 + between(idf, *self.statistics.keyword), 1.0)
        query = column_weights(self.counts, words, weights)
        return (self._file_vectors @ query) / float(np.sqrt((weights**2).sum()))

    def _similar_reports(self, report: BugReport, known: LongArray) -> FloatArray:
        """(N,) cosine of the summary and of all summaries together for which each path was fixed."""
        touched = self.context.fix_history.touched
        counted = Counter(self.tokenizer(without_prefix(report.summary)))
        words = sorted(counted)
        if not len(known) or not words:
            return np.zeros(touched.shape[1])
        weights = np.array([counted[word] for word in words]) * self.statistics.summary.idf(words)
        query = column_weights(self.summaries, words, weights)
        together = sparse.csr_array(sparse.csr_array(touched[known].T) @ self.summaries.matrix[known])
        together.data *= self._summary_idf[together.indices]
        return row_cosines(together, query, float(np.sqrt((weights**2).sum())))


def complexities(context: BaselineContext) -> FloatArray:
    """(B,) summed cyclomatic numbers of the functions of each blob."""
    value = np.zeros(len(context.files))
    for blob, row in context.files.row_of_blob.items():
        value[row] = context.complexities.get(blob, 0)
    return value


def column_weights(counts: Counts, words: Sequence[str], weights: FloatArray) -> FloatArray:
    """(V,) weights of distinct words in the columns of counts; a word without a column is left out."""
    found = np.zeros(counts.matrix.shape[1])
    columns = np.array([counts.vocabulary.get(word, -1) for word in words], dtype=np.int64)
    found[columns[columns >= 0]] = weights[columns >= 0]
    return found
