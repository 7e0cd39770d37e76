"""Terms that count, how rare they are; reports, files and their histories as sparse vectors of them, each made once.
And two encoders of these: a report on one side, a file's content and history on the other.

Letters in shapes: V terms, W terms of a table of facts, n texts, C candidates of a report, D documents of history, d
width.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Final, Self

import numpy as np
from scipy import sparse

from tosloc.code import text
from tosloc.code.languages import FIELDS
from tosloc.index.documents import DAY, Documents, DocumentsView
from tosloc.index.postings import idf
from tosloc.index.query import Query
from tosloc.records import BugReport, Float16Array, Float32Array, FloatArray, IntArray, LongArray
from tosloc.rerank.base import Candidates, RerankingContext

SIDES: Final = ("report", "content", "history")
FILE_SIDES: Final = SIDES[1:]
# As all numbers of this folder, chosen on the validation parts of the four Java projects of docs/results.md.
_MIN_FILES: Final = 3
_MIN_REPORTS: Final = 2  # a term counts that stands in so many files, or in so many training reports, or in a path
_BLOCK: Final = 4000
_SUMMARY_WEIGHT: Final = 3.0  # how many times a term of a report's summary counts
_NAME_WEIGHT, _FOLDER_WEIGHT = 6.0, 2.0
"""The same of the words of a file's path."""
_REPORT_TERMS: Final = 64
_CONTENT_TERMS: Final = 160
_HISTORY_TERMS: Final = 64  # heaviest terms kept of a report, of a file, and of what touched it
_OF_FIELD: Final = {"code": 1.0, "comment": 0.5, "string": 0.5, "method": 2.0, "type": 6.0, "field": 1.0}
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
        cls, context: RerankingContext, files: Mapping[str, str], reports: Sequence[Mapping[str, float]], until: float
    ) -> Self:
        """Terms that count of some files (path -> blob) and reports, with the frequencies of history until then."""
        assert context.facts is not None
        assert context.history is not None
        of_files: Counter[str] = Counter()
        for block in _blocks(list(files.items())):
            corpus, _ = context.facts([blob for _, blob in block], [path for path, _ in block])
            of_files.update(dict(zip(corpus.terms, np.diff(corpus.postings.starts).tolist(), strict=True)))
        of_reports = Counter(term for report in reports for term in report)
        kept = {term for term, number in of_files.items() if number >= _MIN_FILES}
        kept |= {term for term, number in of_reports.items() if number >= _MIN_REPORTS}
        kept |= {term for path in files for term in path_words(path)}
        terms, history = tuple(sorted(kept)), context.history.as_of(until)
        return cls(
            terms,
            idf(len(files), np.array([of_files[term] for term in terms])),
            idf(len(reports), np.array([of_reports[term] for term in terms])),
            _idf_in(history.commits, terms),
            _idf_in(history.reports, terms),
        )

    @cached_property
    def ids(self) -> dict[str, int]:
        """Term -> number."""
        return {term: number for number, term in enumerate(self.terms)}

    def numbers(self, terms: Sequence[str]) -> IntArray:
        """(W,) number of each term, -1 for those that do not count."""
        return np.array([self.ids.get(term, -1) for term in terms], dtype=np.int32)


def _blocks(files: Sequence[tuple[str, str]]) -> list[Sequence[tuple[str, str]]]:
    """The files in parts whose facts can be in memory together."""
    return [files[start : start + _BLOCK] for start in range(0, len(files), _BLOCK)]


def _idf_in(view: DocumentsView, terms: Sequence[str]) -> FloatArray:
    """(V,) inverse document frequencies in the known documents."""
    known = dict(zip(view.documents.vocabulary, view.idf.tolist(), strict=True))
    unknown = float(idf(view.number, np.zeros(1, dtype=np.int64))[0])
    return np.array([known.get(term, unknown) for term in terms])


