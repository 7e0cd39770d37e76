"""From a repository's commits and labelled reports to the documents that speak of its files."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from tosloc.analysis import text
from tosloc.data.fixes import fix_commits, references
from tosloc.data.history import History
from tosloc.index.documents import Document, Documents
from tosloc.index.history_index import HistoryIndex
from tosloc.index.query import frame_name
from tosloc.records import BugReport, Case, Names
from tosloc.reports import traces

HISTORY_VERSION = 2
"""Of the documents that are made here. Raise it with whatever changes them: these functions, those that read commits
and take texts apart (``data.history``, ``analysis.text``, ``reports.traces``), or the arrays of ``Documents``."""
TRAILER = re.compile(
    r"^(git-svn-id|change-id|signed-off-by|reviewed-(on|by)|tested-by|also-by|co-authored-by|acked-by)\b.*$",
    re.IGNORECASE | re.MULTILINE,
)


def without_trailers(message: str) -> str:
    """A commit message without the lines that tools add to its end.

    >>> without_trailers("Fix the parser\\n\\nChange-Id: I0f\\nSigned-off-by: A <a@b>").strip()
    'Fix the parser'
    """
    return TRAILER.sub("", message)


def report_terms(report: BugReport) -> Counter[str]:
    """Term counts of summary and description without stack frames."""
    return Counter(text.terms(report.summary)) + Counter(text.terms(traces.without_frames(report.description)))


def commit_documents(history: History, max_files: int, among: Iterable[int] | None = None) -> Documents:
    """Messages of the commits (all, or those ``among``) that touched 1 to ``max_files`` source files."""
    starts = history.touched_starts
    sizes = np.diff(starts)
    return Documents.collect(
        Document(
            history.ids[number],
            int(history.times[number]),
            number,
            history.ids[number],
            Counter(text.terms(without_trailers(history.messages[number]))),
            tuple(history.touched[starts[number] : starts[number + 1]].tolist()),
            tuple(f"#{name}" for name in references(without_trailers(history.messages[number]))),
        )
        for number in (range(len(history)) if among is None else among)
        if 0 < sizes[number] <= max_files
    )


def report_documents(cases: Iterable[Case], history: History, paths: Names) -> Documents:
    """Fixed reports with the files that their fixes changed, known from the committer time of the fix on.

    Reports whose fix is not known are no documents.
    """
    return Documents.collect(
        Document(
            case.report.id,
            case.fixed_at,
            history.index[case.fix_commit],
            case.fix_commit,
            report_terms(case.report),
            tuple(paths.id(path) for path in case.listed),
            tuple(dict.fromkeys(frame_name(frame) for frame in traces.frames(case.report.description))),
        )
        for case in cases
        if case.fix_commit
    )


def build_history(history: History, cases: Sequence[Case] | None, paths: Names, max_files: int) -> HistoryIndex:
    """Commit messages and fixed reports; without known fixes the commits that fix bugs stand in for reports."""
    if cases is None or (cases and not any(case.fix_commit for case in cases)):
        reports = commit_documents(history, max_files, fix_commits(history).tolist())
    else:
        reports = report_documents(cases, history, paths)
    return HistoryIndex(commit_documents(history, max_files), reports)
