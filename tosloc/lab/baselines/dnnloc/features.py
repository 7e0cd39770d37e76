"""DNNLOC's terms, the vectors of their weights that projections read, and phi2 to phi6 of every file of a version."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from tosloc.lab.baselines.context import BaselineContext, BaselineQuery, FixHistoryAsOf, ParsedVersion
from tosloc.lab.baselines.parsed_source import ParsedSource
from tosloc.lab.baselines.texts import dropped, letter_parts, porter, summary_and_description
from tosloc.lab.baselines.vsm import Counts, VectorSpace, count, plain_length_score, row_cosines, textbook_idf
from tosloc.records import BugReport, Float32Array, FloatArray, LongArray

_WORD = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")


class DnnlocTokenizer:
    """dnn_words: words without stop words, stemmed; a compound whole and in its parts."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, ...]] = {}

    def __call__(self, text: str) -> list[str]:
        """Terms of a text, in order.

        >>> DnnlocTokenizer()("the HTMLParser2 parses; MAX_x = null")
        ['htmlparser2', 'html', 'parser', 'pars', 'max_x', 'max']
        """
        known = self._known
        terms: list[str] = []
        for word in _WORD.findall(text):
            if word not in known:
                whole, parts = word.lower(), letter_parts(word)
                of_parts = parts if len(parts) > 1 or (parts and parts[0] != whole) else []
                found = [] if dropped(whole) else [whole, *(part for part in of_parts if not dropped(part))]
                known[word] = tuple(map(porter, found))
            terms += known[word]
        return terms


@dataclass(frozen=True, eq=False)
class TermWeighting:
    """A vocabulary with IDF, for vectors (ln f + 1) idf of one length: the root of the number of terms.

    With length 1, components would be so small that first weights and steps of a usual size drown them.
    """

    terms: tuple[str, ...]
    idf: FloatArray

    @classmethod
    def of(cls, counts: Counts, rows: LongArray, number: int, share: float = 1.0) -> TermWeighting:
        """The ``number`` most frequent terms of those that 2 of the rows hold or more, and at most this share."""
        presence = counts.presence[rows]
        frequency = np.bincount(presence.indices, minlength=presence.shape[1])
        total = presence.shape[0]
        usable = np.flatnonzero((frequency >= 2) & (frequency <= share * total))
        names = sorted(counts.vocabulary, key=counts.vocabulary.__getitem__)
        # equally frequent terms by name, so that the order of blobs cannot matter
        best = sorted(usable.tolist(), key=lambda column: (-frequency[column], names[column]))[:number]
        return cls(tuple(names[column] for column in best), textbook_idf(total, frequency[best]))

    @cached_property
    def vocabulary(self) -> dict[str, int]:
        """Column of each term."""
        return {term: column for column, term in enumerate(self.terms)}

    @property
    def width(self) -> int:
        """V; 1 without terms, since no layer can be without inputs."""
        return max(len(self.terms), 1)

    def matrix(self, counts: Counts) -> sparse.csr_array:
        """(B, V) vectors of all texts."""
        columns = np.array([self.vocabulary.get(term, -1) for term in counts.vocabulary], dtype=np.int64)
        old = counts.matrix
        new = columns[old.indices]
        kept = new >= 0
        rows = np.repeat(np.arange(old.shape[0]), np.diff(old.indptr))[kept]
        values = (np.log(old.data[kept]) + 1.0) * self.idf[new[kept]]
        made = sparse.csr_array((values, (rows, new[kept])), shape=(old.shape[0], self.width))
        norms = np.sqrt(np.bincount(rows, values**2, minlength=old.shape[0]) / self.width)
        made.data /= np.repeat(np.where(norms > 0, norms, 1.0), np.diff(made.indptr))
        return made.astype(np.float32)

    def vector(self, terms: Sequence[str]) -> Float32Array:
        """(V,) vector of one text."""
        made = np.zeros(self.width)
        for term, number in Counter(terms).items():
            column = self.vocabulary.get(term)
            if column is not None:
                made[column] = (np.log(number) + 1.0) * self.idf[column]
        norm = np.sqrt((made**2).mean())
        return (made / norm if norm else made).astype(np.float32)


def months(times: FloatArray) -> FloatArray:
    """Absolute months, 12 x year + month, of seconds since 1970 in UTC.

    >>> months(np.array([1262304000.0, 1262303999.0])).tolist()
    [24121.0, 24120.0]
    """
    since: FloatArray = np.floor(times).astype("datetime64[s]").astype("datetime64[M]").astype(np.float64)
    return since + 12 * 1970 + 1


