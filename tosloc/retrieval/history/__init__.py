"""The history of a version: documents of commits and reports, renames, releases."""

from tosloc.retrieval.history.bounds import (
    Bounds,
    End,
    find_first_release,
    list_beside,
    list_brought,
)
from tosloc.retrieval.history.history_index import (
    COMMITS,
    HISTORY_VERSION,
    MAX_FILES,
    HistoryAsOf,
    HistoryIndex,
    build_history,
    commit_payloads,
    index_commits,
    report_documents,
    report_terms,
    strip_trailers,
)
from tosloc.retrieval.history.messages import ReportMessages
from tosloc.retrieval.history.releases import Release, Releases, check_releases
from tosloc.retrieval.history.renames import Renames, check_renames
from tosloc.retrieval.history.similar_documents import SimilarDocuments
from tosloc.retrieval.history.tracker_issues import TrackerIssues

__all__ = [
    "COMMITS",
    "HISTORY_VERSION",
    "MAX_FILES",
    "Bounds",
    "End",
    "HistoryAsOf",
    "HistoryIndex",
    "Release",
    "Releases",
    "Renames",
    "ReportMessages",
    "SimilarDocuments",
    "TrackerIssues",
    "build_history",
    "check_releases",
    "check_renames",
    "commit_payloads",
    "find_first_release",
    "index_commits",
    "list_beside",
    "list_brought",
    "report_documents",
    "report_terms",
    "strip_trailers",
]
