"""DNNLOC's terms, the term vectors that its projections read, and its features phi2 to phi6.

Shapes: B blobs, F files of a version, N paths, R labelled reports, V terms.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy import sparse

from tosloc.code.parsed_source import ParsedSource
from tosloc.core.arrays import FloatArray, LongArray
from tosloc.core.reports import BugReport
from tosloc.lab.baselines.context import BaselineContext, BaselineQuery
from tosloc.lab.baselines.texts import (
    is_ignored_word,
    letter_parts,
    porter_stem,
    summary_and_description,
)
from tosloc.lab.baselines.vsm import (
    TermCounts,
    VectorSpace,
    count_terms,
    divide_or_zero,
    plain_length_score,
    row_cosines,
    textbook_idf,
)

_WORD = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")


@cache
def _stem_word(word: str) -> list[str]:
    """Return the stem of a word, then the stems of its parts if it is a compound."""
    lower_word = word.lower()
    if is_ignored_word(lower_word):
        return []
    terms = [porter_stem(lower_word)]
    parts = letter_parts(word)
    if parts != [lower_word]:
        terms += [porter_stem(part) for part in parts if not is_ignored_word(part)]
    return terms


def dnn_words(text: str) -> list[str]:
    """Return the stemmed words of a text in order, without stop words.

    A compound is followed by its parts.

    >>> dnn_words("the HTMLParser2 parses; MAX_x = null")
    ['htmlparser2', 'html', 'parser', 'pars', 'max_x', 'max']
    """
    terms: list[str] = []
    for word in _WORD.findall(text):
        terms += _stem_word(word)
    return terms


def code_terms(source: ParsedSource) -> list[str]:
    """Return the terms of a file's identifiers and comments."""
    return dnn_words(source.text("code", "javadoc", "comment"))


def report_terms(report: BugReport) -> list[str]:
    """Return the terms of summary and description."""
    return dnn_words(summary_and_description(report))


@dataclass(frozen=True, eq=False)
class TermWeighting:
    """Selected terms with their IDF, for vectors of (ln f + 1) idf.

    All vectors have the same norm, the square root of the number of terms. With norm 1 the
    components would be very small compared with the usual initial weights and steps.
    """

    columns: list[int]
    """Columns of the selected terms, in the counts that they were selected from."""
    idf: FloatArray
    """(V,) IDF of the selected terms."""

    @classmethod
    def select(
        cls, counts: TermCounts, rows: LongArray, number: int, max_share: float = 1.0
    ) -> TermWeighting:
        """Return the weighting with the ``number`` most frequent terms.

        Only the texts in ``rows`` count. A term must occur in at least 2 of them, and in at most
        ``max_share`` of them.
        """
        presence = counts.matrix[rows]
        frequency = np.bincount(presence.indices, minlength=presence.shape[1])
        usable = np.flatnonzero((frequency >= 2) & (frequency <= max_share * len(rows)))
        names = list(counts.vocabulary)
        # Terms of equal frequency are ordered by name, so that the order of blobs cannot matter.
        by_frequency = sorted(
            usable.tolist(), key=lambda column: (-frequency[column], names[column])
        )
        # A layer needs at least one input.
        columns = by_frequency[:number] or [0]
        return cls(columns, textbook_idf(len(rows), frequency[columns]))

    def vectors(self, counts: TermCounts) -> sparse.csr_array:
        """Return (B, V) the vectors of texts."""
        vectors = sparse.csr_array(counts.matrix[:, self.columns])
        vectors.data = (np.log(vectors.data) + 1.0) * self.idf[vectors.indices]
        squared_norms = np.asarray(vectors.power(2).sum(axis=1)).ravel()
        scales = np.sqrt(squared_norms / len(self.columns))
        vectors.data /= np.repeat(np.where(scales > 0, scales, 1.0), np.diff(vectors.indptr))
        return vectors.astype(np.float32)


def calendar_months(times: FloatArray) -> FloatArray:
    """Return the absolute months, 12 x year + month in UTC, of times in seconds since 1970.

    >>> calendar_months(np.array([1262304000.0, 1262303999.0])).tolist()
    [24121.0, 24120.0]
    """
    months = np.floor(times).astype("datetime64[s]").astype("datetime64[M]")
    since_1970: FloatArray = months.astype(np.float64)
    return since_1970 + 12 * 1970 + 1


