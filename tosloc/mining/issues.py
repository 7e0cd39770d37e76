"""What a tracker exports: issues, pull requests and closing events, of GitHub, GitLab, Jira, Bugzilla or our own lines.

GitHub's are those of ``gh issue list --json``, ``gh pr list --json``, of the REST interface (issues, pulls, issue
events) and of GraphQL; GitLab's, Jira's and Bugzilla's those of their REST interfaces.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from tosloc.data.readers_issue import fields_of
from tosloc.data.report_file import Json, clean, text_field, time_of
from tosloc.errors import ReportError
from tosloc.records import BugReport

_SEVERAL: Final = ("bugs", "issues", "items", "nodes")
"""Keys under which Bugzilla's search, Jira's, GitHub's and GraphQL give many."""
_PROJECT: Final = re.compile(
    r"https?://[^/\s]+/((?:[\w.-]+/)+?[\w.-]+)/(?:-/)?(?:issues|pull|pulls|merge_requests)/\d+"
)
_NUMBER_OF: Final = re.compile(r"/issues/(\d+)$")
_NOT_PLANNED: Final = frozenset(
    """not_planned duplicate wontfix invalid worksforme incomplete inactive moved won't_fix won't_do cannot_reproduce
    not_a_problem not_a_bug not_an_issue not_applicable as_designed works_as_designed works_for_me by_design rejected
    abandoned declined auto_closed information_provided invalid_release user_error later expired obsolete
    not_eclipse not_reproducible""".split()
)
"""What trackers write where nothing was fixed, in lower case, words joined by _."""


@dataclass(frozen=True, slots=True)
class Issue:
    """An issue with what its tracker says beside the report."""

    report: BugReport
    closed: datetime | None = None
    is_open: bool = False
    reason: str = ""
    """How it was closed, in lower case, words joined by ``_``: not_planned, fixed; "" where nothing is said."""
    labels: tuple[str, ...] = ()
    """Labels, or the kind that the tracker gives: Bug, Improvement, enhancement."""
    is_pull: bool = False
    """Whether it is a pull request, which GitHub lists as an issue."""
    url: str = ""

    @property
    def not_planned(self) -> bool:
        """Whether it was closed without a fix: not planned, a duplicate, not reproduced."""
        return self.reason in _NOT_PLANNED


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


@dataclass(frozen=True, slots=True)
class ClosingCommit:
    """An issue that a commit has closed, as the tracker recorded it."""

    issue: str
    commit: str


@dataclass(slots=True)
class Exports:
    """All that exports hold, each issue once."""

    tracker: str = ""
    """GitHub, GitLab, Jira, Bugzilla, or "lines" for our own; "" without issues."""
    issues: dict[str, Issue] = field(default_factory=dict)
    pulls: dict[str, PullRequest] = field(default_factory=dict)
    closings: list[ClosingCommit] = field(default_factory=list)
    projects: set[str] = field(default_factory=set)
    """OWNER/NAME in lower case, as addresses of the issues have it."""

    def add(self, text: str, name: str) -> None:
        """Add what an export holds. Raises ReportError when it is none that is known, or of another tracker."""
        number = 0
        for number, record in enumerate(_records(clean(text).strip("\ufeff"), name), start=1):
            self._add(record, f"{name}, record {number}")
        if not number:
            raise ReportError(f"{name}: holds no issue; export closed ones, as: {GITHUB_ISSUES} > issues.json")

    def _add(self, record: Json, where: str) -> None:
        if "event" in record and "commit_id" in record:
            self._add_event(record, where)
        elif _is_pull(record):
            pull = _pull(record, where)
            if pull is not None:
                self.pulls[pull.number] = pull
            self.projects |= _project(_address(record, where))
        else:
            tracker = _tracker(record)
            issue = _issue(record, tracker, where)
            if self.tracker and tracker != self.tracker:
                raise ReportError(
                    f"{where}: is of {tracker}, and others are of {self.tracker}; mine one tracker at a time"
                )
            self.tracker = tracker
            self.issues[issue.report.id] = issue
            self.projects |= _project(issue.url)
            for commit in _closers(record):
                self.closings.append(ClosingCommit(issue.report.id, commit))
            for pull in _closing_pulls(record, issue.report.id):
                self.pulls.setdefault(f"{pull.number} of {issue.report.id}", pull)

    def _add_event(self, record: Json, where: str) -> None:
        """An event of GitHub's REST interface: of interest are those by which a commit closed an issue."""
        commit, issue = text_field(record, "commit_id", where), record.get("issue")
        number = issue.get("number") if isinstance(issue, dict) else _NUMBER_OF.search(str(record.get("issue_url", "")))
        if isinstance(number, re.Match):
            number = number[1]
        if record["event"] == "closed" and commit and number is not None:
            self.closings.append(ClosingCommit(str(number), commit))


