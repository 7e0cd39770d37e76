"""Terms that count, how rare they are; reports, files and their histories as sparse vectors of them, each made once.
And two encoders of these: a report on one side, a file's content and history on the other.

Letters in shapes: V terms, W terms of a table of facts, n texts, C candidates of a report, D documents of history, d
width.
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
from tosloc.core.records import BugReport, Float32Array, FloatArray, IntArray
from tosloc.rerank.base import Candidates, RerankingContext
from tosloc.retrieval.documents import DAY, Documents
from tosloc.retrieval.formulas import idf
from tosloc.retrieval.paths import file_stem
from tosloc.retrieval.postings import group_starts, top_k
from tosloc.retrieval.query import Query

Vector: TypeAlias = tuple[IntArray, Float32Array]
"""The terms of a sparse vector, and their weights."""
SIDES: Final = ("report", "content", "history")
FILE_SIDES: Final = SIDES[1:]
# As all numbers of this folder, chosen on the validation parts of the four Java projects of docs/results.md.
_MIN_FILES: Final = 3
_MIN_REPORTS: Final = (
    2  # a term counts that stands in so many files, or in so many training reports, or in a path
)
_SUMMARY_WEIGHT: Final = 3  # how many times a term of a report's summary counts
_NAME_WEIGHT, _FOLDER_WEIGHT = 6.0, 2.0
"""The same of the words of a file's path."""
_REPORT_TERMS: Final = 64
_CONTENT_TERMS: Final = 160
_HISTORY_TERMS: Final = 64  # heaviest terms kept of a report, of a file, and of what touched it
_OF_FIELD: Final = {
    "code": 1.0,
    "comment": 0.5,
    "string": 0.5,
    "method": 2.0,
    "type": 6.0,
    "field": 1.0,
}
_FIELD_WEIGHTS: Final = np.array([_OF_FIELD[name] for name in FIELDS])
"""How many times a term of a file counts, by where it stands."""
_LEAST_IDF: Final = 0.1
_DECAY: Final = 2 * 365 * DAY  # seconds after which what touched a file counts 1/e
FIX_WEIGHT: Final = 1.5  # how much more a fixed report says of a file than a commit message does


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The terms that count, and how rare each is in the training part."""

    terms: tuple[str, ...]  # (V,) sorted
    in_files: FloatArray
    in_reports: FloatArray
    in_commits: FloatArray
    in_fixes: FloatArray
    """(V,) inverse document frequencies: among files, reports, commit messages, and fixed reports as history."""

    def __len__(self) -> int:
        return len(self.terms)

    @classmethod
    def learned(
        cls,
        context: RerankingContext,
        files: Mapping[str, str],
        reports: Sequence[Mapping[str, float]],
        until: float,
    ) -> Self:
        """Terms that count of some files (path -> blob) and reports, with the frequencies of history until then."""
        assert context.facts is not None
        assert context.history is not None
        corpus = context.facts({blob: path for path, blob in files.items()})
        of_files = Counter(
            dict(zip(corpus.terms, np.diff(corpus.postings.starts).tolist(), strict=True))
        )
        of_reports = Counter(term for report in reports for term in report)
        kept = {term for term, number in of_files.items() if number >= _MIN_FILES}
        kept |= {term for term, number in of_reports.items() if number >= _MIN_REPORTS}
        kept |= {term for path in files for term in path_words(path)}
        terms, history = tuple(sorted(kept)), context.history.as_of(until)
        held = [(len(files), of_files), (len(reports), of_reports)]
        for view in (history.commits, history.reports):
            of_view = Counter(
                dict(zip(view.documents.vocabulary, view.frequency.tolist(), strict=True))
            )
            held.append((view.number, of_view))
        return cls(
            terms,
            *(idf(number, np.array([counts[term] for term in terms])) for number, counts in held),
        )

    @cached_property
    def ids(self) -> dict[str, int]:
        """Term -> number."""
        return {term: number for number, term in enumerate(self.terms)}

    def numbers(self, terms: Sequence[str]) -> IntArray:
        """(W,) number of each term, -1 for those that do not count."""
        return np.array([self.ids.get(term, -1) for term in terms], dtype=np.int32)


def path_words(path: str) -> dict[str, float]:
    """Terms of a path and how many times each counts.

    >>> path_words("src/cookie/CookieJar.java")
    {'src': 2.0, 'cooki': 8.0, 'jar': 6.0, 'cookiejar': 6.0}
    """
    words = dict.fromkeys(text.terms(path.rpartition("/")[0]), _FOLDER_WEIGHT)
    for term in text.terms(file_stem(path)):
        words[term] = words.get(term, 0.0) + _NAME_WEIGHT
    return words


def report_counts(report: BugReport) -> Mapping[str, float]:
    """How many times each term of a report counts."""
    query = Query(report)
    return query.prose_counts + Counter(
        {term: _SUMMARY_WEIGHT * n for term, n in query.summary_counts.items()}
    )


def heaviest(matrix: sparse.csr_array, size: int) -> sparse.csr_array:
    """(n, V) the ``size`` heaviest terms of each row, heaviest first, of equals the first ones; of length 1."""
    number = matrix.shape[0]
    rows = np.repeat(np.arange(number), np.diff(matrix.indptr))
    order = np.lexsort((matrix.indices, -matrix.data, rows))  # which leaves the rows where they are
    kept = order[(np.arange(len(rows)) - matrix.indptr[rows] < size) & (matrix.data[order] > 0)]
    rows, weights = rows[kept], matrix.data[kept]
    length = np.sqrt(np.bincount(rows, weights**2, minlength=number))
    starts = group_starts(np.bincount(rows, minlength=number))
    return sparse.csr_array(
        ((weights / length[rows]).astype(np.float32), matrix.indices[kept], starts),
        shape=matrix.shape,
    )


def stacked(vectors: Sequence[Vector], terms: int) -> sparse.csr_array:
    """(n, V) the vectors, of which there is one at least."""
    indices, weights = (np.concatenate(parts) for parts in zip(*vectors, strict=True))
    starts = group_starts([len(some) for some, _ in vectors])
    return sparse.csr_array((weights, indices, starts), shape=(len(vectors), terms))


class SparseVectors:
    """Sparse vectors of the reports and files of one context; of files each is made once."""

    def __init__(self, vocabulary: Vocabulary, context: RerankingContext) -> None:
        assert context.facts is not None
        assert context.history is not None
        self.vocabulary, self.context, self._facts = vocabulary, context, context.facts
        self._known: dict[Hashable, Vector] = {}
        commits, reports = context.history.commits, context.history.reports
        messages = _of_documents(commits, vocabulary, vocabulary.in_commits)
        fixes = FIX_WEIGHT * _of_documents(reports, vocabulary, vocabulary.in_fixes)
        self._documents = sparse.vstack((messages, fixes), format="csr")
        self._times = np.concatenate((commits.times, reports.times)).astype(np.float64)

    def of_reports(self, reports: Sequence[Mapping[str, float]]) -> sparse.csr_array:
        """(n, V) vectors of reports from ``report_counts``: (1 + ln tf) x mean of the IDF in files and in reports."""
        whole, vocabulary = self._counts(reports), self.vocabulary
        rare = (vocabulary.in_reports + vocabulary.in_files) / 2
        whole.data = (1 + np.log(whole.data)) * np.maximum(rare[whole.indices], _LEAST_IDF)
        return heaviest(whole, _REPORT_TERMS)

    def of_candidates(self, listed: Candidates) -> dict[str, list[Vector]]:
        """Side of files -> the vectors of a report's candidates: of their contents, and of what was known of them when
        it was opened.
        """
        history = self.context.known_history(listed)
        views = (history.commits, 0), (history.reports, len(history.commits.documents))
        touching, paths = [], listed.path_ids.tolist()
        for path in paths:
            of_path = [(view, first, view.documents.find_by_file(path)) for view, first in views]
            touching.append(
                np.concatenate([some[view.known[some]] + first for view, first, some in of_path])
            )
        keys = [(path, some.tobytes()) for path, some in zip(paths, touching, strict=True)]
        histories = self._made_once(keys, touching, self._histories)
        contents = self.of_contents(list(zip(listed.paths, listed.blobs, strict=True)))
        return dict(zip(FILE_SIDES, (contents, histories), strict=True))

    def of_contents(self, files: Sequence[tuple[str, str]]) -> list[Vector]:
        """The vectors of the contents of files, by path and blob."""
        return self._made_once(files, files, self._contents)

    def _made_once(
        self,
        keys: Sequence[Hashable],
        given: Sequence[Any],
        make: Callable[[list[Any]], sparse.csr_array],
    ) -> list[Vector]:
        """The vector of each key; ``make`` gives those that are new, of what is ``given`` for each."""
        new = {key: one for key, one in zip(keys, given, strict=True) if key not in self._known}
        if new:
            made = make(list(new.values()))
            bounds = pairwise(made.indptr.tolist())
            self._known |= zip(
                new, ((made.indices[a:b], made.data[a:b]) for a, b in bounds), strict=True
            )
        return [self._known[key] for key in keys]

    def _counts(self, texts: Sequence[Mapping[str, float]]) -> sparse.csr_array:
        """(n, V) how many times each term counts."""
        ids = self.vocabulary.ids
        said = [
            (row, ids[term], n)
            for row, text in enumerate(texts)
            for term, n in text.items()
            if term in ids
        ]
        rows, terms, counts = np.array(said, dtype=np.float64).reshape(-1, 3).T
        return self._matrix(counts, rows.astype(np.int32), terms.astype(np.int32), len(texts))

    def _matrix(
        self, values: FloatArray, rows: IntArray, terms: IntArray, number: int
    ) -> sparse.csr_array:
        return sparse.csr_array((values, (rows, terms)), shape=(number, len(self.vocabulary)))

    def _contents(self, files: Sequence[tuple[str, str]]) -> sparse.csr_array:
        """(n, V) ln(1 + tf) x IDF in files, the words of the path among them; of a file without facts these alone."""
        corpus = self._facts({blob: path for path, blob in files})
        rows = np.array([corpus.row_by_blob.get(blob, -1) for _, blob in files], dtype=np.int64)
        names, read = list(corpus.terms), np.flatnonzero(rows >= 0)
        held = corpus.by_blob.select(rows[read])
        used, places = np.unique(held.rows, return_inverse=True)
        terms = self.vocabulary.numbers([names[term] for term in used.tolist()])[places]
        known = terms >= 0
        counts = held.values[known] @ _FIELD_WEIGHTS
        owners = np.repeat(read, held.sizes)[known].astype(np.int32)
        whole = self._matrix(counts, owners, terms[known], len(files))
        whole = sparse.csr_array(whole + self._counts([path_words(path) for path, _ in files]))
        whole.data = np.log1p(whole.data) * np.maximum(
            self.vocabulary.in_files[whole.indices], _LEAST_IDF
        )
        return heaviest(whole, _CONTENT_TERMS)

    def _histories(self, touching: Sequence[IntArray]) -> sparse.csr_array:
        """(n, V) vectors of files from the documents that touched each."""
        starts, documents = group_starts(list(map(len, touching))), np.concatenate(touching)
        owners, times = np.repeat(np.arange(len(touching)), np.diff(starts)), self._times[documents]
        newest = np.full(len(touching), -np.inf)
        np.maximum.at(newest, owners, times)
        # only ages among a file's own documents count: its vector has length 1 whatever the time
        decayed = np.exp((times - newest[owners]) / _DECAY)
        shape = len(touching), self._documents.shape[0]
        joined = sparse.csr_array((decayed, documents, starts), shape=shape) @ self._documents
        joined.data = np.sqrt(joined.data)
        return heaviest(joined, _HISTORY_TERMS)


def _of_documents(
    documents: Documents, vocabulary: Vocabulary, rare: FloatArray
) -> sparse.csr_array:
    """(D, V) (1 + ln tf) IDF of each document, of length 1 / sqrt(files that it touched)."""
    terms = vocabulary.numbers(documents.vocabulary)[documents.terms]
    known = terms >= 0
    terms, owners = terms[known], documents.term_document[known]
    weights = (1.0 + np.log(documents.counts[known].astype(np.float64))) * rare[terms]
    length = np.sqrt(np.bincount(owners, weights**2, minlength=len(documents)) * documents.sizes)
    return sparse.csr_array(
        (weights / length[owners], (owners, terms)), shape=(len(documents), len(vocabulary))
    )


@dataclass(frozen=True, eq=False)
class DualEncoder:
    """Vectors of the terms on each side, numbers of half precision, and how much content and history count."""

    tables: Mapping[str, Float32Array]  # side -> (V, d)
    gains: Mapping[str, float]  # side of files -> what its cosine is multiplied by

    def encode(self, side: str, texts: sparse.csr_array) -> Float32Array:
        """(n, d) unit vectors of texts (n, V); 0 where one has no term."""
        summed: Float32Array = texts @ self.tables[side]
        unit: Float32Array = summed / np.maximum(
            np.linalg.norm(summed, axis=1, keepdims=True), 1e-12
        )
        return unit

    def scores(self, report: sparse.csr_array, files: Mapping[str, sparse.csr_array]) -> FloatArray:
        """(C,) of a report (1, V) the cosines with contents and histories (C, V), each times its gain."""
        asked, total = self.encode("report", report), np.zeros(1)
        for (
            side
        ) in FILE_SIDES:  # row by row, so that a score does not depend on what else is scored
            cosines = (self.encode(side, files[side]) * asked).sum(axis=1, dtype=np.float64)
            total = total + self.gains[side] * cosines
        return total

    def matches(
        self, report: sparse.csr_array, file: Mapping[str, sparse.csr_array], number: int
    ) -> list[tuple[int, int]]:
        """The terms of a report (1, V) that bring one file (1, V) most, each with the file's that answers it best."""
        asked = report.data[:, None] * self.tables["report"][report.indices]
        shares = []
        for side in FILE_SIDES:
            vectors = file[side].data[:, None] * self.tables[side][file[side].indices]
            shares.append(
                self.gains[side]
                / max(float(np.linalg.norm(vectors.sum(axis=0))), 1e-12)
                * (asked @ vectors.T)
            )
        share, terms = (
            np.concatenate(shares, axis=1),
            np.concatenate([file[side].indices for side in FILE_SIDES]),
        )
        total = share.sum(axis=1)
        best = [place for place in top_k(total, number).tolist() if total[place] > 0]
        return [(int(report.indices[place]), int(terms[share[place].argmax()])) for place in best]
