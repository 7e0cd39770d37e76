"""The terms that count, how rare they are, and how often reports and paths hold them.

Letters in shapes: V terms, W terms of a table of facts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Self

import numpy as np

from tosloc.code import text
from tosloc.index.documents import DocumentsView
from tosloc.index.postings import idf
from tosloc.index.query import Query
from tosloc.records import BugReport, FloatArray, IntArray
from tosloc.rerank.base import RerankingContext

# As all numbers of this folder, chosen on the validation parts of the four Java projects of docs/results.md.
_MIN_FILES: Final = 3
_MIN_REPORTS: Final = 2
"""A term counts that stands in so many files, or in so many training reports, or in a path."""
_BLOCK: Final = 4000
_SUMMARY_WEIGHT: Final = 3.0
"""How many times a term of a report's summary counts."""
_NAME_WEIGHT, _FOLDER_WEIGHT = 6.0, 2.0
"""The same of the words of a file's path."""


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The terms that count, and how rare each is in the training part."""

    terms: tuple[str, ...]
    """(V,) sorted."""
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
        of_files: Counter[str] = Counter()
        for block in blocks(list(files.items())):
            table, _ = context.facts([blob for _, blob in block], [path for path, _ in block])
            held = np.bincount(table.terms, minlength=len(table.vocabulary))
            of_files.update(dict(zip(table.vocabulary, held.tolist(), strict=True)))
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


def blocks(files: Sequence[tuple[str, str]]) -> list[Sequence[tuple[str, str]]]:
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
