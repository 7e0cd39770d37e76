"""Read exports of trackers: issues, pull requests and closing events.

The trackers are GitHub, GitLab, Jira, Bugzilla, and our own lines. Exports of GitHub are those of
``gh issue list --json``, ``gh pr list --json``, the REST interface (issues, pulls, issue events)
and GraphQL; exports of the other trackers come from their REST interfaces.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, NamedTuple

from tosloc.core.errors import ReportError
from tosloc.core.inputs import time_of
from tosloc.core.progress import Progress, ignore_progress
from tosloc.core.reports import BugReport
from tosloc.reports.issues import Record, is_unfilled
from tosloc.retrieval.history import TrackerIssues

GITHUB_ISSUES: Final = (
    "gh issue list --state all --limit 10000 "
    "--json number,title,body,state,createdAt,closedAt,labels,stateReason,url"
)
"""Command that exports those parts of GitHub's issues that are needed."""
_PROJECT: Final = re.compile(
    r"https?://[^/\s]+/(?:repos/)?((?:[\w.-]+/)+?[\w.-]+)"
    r"/(?:-/)?(?:issues|pull|pulls|merge_requests)/\d+"
)
_PULL_KEYS: Final = frozenset(
    ("mergeCommit", "closingIssuesReferences", "mergedAt", "merge_commit_sha")
)
"""Keys that only pull and merge requests have."""
_NOT_FIXED: Final = frozenset(
    """not_planned duplicate wontfix invalid worksforme incomplete inactive moved won't_fix won't_do
    cannot_reproduce not_a_problem not_a_bug not_an_issue not_applicable as_designed
    works_as_designed works_for_me by_design rejected abandoned declined auto_closed
    information_provided invalid_release user_error later expired obsolete not_eclipse
    not_reproducible""".split()
)
"""Resolutions of trackers that mean no fix, in lower case, with their words joined by _."""
_BUG: Final = re.compile(
    r"""(?ix)(?<!not[ ]a[ ])(?<!doc[ ])\b(?: bugs? | bugfix | defects? | crash(?:es)? | regressions?
      | errors? | broken | faults? | incorrect )\b"""
)
_NO_BUG: Final = re.compile(
    r"""(?ix)\b(?: enhancements? | improvements? | features? | feature[ ]requests? | new[ ]feature
      | questions? | documentation | docs? | support | how[ ]?to | discussions? | proposals? | rfc
      | ideas? | wish(?:list)? | wont[ ]?fix | won't[ ]fix | invalid | duplicates? | not[ ]a[ ]bug
      | works[ ]for[ ]me | works[ ]as[ ]intended | cannot[ ]reproduce | refactor(?:ing)?
      | clean[ ]?up | chores? | maintenance | tasks? | sub-task | dependencies
      | performance[ ]request | translations? | rejected | upstream | not[ ]reproducible )\b"""
)


class Issue(NamedTuple):
    """An issue with the other facts that its tracker records."""

    report: BugReport
    closed: datetime | None
    left_out: str
    """Why nothing can be learned from the issue; "" if something can."""
    url: str
    is_open: bool | None = None
    """Whether the issue was open when the tracker was exported; None if that is not known."""
    is_pull_request: bool = False


class Closing(NamedTuple):
    """A merged pull request, or a commit, that closed issues."""

    pull: str
    """Number of the pull or merge request; "" for a commit."""
    commit: str
    """The commit, or the commit that merging created; "" if the export does not contain it."""
    issues: tuple[str, ...]
    """Ids of the issues that it closed, according to the tracker."""
    text: str = ""
    """Title and description of the pull request."""


