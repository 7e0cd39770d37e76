"""What a tracker exports: issues, pull requests and closing events, of GitHub, GitLab, Jira, Bugzilla or our own lines.

GitHub's are those of ``gh issue list --json``, ``gh pr list --json``, of the REST interface (issues, pulls, issue
events) and of GraphQL; GitLab's, Jira's and Bugzilla's those of their REST interfaces.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from tosloc.errors import ReportError
from tosloc.records import BugReport
from tosloc.reports.issues import Tracker, records_of, report_of, text_at, tracker_of, value_at
from tosloc.reports.source import Json, clean, time_of

GITHUB_ISSUES: Final = (
    "gh issue list --state closed --limit 10000 --json number,title,body,createdAt,closedAt,labels,stateReason,url"
)
"""The command that exports what is needed of GitHub's issues."""
_PROJECT: Final = re.compile(
    r"https?://[^/\s]+/(?:repos/)?((?:[\w.-]+/)+?[\w.-]+)/(?:-/)?(?:issues|pull|pulls|merge_requests)/\d+"
)
_NOT_PLANNED: Final = frozenset(
    """not_planned duplicate wontfix invalid worksforme incomplete inactive moved won't_fix won't_do cannot_reproduce
    not_a_problem not_a_bug not_an_issue not_applicable as_designed works_as_designed works_for_me by_design rejected
    abandoned declined auto_closed information_provided invalid_release user_error later expired obsolete
    not_eclipse not_reproducible""".split()
)
"""What trackers write where nothing was fixed, in lower case, words joined by _."""
_BUG: Final = re.compile(
    r"(?i)\b(?:bugs?|bugfix|defects?|crash(?:es)?|regressions?|errors?|broken|faults?|incorrect)\b"
)
_NO_BUG: Final = re.compile(
    r"""(?ix)\b(?: enhancements? | improvements? | features? | feature[ ]requests? | new[ ]feature | questions?
      | documentation | docs? | support | how[ ]?to | discussions? | proposals? | rfc | ideas? | wish(?:list)?
      | wont[ ]?fix | won't[ ]fix | invalid | duplicates? | not[ ]a[ ]bug | works[ ]for[ ]me | works[ ]as[ ]intended
      | cannot[ ]reproduce | refactor(?:ing)? | clean[ ]?up | chores? | maintenance | tasks? | sub-task | dependencies
      | performance[ ]request | translations? | rejected | upstream | not[ ]reproducible )\b"""
)


@dataclass(frozen=True, slots=True)
class Issue:
    """An issue with what its tracker says beside the report."""

    report: BugReport
    closed: datetime | None = None
    is_open: bool = False
    not_planned: bool = False
    """Whether it was closed without a fix: not planned, a duplicate, not reproduced."""
    labels: tuple[str, ...] = ()
    """Labels, or the kind that the tracker gives: Bug, Improvement, enhancement."""
    is_pull: bool = False
    """Whether it is a pull request, which GitHub lists as an issue."""
    url: str = ""


@dataclass(frozen=True, slots=True)
class PullRequest:
    """A pull or merge request that was merged."""

    number: str
    commit: str
    """What its merging left on the branch; "" where the export does not say."""
    closes: tuple[str, ...]
    """Ids of the issues that the tracker says it closes."""
    text: str
    """Title and description."""


@dataclass(slots=True)
class Exports:
    """All that exports hold, each issue once."""

    tracker: str = ""
    """A name in the table of trackers; "" without issues."""
    issues: dict[str, Issue] = field(default_factory=dict)
    pulls: dict[str, PullRequest] = field(default_factory=dict)
    closings: list[tuple[str, str]] = field(default_factory=list)
    """(issue, commit that closed it), as the tracker recorded it."""
    projects: set[str] = field(default_factory=set)
    """OWNER/NAME in lower case, as addresses of the issues have it."""

    def add(self, text: str, name: str) -> None:
        """Add what an export holds. Raises ReportError when it is none that is known, or of another tracker."""
        empty = True
        for where, record in records_of(text, name):
            self._add(record, where)
            empty = False
        if empty:
            raise ReportError(f"{name}: holds no issue; export closed ones, as: {GITHUB_ISSUES} > issues.json")

    def _add(self, record: Json, where: str) -> None:
        if "event" in record and "commit_id" in record:
            commit, number = text_at(record, "commit_id", where), text_at(record, "issue.number issue_url", where)
            if record["event"] == "closed" and commit and number:
                self.closings.append((number.rpartition("/")[2], commit))
        elif "pull_request" not in record and any(key in record for key in _OF_A_PULL):
            self.projects |= _project(_text(record, "html_url web_url url"))
            pull = _pull(record)
            if pull is not None:
                self.pulls[pull.number] = pull
        else:
            tracker = tracker_of(record, where)
            issue = _issue(record, tracker, where)
            number = issue.report.id
            if self.tracker and tracker.name != self.tracker:
                raise ReportError(
                    f"{where}: is of {tracker.name}, and others are of {self.tracker}; mine one tracker at a time"
                )
            self.tracker = tracker.name
            self.issues[number] = issue
            self.projects |= _project(issue.url)
            # who closed it, as GraphQL says
            closers = [value_at(event, "closer") for event in _listed(record, "timelineItems")]
            for one in (*closers, *_listed(record, "closedByPullRequestsReferences")):
                if commit := _text(one, "oid"):
                    self.closings.append((number, commit))
                elif commit := _text(one, "mergeCommit.oid"):
                    pull = PullRequest(_text(one, "number"), commit, (number,), "")
                    self.pulls.setdefault(f"{pull.number} of {number}", pull)


