"""The history of a version: documents of commits and reports, renames, releases."""

from tosloc.retrieval.history.bounds import (
    Bounds,
    End,
    find_first_release,
    list_beside,
    list_brought,
)
from tosloc.retrieval.history.history_index import (
    MAX_FILES,
    HistoryAsOf,
    HistoryIndex,
    report_terms,
    strip_trailers,
)
from tosloc.retrieval.history.messages import ReportMessages
from tosloc.retrieval.history.releases import Release, Releases
from tosloc.retrieval.history.similar_documents import SimilarDocuments
from tosloc.retrieval.history.tracker_issues import TrackerIssues

__all__ = [
    "MAX_FILES",
    "Bounds",
    "End",
    "HistoryAsOf",
    "HistoryIndex",
    "Release",
    "Releases",
    "ReportMessages",
    "SimilarDocuments",
    "TrackerIssues",
    "find_first_release",
    "list_beside",
    "list_brought",
    "report_terms",
    "strip_trailers",
]
