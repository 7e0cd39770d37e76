"""From a repository's commits and labelled reports to the documents that speak of its files."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from tosloc.code import text
from tosloc.git.fixes import references, says_fix
from tosloc.git.history import History
from tosloc.index.documents import Document, Documents
from tosloc.index.history_index import HistoryIndex
from tosloc.index.query import frame_name
from tosloc.index.store import pack, unpack
from tosloc.records import BugReport, Case, Names
from tosloc.reports import traces

COMMITS: Final = "commits"
"""How the analyser of commit facts begins."""
HISTORY_VERSION: Final = 3
"""Of the documents that are made here. Raise it with whatever changes them: these functions, those that read commits
and take texts apart (``data.history``, ``analysis.text``, ``reports.traces``), or the arrays of ``Documents``."""
MAX_FILES: Final = 30
"""Commits that touch more source files say little about any of them and are ignored; chosen on the validation
reports of four projects."""
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


def commit_payloads(history: History) -> Iterator[tuple[str, bytes]]:
    """(commit id, payload) of all commits: what each says and which source files it touched, 1 to ``MAX_FILES``.

    Those that touched none, or more, have an empty payload.
    """
    starts, names = history.touched_starts, history.path_names.names
    for number, commit in enumerate(history.ids):
        files = history.touched[starts[number] : starts[number + 1]].tolist()
        if not 0 < len(files) <= MAX_FILES:
            yield commit, b""
            continue
        message = without_trailers(history.messages[number])
        terms = Counter(text.terms(message))
        paths = [names[file] for file in files]
        counts = np.minimum(np.fromiter(terms.values(), np.int64, len(terms)), 65_535).astype(np.uint16)
        told = np.array([history.times[number], says_fix(history.messages[number])], dtype=np.int64)
        yield commit, pack([list(terms), references(message), paths], [counts, told])


def history_of_commits(order: Sequence[str], payloads: Mapping[str, bytes], paths: Names) -> HistoryIndex:
    """Commit messages as documents; the commits that say that they fix a bug stand in for fixed reports.

    ``order`` are the ids of all commits, by their number in the history. Raises ValueError for a payload that is none.
    """
    documents, fixes = [], []
    for number, commit in enumerate(order):
        if not (payload := payloads.get(commit)):
            continue
        (terms, named, files), (counts, (at, fix)) = unpack(payload, 3)
        touched = tuple(paths.id(path) for path in files)
        said = Counter(dict(zip(terms, counts.tolist(), strict=True)))
        document = Document(commit, int(at), number, commit, said, touched, tuple(f"#{name}" for name in named))
        documents.append(document)
        if fix:
            fixes.append(document)
    return HistoryIndex(Documents.collect(documents), Documents.collect(fixes))


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


def build_history(history: History, cases: Sequence[Case], paths: Names) -> HistoryIndex:
    """Commit messages and fixed reports; without known fixes the commits that fix bugs stand in for reports."""
    made = history_of_commits(history.ids, dict(commit_payloads(history)), paths)
    if cases and not any(case.fix_commit for case in cases):
        return made
    return HistoryIndex(made.commits, report_documents(cases, history, paths))
