"""Terms of reports and files as short weighted bags of numbers, and the term vectors that learning starts from.

Letters in shapes: V terms with the padding, W terms of a table of facts, n bags, T places of a bag, d width.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tosloc.analysis import text
from tosloc.analysis.facts import FIELDS
from tosloc.analysis.store import FactTable
from tosloc.records import FloatArray, IntArray, LongArray

Float32Array = npt.NDArray[np.float32]

SUMMARY_WEIGHT = 3.0
"""How many times a term of a report's summary counts."""
_OF_FIELD = {"code": 1.0, "comment": 0.5, "string": 0.5, "method": 2.0, "type": 6.0, "field": 1.0}
FIELD_WEIGHTS: Final = np.array([_OF_FIELD[name] for name in FIELDS])
"""How many times a term of a file counts, by where it stands."""
NAME_WEIGHT, FOLDER_WEIGHT = 6.0, 2.0
"""The same for the words of its path."""
LEAST_IDF = 0.1
OVERSAMPLED, ROUNDS = 20, 5
"""Further directions and rounds of the randomised decomposition."""


@dataclass(frozen=True, eq=False)
class SparseVectors:
    """Weighted terms of n texts, heaviest first; 0 pads."""

    terms: IntArray
    """(n, T)"""
    weights: Float32Array
    """(n, T) each row of length 1, or empty."""

    def __len__(self) -> int:
        return len(self.terms)

    @classmethod
    def empty(cls, number: int, size: int) -> Self:
        """SparseVectors of so many places without terms."""
        return cls(np.zeros((number, size), dtype=np.int32), np.zeros((number, size), dtype=np.float32))

    @classmethod
    def joined(cls, parts: Sequence[SparseVectors]) -> Self:
        """All of the parts' bags, which have one number of places."""
        return cls(np.concatenate([part.terms for part in parts]), np.concatenate([part.weights for part in parts]))

    @classmethod
    def heaviest(cls, matrix: sparse.csr_array, size: int) -> Self:
        """The ``size`` heaviest terms of each row (n, V), of equals the first ones, scaled to length 1."""
        sizes = np.diff(matrix.indptr)
        rows = np.repeat(np.arange(len(sizes)), sizes)
        order = np.lexsort((matrix.indices, -matrix.data, rows))  # which leaves the rows where they are
        places = np.arange(len(rows)) - np.repeat(matrix.indptr[:-1], sizes)
        kept = (places < size) & (matrix.data[order] > 0)
        terms, weights = np.zeros((len(sizes), size), dtype=np.int32), np.zeros((len(sizes), size))
        terms[rows[kept], places[kept]] = matrix.indices[order][kept]
        weights[rows[kept], places[kept]] = matrix.data[order][kept]
        length = np.sqrt((weights**2).sum(axis=1, keepdims=True))
        return cls(terms, (weights / np.where(length > 0, length, 1.0)).astype(np.float32))

    def take(self, rows: npt.NDArray[np.integer]) -> SparseVectors:
        """The given bags, in their order."""
        return SparseVectors(self.terms[rows], self.weights[rows])

    def matrix(self, terms: int) -> sparse.csr_array:
        """(n, V) weights."""
        filled = self.terms > 0
        starts = np.concatenate(([0], np.cumsum(filled.sum(axis=1))))
        shape = (len(self), terms)
        return sparse.csr_array((self.weights[filled], self.terms[filled], starts), shape=shape)


class SparseVectorCache:
    """SparseVectors by key, each made once."""

    def __init__(self, size: int) -> None:
        self._rows: dict[Hashable, int] = {}
        self._held = SparseVectors.empty(0, size)

    def rows(self, keys: Sequence[Hashable], make: Callable[[LongArray], SparseVectors]) -> LongArray:
        """(n,) rows of the keys in ``bags``; ``make`` gives the bags of those places that are new."""
        number, new = len(self._rows), []
        for place, key in enumerate(keys):
            if key not in self._rows:
                self._rows[key] = len(self._rows)
                new.append(place)
        if new:
            made = make(np.array(new, dtype=np.int64))
            if len(self._rows) > len(self._held):  # room for as many again, so that few at a time are not copied often
                room = SparseVectors.empty(len(self._rows) + number, self._held.terms.shape[1])
                room.terms[:number], room.weights[:number] = self._held.terms[:number], self._held.weights[:number]
                self._held = room
            self._held.terms[number : len(self._rows)] = made.terms
            self._held.weights[number : len(self._rows)] = made.weights
        return np.array([self._rows[key] for key in keys], dtype=np.int64)

    @property
    def bags(self) -> SparseVectors:
        """All that were made."""
        number = len(self._rows)
        return SparseVectors(self._held.terms[:number], self._held.weights[:number])


