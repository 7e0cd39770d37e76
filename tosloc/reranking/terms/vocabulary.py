"""The terms that count, how rare they are, and reports and files as sparse vectors of them.

Letters in shapes: V terms with the padding, W terms of a table of facts, n texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Self

import numpy as np
from scipy import sparse

from tosloc.analysis import text
from tosloc.analysis.languages import FIELDS
from tosloc.index.fact_table import FactTable
from tosloc.index.postings import idf
from tosloc.records import FloatArray, IntArray, LongArray
from tosloc.reranking.terms.sparse_vectors import SparseVectors

_SUMMARY_WEIGHT = 3.0
"""How many times a term of a report's summary counts."""
_OF_FIELD = {"code": 1.0, "comment": 0.5, "string": 0.5, "method": 2.0, "type": 6.0, "field": 1.0}
_FIELD_WEIGHTS: Final = np.array([_OF_FIELD[name] for name in FIELDS])
"""How many times a term of a file counts, by where it stands."""
_NAME_WEIGHT, _FOLDER_WEIGHT = 6.0, 2.0
"""The same for the words of its path."""
_LEAST_IDF = 0.1


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
            idf(files, np.array([of_files.get(term, 0) for term in terms])),
            idf(len(reports), np.array([of_reports.get(term, 0) for term in terms])),
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
        weight = np.maximum((self.in_reports[terms] + self.in_files[terms]) / 2, _LEAST_IDF)
        shape = (len(reports), len(self))
        return SparseVectors.heaviest(
            sparse.csr_array(((1 + np.log(counts)) * weight, terms, starts), shape=shape), size
        )

    def of_contents(
        self, table: FactTable, numbers: IntArray, rows: LongArray, paths: Sequence[str], size: int
    ) -> SparseVectors:
        """Sparse vectors of files: ln(1 + tf) x IDF in files.

        ``rows`` (n,) of the table, -1 for a file that could not be read; ``numbers`` are those of its vocabulary.
        """
        starts = table.starts[rows]
        sizes = np.where(rows >= 0, table.starts[rows + 1] - starts, 0)
        positions = np.arange(int(sizes.sum())) + np.repeat(starts - (np.cumsum(sizes) - sizes), sizes)
        terms, owners = numbers[table.terms[positions]], np.repeat(np.arange(len(rows)), sizes)
        known = terms > 0
        counts = table.counts[positions[known]] @ _FIELD_WEIGHTS
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
        matrix.data = np.log1p(matrix.data) * np.maximum(self.in_files[matrix.indices], _LEAST_IDF)
        return SparseVectors.heaviest(matrix, size)


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


def report_counts(summary: Mapping[str, int], prose: Mapping[str, int]) -> dict[str, float]:
    """Counts of a report's terms, those of the summary three times.

    >>> report_counts({"cooki": 1}, {"lost": 2, "cooki": 1})
    {'lost': 2.0, 'cooki': 4.0}
    """
    counts = {term: float(count) for term, count in prose.items()}
    for term, count in summary.items():
        counts[term] = counts.get(term, 0.0) + _SUMMARY_WEIGHT * count
    return counts
