"""What a tracker exports: issues, pull requests and closing events, of GitHub, GitLab, Jira, Bugzilla or our own lines.

GitHub's are those of ``gh issue list --json``, ``gh pr list --json``, of the REST interface (issues, pulls, issue
events) and of GraphQL; GitLab's, Jira's and Bugzilla's those of their REST interfaces.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from tosloc.core.errors import ReportError
from tosloc.core.records import BugReport
from tosloc.reports.issues import (
    Tracker,
    is_unfilled,
    records_of,
    report_of,
    text_at,
    tracker_of,
    value_at,
)
from tosloc.reports.source import Json, time_of

GITHUB_ISSUES: Final = "gh issue list --state closed --limit 10000 --json number,title,body,createdAt,closedAt,labels,stateReason,url"
"""The command that exports what is needed of GitHub's issues."""
_PROJECT: Final = re.compile(
    r"https?://[^/\s]+/(?:repos/)?((?:[\w.-]+/)+?[\w.-]+)/(?:-/)?(?:issues|pull|pulls|merge_requests)/\d+"
)
_OF_A_PULL: Final = frozenset(
    "mergeCommit closingIssuesReferences mergedAt merge_commit_sha".split()
)
_NOT_PLANNED: Final = frozenset(
    """not_planned duplicate wontfix invalid worksforme incomplete inactive moved won't_fix won't_do cannot_reproduce
    not_a_problem not_a_bug not_an_issue not_applicable as_designed works_as_designed works_for_me by_design rejected
    abandoned declined auto_closed information_provided invalid_release user_error later expired obsolete
    not_eclipse not_reproducible""".split()
)
"""What trackers write where nothing was fixed, in lower case, words joined by _."""
_BUG: Final = re.compile(
    r"(?i)(?<!not a )(?<!doc )\b(?:bugs?|bugfix|defects?|crash(?:es)?|regressions?|errors?|broken|faults?|incorrect)\b"
)
_NO_BUG: Final = re.compile(
    r"""(?ix)\b(?: enhancements? | improvements? | features? | feature[ ]requests? | new[ ]feature | questions?
      | documentation | docs? | support | how[ ]?to | discussions? | proposals? | rfc | ideas? | wish(?:list)?
      | wont[ ]?fix | won't[ ]fix | invalid | duplicates? | not[ ]a[ ]bug | works[ ]for[ ]me | works[ ]as[ ]intended
      | cannot[ ]reproduce | refactor(?:ing)? | clean[ ]?up | chores? | maintenance | tasks? | sub-task | dependencies
      | performance[ ]request | translations? | rejected | upstream | not[ ]reproducible )\b"""
)


class Issue(NamedTuple):
    """An issue with what its tracker says beside the report."""

    report: BugReport
    closed: datetime | None
    left_out: str  # why nothing can be learned from it; "" where something can
    url: str


class Closing(NamedTuple):
    """What closed issues: a merged pull request, or a commit."""

    pull: str  # number of the pull or merge request; "" of a commit
    commit: str  # it, or what merging left on the branch; "" where the export does not say
    issues: tuple[str, ...]  # ids of those that the tracker says it closed
    text: str = ""  # title and description of the pull request