def fixed_reports_score(
    report_counts: TermCounts, query: BaselineQuery, terms: Sequence[str]
) -> FloatArray:
    """Return (N,) phi3, collaborative filtering (docs/method.md, section B.8.3).

    It is rVSM between the ``terms`` of a report and, for each path, the joined text of the known
    reports whose fixes changed it. ``report_counts`` (R, V) contains the term counts of the
    labelled reports.
    """
    touched = query.fix_history.touched
    scores = np.zeros(touched.shape[1])
    known = report_counts.matrix[query.known_reports]
    idf = textbook_idf(known.shape[0], np.bincount(known.indices, minlength=known.shape[1]))
    columns, counts = report_counts.query_counts(terms)
    query_vector = np.zeros(known.shape[1])
    query_vector[columns] = (np.log(counts) + 1.0) * idf[columns]
    query_norm = float(np.sqrt((query_vector**2).sum()))
    reports_by_path = sparse.csr_array(touched[query.known_reports].T)
    paths = np.flatnonzero(np.diff(reports_by_path.indptr))
    joined = sparse.csr_array(reports_by_path[paths] @ known)
    lengths = np.asarray(joined.sum(axis=1), dtype=np.float64).ravel()
    joined.data = (np.log(joined.data) + 1.0) * idf[joined.indices]
    cosines = row_cosines(joined, query_vector, query_norm)
    scores[paths] = cosines * plain_length_score(lengths)
    return scores


class ClassNames:
    """Names of three letters or more of the types that blobs declare.

    Shapes: B blobs, T terms of all names.
    """

    def __init__(self, sources: Sequence[ParsedSource]) -> None:
        self.declared = count_terms(
            sorted({name for name in source.types if len(name) > 2}) for source in sources
        )
        """Counts of the names that each blob declares."""
        self.terms = count_terms(sorted(set(dnn_words(name))) for name in self.declared.vocabulary)
        """Counts of the terms of each name."""
        self.presence = sparse.csr_array(self.declared.matrix @ self.terms.matrix).sign()
        """(B, T) 1 where a name that the blob declares has a term."""
        self.sizes: FloatArray = np.asarray(self.presence.sum(axis=1), dtype=np.float64).ravel()
        """(B,) number of terms of each blob's names."""

    def cosine(self, text: str, multiplicity: LongArray) -> FloatArray:
        """Return (B,) phi4, the cosine of the class names in a text with each blob's class names.

        Names are compared by their terms. Only names that the version declares count.
        ``multiplicity`` (B,) is the number of times that the version contains each blob.
        """
        columns, _ = self.declared.query_counts(set(_WORD.findall(text)))
        in_version = columns[self.declared.document_frequencies(multiplicity)[columns] > 0]
        query = np.zeros(self.presence.shape[1])
        query[self.terms.matrix[in_version].indices] = 1.0
        return divide_or_zero(self.presence @ query, np.sqrt(self.sizes * query.sum()))


class DnnlocFeatures:
    """The features phi2 to phi6 on one project (docs/method.md, section B.8.3)."""

    def __init__(self, context: BaselineContext) -> None:
        self.counts = context.files.counts(code_terms)
        """(B, V) counts of the terms of code."""
        self.report_counts = count_terms(
            report_terms(case.report) for case in context.fix_history.cases
        )
        """(R, V) counts of the terms of the labelled reports."""
        self.months = calendar_months(context.fix_history.opened)
        """(R,) absolute month in which each labelled report was opened."""
        self.class_names = ClassNames(context.files.sources)

    def compute(self, query: BaselineQuery) -> FloatArray:
        """Return (F, 5) phi2 to phi6 of all files of the version, unscaled."""
        version = query.version
        report = query.report
        terms = report_terms(report)
        space = VectorSpace.of_version(self.counts, version.multiplicity)
        length_score = plain_length_score(version.from_blobs(self.counts.lengths))
        text = version.from_blobs(space.cosine(terms)) * length_score
        fixed_reports = version.from_paths(fixed_reports_score(self.report_counts, query, terms))
        names = self.class_names.cosine(summary_and_description(report), version.multiplicity)
        month = float(calendar_months(np.array([report.opened_seconds]))[0])
        last_month = version.from_paths(query.latest_by_path(self.months))
        # A report can be dated after its fix, and so after a later report. The month of a file that
        # was never fixed is -inf, which gives a recency of 0.
        recency = 1.0 / (np.maximum(month - last_month, 0.0) + 1.0)
        fix_frequency = np.log1p(version.from_paths(query.fix_counts))
        return np.column_stack(
            [text, fixed_reports, version.from_blobs(names), recency, fix_frequency]
        )
