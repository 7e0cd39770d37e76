"""DNNLOC's terms, the vectors of their weights that projections read, and phi2 to phi6 of every file of a version.

Shapes: B blobs, F files of a version, N paths, R labelled reports, V terms.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy import sparse

from tosloc.core.records import BugReport, FloatArray, LongArray
from tosloc.lab.baselines.context import BaselineContext, BaselineQuery
from tosloc.lab.baselines.texts import (
    ParsedSource,
    dropped,
    letter_parts,
    porter,
    summary_and_description,
)
from tosloc.lab.baselines.vsm import (
    Counts,
    VectorSpace,
    count,
    plain_length_score,
    ratio,
    row_cosines,
    textbook_idf,
)

_WORD = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")


@cache
def _terms_of_word(word: str) -> list[str]:
    whole, parts = word.lower(), letter_parts(word)
    if dropped(whole):
        return []
    of_parts = parts if parts != [whole] else []
    return list(map(porter, [whole, *(part for part in of_parts if not dropped(part))]))


def dnn_words(text: str) -> list[str]:
    """Words of a text in order, without stop words, stemmed; a compound whole and in its parts.

    >>> dnn_words("the HTMLParser2 parses; MAX_x = null")
    ['htmlparser2', 'html', 'parser', 'pars', 'max_x', 'max']
    """
    return [term for word in _WORD.findall(text) for term in _terms_of_word(word)]


def code_terms(source: ParsedSource) -> list[str]:
    """Identifiers and words of comments."""
    return dnn_words(source.text("code", "javadoc", "comment"))


def report_terms(report: BugReport) -> list[str]:
    """Terms of summary and description."""
    return dnn_words(summary_and_description(report))


@dataclass(frozen=True, eq=False)
class TermWeighting:
    """Chosen terms with IDF, for vectors (ln f + 1) idf of one length: the root of the number of terms.

    With length 1, components would be so small that first weights and steps of a usual size drown them.
    """

    columns: list[int]  # Of the chosen terms, in the counts that they were chosen of
    idf: FloatArray

    @classmethod
    def of(cls, counts: Counts, rows: LongArray, number: int, share: float = 1.0) -> TermWeighting:
        """The ``number`` most frequent terms of those that 2 of the rows hold or more, and at most this share."""
        presence = counts.matrix[rows]
        frequency = np.bincount(presence.indices, minlength=presence.shape[1])
        usable = np.flatnonzero((frequency >= 2) & (frequency <= share * len(rows)))
        names = list(counts.vocabulary)
        # equally frequent terms by name, so that the order of blobs cannot matter; no layer can be without inputs
        best = sorted(usable.tolist(), key=lambda column: (-frequency[column], names[column]))[
            :number
        ] or [0]
        return cls(best, textbook_idf(len(rows), frequency[best]))

    def vectors(self, counts: Counts) -> sparse.csr_array:
        """(B, V) vectors of texts."""
        made = sparse.csr_array(counts.matrix[:, self.columns])
        made.data = (np.log(made.data) + 1.0) * self.idf[made.indices]
        norms = np.sqrt(np.asarray(made.power(2).sum(axis=1)).ravel() / len(self.columns))
        made.data /= np.repeat(np.where(norms > 0, norms, 1.0), np.diff(made.indptr))
        return made.astype(np.float32)


def months(times: FloatArray) -> FloatArray:
    """Absolute months, 12 x year + month, of seconds since 1970 in UTC.

    >>> months(np.array([1262304000.0, 1262303999.0])).tolist()
    [24121.0, 24120.0]
    """
    since: FloatArray = (
        np.floor(times).astype("datetime64[s]").astype("datetime64[M]").astype(np.float64)
    )
    return since + 12 * 1970 + 1


def fixed_reports_score(reports: Counts, query: BaselineQuery, terms: Sequence[str]) -> FloatArray:
    """(N,) phi3: rVSM between a report and, for each path, those of the ``reports`` (R, V) known to be fixed in it."""
    touched = query.fix_history.touched
    value = np.zeros(touched.shape[1])
    known = reports.matrix[query.reports]
    idf = textbook_idf(known.shape[0], np.bincount(known.indices, minlength=known.shape[1]))
    columns, counts = reports.query_counts(terms)
    asked = np.zeros(known.shape[1])
    asked[columns] = (np.log(counts) + 1.0) * idf[columns]
    reports_of_path = sparse.csr_array(touched[query.reports].T)
    paths = np.flatnonzero(np.diff(reports_of_path.indptr))
    together = sparse.csr_array(reports_of_path[paths] @ known)
    lengths = np.asarray(together.sum(axis=1), dtype=np.float64).ravel()
    together.data = (np.log(together.data) + 1.0) * idf[together.indices]
    value[paths] = row_cosines(
        together, asked, float(np.sqrt((asked**2).sum()))
    ) * plain_length_score(lengths)
    return value


class ClassNames:
    """Names of the types that blobs declare, of three letters or more."""

    def __init__(self, sources: Sequence[ParsedSource]) -> None:
        self.declared = count(
            sorted({name for name in one.types if len(name) > 2}) for one in sources
        )
        self.terms = count(sorted(set(dnn_words(name))) for name in self.declared.vocabulary)
        self.presence = sparse.csr_array(self.declared.matrix @ self.terms.matrix).sign()
        """(B, T) 1 where a name that the blob declares has a term."""
        self.sizes: FloatArray = np.asarray(self.presence.sum(axis=1), dtype=np.float64).ravel()

    def cosine(self, text: str, multiplicity: LongArray) -> FloatArray:
        """(B,) phi4: cosine of the terms of the version's class names that a text mentions with each blob's."""
        columns, _ = self.declared.query_counts(set(_WORD.findall(text)))
        in_version = columns[self.declared.frequencies(multiplicity)[columns] > 0]
        query = np.zeros(self.presence.shape[1])
        query[self.terms.matrix[in_version].indices] = 1.0
        return ratio(self.presence @ query, np.sqrt(self.sizes * query.sum()))


class DnnlocFeatures:
    """phi2 to phi6 on one project."""

    def __init__(self, context: BaselineContext) -> None:
        self.counts = context.files.counts(code_terms)  # (B, V) terms of code
        self.reports = count(report_terms(case.report) for case in context.fix_history.cases)
        """(R, V) terms of the labelled reports."""
        self.months = months(context.fix_history.opened)
        self.class_names = ClassNames(context.files.sources)

    def of(self, query: BaselineQuery) -> FloatArray:
        """(F, 5) phi2 to phi6, not yet scaled."""
        version, report = query.version, query.report
        terms = report_terms(report)
        text = version.to_files(VectorSpace.of(self.counts, version.multiplicity).cosine(terms))
        names = self.class_names.cosine(summary_and_description(report), version.multiplicity)
        month = float(months(np.array([report.opened_seconds]))[0])
        last = version.from_paths(query.latest(self.months))
        # a report can be dated after its fix, hence after a later report; 0 for a file that was never fixed
        recency = 1.0 / (np.maximum(month - last, 0.0) + 1.0)
        return np.column_stack(
            [
                text * plain_length_score(version.to_files(self.counts.lengths)),
                version.from_paths(fixed_reports_score(self.reports, query, terms)),
                version.to_files(names),
                recency,
                np.log1p(version.from_paths(query.fixes)),
            ]
        )
