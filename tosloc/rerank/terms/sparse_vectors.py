"""Sparse term vectors of reports, files and histories of files, and a dual encoder of these.

A vocabulary contains the terms that are used, and how rare they are. The dual encoder compares a
report with a file's content and history.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Final, Self, TypeAlias

import numpy as np
from scipy import sparse

from tosloc.code import text
from tosloc.code.languages import FIELDS
from tosloc.core.arrays import Float32Array, FloatArray, IntArray
from tosloc.core.reports import BugReport
from tosloc.rerank.base import Candidates, RerankingContext
from tosloc.retrieval.paths import file_stem
from tosloc.retrieval.query import Query
from tosloc.retrieval.texts import DAY, Documents, group_starts, idf, top_k

# All numbers of this package were chosen on the validation parts of the four Java projects of
# docs/results.md.

Vector: TypeAlias = tuple[IntArray, Float32Array]
"""Numbers of the terms in a sparse vector, and their weights."""
SIDES: Final = ("report", "content", "history")
FILE_SIDES: Final = SIDES[1:]
_MIN_FILES_PER_TERM: Final = 3
"""Smallest number of files that contain a term of the vocabulary.

Terms of enough reports, and terms of paths, are also in the vocabulary.
"""
_MIN_REPORTS_PER_TERM: Final = 2
"""Smallest number of training reports that contain a term of the vocabulary."""
_SUMMARY_WEIGHT: Final = 3
"""Weight of a term's occurrence in a report's summary; elsewhere it is 1."""
_NAME_WEIGHT: Final = 6.0
"""Weight of a word's occurrence in a file's name."""
_FOLDER_WEIGHT: Final = 2.0
"""Weight of a word's occurrence in the names of a file's folders."""
_MAX_REPORT_TERMS: Final = 64
_MAX_CONTENT_TERMS: Final = 160
_MAX_HISTORY_TERMS: Final = 64
_WEIGHT_BY_FIELD: Final = {
    "code": 1.0,
    "comment": 0.5,
    "string": 0.5,
    "method": 2.0,
    "type": 6.0,
    "field": 1.0,
}
_FIELD_WEIGHTS: Final = np.array([_WEIGHT_BY_FIELD[name] for name in FIELDS])
"""Weight of a term's occurrence in each field of a file."""
_MIN_IDF: Final = 0.1
_DECAY: Final = 2 * 365 * DAY
"""Seconds after which the weight of a document that touched a file falls to 1/e."""
FIX_WEIGHT: Final = 1.5
"""Weight of a fixed report of a file, relative to a commit message."""
_MIN_NORM: Final = 1e-12
"""Smallest divisor of a vector, so that a vector of zeros stays one."""


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The terms that are used, and how rare each is in the training part.

    ``terms`` are sorted. The other attributes are (V,) inverse document frequencies among files,
    reports, commit messages, and fixed reports of the history.
    """

    terms: tuple[str, ...]
    in_files: FloatArray
    in_reports: FloatArray
    in_commits: FloatArray
    in_fixes: FloatArray

    def __len__(self) -> int:
        return len(self.terms)

    @classmethod
    def from_training(
        cls,
        context: RerankingContext,
        files: Mapping[str, str],
        reports: Sequence[Mapping[str, float]],
        until: float,
    ) -> Self:
        """Return the vocabulary of files (path -> blob) and reports (term -> count).

        Documents of the history are counted only if they are older than the time ``until``.
        """
        assert context.facts is not None
        assert context.history is not None
        corpus = context.facts({blob: path for path, blob in files.items()})
        files_by_term = dict(
            zip(corpus.terms, np.diff(corpus.postings.starts).tolist(), strict=True)
        )
        reports_by_term: Counter[str] = Counter()
        for report in reports:
            reports_by_term.update(report.keys())
        counting = {term for term, n in files_by_term.items() if n >= _MIN_FILES_PER_TERM}
        counting |= {term for term, n in reports_by_term.items() if n >= _MIN_REPORTS_PER_TERM}
        for path in files:
            counting.update(path_words(path))
        terms = tuple(sorted(counting))
        history = context.history.as_of(until)
        commits = history.commits
        commits_by_term = dict(
            zip(commits.documents.vocabulary, commits.frequency.tolist(), strict=True)
        )
        fixes = history.reports
        fixes_by_term = dict(zip(fixes.documents.vocabulary, fixes.frequency.tolist(), strict=True))
        return cls(
            terms,
            in_files=_idf_of_terms(len(files), files_by_term, terms),
            in_reports=_idf_of_terms(len(reports), reports_by_term, terms),
            in_commits=_idf_of_terms(commits.number, commits_by_term, terms),
            in_fixes=_idf_of_terms(fixes.number, fixes_by_term, terms),
        )

    @cached_property
    def id_by_term(self) -> dict[str, int]:
        """Term -> its number."""
        return {term: number for number, term in enumerate(self.terms)}

    def term_ids(self, terms: Sequence[str]) -> IntArray:
        """Return (T,) the number of each term; -1 for a term that is not in the vocabulary."""
        return np.array([self.id_by_term.get(term, -1) for term in terms], dtype=np.int32)


def _idf_of_terms(number: int, frequency: Mapping[str, int], terms: Sequence[str]) -> FloatArray:
    """Return (V,) the inverse document frequency of each term among ``number`` documents.

    ``frequency`` maps terms to the number of documents that contain them.
    """
    return idf(number, np.array([frequency.get(term, 0) for term in terms]))


def path_words(path: str) -> dict[str, float]:
    """Return term of a path -> its weighted count.

    >>> path_words("src/cookie/CookieJar.java")
    {'src': 2.0, 'cooki': 8.0, 'jar': 6.0, 'cookiejar': 6.0}
    """
    words = dict.fromkeys(text.terms(path.rpartition("/")[0]), _FOLDER_WEIGHT)
    for term in text.terms(file_stem(path)):
        words[term] = words.get(term, 0.0) + _NAME_WEIGHT
    return words


def report_counts(
    report: BugReport, form_lines: frozenset[str] = frozenset()
) -> Mapping[str, float]:
    """Return term of a report -> its weighted count; ``Query`` explains ``form_lines``."""
    query = Query(report, form_lines)
    counts = dict(query.description_counts)
    for term, number in query.summary_counts.items():
        counts[term] = counts.get(term, 0.0) + _SUMMARY_WEIGHT * number
    return counts


def keep_heaviest(matrix: sparse.csr_array, size: int) -> sparse.csr_array:
    """Return (n, V) unit vectors of the ``size`` terms with the largest weights in each row.

    Terms are in descending order of weight; of terms with equal weights the first are kept. Terms
    without a positive weight are dropped.
    """
    number = matrix.shape[0]
    rows = np.repeat(np.arange(number), np.diff(matrix.indptr))
    # rows is the primary key, so that each row's entries stay where the row begins
    order = np.lexsort((matrix.indices, -matrix.data, rows))
    position_in_row = np.arange(len(rows)) - matrix.indptr[rows]
    kept = order[(position_in_row < size) & (matrix.data[order] > 0)]
    rows = rows[kept]
    weights = matrix.data[kept]
    norms = np.sqrt(np.bincount(rows, weights**2, minlength=number))
    starts = group_starts(np.bincount(rows, minlength=number))
    unit_weights = (weights / norms[rows]).astype(np.float32)
    return sparse.csr_array((unit_weights, matrix.indices[kept], starts), shape=matrix.shape)


def stack_vectors(vectors: Sequence[Vector], terms: int) -> sparse.csr_array:
    """Return the vectors as an (n, V) matrix with V = ``terms``; there must be at least one."""
    indices = np.concatenate([vector_terms for vector_terms, _ in vectors])
    weights = np.concatenate([vector_weights for _, vector_weights in vectors])
    starts = group_starts([len(vector_terms) for vector_terms, _ in vectors])
    return sparse.csr_array((weights, indices, starts), shape=(len(vectors), terms))


class SparseVectors:
    """Sparse vectors of the reports and files in one context; vectors of files are cached."""

    def __init__(self, vocabulary: Vocabulary, context: RerankingContext) -> None:
        assert context.facts is not None
        assert context.history is not None
        self.vocabulary = vocabulary
        self.context = context
        self._facts = context.facts
        self._cache: dict[Hashable, Vector] = {}
        commits = context.history.commits
        reports = context.history.reports
        messages = _document_vectors(commits, vocabulary, vocabulary.in_commits)
        fixes = FIX_WEIGHT * _document_vectors(reports, vocabulary, vocabulary.in_fixes)
        self._documents = sparse.vstack((messages, fixes), format="csr")
        self._times = np.concatenate((commits.times, reports.times)).astype(np.float64)

    def report_vectors(self, reports: Sequence[Mapping[str, float]]) -> sparse.csr_array:
        """Return (n, V) vectors of n reports, which are results of ``report_counts``.

        The weight of a term is (1 + ln tf) * the mean of its IDF in files and in reports.
        """
        matrix = self._count_matrix(reports)
        rarity = (self.vocabulary.in_reports + self.vocabulary.in_files) / 2
        matrix.data = (1 + np.log(matrix.data)) * np.maximum(rarity[matrix.indices], _MIN_IDF)
        return keep_heaviest(matrix, _MAX_REPORT_TERMS)

    def candidate_vectors(self, candidates: Candidates) -> dict[str, list[Vector]]:
        """Return side -> vectors of a report's candidates, for the sides content and history.

        The history contains only what was known when the report was opened.
        """
        history = self.context.known_history(candidates)
        first_report = len(history.commits.documents)
        path_ids = candidates.path_ids.tolist()
        touching = []
        for path in path_ids:
            commits = history.commits.documents.find_by_file(path)
            reports = history.reports.documents.find_by_file(path)
            known_commits = commits[history.commits.known[commits]]
            known_reports = reports[history.reports.known[reports]]
            touching.append(np.concatenate((known_commits, known_reports + first_report)))
        keys = [
            (path, documents.tobytes()) for path, documents in zip(path_ids, touching, strict=True)
        ]
        return {
            "content": self.content_vectors(
                list(zip(candidates.paths, candidates.blobs, strict=True))
            ),
            "history": self._cached_vectors(keys, touching, self._history_matrix),
        }

    def content_vectors(self, files: Sequence[tuple[str, str]]) -> list[Vector]:
        """Return the vectors of the contents of files, given as path and blob."""
        return self._cached_vectors(files, files, self._content_matrix)

    def _cached_vectors(
        self,
        keys: Sequence[Hashable],
        sources: Sequence[Any],
        make: Callable[[list[Any]], sparse.csr_array],
    ) -> list[Vector]:
        """Return the vector of each key.

        ``make`` computes the vectors of new keys from their sources; other vectors are cached.
        """
        new_sources = {}
        for key, source in zip(keys, sources, strict=True):
            if key not in self._cache:
                new_sources[key] = source
        if new_sources:
            matrix = make(list(new_sources.values()))
            bounds = pairwise(matrix.indptr.tolist())
            for key, (begin, end) in zip(new_sources, bounds, strict=True):
                self._cache[key] = (matrix.indices[begin:end], matrix.data[begin:end])
        return [self._cache[key] for key in keys]

    def _count_matrix(self, texts: Sequence[Mapping[str, float]]) -> sparse.csr_array:
        """Return the (n, V) matrix of counts in n texts, each given as term -> count."""
        id_by_term = self.vocabulary.id_by_term
        rows = []
        terms = []
        counts = []
        for row, counts_by_term in enumerate(texts):
            for term, count in counts_by_term.items():
                if term in id_by_term:
                    rows.append(row)
                    terms.append(id_by_term[term])
                    counts.append(count)
        return self._matrix(
            np.array(counts, dtype=np.float64),
            np.array(rows, dtype=np.int32),
            np.array(terms, dtype=np.int32),
            len(texts),
        )

    def _matrix(
        self, values: FloatArray, rows: IntArray, terms: IntArray, number: int
    ) -> sparse.csr_array:
        return sparse.csr_array((values, (rows, terms)), shape=(number, len(self.vocabulary)))

    def _content_matrix(self, files: Sequence[tuple[str, str]]) -> sparse.csr_array:
        """Return (n, V) vectors of n files with the weights ln(1 + tf) * IDF in files.

        Words of the path are included; a file without facts has only these.
        """
        corpus = self._facts({blob: path for path, blob in files})
        rows = np.array([corpus.row_by_blob.get(blob, -1) for _, blob in files], dtype=np.int64)
        with_facts = np.flatnonzero(rows >= 0)
        postings = corpus.by_blob.select(rows[with_facts])
        names = list(corpus.terms)
        used, positions = np.unique(postings.rows, return_inverse=True)
        terms = self.vocabulary.term_ids([names[term] for term in used.tolist()])[positions]
        counting = terms >= 0
        counts = postings.values[counting] @ _FIELD_WEIGHTS
        file_rows = np.repeat(with_facts, postings.sizes)[counting].astype(np.int32)
        in_texts = self._matrix(counts, file_rows, terms[counting], len(files))
        in_paths = self._count_matrix([path_words(path) for path, _ in files])
        matrix = sparse.csr_array(in_texts + in_paths)
        rarity = np.maximum(self.vocabulary.in_files[matrix.indices], _MIN_IDF)
        matrix.data = np.log1p(matrix.data) * rarity
        return keep_heaviest(matrix, _MAX_CONTENT_TERMS)

    def _history_matrix(self, touching: Sequence[IntArray]) -> sparse.csr_array:
        """Return (n, V) vectors of n files, from the documents that touched each file."""
        sizes = [len(documents) for documents in touching]
        starts = group_starts(sizes)
        documents = np.concatenate(touching)
        files = np.repeat(np.arange(len(touching)), np.diff(starts))
        times = self._times[documents]
        newest = np.full(len(touching), -np.inf)
        np.maximum.at(newest, files, times)
        # Only ages relative to the file's newest document matter: the vector's length is 1 anyway.
        decay = np.exp((times - newest[files]) / _DECAY)
        shape = (len(touching), self._documents.shape[0])
        matrix = sparse.csr_array((decay, documents, starts), shape=shape) @ self._documents
        matrix.data = np.sqrt(matrix.data)
        return keep_heaviest(matrix, _MAX_HISTORY_TERMS)


def _document_vectors(
    documents: Documents, vocabulary: Vocabulary, rarity: FloatArray
) -> sparse.csr_array:
    """Return (D, V) vectors of documents with the weights (1 + ln tf) * IDF.

    The length of each is 1 / sqrt(number of files that the document touched).
    """
    terms = vocabulary.term_ids(documents.vocabulary)[documents.terms]
    counting = terms >= 0
    terms = terms[counting]
    rows = documents.term_document[counting]
    counts = documents.counts[counting].astype(np.float64)
    weights = (1.0 + np.log(counts)) * rarity[terms]
    squares = np.bincount(rows, weights**2, minlength=len(documents))
    divisors = np.sqrt(squares * documents.sizes)
    shape = (len(documents), len(vocabulary))
    return sparse.csr_array((weights / divisors[rows], (rows, terms)), shape=shape)


@dataclass(frozen=True, eq=False)
class DualEncoder:
    """Term vectors for each side, and the weights of a file's content and history.

    ``tables`` maps each side (report, content, history) to (V, d) vectors, rounded to half
    precision. ``gains`` maps each side of files to the factor of its cosine.
    """

    tables: Mapping[str, Float32Array]
    gains: Mapping[str, float]

    def encode(self, side: str, texts: sparse.csr_array) -> Float32Array:
        """Return (n, d) unit vectors of texts (n, V) on a side; 0 for a text without any term."""
        sums: Float32Array = texts @ self.tables[side]
        norms = np.linalg.norm(sums, axis=1, keepdims=True)
        unit_vectors: Float32Array = sums / np.maximum(norms, _MIN_NORM)
        return unit_vectors

    def scores(self, report: sparse.csr_array, files: Mapping[str, sparse.csr_array]) -> FloatArray:
        """Return (C,) scores of C files: the sum over sides of gain * cosine with the report.

        ``report`` is (1, V); ``files`` maps each side to a matrix (C, V).
        """
        report_vector = self.encode("report", report)
        total = np.zeros(1)
        for side in FILE_SIDES:
            # A sum row by row, so that a score does not depend on what else is scored.
            products = self.encode(side, files[side]) * report_vector
            cosines = products.sum(axis=1, dtype=np.float64)
            total = total + self.gains[side] * cosines
        return total

    def matches(
        self, report: sparse.csr_array, file: Mapping[str, sparse.csr_array], number: int
    ) -> list[tuple[int, int]]:
        """Return up to ``number`` terms of a report (1, V) that add most to a file's score.

        Each is paired with the term of the file that matches it best; ``file`` maps each side to
        (1, V). Terms that add nothing are left out.
        """
        report_vectors = report.data[:, None] * self.tables["report"][report.indices]
        shares_by_side = []
        for side in FILE_SIDES:
            vectors = file[side].data[:, None] * self.tables[side][file[side].indices]
            norm = max(float(np.linalg.norm(vectors.sum(axis=0))), _MIN_NORM)
            shares_by_side.append(self.gains[side] / norm * (report_vectors @ vectors.T))
        shares = np.concatenate(shares_by_side, axis=1)
        file_terms = np.concatenate([file[side].indices for side in FILE_SIDES])
        total = shares.sum(axis=1)
        pairs = []
        for position in top_k(total, number).tolist():
            if total[position] > 0:
                best = shares[position].argmax()
                pairs.append((int(report.indices[position]), int(file_terms[best])))
        return pairs