GITHUB_ISSUES: Final = (
    "gh issue list --state closed --limit 10000 --json number,title,body,createdAt,closedAt,labels,stateReason,url"
)
"""The command that exports what is needed of GitHub's issues."""
GITHUB_PULLS: Final = (
    "gh pr list --state merged --limit 10000 --json number,title,body,mergeCommit,mergedAt,closingIssuesReferences,url"
)


def _records(text: str, name: str) -> Iterator[Json]:
    """All objects of a text of JSON: a list, what a search answered, a line each, or one answer after the other."""
    decoder, place = json.JSONDecoder(), 0
    blank = re.compile(r"[\s,]*")
    begin = blank.match(text)
    place = begin.end() if begin else 0
    while place < len(text):
        try:
            value, place = decoder.raw_decode(text, place)
        except json.JSONDecodeError as error:
            raise ReportError(
                f"{name}: malformed JSON in line {error.lineno}, column {error.colno}: {error.msg}; give what"
                " `gh issue list --json ...`, or the REST interface of GitLab, Jira or Bugzilla, printed"
            ) from error
        except (ValueError, RecursionError) as error:
            raise ReportError(f"{name}: JSON that cannot be read ({error})") from error
        yield from _objects(value, name)
        more = blank.match(text, place)
        place = more.end() if more else place


def _objects(value: object, name: str) -> Iterator[Json]:
    if isinstance(value, list):
        for one in value:
            yield from _objects(one, name)
    elif isinstance(value, dict):
        key = next((key for key in _SEVERAL if isinstance(value.get(key), list) and "title" not in value), None)
        if key is None:
            yield value
        else:
            yield from _objects(value[key], name)
    else:
        raise ReportError(f"{name}: JSON, but no object: {str(value)[:40]!r}; an export of issues was expected")


def _tracker(record: Json) -> str:
    if isinstance(record.get("fields"), dict):
        return "Jira"
    if "title" in record:
        return "GitLab" if "iid" in record else "GitHub"
    return "Bugzilla" if "creation_time" in record else "lines"


def _is_pull(record: Json) -> bool:
    keys = ("mergeCommit", "closingIssuesReferences", "mergedAt", "merge_commit_sha")
    return any(key in record for key in keys) and "pull_request" not in record


def _issue(record: Json, tracker: str, where: str) -> Issue:
    number, opened, summary, description = fields_of(record, where)
    if not number:
        raise ReportError(f"{where}: has no number; export that, too, as: {GITHUB_ISSUES}")
    if opened is None or opened == "":
        raise ReportError(f"{where}: does not say when it was opened; export that, too, as: {GITHUB_ISSUES}")
    report = BugReport(number, summary, description, time_of(opened, UTC, where))
    url = _address(record, where)
    match tracker:
        case "Jira":
            fields = _object(record.get("fields"))
            status, resolution = _name(fields.get("status")), _name(fields.get("resolution"))
            return Issue(
                report,
                _time(fields.get("resolutiondate"), where),
                "resolution" in fields and not resolution and "resolutiondate" in fields,
                _joined(resolution or status),
                (_name(fields.get("issuetype")), *_labels(fields.get("labels"))),
            )
        case "Bugzilla":
            kinds = (_text(record.get("type")), _text(record.get("severity")))
            return Issue(
                report,
                _time(record.get("cf_last_resolved"), where),
                record.get("is_open") is True or ("resolution" in record and not record["resolution"]),
                _joined(_text(record.get("resolution"))),
                tuple(kind for kind in kinds if kind in ("defect", "enhancement", "task")),
            )
        case _:
            state = _text(record.get("state")).lower()
            return Issue(
                report,
                _time(record.get("closedAt") or record.get("closed_at") or record.get("closed"), where),
                state in ("open", "opened"),
                _joined(_text(record.get("stateReason") or record.get("state_reason"))),
                _labels(record.get("labels")),
                tracker == "GitHub" and ("pull_request" in record or "/pull/" in url),
                url,
            )