def path_words(path: str) -> dict[str, float]:
    """Terms of a path and how many times each counts.

    >>> path_words("src/cookie/CookieJar.java")
    {'src': 2.0, 'cooki': 8.0, 'jar': 6.0, 'cookiejar': 6.0}
    """
    folder, _, name = path.rpartition("/")
    words = dict.fromkeys(text.terms(folder.replace("/", " ")), _FOLDER_WEIGHT)
    for term in text.terms(name.rpartition(".")[0] or name):
        words[term] = words.get(term, 0.0) + _NAME_WEIGHT
    return words


def report_counts(report: BugReport) -> dict[str, float]:
    """How many times each term of a report counts."""
    query = Query(report)
    counts = {term: float(count) for term, count in query.prose_counts.items()}
    for term, count in query.summary_counts.items():
        counts[term] = counts.get(term, 0.0) + _SUMMARY_WEIGHT * count
    return counts


def heaviest(matrix: sparse.csr_array, size: int) -> sparse.csr_array:
    """(n, V) the ``size`` heaviest terms of each row, heaviest first, of equals the first ones; of length 1."""
    number = matrix.shape[0]
    rows = np.repeat(np.arange(number), np.diff(matrix.indptr))
    order = np.lexsort((matrix.indices, -matrix.data, rows))  # which leaves the rows where they are
    positions = np.arange(len(rows)) - matrix.indptr[rows]
    kept = order[(positions < size) & (matrix.data[order] > 0)]
    owners, weights = rows[kept], matrix.data[kept]
    length = np.sqrt(np.bincount(owners, weights**2, minlength=number))
    starts = np.concatenate(([0], np.cumsum(np.bincount(owners, minlength=number))))
    unit = (weights / length[owners]).astype(np.float32)
    return sparse.csr_array((unit, matrix.indices[kept], starts), shape=matrix.shape)


class VectorCache:
    """Sparse vectors by key, each made once and then known by its number."""

    def __init__(self, terms: int) -> None:
        self._terms = terms
        self._numbers: dict[Hashable, int] = {}
        self._vectors: list[tuple[IntArray, FloatArray]] = []

    def numbers(self, keys: Sequence[Hashable], make: Callable[[LongArray], sparse.csr_array]) -> LongArray:
        """(n,) numbers of the keys' vectors; ``make`` gives those of the positions that are new."""
        new = {key: position for position, key in enumerate(keys) if key not in self._numbers}
        if new:
            made = make(np.array(list(new.values())))
            for key, first, last in zip(new, made.indptr[:-1], made.indptr[1:], strict=True):
                self._numbers[key] = len(self._vectors)
                self._vectors.append((made.indices[first:last], made.data[first:last]))
        return np.array([self._numbers[key] for key in keys], dtype=np.int64)

    def take(self, numbers: LongArray) -> sparse.csr_array:
        """(n, V) the vectors of some numbers, of which there is one at least."""
        some = [self._vectors[number] for number in numbers.tolist()]
        starts = np.cumsum([0, *(len(terms) for terms, _ in some)])
        terms, weights = (np.concatenate(parts) for parts in zip(*some, strict=True))
        return sparse.csr_array((weights, terms, starts), shape=(len(some), self._terms))


