"""Find the commit messages and fixed reports in the history that are similar to a report."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from tosloc.core.arrays import FloatArray, LongArray
from tosloc.retrieval.history.history_index import (
    HistoryAsOf,
    aggregate_by_file,
    aggregate_by_name_term,
)
from tosloc.retrieval.paths import VersionPaths
from tosloc.retrieval.query import Query
from tosloc.retrieval.texts import DocumentsView


class SimilarDocuments:
    """Similarities between a report and the known documents of the history."""

    def __init__(self, query: Query, history: HistoryAsOf, paths: VersionPaths) -> None:
        self._query = query
        self._history = history
        self._paths = paths

    @cached_property
    def commit_similarities(self) -> FloatArray:
        """(D,) cosine similarity of the report to each known commit message."""
        return self._history.commits.similarities(self._query.weights)

    @cached_property
    def near_commits(self) -> LongArray:
        """The 300 commit messages most similar to the report, most similar first."""
        return self._history.commits.nearest(self.commit_similarities, 300)

    @cached_property
    def report_similarities(self) -> FloatArray:
        """(D,) cosine similarity of the report to each known fixed report."""
        return self._history.reports.similarities(self._query.weights)

    @cached_property
    def near_reports(self) -> LongArray:
        """The 200 known fixed reports most similar to the report, most similar first."""
        return self._history.reports.nearest(self.report_similarities, 200)

    def aggregated_bm25(
        self, view: DocumentsView, weights: Mapping[str, float], *, by_name: bool = False
    ) -> FloatArray:
        """Return (N,) BM25 of the known documents about each path, joined to one text.

        With ``by_name`` there is one text, and one value of the result, for each term of file
        names.
        """
        aggregate = aggregate_by_name_term if by_name else aggregate_by_file
        aggregated = view.remember(aggregate, self._paths)
        terms, term_weights = view.known_terms(weights)
        return aggregated.bm25(terms, term_weights)
