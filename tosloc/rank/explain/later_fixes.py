"""Find the commit that has probably fixed a report already in the searched version.

The commit is later than the report's opening, so no feature may use it. It is only shown beside the
ranking.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from math import inf
from typing import Final, NamedTuple

import numpy as np

from tosloc.code import text
from tosloc.core.answers import EarlierChange
from tosloc.core.errors import UnknownCommit
from tosloc.core.reports import BugReport
from tosloc.git.fixes import first_issue, is_fix_message, reverted_commits
from tosloc.git.repository import CommitInfo, Repository
from tosloc.rank.explain.lookups import RepositoryLookups
from tosloc.rank.features.named_history import MAX_DOCUMENTS, touched_rows
from tosloc.rank.features.query_context import QueryContext
from tosloc.reports.mentions import Mention, find_mentions, own_id
from tosloc.retrieval.history import list_beside
from tosloc.retrieval.texts import Documents, DocumentsView, group_sum, top_k

MIN_SHARED_TERMS: Final = 4
"""Smallest number of different terms that a commit's first line shares with a summary.

Only then the two can say the same.
"""
MIN_OVERLAP: Final = 0.7
"""Smallest overlap of a commit's first line and a summary that say the same.

Of 614 development reports, 13 have a commit that reaches both limits without naming the report, and
each is the report's fix. With an overlap of .6 there are two more fixes and one wrong commit.
"""
_FILLER: Final = frozenset({"fix", "fixes", "fixed", "bug", "issue"})
"""Terms that do not say what is fixed."""
_UNRESOLVED: Final = re.compile(r"(?i)\W{0,3}(?:new|assigned|reopened|unconfirmed)\b")
"""State of a bug that some tools write before its number: the commit has not fixed the bug."""


class _Fix(NamedTuple):
    """A commit in the history that may have fixed the report."""

    documents: Documents
    document: int
    """Number of the commit among ``documents``."""

    @property
    def commit(self) -> str:
        """Full id."""
        return self.documents.commit_ids[self.document]

    @property
    def at(self) -> int:
        """Committer time, in seconds since 1970."""
        return int(self.documents.times[self.document])


def find_later_fix(
    report: BugReport, context: QueryContext, repo: Repository, lookups: RepositoryLookups
) -> EarlierChange | None:
    """Return the newest commit of the version that fixed a report after its opening, or None.

    The commit closes the report's number, or names the number in its first line and says that it
    fixes something. If there is no such commit, a first line that says the same as the summary
    counts, but only if the report has a date. Commits that were reverted are left out, and those in
    a version in which the report says that it fails.
    """
    opened = -inf if report.opened is None else report.opened_seconds
    history = context.history
    fixes: list[_Fix] = []
    report_id = own_id(report)
    if report_id:
        projects = [project.lower() for project in history.releases.projects] or None
        for view in (history.commits, history.merges, history.large):
            name = f"#{report_id}" if report_id.isdigit() else report_id
            named = view.documents.by_name.get(name, ())
            for fix, info in _read(repo, _later(view.documents, named, opened)):
                if _says_fixed(info.message, report_id, projects):
                    fixes.append(fix)
    if not fixes and report.opened is not None:
        fixes = _fixes_by_text(context, repo, opened)
    fixes = _without_failing(fixes, context, repo)
    remaining = _without_reverted(fixes, history.commits.documents, repo)
    if not remaining:
        return None
    newest = max(remaining, key=lambda fix: fix.at)
    subject = lookups.subject(newest.commit) or ""
    paths = context.version.table.paths
    return EarlierChange(
        newest.commit,
        lookups.committed(newest.commit, newest.at),
        first_issue(subject),
        subject,
        tuple(paths[row] for row in touched_rows(newest.documents, newest.document)),
        lookups.commit_url(newest.commit),
    )


def _without_failing(fixes: Sequence[_Fix], context: QueryContext, repo: Repository) -> list[_Fix]:
    """Return the fixes that no version contains in which something fails by the report."""
    possible = list(fixes)
    bad = context.named_history.bounds.bad if possible else ()
    for end in bad:
        lacking = list_beside(repo, [fix.commit for fix in possible], end.commit)
        possible = [fix for fix in possible if fix.commit in lacking]
    return possible


def _later(documents: Documents, numbers: Iterable[int], opened: float) -> list[_Fix]:
    """Return the documents that the version contains and that are later, newest first.

    ``numbers`` are candidates in order of time. At most the newest MAX_DOCUMENTS are returned.
    """
    later = []
    for number in numbers:
        if documents.commits[number] >= 0 and documents.times[number] > opened:
            later.append(_Fix(documents, number))
    return later[: -MAX_DOCUMENTS - 1 : -1]


def _read(repo: Repository, fixes: Sequence[_Fix]) -> list[tuple[_Fix, CommitInfo]]:
    """Return the fixes with their commits; those that cannot be read are left out."""
    commits = []
    for fix in fixes:
        with suppress(UnknownCommit):
            commits += [(fix, info) for info in repo.commits([fix.commit])]
    return commits


def _says_fixed(message: str, report_id: str, projects: Sequence[str] | None) -> bool:
    """Return whether a message says that its commit fixes the report with this id."""
    if _UNRESOLVED.match(message):
        return False
    kind = find_mentions(message, {report_id}, projects, bare=True).get(report_id)
    if kind in (Mention.NAMES, Mention.NUMBER):
        return is_fix_message(message)
    return kind == Mention.CLOSES


def _fixes_by_text(context: QueryContext, repo: Repository, opened: float) -> list[_Fix]:
    """Return later commits that fix something and whose first lines say what the summary says."""
    view = context.history.commits
    documents = view.documents
    summary_weights = _weights(view, context.query.text.title)
    selection = documents.postings.select(
        np.array(
            [documents.term_ids[term] for term in summary_weights if term in documents.term_ids],
            int,
        )
    )
    number_of_shared = group_sum(selection.rows, np.ones(len(selection.rows)), len(documents))
    is_later = (documents.times > opened) & (documents.commits >= 0)
    number_of_shared[~is_later] = 0
    likeliest = top_k(number_of_shared, MAX_DOCUMENTS)
    candidates = likeliest[number_of_shared[likeliest] >= MIN_SHARED_TERMS].tolist()
    fixes = []
    for fix, info in _read(repo, [_Fix(documents, number) for number in candidates]):
        first_line = info.subject
        line_weights = _weights(view, first_line)
        terms = summary_weights.keys() & line_weights.keys()
        total = max(sum(summary_weights.values()), sum(line_weights.values()))
        overlap = sum(summary_weights[term] for term in terms) / total if terms else 0.0
        is_same = len(terms) >= MIN_SHARED_TERMS and overlap >= MIN_OVERLAP
        if is_same and is_fix_message(info.message):
            fixes.append(fix)
    return fixes


def _weights(view: DocumentsView, words: str) -> dict[str, float]:
    """Return term -> weight for the terms of a text, without numbers and filler."""
    weights = {}
    for term in text.terms(words):
        if term not in _FILLER and not any(map(str.isdigit, term)):
            weights[term] = view.rarity(term)
    return weights


def _without_reverted(fixes: Sequence[_Fix], documents: Documents, repo: Repository) -> list[_Fix]:
    """Return the fixes that were not reverted, according to the messages of later commits."""
    term = documents.term_ids.get("revert")
    if term is None or not fixes:
        return list(fixes)
    files: set[int] = set()
    for fix in fixes:
        files.update(touched_rows(fix.documents, fix.document))
    reverts = []
    for number in documents.postings.rows[documents.postings.term_slice(term)].tolist():
        if files.intersection(touched_rows(documents, number)):
            reverts.append(number)
    first = min(fix.at for fix in fixes)
    infos = {}
    for fix, info in _read(repo, [*_later(documents, reverts, first), *fixes]):
        infos[fix] = info
    by_age = sorted(infos, key=lambda fix: (fix.at, fix.document))
    reverted = reverted_commits({infos[fix].id: infos[fix] for fix in by_age})
    return [fix for fix in fixes if fix.commit not in reverted]