class SparseVectors:
    """Sparse vectors of the reports and files of one context."""

    def __init__(self, vocabulary: Vocabulary, context: RerankingContext) -> None:
        assert context.facts is not None
        assert context.history is not None
        self.vocabulary, self.context, self._facts = vocabulary, context, context.facts
        self.of_side = {side: VectorCache(len(vocabulary)) for side in FILE_SIDES}
        self._mapped: tuple[Mapping[str, int], IntArray] = ({}, np.zeros(0, dtype=np.int32))
        commits, reports = context.history.commits, context.history.reports
        messages = _of_documents(commits, vocabulary, vocabulary.in_commits)
        fixes = FIX_WEIGHT * _of_documents(reports, vocabulary, vocabulary.in_fixes)
        self._documents = sparse.vstack((messages, fixes), format="csr")
        self._times = np.concatenate((commits.times, reports.times)).astype(np.float64)
        documents = np.concatenate((commits.pair_document, reports.pair_document + len(commits)))
        files = np.concatenate((commits.files, reports.files))
        kept = files < context.path_count
        self._touching = sparse.csr_array(
            (np.ones(int(kept.sum()), dtype=np.bool_), (files[kept], documents[kept])),
            shape=(context.path_count, len(self._times)),
        )

    def of_reports(self, reports: Sequence[Mapping[str, float]]) -> sparse.csr_array:
        """(n, V) vectors of reports from ``report_counts``: (1 + ln tf) x mean of the IDF in files and in reports."""
        ids, vocabulary = self.vocabulary.ids, self.vocabulary
        known = [[(ids[term], count) for term, count in report.items() if term in ids] for report in reports]
        starts = np.cumsum([0, *map(len, known)])
        terms = np.array([term for pairs in known for term, _ in pairs], dtype=np.int32)
        counts = np.array([count for pairs in known for _, count in pairs], dtype=np.float64)
        rare = np.maximum((vocabulary.in_reports[terms] + vocabulary.in_files[terms]) / 2, _LEAST_IDF)
        whole = sparse.csr_array(((1 + np.log(counts)) * rare, terms, starts), shape=(len(reports), len(vocabulary)))
        return heaviest(whole, _REPORT_TERMS)

    def numbers(self, listed: Candidates) -> dict[str, LongArray]:
        """Side of files -> (C,) numbers of the vectors of a report's candidates."""
        contents = self.of_contents(list(zip(listed.paths, listed.blobs, strict=True)))
        return dict(zip(FILE_SIDES, (contents, self._of_histories(listed)), strict=True))

    def of_contents(self, files: Sequence[tuple[str, str]]) -> LongArray:
        """(n,) numbers of the contents of files, by path and blob."""
        cache = self.of_side["content"]
        return np.concatenate([cache.numbers(block, partial(self._contents, block)) for block in _blocks(files)])

    def _contents(self, files: Sequence[tuple[str, str]], new: LongArray) -> sparse.csr_array:
        """(n, V) ln(1 + tf) x IDF in files, the words of the path among them; of a file without facts these alone."""
        files = [files[position] for position in new.tolist()]
        paths, blobs = ([file[part] for file in files] for part in (0, 1))
        corpus, rows = self._facts(blobs, paths)
        if self._mapped[0] is not corpus.terms:
            self._mapped = corpus.terms, self.vocabulary.numbers(list(corpus.terms))
        lists = corpus.by_blob
        first = lists.starts[rows]
        sizes = np.where(rows >= 0, lists.starts[rows + 1] - first, 0)
        positions = np.arange(int(sizes.sum())) + np.repeat(first - (np.cumsum(sizes) - sizes), sizes)
        terms, owners = self._mapped[1][lists.rows[positions]], np.repeat(np.arange(len(files)), sizes)
        known = terms >= 0
        counts = lists.values[positions[known]] @ _FIELD_WEIGHTS
        ids = self.vocabulary.ids
        words = [(n, ids[w], c) for n, path in enumerate(paths) for w, c in path_words(path).items() if w in ids]
        of_paths = np.array(words).reshape(-1, 3).T
        owner = np.concatenate((owners[known], of_paths[0].astype(np.int64)))
        term = np.concatenate((terms[known], of_paths[1].astype(np.int32)))
        shape = (len(files), len(self.vocabulary))
        whole = sparse.coo_array((np.concatenate((counts, of_paths[2])), (owner, term)), shape=shape).tocsr()
        whole.data = np.log1p(whole.data) * np.maximum(self.vocabulary.in_files[whole.indices], _LEAST_IDF)
        return heaviest(whole, _CONTENT_TERMS)

    def _of_histories(self, listed: Candidates) -> LongArray:
        """(C,) numbers of what was known of a report's candidates when it was opened."""
        history = self.context.history_of(listed)
        known = np.concatenate((history.commits.known, history.reports.known))
        touching = self._touching[listed.path_ids]
        touching.data = known[touching.indices]
        touching.eliminate_zeros()
        parts = np.split(touching.indices, touching.indptr[1:-1])
        keys = [(file, hash(part.tobytes())) for file, part in zip(listed.path_ids.tolist(), parts, strict=True)]
        return self.of_side["history"].numbers(keys, lambda new: self._histories(touching[new]))

    def _histories(self, touching: sparse.csr_array) -> sparse.csr_array:
        """(n, V) vectors of files from the documents (n, D) that touched them."""
        owners = np.repeat(np.arange(touching.shape[0]), np.diff(touching.indptr))
        times = self._times[touching.indices]
        newest = np.full(touching.shape[0], -np.inf)
        np.maximum.at(newest, owners, times)
        # only ages among a file's own documents count: its vector has length 1 whatever the time
        decayed = np.exp((times - newest[owners]) / _DECAY)
        joined = sparse.csr_array((decayed, touching.indices, touching.indptr), shape=touching.shape) @ self._documents
        joined.data = np.sqrt(joined.data)
        return heaviest(joined, _HISTORY_TERMS)