def fixed_reports_score(reports: Counts, history: FixHistoryAsOf, terms: Sequence[str]) -> FloatArray:
    """(N,) phi3: rVSM between a report and, for each path, those of the ``reports`` (R, V) known to be fixed in it."""
    touched = history.fix_history.touched
    value = np.zeros(touched.shape[1])
    if not len(history.reports):
        return value
    known = reports.matrix[history.reports]
    idf = textbook_idf(known.shape[0], np.bincount(known.indices, minlength=known.shape[1]))
    columns, counts = reports.query_counts(terms)
    query = np.zeros(known.shape[1])
    query[columns] = (np.log(counts) + 1.0) * idf[columns]
    length = float(np.sqrt((query**2).sum()))
    if not length:
        return value
    reports_of_path = sparse.csr_array(touched[history.reports].T)
    paths = np.flatnonzero(np.diff(reports_of_path.indptr))
    together = sparse.csr_array(reports_of_path[paths] @ known)
    lengths = np.asarray(together.sum(axis=1), dtype=np.float64).ravel()
    together.data = (np.log(together.data) + 1.0) * idf[together.indices]
    value[paths] = row_cosines(together, query, length) * plain_length_score(lengths)
    return value


class ClassNames:
    """Names of the types that blobs declare, of three letters or more."""

    def __init__(self, sources: Sequence[ParsedSource], terms: Callable[[str], list[str]]) -> None:
        self.declared: Counts = count(sorted({name for name in one.types if len(name) > 2}) for one in sources)
        names = sorted(self.declared.vocabulary, key=self.declared.vocabulary.__getitem__)
        self.terms: Counts = count(sorted(set(terms(name))) for name in names)
        presence = self.declared.matrix @ self.terms.matrix
        presence.data = np.ones_like(presence.data)
        self.presence: sparse.csr_array = sparse.csr_array(presence)
        """(B, T) 1 where a name that the blob declares has a term."""
        self.sizes: FloatArray = np.asarray(self.presence.sum(axis=1), dtype=np.float64).ravel()

    def cosine(self, text: str, multiplicity: LongArray) -> FloatArray:
        """(B,) phi4: cosine of the terms of the version's class names that a text mentions with each blob's."""
        vocabulary = self.declared.vocabulary
        mentioned = {word for word in _WORD.findall(text) if len(word) > 2}
        columns = np.array(sorted(vocabulary[word] for word in mentioned if word in vocabulary), dtype=np.int64)
        in_version = (self.declared.presence.T @ multiplicity.astype(np.float64))[columns] > 0
        query = np.zeros(self.presence.shape[1])
        query[self.terms.matrix[columns[in_version]].indices] = 1.0
        size = query.sum()
        if not size:
            return np.zeros(len(self.sizes))
        value: FloatArray = (self.presence @ query) / np.sqrt(np.maximum(self.sizes, 1.0) * size)
        return value


class DnnlocFeatures:
    """phi2 to phi6 on one project."""

    def __init__(self, context: BaselineContext) -> None:
        tokenizer = self.tokenizer = DnnlocTokenizer()
        self.counts: Counts = context.files.counts(
            "dnnloc", lambda source: tokenizer(source.text("code", "javadoc", "comment"))
        )
        """(B, V) identifiers and words of comments."""
        self.reports: Counts = count(self.terms(case.report) for case in context.fix_history.cases)
        """(R, V) terms of the labelled reports."""
        self.months = months(context.fix_history.opened)
        self.class_names = ClassNames(context.files.sources, tokenizer)
        self._last: tuple[ParsedVersion, VectorSpace, FloatArray] | None = None

    def terms(self, report: BugReport) -> list[str]:
        """Terms of summary and description."""
        return self.tokenizer(summary_and_description(report))

    def of(self, query: BaselineQuery) -> FloatArray:
        """(F, 5) phi2 to phi6, not yet scaled."""
        version, history, report = query.version, query.history, query.report
        space, length_scores = self._space(version)
        terms = self.terms(report)
        month = float(months(np.array([report.opened_seconds]))[0])
        last = version.from_paths(history.latest(self.months))
        # a report can be dated after its fix, hence after a later report
        recency = np.where(np.isfinite(last), 1.0 / (np.maximum(month - last, 0.0) + 1.0), 0.0)
        return np.column_stack(
            [
                version.to_files(space.cosine(terms)) * length_scores,
                version.from_paths(fixed_reports_score(self.reports, history, terms)),
                version.to_files(self.class_names.cosine(summary_and_description(report), version.multiplicity)),
                recency,
                np.log1p(version.from_paths(history.fixes)),
            ]
        )

    def _space(self, version: ParsedVersion) -> tuple[VectorSpace, FloatArray]:
        """Vector space and length scores (F,) of a version; those of the last one are kept."""
        if self._last is None or self._last[0] is not version:
            space = VectorSpace(self.counts, version.multiplicity)
            self._last = (version, space, plain_length_score(version.to_files(self.counts.lengths)))
        return self._last[1:]
