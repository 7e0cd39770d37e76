"""Exports of trackers, as they print them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tosloc.errors import ReportError
from tosloc.mine.issues import Exports, PullRequest, is_no_bug

GH = {
    "number": 12,
    "title": "Crash",
    "body": "On save",
    "createdAt": "2020-01-01T00:00:00Z",
    "closedAt": "2020-01-03T00:00:00Z",
    "labels": [{"id": "x", "name": "bug"}],
    "stateReason": "COMPLETED",
    "url": "https://github.com/Ann/One/issues/12",
}
REST = {
    "number": 13,
    "title": "Hang",
    "body": None,
    "created_at": "2020-01-01T00:00:00Z",
    "closed_at": None,
    "state": "open",
    "state_reason": "reopened",
    "labels": [{"name": "question"}, "help wanted"],
    "url": "https://api.github.com/repos/Ann/One/issues/13",
    "html_url": "https://github.com/Ann/One/issues/13",
}
GITLAB = {
    "id": 9001,
    "iid": 7,
    "title": "Crash",
    "description": "On save",
    "created_at": "2020-01-01T00:00:00.000Z",
    "closed_at": "2020-01-02T00:00:00.000Z",
    "state": "closed",
    "labels": ["type::bug"],
    "web_url": "https://gitlab.example.org/g/sub/one/-/issues/7",
}
JIRA_FIELDS = {
    "summary": "Crash",
    "description": "On save",
    "created": "2020-01-01T00:00:00.000+0000",
    "resolutiondate": "2020-01-02T00:00:00.000+0000",
    "resolution": {"name": "Won't Fix"},
    "status": {"name": "Closed"},
    "issuetype": {"name": "Improvement"},
    "labels": ["x"],
}
BUGZILLA = {
    "id": 58522,
    "summary": "Crash",
    "creation_time": "2020-01-01T00:00:00Z",
    "cf_last_resolved": "2020-01-02T00:00:00Z",
    "resolution": "FIXED",
    "is_open": False,
    "severity": "enhancement",
}


def exports(*values: Any) -> Exports:
    read = Exports()
    for value in values:
        read.add(value if isinstance(value, str) else json.dumps(value), "x.json")
    return read


def test_github_as_gh_prints_it_and_as_rest_answers_it() -> None:
    read = exports([GH], [REST])
    assert (read.tracker, read.projects) == ("GitHub", {"ann/one"})
    first, second = read.issues["12"], read.issues["13"]
    assert (first.report.summary, first.labels, first.not_planned, first.is_open) == ("Crash", ("bug",), False, False)
    assert first.closed is not None
    assert first.closed.isoformat() == "2020-01-03T00:00:00+00:00"
    pulls = exports([GH | {"url": "https://github.com/Ann/One/pull/12"}, REST | {"pull_request": {"merged_at": None}}])
    assert [one.is_pull for one in (first, *pulls.issues.values())] == [False, True, True]
    assert (second.is_open, second.labels, second.closed) == (True, ("question", "help wanted"), None)


def test_pull_requests_of_gh_rest_and_gitlab() -> None:
    reference = {"number": 12, "url": "https://github.com/Ann/One/issues/12"}
    foreign = {"number": 12, "url": "https://github.com/bob/two/issues/12"}
    gh = {
        "number": 20,
        "title": "Fix",
        "body": "Fixes #13",
        "mergeCommit": {"oid": "a" * 40},
        "mergedAt": "2020-01-03T00:00:00Z",
        "closingIssuesReferences": [reference],
        "url": "https://github.com/Ann/One/pull/20",
    }
    rest = {"number": 21, "title": "T", "body": None, "merged_at": "2020-01-03T00:00:00Z", "merge_commit_sha": "b" * 40}
    gitlab = {"iid": 3, "title": "T", "description": "Closes #7", "merged_at": "x", "merge_commit_sha": "c" * 40}
    graph = gh | {"number": 22, "closingIssuesReferences": {"nodes": [foreign]}, "mergeCommit": None}
    unmerged = [rest | {"number": 23, "merged_at": None}, gh | {"number": 24, "mergedAt": None, "mergeCommit": None}]
    read = exports([gh, rest, gitlab, graph, *unmerged], [GH])
    assert read.pulls["20"] == PullRequest("20", "a" * 40, ("12",), "Fix\n\nFixes #13")
    assert read.pulls["21"].commit == "b" * 40
    assert (read.pulls["3"].commit, read.pulls["3"].text) == ("c" * 40, "T\n\nCloses #7")
    assert (read.pulls["22"].commit, read.pulls["22"].closes) == ("", ())
    assert len(read.pulls) == 4


def test_events_that_closed_an_issue_by_a_commit() -> None:
    closed = {"event": "closed", "commit_id": "a" * 40, "issue": {"number": 12}}
    by_hand, labelled = closed | {"commit_id": None}, closed | {"event": "referenced"}
    address = {"event": "closed", "commit_id": "b" * 40, "issue_url": "https://api.github.com/repos/a/b/issues/12"}
    assert exports([closed, by_hand, labelled, address], [GH]).closings == [
        ("12", "a" * 40),
        ("12", "b" * 40),
    ]


def test_what_graphql_says_of_who_closed_an_issue() -> None:
    closers = [
        {"closer": {"oid": "a" * 40}},
        {"closer": {"number": 20, "mergeCommit": {"oid": "b" * 40}}},
        {"closer": None},
    ]
    labels = {"nodes": [{"name": "bug"}]}
    issue = GH | {"labels": labels, "timelineItems": {"nodes": closers}}
    read = exports({"nodes": [issue]})
    assert read.issues["12"].labels == ("bug",)
    assert read.closings == [("12", "a" * 40)]
    assert [(pull.commit, pull.closes) for pull in read.pulls.values()] == [("b" * 40, ("12",))]


def test_gitlab_jira_and_bugzilla() -> None:
    one = exports([GITLAB])
    assert (one.tracker, one.projects, one.issues["7"].labels) == ("GitLab", {"g/sub/one"}, ("type::bug",))
    jira = exports({"total": 1, "issues": [{"key": "LANG-9", "fields": JIRA_FIELDS}]}).issues["LANG-9"]
    assert (jira.not_planned, jira.is_open, is_no_bug(jira.labels)) == (True, False, True)
    unresolved = JIRA_FIELDS | {"resolution": None, "resolutiondate": None}
    assert exports({"issues": [{"key": "LANG-9", "fields": unresolved}]}).issues["LANG-9"].is_open
    bugs = [
        BUGZILLA,
        BUGZILLA | {"id": 2, "resolution": "WORKSFORME"},
        BUGZILLA | {"id": 3, "resolution": "", "is_open": True},
    ]
    read = exports({"bugs": bugs}).issues
    assert (read["58522"].not_planned, is_no_bug(read["58522"].labels), read["58522"].is_open) == (False, True, False)
    assert read["2"].not_planned
    assert read["3"].is_open


def test_many_answers_one_after_the_other_and_lines() -> None:
    assert list(exports(json.dumps([GH]) + json.dumps([REST])).issues) == ["12", "13"]
    assert list(exports(json.dumps(GH) + "\n" + json.dumps(REST) + "\n").issues) == ["12", "13"]
    lines = '{"id": "a-1", "summary": "Crash", "opened": "2020-01-01"}\n'
    assert (exports(lines).tracker, list(exports(lines).issues)) == ("lines", ["a-1"])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[]", "x.json: holds no issue; export closed ones, as: gh issue list"),
        ("number,title\n12,Crash", "x.json: malformed JSON in line 1"),
        ('[{"a": 1}]', r"x.json, record 1: JSON of no known kind \(keys: a\)"),
        ([{key: GH[key] for key in ("number", "title", "body")}], "does not say when it was opened; export that, too"),
        ([GH | {"createdAt": "soon"}], "'soon' is no time"),
        ([GH, GITLAB], "record 2: is of GitLab, and others are of GitHub; mine one tracker at a time"),
    ],
)
def test_what_is_no_export(text: Any, says: str) -> None:
    with pytest.raises(ReportError, match=says):
        exports(text)