_OF_A_PULL: Final = ("mergeCommit", "closingIssuesReferences", "mergedAt", "merge_commit_sha")


def _issue(record: Json, tracker: Tracker, where: str) -> Issue:
    report = report_of(record, where)
    for missing, what in ((not report.id, "has no number"), (report.opened is None, "does not say when it was opened")):
        if missing:
            raise ReportError(f"{where}: {what}; export that, too, as: {GITHUB_ISSUES}")
    url, closed = _text(record, tracker.url), value_at(record, tracker.closed)
    resolution = "_".join(_text(record, tracker.resolution).lower().replace("\u2019", "'").split())
    labels = [one for keys in tracker.labels.split() for one in _listed(record, keys)]
    return Issue(
        report,
        None if closed is None else time_of(closed, UTC, where),
        _is_open(record, tracker.state),
        resolution in _NOT_PLANNED,
        tuple(filter(None, map(_name, labels))),
        "pull_request" in record or "/pull/" in url,
        url,
    )


def _pull(record: Json) -> PullRequest | None:
    """A pull or merge request; None when it was not merged."""
    commit = _text(record, "mergeCommit.oid merge_commit_sha squash_commit_sha")
    merged = value_at(record, "mergedAt merged_at")
    if not merged and ("mergedAt" in record or "merged_at" in record or not commit):
        return None
    project = _project(_text(record, "html_url web_url url"))
    own = [
        _text(one, "number")
        for one in _listed(record, "closingIssuesReferences")
        if not project or not (address := _text(one, "url")) or _project(address) == project
    ]
    text = f"{_text(record, 'title')}\n\n{_text(record, 'body description')}"
    return PullRequest(_text(record, "iid number"), commit, tuple(filter(None, own)), text)


def _listed(record: object, keys: str) -> list[Any]:
    """The list at a key, also as GraphQL has it; of one thing a list of it."""
    value = value_at(record, f"{keys}.nodes") or value_at(record, keys)
    return value if isinstance(value, list) else [] if value is None else [value]


def _text(record: object, keys: str) -> str:
    """Text or name at the first of some keys; "" for anything else."""
    return _name(value_at(record, keys))


def _name(value: object) -> str:
    value = value.get("name") if isinstance(value, dict) else value
    return clean(str(value)).strip() if isinstance(value, str | int) and not isinstance(value, bool) else ""


def _project(address: str) -> set[str]:
    """OWNER/NAME of an issue's address, in lower case."""
    found = _PROJECT.match(address)
    return {found[1].lower()} if found else set()


def _is_open(record: object, keys: str) -> bool:
    """What the first key that is there says: true, open or nothing means that the issue is open."""
    for key in keys.split():
        folder, _, last = key.rpartition(".")
        inner = value_at(record, folder) if folder else record
        if isinstance(inner, dict) and last in inner:
            return inner[last] in (True, None, "") or str(inner[last]).lower() in ("open", "opened")
    return False


def is_no_bug(labels: Iterable[str]) -> bool:
    """Whether labels say that an issue is something else than a bug: one of them does, and none says that it is one.

    >>> [is_no_bug([label]) for label in ("enhancement", "kind/feature-request", "type: bug", "c-crash", "area: docs")]
    [True, True, False, False, True]
    >>> is_no_bug(["feature: tabs", "bug"]), is_no_bug(["good first issue"]), is_no_bug([])
    (False, False, False)
    """
    words = [re.sub(r"[\W_]+", " ", label.replace("'", "")) for label in labels]
    if any(map(_BUG.search, words)) and not any(re.search(r"(?i)\b(?:not a bug|doc bug)\b", one) for one in words):
        return False
    return any(map(_NO_BUG.search, words))