@dataclass(slots=True)
class Exports:
    """All that exports hold, each issue once."""

    all_labels: bool = (
        False  # whether an issue that is labelled as something else than a bug is one
    )
    tracker: str = ""  # a name in the table of trackers; "" without issues
    issues: dict[str, Issue] = field(default_factory=dict)
    closings: list[Closing] = field(default_factory=list)
    projects: set[str] = field(
        default_factory=set
    )  # OWNER/NAME in lower case, as addresses of the issues have it

    def add(self, text: str, name: str) -> None:
        """Add what an export holds. Raises ReportError when it is none that is known, or of another tracker."""
        where = ""
        for where, record in records_of(text, name):
            if "event" in record and "commit_id" in record:
                commit, number = (
                    text_at(record, "commit_id", where),
                    text_at(record, "issue.number issue_url", where),
                )
                if record["event"] == "closed" and commit and number:
                    self.closings.append(Closing("", commit, (number.rpartition("/")[2],)))
            elif "pull_request" not in record and _OF_A_PULL & record.keys():
                self._add_pull(record, where)
            else:
                self._add_issue(record, where)
        if not where and text.strip() != "[]":  # which is a list of none, as of pull requests
            raise ReportError(
                f"{name}: holds no issue; export closed ones, as: {GITHUB_ISSUES} > issues.json"
            )

    def _add_pull(self, record: Json, where: str) -> None:
        """Add a pull or merge request, if it was merged."""
        project = _project(text_at(record, "html_url web_url url", where))
        self.projects |= project
        commit = text_at(record, "mergeCommit.oid merge_commit_sha squash_commit_sha", where)
        if value_at(record, "mergedAt merged_at") or (
            commit and not {"mergedAt", "merged_at"} & record.keys()
        ):
            closed = _listed(record, "closingIssuesReferences")
            own = [
                one
                for one in closed
                if not project or _project(text_at(one, "url", where)) <= project
            ]
            text = (
                f"{text_at(record, 'title', where)}\n\n{text_at(record, 'body description', where)}"
            )
            number, issues = (
                text_at(record, "iid number", where),
                tuple(text_at(one, "number", where) for one in own),
            )
            self.closings.append(Closing(number, commit, issues, text))

    def _add_issue(self, record: Json, where: str) -> None:
        tracker = tracker_of(record, where)
        if self.tracker and tracker.name != self.tracker:
            raise ReportError(
                f"{where}: is of {tracker.name}, and others are of {self.tracker}; mine one tracker at a time"
            )
        self.tracker = tracker.name
        issue = _issue(record, tracker, where, self.all_labels)
        number = issue.report.id
        self.issues[number] = issue
        self.projects |= _project(issue.url)
        closers = [
            value_at(event, "closer") for event in _listed(record, "timelineItems")
        ]  # as GraphQL says
        for one in (*closers, *_listed(record, "closedByPullRequestsReferences")):
            pull = text_at(one, "number", where)
            if commit := text_at(one, "oid mergeCommit.oid", where):
                self.closings.append(Closing(pull, commit, (number,)))


def _issue(record: Json, tracker: Tracker, where: str, all_labels: bool) -> Issue:
    report, url = report_of(record, where), text_at(record, tracker.url, where)
    closed = value_at(record, tracker.closed)
    labels = [
        str(value_at(one, "name") or one)
        for keys in tracker.labels.split()
        for one in _listed(record, keys)
    ]
    if not report.id or report.opened is None:
        raise ReportError(
            f"{where}: has no number, or does not say when it was opened; export that, too, as: {GITHUB_ISSUES}"
        )
    state = value_at(
        record, tracker.state
    )  # where a tracker has no other, what has no resolution is open
    is_open = (
        "resolution" in tracker.state
        if state is None
        else str(state).lower() in ("open", "opened", "true")
    )
    resolution = "_".join(
        text_at(record, tracker.resolution, where).lower().replace("\u2019", "'").split()
    )
    reasons = (
        ("pull_request" in record or "/pull/" in url, "a pull request, listed as an issue"),
        (is_open, "still open"),
        (
            resolution in _NOT_PLANNED,
            "closed without a fix (not planned, duplicate, not reproduced)",
        ),
        (not report.summary or is_unfilled(report), "says nothing beside the form"),
        (not all_labels and is_no_bug(labels), "labelled as something else than a bug"),
    )
    left_out = next((why for holds, why in reasons if holds), "")
    return Issue(report, None if closed is None else time_of(closed, UTC, where), left_out, url)


def _listed(record: object, keys: str) -> list[Any]:
    """The list at a key, also as GraphQL has it; of one thing a list of it."""
    value = value_at(record, f"{keys}.nodes {keys}")
    return value if isinstance(value, list) else [] if value is None else [value]


def _project(address: str) -> set[str]:
    """OWNER/NAME of an issue's address, in lower case."""
    found = _PROJECT.match(address)
    return {found[1].lower()} if found else set()


def is_no_bug(labels: Iterable[str]) -> bool:
    """Whether labels say that an issue is something else than a bug: one of them does, and none says that it is one.

    >>> [is_no_bug([label]) for label in ("enhancement", "kind/feature-request", "type: bug", "c-crash", "area: docs")]
    [True, True, False, False, True]
    >>> is_no_bug(["feature: tabs", "bug"]), is_no_bug(["good first issue"]), is_no_bug(["not-a-bug"])
    (False, False, True)
    """
    words = [re.sub(r"[\W_]+", " ", label.replace("'", "")) for label in labels]
    return any(map(_NO_BUG.search, words)) and not any(map(_BUG.search, words))
