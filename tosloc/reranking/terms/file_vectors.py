"""Sparse vectors of files, by what they hold and by what history said of them; made when first asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from tosloc.config import TermsSettings
from tosloc.index.query import Query
from tosloc.records import BugReport, IntArray, LongArray
from tosloc.reranking.base import Candidates, RerankingContext
from tosloc.reranking.terms.file_history import FileHistories
from tosloc.reranking.terms.sparse_vectors import SparseVectorCache, SparseVectors
from tosloc.reranking.terms.vocabulary import TermVocabulary, report_counts

LOADED: Final = 4000
"""Files whose facts are in memory together when many are made into vectors."""


@dataclass(frozen=True, eq=False)
class CandidateRows:
    """A report's candidates as rows of sparse vectors."""

    contents: LongArray
    """(C,) rows of the contents."""
    histories: LongArray
    """(C,) rows of the histories."""


class FileVectors:
    """Sparse vectors of the files of one context."""

    def __init__(self, vocabulary: TermVocabulary, settings: TermsSettings, context: RerankingContext) -> None:
        assert context.facts is not None
        assert context.history is not None
        self.vocabulary, self.settings, self.context = vocabulary, settings, context
        self._facts = context.facts
        self._contents = SparseVectorCache(settings.content_terms)
        self._histories = FileHistories(
            context.history, vocabulary, context.path_count, settings.history_terms, settings.history_years
        )
        self._numbers: tuple[tuple[str, ...], IntArray] = ((), np.zeros(0, dtype=np.int32))

    @property
    def contents(self) -> SparseVectors:
        """Vectors of the contents that were asked for."""
        return self._contents.vectors

    @property
    def histories(self) -> SparseVectors:
        """Vectors of the histories that were asked for."""
        return self._histories.cache.vectors

    def content_rows(self, blobs: Sequence[str], paths: Sequence[str]) -> LongArray:
        """(n,) rows of files in ``contents``."""

        def make(new: LongArray) -> SparseVectors:
            parts = [new[start : start + LOADED].tolist() for start in range(0, len(new), LOADED)]
            return SparseVectors.joined(
                [self._made([blobs[n] for n in part], [paths[n] for n in part]) for part in parts]
            )

        return self._contents.rows(list(zip(blobs, paths, strict=True)), make)

    def _made(self, blobs: Sequence[str], paths: Sequence[str]) -> SparseVectors:
        table, rows = self._facts(blobs, paths)
        if self._numbers[0] is not table.vocabulary:
            self._numbers = (table.vocabulary, self.vocabulary.numbers(table.vocabulary))
        return self.vocabulary.of_contents(table, self._numbers[1], rows, paths, self.settings.content_terms)

    def rows(self, candidates: Sequence[Candidates]) -> list[CandidateRows]:
        """The candidates of each report as rows of ``contents`` and ``histories``."""
        blobs = [blob for one in candidates for blob in one.blobs]
        paths = [path for one in candidates for path in one.paths]
        contents = self.content_rows(blobs, paths)
        ends = np.cumsum([0, *map(len, candidates)]).tolist()
        return [
            CandidateRows(
                contents[ends[number] : ends[number + 1]],
                self._histories.rows(one.path_ids, self.context.history_of(one)),
            )
            for number, one in enumerate(candidates)
        ]

    def reports(self, counts: Sequence[Mapping[str, float]]) -> SparseVectors:
        """Vectors of reports."""
        return self.vocabulary.of_reports(counts, self.settings.report_terms)


def counts_of(report: BugReport) -> dict[str, float]:
    """How many times each term of a report counts."""
    query = Query(report)
    return report_counts(query.summary_counts, query.prose_counts)