@dataclass(frozen=True, eq=False)
class TermVocabulary:
    """The terms that count, numbered, and how rare each is in the training part. Number 0 is padding."""

    terms: tuple[str, ...]
    """(V,)"""
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
        tables: Iterable[FactTable],
        paths: Iterable[str],
        reports: Sequence[Mapping[str, float]],
        commits: Mapping[str, float],
        fixes: Mapping[str, float],
        *,
        min_files: int,
        min_reports: int,
    ) -> Self:
        """Terms of enough files (each row of the tables is one), of enough reports, or of a path.

        ``commits`` and ``fixes`` hold the known inverse document frequencies of history, the unknown one under "".
        """
        of_files: dict[str, int] = {}
        files = 0
        for table in tables:
            files += len(table)
            count = np.bincount(table.terms, minlength=len(table.vocabulary))
            for term, number in zip(table.vocabulary, count.tolist(), strict=True):
                of_files[term] = of_files.get(term, 0) + number
        of_reports: dict[str, int] = {}
        for report in reports:
            for term in report:
                of_reports[term] = of_reports.get(term, 0) + 1
        kept = {term for term, number in of_files.items() if number >= min_files}
        kept |= {term for term, number in of_reports.items() if number >= min_reports}
        kept |= {term for path in paths for term in path_words(path)}
        terms = ("", *sorted(kept))
        return cls(
            terms,
            idf(np.array([of_files.get(term, 0) for term in terms]), files),
            idf(np.array([of_reports.get(term, 0) for term in terms]), len(reports)),
            np.array([commits.get(term, commits[""]) for term in terms]),
            np.array([fixes.get(term, fixes[""]) for term in terms]),
        )

    @cached_property
    def ids(self) -> dict[str, int]:
        """Term -> number, without the padding."""
        return {term: number for number, term in enumerate(self.terms) if number}

    def numbers(self, vocabulary: Sequence[str]) -> IntArray:
        """(W,) number of each term, 0 for those that do not count."""
        ids = self.ids
        return np.array([ids.get(term, 0) for term in vocabulary], dtype=np.int32)

    def of_reports(self, reports: Sequence[Mapping[str, float]], size: int) -> SparseVectors:
        """Sparse vectors of reports from ``report_counts``: (1 + ln tf) x mean of the IDF in files and in reports."""
        ids = self.ids
        known = [[(ids[term], count) for term, count in report.items() if term in ids] for report in reports]
        starts = np.cumsum([0, *map(len, known)])
        terms = np.array([term for one in known for term, _ in one], dtype=np.int32)
        counts = np.array([count for one in known for _, count in one], dtype=np.float64)
        rare = np.maximum((self.in_reports[terms] + self.in_files[terms]) / 2, LEAST_IDF)
        shape = (len(reports), len(self))
        return SparseVectors.heaviest(sparse.csr_array(((1 + np.log(counts)) * rare, terms, starts), shape=shape), size)

    def of_contents(
        self, table: FactTable, numbers: IntArray, rows: LongArray, paths: Sequence[str], size: int
    ) -> SparseVectors:
        """SparseVectors of files: ln(1 + tf) and its idf in files.

        ``rows`` (n,) of the table, -1 for a file that could not be read; ``numbers`` are those of its vocabulary.
        """
        starts = table.starts[rows]
        sizes = np.where(rows >= 0, table.starts[rows + 1] - starts, 0)
        places = np.arange(int(sizes.sum())) + np.repeat(starts - (np.cumsum(sizes) - sizes), sizes)
        terms, owners = numbers[table.terms[places]], np.repeat(np.arange(len(rows)), sizes)
        known = terms > 0
        counts = table.counts[places[known]] @ FIELD_WEIGHTS
        ids = self.ids
        words = [
            (owner, ids[term], weight)
            for owner, path in enumerate(paths)
            for term, weight in path_words(path).items()
            if term in ids
        ]
        owner = np.concatenate((owners[known], np.array([word[0] for word in words], dtype=np.int64)))
        term = np.concatenate((terms[known], np.array([word[1] for word in words], dtype=np.int32)))
        count = np.concatenate((counts, np.array([word[2] for word in words], dtype=np.float64)))
        matrix = sparse.coo_array((count, (owner, term)), shape=(len(rows), len(self))).tocsr()  # sums what is twice
        matrix.data = np.log1p(matrix.data) * np.maximum(self.in_files[matrix.indices], LEAST_IDF)
        return SparseVectors.heaviest(matrix, size)


def idf(frequency: npt.NDArray[np.integer], number: int) -> FloatArray:
    """ln(1 + (n - df + .5) / (df + .5))."""
    weight: FloatArray = np.log1p((number - frequency + 0.5) / (frequency + 0.5))
    return weight


def path_words(path: str) -> dict[str, float]:
    """Terms of a path and how many times each counts.

    >>> path_words("src/cookie/CookieJar.java")
    {'src': 2.0, 'cooki': 8.0, 'jar': 6.0, 'cookiejar': 6.0}
    """
    folder, _, name = path.rpartition("/")
    words = dict.fromkeys(text.terms(folder.replace("/", " ")), FOLDER_WEIGHT)
    for term in text.terms(name.rpartition(".")[0] or name):
        words[term] = words.get(term, 0.0) + NAME_WEIGHT
    return words


def report_counts(summary: Mapping[str, int], prose: Mapping[str, int]) -> dict[str, float]:
    """Counts of a report's terms, those of the summary three times.

    >>> report_counts({"cooki": 1}, {"lost": 2, "cooki": 1})
    {'lost': 2.0, 'cooki': 4.0}
    """
    counts = {term: float(count) for term, count in prose.items()}
    for term, count in summary.items():
        counts[term] = counts.get(term, 0.0) + SUMMARY_WEIGHT * count
    return counts


def principal(rows: sparse.csr_array, width: int, seed: int) -> Float32Array:
    """(V, d) the first right singular vectors of rows (n, V), by a randomised decomposition; missing ones are 0."""
    number = min(width + OVERSAMPLED, *rows.shape)
    single = rows.astype(np.float32)
    space = np.random.default_rng(seed).standard_normal((rows.shape[1], number)).astype(np.float32)
    for _ in range(ROUNDS):
        space = np.linalg.qr(single.T @ (single @ space))[0]
    found = space @ np.linalg.svd(single @ space, full_matrices=False)[2].T
    made = np.zeros((rows.shape[1], width), dtype=np.float32)
    made[:, : min(width, number)] = found[:, :width]
    return made