@dataclass(slots=True)
class Exports:
    """All issues and closings in some exports, without repeated issues.

    With ``all_labels``, labels do not exclude an issue. ``tracker`` is a name in the table of
    trackers, or "" if there are no issues. ``projects`` are OWNER/NAME in lower case, from the
    addresses of issues.
    """

    all_labels: bool = False
    tracker: str = ""
    issues: dict[str, Issue] = field(default_factory=dict)
    closings: list[Closing] = field(default_factory=list)
    projects: set[str] = field(default_factory=set)

    def add(self, text: str, name: str) -> None:
        """Add the records of the export ``name``.

        Raises ReportError if it is not an export of a known tracker, or if earlier exports came
        from another tracker.
        """
        is_empty = True
        for record in Record.read_all(text, name):
            is_empty = False
            keys = record.fields.keys()
            if "event" in keys and "commit_id" in keys:
                self._add_event(record)
            elif "pull_request" not in keys and _PULL_KEYS & keys:
                self._add_pull(record)
            else:
                self._add_issue(record)
        # an export of no pull requests is an empty list
        if is_empty and text.strip() != "[]":
            raise ReportError(
                f"{name} contains no issue; export them with: {GITHUB_ISSUES} > issues.json"
            )

    def tracker_issues(self, progress: Progress = ignore_progress) -> TrackerIssues:
        """Return all issues, also open ones and those without a fix, but no pull requests."""
        issues = [issue for issue in self.issues.values() if not issue.is_pull_request]
        return TrackerIssues.collect(
            [issue.report for issue in issues],
            [issue.url for issue in issues],
            [issue.is_open for issue in issues],
            progress,
        )

    def _add_event(self, record: Record) -> None:
        """Add an event of an issue if a commit closed it."""
        commit = record.text("commit_id")
        address = record.text("issue.number issue_url")
        if record.fields["event"] == "closed" and commit and address:
            number = address.rpartition("/")[2]
            self.closings.append(Closing("", commit, (number,)))

    def _add_pull(self, record: Record) -> None:
        """Add a pull or merge request if it was merged."""
        project = _project(record.text("html_url web_url url"))
        self.projects |= project
        commit = record.text("mergeCommit.oid merge_commit_sha squash_commit_sha")
        has_merge_time = not {"mergedAt", "merged_at"}.isdisjoint(record.fields)
        is_merged = record.value("mergedAt merged_at") or (commit and not has_merge_time)
        if not is_merged:
            return
        issues = []
        for issue in record.inner("closingIssuesReferences"):
            if not project or _project(issue.text("url")) <= project:
                issues.append(issue.text("number"))
        title = record.text("title")
        body = record.text("body description")
        number = record.text("iid number")
        self.closings.append(Closing(number, commit, tuple(issues), f"{title}\n\n{body}"))

    def _add_issue(self, record: Record) -> None:
        """Add an issue, and the pull requests or commits that closed it according to GraphQL."""
        tracker = record.tracker
        if self.tracker and tracker.name != self.tracker:
            raise ReportError(
                f"{record.where}: this issue is from {tracker.name}, but earlier ones are from"
                f" {self.tracker}; mine one tracker at a time"
            )
        self.tracker = tracker.name
        issue = _read_issue(record, self.all_labels)
        number = issue.report.id
        self.issues[number] = issue
        self.projects |= _project(issue.url)
        closers: list[Record] = []
        for event in record.inner("timelineItems"):
            closers += event.inner("closer")
        closers += record.inner("closedByPullRequestsReferences")
        for closer in closers:
            pull = closer.text("number")
            commit = closer.text("oid mergeCommit.oid")
            if commit:
                self.closings.append(Closing(pull, commit, (number,)))


def _read_issue(record: Record, all_labels: bool) -> Issue:
    """Return the issue in a record. Raises ReportError if it has no number or time of opening."""
    tracker = record.tracker
    report = record.report()
    url = record.text(tracker.url)
    closed = record.value(tracker.closed)
    if not report.id or report.opened is None:
        raise ReportError(
            f"{record.where}: this issue lacks its number or the time when it was opened; export"
            f" both with: {GITHUB_ISSUES}"
        )
    resolution = _resolution(record)
    is_pull_request = "pull_request" in record.fields or "/pull/" in url
    if is_pull_request:
        left_out = "it is a pull request"
    elif _is_open(record):
        left_out = "it is still open"
    elif resolution in _NOT_FIXED:
        left_out = "it was closed without a fix (not planned, duplicate, not reproduced)"
    elif not report.summary or is_unfilled(report):
        left_out = "it is an empty template"
    elif not all_labels and is_no_bug(_labels(record)):
        left_out = "its labels say that it is not a bug"
    else:
        left_out = ""
    closed_at = None if closed is None else time_of(closed, UTC, record.where)
    return Issue(report, closed_at, left_out, url, _is_open(record), is_pull_request)


def _is_open(record: Record) -> bool | None:
    """Return whether an issue is open; None if its record does not say it."""
    tracker = record.tracker
    state = record.value(tracker.state)
    if state is None and tracker.state != "state":
        return True
    if state is None:
        is_closed = record.value(tracker.closed) is not None or _resolution(record) != ""
        return False if is_closed else None
    return str(state).lower() in ("open", "opened", "true")


def _resolution(record: Record) -> str:
    """Return the resolution of an issue, in lower case, with its words joined by _."""
    text = record.text(record.tracker.resolution).lower().replace("\u2019", "'")
    return "_".join(text.split())


def _labels(record: Record) -> list[str]:
    labels = []
    for keys in record.tracker.labels.split():
        for label in record.inner(keys):
            labels.append(str(label.value("name") or label.fields))
    return labels


def _project(address: str) -> set[str]:
    """Return OWNER/NAME in an issue's address, in lower case; empty if there is none."""
    match = _PROJECT.match(address)
    return {match[1].lower()} if match else set()


def is_no_bug(labels: Iterable[str]) -> bool:
    """Return whether a label says that an issue is not a bug, and no label says that it is one.

    >>> is_no_bug(["enhancement"]), is_no_bug(["kind/feature-request"]), is_no_bug(["area: docs"])
    (True, True, True)
    >>> is_no_bug(["type: bug"]), is_no_bug(["c-crash"]), is_no_bug(["good first issue"])
    (False, False, False)
    >>> is_no_bug(["feature: tabs", "bug"]), is_no_bug(["not-a-bug"])
    (False, True)
    """
    words = [re.sub(r"[\W_]+", " ", label.replace("'", "")) for label in labels]
    return any(map(_NO_BUG.search, words)) and not any(map(_BUG.search, words))