def _pull(record: Json, where: str) -> PullRequest | None:
    """A pull or merge request; None when it was not merged."""
    commit = _object(record.get("mergeCommit")).get("oid")
    commit = commit or record.get("merge_commit_sha") or record.get("squash_commit_sha")
    merged = record.get("mergedAt") or record.get("merged_at")
    if not merged and ("mergedAt" in record or "merged_at" in record or not commit):
        return None
    number = text_field(record, "iid", where) or text_field(record, "number", where)
    project = _project(_address(record, where))
    references = record.get("closingIssuesReferences")
    if isinstance(references, dict):  # as GraphQL has it
        references = references.get("nodes")
    closes = [one for one in references if isinstance(one, dict)] if isinstance(references, list) else []
    own = [
        str(one["number"])
        for one in closes
        if "number" in one and (not project or not one.get("url") or _project(_text(one["url"])) == project)
    ]
    body = _text(record.get("body")) or _text(record.get("description"))
    return PullRequest(number, _text(commit), tuple(own), f"{_text(record.get('title'))}\n\n{body}")


def _closers(record: Json) -> Iterator[str]:
    """Commits that closed an issue, as GraphQL's closed events name them."""
    for closer in _closer_objects(record):
        if "oid" in closer:
            yield _text(closer["oid"])


def _closing_pulls(record: Json, issue: str) -> Iterator[PullRequest]:
    """Pull requests that closed an issue, as GraphQL names them."""
    references = _object(record.get("closedByPullRequestsReferences")).get("nodes")
    named = [one for one in references if isinstance(one, dict)] if isinstance(references, list) else []
    for one in (*_closer_objects(record), *named):
        commit = _object(one.get("mergeCommit")).get("oid")
        if commit:
            yield PullRequest(_text(one.get("number")), _text(commit), (issue,), "")


def _closer_objects(record: Json) -> Iterator[Mapping[str, object]]:
    events = _object(record.get("timelineItems")).get("nodes")
    for event in events if isinstance(events, list) else ():
        closer = event.get("closer") if isinstance(event, dict) else None
        if isinstance(closer, dict):
            yield closer


def _address(record: Json, where: str) -> str:
    for key in ("html_url", "web_url", "url"):
        address = record.get(key)
        if isinstance(address, str) and address:
            return clean(address)
    return ""


def _project(address: str) -> set[str]:
    """OWNER/NAME of an issue's address, in lower case."""
    found = _PROJECT.match(address)
    return {found[1].removeprefix("repos/").lower()} if found else set()


def _labels(value: object) -> tuple[str, ...]:
    if isinstance(value, dict):  # as GraphQL has it
        value = value.get("nodes")
    return tuple(filter(None, map(_name, value))) if isinstance(value, list) else ()


def _name(value: object) -> str:
    return _text(value.get("name")) if isinstance(value, dict) else _text(value)


def _text(value: object) -> str:
    return clean(str(value)).strip() if isinstance(value, str | int) and not isinstance(value, bool) else ""


def _object(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _joined(words: str) -> str:
    return "_".join(words.lower().replace("’", "'").split())


def _time(value: object, where: str) -> datetime | None:
    return None if value is None or value == "" else time_of(value, UTC, where)


# ---- labels

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
