"""Exports of trackers, as trackers print them, and how messages mention issues."""

import json
from datetime import UTC, datetime

import pytest

from tests.trackers import BUGZILLA, GITHUB_CLI, GITHUB_REST, GITLAB, JIRA, JIRA_FIELDS
from tosloc.core.errors import ConfigError, ReportError
from tosloc.mine.issues import Closing, Exports
from tosloc.mine.mining import compile_pattern
from tosloc.reports import trackers
from tosloc.reports.mentions import Mention, find_mentions


def read_exports(*values):
    """Return exports of texts, or of values that are written as JSON."""
    exports = Exports()
    for value in values:
        exports.add(value if isinstance(value, str) else json.dumps(value), "x.json")
    return exports


@pytest.fixture(scope="module")
def github():
    """Return exports of issue 12 as gh prints it, and of issue 13 as REST answers it."""
    return read_exports([GITHUB_CLI], [GITHUB_REST])


def test_exports_know_their_tracker_and_project(github):
    assert github.tracker == "GitHub"
    assert github.projects == {"ann/one"}


def test_a_closed_issue_as_gh_prints_it(github):
    issue = github.issues["12"]
    assert issue.report.summary == "Crash"
    assert issue.left_out == ""
    assert issue.closed == datetime(2020, 1, 3, tzinfo=UTC)


def test_an_open_issue_as_rest_answers_it(github):
    issue = github.issues["13"]
    assert issue.left_out == "it is still open"
    assert issue.closed is None


def test_an_issue_without_a_time_of_closing_is_open_if_this_is_its_state(monkeypatch):
    tracker = trackers.Tracker("Time", "subject", "made", "ended", summary="subject", state="ended")
    monkeypatch.setattr(trackers, "TRACKERS", (tracker,))
    record = {"id": 1, "subject": "Crash", "made": "2020-01-01"}
    exports = read_exports([record, record | {"id": 2, "ended": "2020-01-02"}])
    left_out = {number: issue.left_out for number, issue in exports.issues.items()}
    assert left_out == {"1": "it is still open", "2": ""}


@pytest.mark.parametrize(
    "record",
    [
        GITHUB_CLI | {"url": "https://github.com/Ann/One/pull/12"},
        GITHUB_REST | {"pull_request": {"merged_at": None}},
    ],
    ids=["by its address", "by its key"],
)
def test_a_pull_request_among_issues_is_left_out(record):
    [issue] = read_exports([record]).issues.values()
    assert issue.left_out == "it is a pull request"


def test_a_project_of_gitlab_may_have_several_groups():
    assert read_exports([GITLAB]).projects == {"g/sub/one"}


def test_one_answer_may_follow_the_other(github):
    text = json.dumps([GITHUB_CLI]) + json.dumps([GITHUB_REST])
    assert read_exports(text).issues == github.issues


def test_our_own_lines_are_read():
    lines = read_exports('{"id": "a-1", "summary": "Crash", "opened": "2020-01-01"}\n')
    assert lines.tracker == "lines"
    assert list(lines.issues) == ["a-1"]


PULLS = """
[{"number": 20, "title": "Fix", "body": "Fixes #13", "mergedAt": "2020-01-03T00:00:00Z",
  "mergeCommit": {"oid": "a1"}, "url": "https://github.com/Ann/One/pull/20",
  "closingIssuesReferences": [
    {"number": 12, "url": "https://github.com/Ann/One/issues/12"},
    {"number": 12, "url": "https://github.com/bob/two/issues/12"}]},
 {"number": 21, "title": "Graph", "body": "", "mergedAt": "2020-01-03T00:00:00Z",
  "mergeCommit": null, "url": "https://github.com/Ann/One/pull/21",
  "closingIssuesReferences": {"nodes": [{"number": 12}]}},
 {"number": 22, "title": "Open", "body": "", "mergeCommit": null, "mergedAt": null}]
{"number": 23, "title": "Rest", "body": null, "merged_at": "2020-01-03T00:00:00Z",
 "merge_commit_sha": "b2"}
{"number": 24, "title": "Rest, open", "body": null, "merged_at": null, "merge_commit_sha": "b3"}
{"iid": 3, "title": "Lab", "description": "Closes #7", "merged_at": "2020-01-03T00:00:00Z",
 "merge_commit_sha": "c3"}
"""


def test_merged_pull_requests_of_gh_rest_and_gitlab_are_closings():
    assert read_exports(PULLS).closings == [
        Closing("20", "a1", ("12",), "Fix\n\nFixes #13"),
        Closing("21", "", ("12",), "Graph\n\n"),
        Closing("23", "b2", (), "Rest\n\n"),
        Closing("3", "c3", (), "Lab\n\nCloses #7"),
    ]


EVENTS = """
{"event": "closed", "commit_id": "a1", "issue": {"number": 12}}
{"event": "closed", "commit_id": null, "issue": {"number": 12}}
{"event": "referenced", "commit_id": "a2", "issue": {"number": 12}}
{"event": "closed", "commit_id": "b2", "issue_url": "https://api.github.com/repos/a/b/issues/12"}
"""
GRAPHQL_ISSUE = """
{"nodes": [{"number": 13, "title": "Crash", "createdAt": "2020-01-01T00:00:00Z",
  "labels": {"nodes": [{"name": "bug"}]},
  "timelineItems": {"nodes": [
    {"closer": {"oid": "c3"}}, {"closer": {"number": 20, "mergeCommit": {"oid": "d4"}}},
    {"closer": null}]}}]}
"""


def test_events_in_which_a_commit_closed_an_issue_are_closings():
    closings = [Closing("", "a1", ("12",)), Closing("", "b2", ("12",))]
    assert read_exports(EVENTS).closings == closings