def _of_documents(documents: Documents, vocabulary: Vocabulary, rare: FloatArray) -> sparse.csr_array:
    """(D, V) (1 + ln tf) IDF of each document, of length 1 / sqrt(files that it touched)."""
    terms = vocabulary.numbers(documents.vocabulary)[documents.terms]
    owners = np.repeat(np.arange(len(documents)), np.diff(documents.starts))
    known = terms >= 0
    terms, owners = terms[known], owners[known]
    weights = (1.0 + np.log(documents.counts[known].astype(np.float64))) * rare[terms]
    squares = np.bincount(owners, weights=weights**2, minlength=len(documents))
    length = np.sqrt(squares * np.maximum(documents.sizes, 1.0))
    values = weights / np.where(length > 0, length, 1.0)[owners]
    return sparse.csr_array((values, (owners, terms)), shape=(len(documents), len(vocabulary)))


@dataclass(frozen=True, eq=False)
class DualEncoder:
    """Vectors of the terms on each side, in half precision, and how much content and history count."""

    tables: Mapping[str, Float16Array]  # side -> (V, d)
    gains: Mapping[str, float]  # side of files -> what its cosine is multiplied by

    @cached_property
    def _tables(self) -> dict[str, Float32Array]:
        return {side: table.astype(np.float32) for side, table in self.tables.items()}

    def encode(self, side: str, texts: sparse.csr_array) -> Float32Array:
        """(n, d) unit vectors of texts (n, V); 0 where one has no term."""
        summed: Float32Array = texts @ self._tables[side]
        unit: Float32Array = summed / np.maximum(np.sqrt((summed**2).sum(axis=1, keepdims=True)), 1e-12)
        return unit

    def scores(self, report: sparse.csr_array, files: Mapping[str, sparse.csr_array]) -> FloatArray:
        """(C,) of a report (1, V) the cosines with contents and histories (C, V), each times its gain."""
        asked, total = self.encode("report", report), np.zeros(1)
        for side in FILE_SIDES:  # row by row, so that a score does not depend on what else is scored
            cosines = (self.encode(side, files[side]) * asked).sum(axis=1, dtype=np.float64)
            total = total + self.gains[side] * cosines
        return total

    def matches(
        self, report: sparse.csr_array, file: Mapping[str, sparse.csr_array], number: int
    ) -> list[tuple[int, int]]:
        """The terms of a report (1, V) that bring one file (1, V) most, each with the file's that answers it best."""
        asked = report.data[:, None] * self._tables["report"][report.indices]
        shares = []
        for side in FILE_SIDES:
            vectors = file[side].data[:, None] * self._tables[side][file[side].indices]
            length = float(np.sqrt((vectors.sum(axis=0) ** 2).sum()))
            shares.append(self.gains[side] / max(length, 1e-12) * (asked @ vectors.T))
        share, terms = np.concatenate(shares, axis=1), np.concatenate([file[side].indices for side in FILE_SIDES])
        total = share.sum(axis=1)
        best = [place for place in np.argsort(-total, kind="stable")[:number].tolist() if total[place] > 0]
        return [(int(report.indices[place]), int(terms[share[place].argmax()])) for place in best]