def test_closers_of_graphql_are_closings():
    closings = [Closing("", "c3", ("13",)), Closing("20", "d4", ("13",))]
    assert read_exports(GRAPHQL_ISSUE).closings == closings


NOT_FIXED = "it was closed without a fix (not planned, duplicate, not reproduced)"
NOT_A_BUG = "its labels say that it is not a bug"


@pytest.mark.parametrize(
    ("record", "left_out"),
    [
        (GITHUB_REST | {"state": "closed"}, NOT_A_BUG),
        (GITLAB, ""),
        (JIRA, NOT_FIXED),
        (
            JIRA | {"fields": JIRA_FIELDS | {"resolution": None, "resolutiondate": None}},
            "it is still open",
        ),
        (JIRA | {"fields": JIRA_FIELDS | {"resolution": {"name": "Fixed"}}}, NOT_A_BUG),
        (BUGZILLA, NOT_A_BUG),
        (BUGZILLA | {"severity": "major"}, ""),
        (BUGZILLA | {"resolution": "WORKSFORME"}, NOT_FIXED),
        (BUGZILLA | {"resolution": "", "is_open": True}, "it is still open"),
    ],
    ids=[
        "GitHub, question",
        "GitLab, bug",
        "Jira, won't fix",
        "Jira, without resolution",
        "Jira, improvement",
        "Bugzilla, enhancement",
        "Bugzilla, bug",
        "Bugzilla, works for me",
        "Bugzilla, open",
    ],
)
def test_the_reason_for_which_an_issue_is_left_out(record, left_out):
    [issue] = read_exports({"total": 1, "issues": [record]}).issues.values()
    assert issue.left_out == left_out


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("number,title\n12,Crash", "x.json: malformed JSON in line 1"),
        ('[{"a": 1}]', r"x.json, record 1: unknown kind of JSON \(keys: a\)"),
        (
            [{key: GITHUB_CLI[key] for key in ("number", "title", "body")}],
            "lacks its number or the time when it was opened; export both",
        ),
        ([GITHUB_CLI | {"createdAt": "soon"}], "'soon' is not a time"),
        (
            [GITHUB_CLI, GITLAB],
            "record 2: this issue is from GitLab, but earlier ones are from GitHub;"
            " mine one tracker at a time",
        ),
    ],
    ids=["not JSON", "unknown keys", "without time", "bad time", "two trackers"],
)
def test_a_bad_export_is_refused(text, sentence):
    with pytest.raises(ReportError, match=sentence):
        read_exports(text)


# How messages mention issues


KNOWN = {"1", "12", "34", "567", "58522", "LANG-9"}


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            "fix: crash, closes #12, #34 and #567",
            {"12": Mention.CLOSES, "34": Mention.CLOSES, "567": Mention.CLOSES},
        ),
        ("Crash\n\nCloses https://github.com/Ann/One/issues/12.", {"12": Mention.CLOSES}),
        ("Crash\n\nFixes ann/one#12", {"12": Mention.CLOSES}),
        ("Crash\n\nFixes bob/two#12 and https://github.com/bob/two/issues/34", {}),
        ("Fix https://bz.apache.org/bugzilla/show_bug.cgi?id=58522", {"58522": Mention.CLOSES}),
        ("Fixes 12 of the 34 failures", {}),
        ("Issue #12: mind the gap", {"12": Mention.NAMES}),
        ("LANG-9 Mind the gap", {"LANG-9": Mention.NAMES}),
        ("Mind the gap (#12)", {"12": Mention.NUMBER}),
        ("Mind the gap\n\nIt was wide: #12.", {"12": Mention.BODY}),
        ("Mind the gap\n\n#12 was wide.", {"12": Mention.BODY}),
        ("Mind the gap\n\nIssue 12 was wide.", {"12": Mention.NAMES}),
        ("Mind the gap\n\n- LANG-9 was wide", {"LANG-9": Mention.NAMES}),
        # a list goes on with bare numbers if it began with a word such as issue, or with long ones
        ("Fixes issue 12 and 567", {"12": Mention.CLOSES, "567": Mention.CLOSES}),
        ("Fixes #12, 58522", {"12": Mention.CLOSES, "58522": Mention.CLOSES}),
        ("Fixes #12 and 567 failures", {"12": Mention.CLOSES}),
        ("Follow-up to #12, as in issue #34, refs #567", {}),
        ("Merge 12 files, v1.12, 34%, #120, a#12b, &#12;", {}),
        ("Mind the gap\n\nsee the talk in https://github.com/ann/one/issues/12#issuecomment-9", {}),
        ("Update\n\n- Mind it ([#12](https://github.com/ann/one/pull/12))", {}),
        ("Lock\n\n  #34  0x00005 in g ()", {}),
        ("Add a failing test for #12", {}),
    ],
)
def test_the_issues_that_a_message_mentions(message, expected):
    assert find_mentions(message, KNOWN, {"ann/one"}) == expected


def test_a_number_alone_is_no_issue_of_github():
    assert find_mentions("58522: mind the gap", KNOWN, ()) == {}


@pytest.mark.parametrize(
    "message",
    ["58522: mind the gap", "PR 58522: mind the gap", "[58522] mind the gap\n58522"],
)
def test_a_number_alone_at_the_beginning_is_an_issue_of_bugzilla(message):
    assert find_mentions(message, KNOWN, (), bare=True) == {"58522": Mention.NAMES}


def test_a_pattern_without_a_group_is_refused():
    with pytest.raises(ConfigError, match="has no group; put the issue's id in a group"):
        compile_pattern(r"Bug-Id: \d+")
