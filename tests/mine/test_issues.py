"""Exports of trackers, as they print them, and how messages name issues."""

import json
import time
from datetime import UTC, datetime

import pytest

from tests.trackers import BUGZILLA, GITHUB_CLI, GITHUB_REST, GITLAB, JIRA, JIRA_FIELDS
from tosloc.core.errors import ConfigError, ReportError
from tosloc.mine.issues import Closing, Exports
from tosloc.mine.mentions import BODY, CLOSES, NAMES, NUMBER, compile_pattern, find_mentions


def exports(*values):
    read = Exports()
    for value in values:
        read.add(value if isinstance(value, str) else json.dumps(value), "x.json")
    return read


def test_github_as_gh_prints_it_and_as_rest_answers_it():
    read = exports([GITHUB_CLI], [GITHUB_REST])
    assert (read.tracker, read.projects) == ("GitHub", {"ann/one"})
    first, second = read.issues["12"], read.issues["13"]
    assert (first.report.summary, first.left_out) == ("Crash", "")
    assert first.closed == datetime(2020, 1, 3, tzinfo=UTC)
    assert (second.left_out, second.closed) == ("still open", None)
    pulls = exports(
        [
            GITHUB_CLI | {"url": "https://github.com/Ann/One/pull/12"},
            GITHUB_REST | {"pull_request": {"merged_at": None}},
        ]
    )
    assert {one.left_out for one in pulls.issues.values()} == {"a pull request, listed as an issue"}
    assert exports([GITLAB]).projects == {"g/sub/one"}
    # one answer after the other, our own lines
    assert exports(json.dumps([GITHUB_CLI]) + json.dumps([GITHUB_REST])).issues == read.issues
    lines = exports('{"id": "a-1", "summary": "Crash", "opened": "2020-01-01"}\n')
    assert (lines.tracker, list(lines.issues)) == ("lines", ["a-1"])


PULLS = """
[{"number": 20, "title": "Fix", "body": "Fixes #13", "mergedAt": "2020-01-03T00:00:00Z", "mergeCommit": {"oid": "a1"},
  "url": "https://github.com/Ann/One/pull/20", "closingIssuesReferences": [
    {"number": 12, "url": "https://github.com/Ann/One/issues/12"},
    {"number": 12, "url": "https://github.com/bob/two/issues/12"}]},
 {"number": 21, "title": "Graph", "body": "", "mergedAt": "2020-01-03T00:00:00Z", "mergeCommit": null,
  "url": "https://github.com/Ann/One/pull/21", "closingIssuesReferences": {"nodes": [{"number": 12}]}},
 {"number": 22, "title": "Open", "body": "", "mergeCommit": null, "mergedAt": null}]
{"number": 23, "title": "Rest", "body": null, "merged_at": "2020-01-03T00:00:00Z", "merge_commit_sha": "b2"}
{"number": 24, "title": "Rest, open", "body": null, "merged_at": null, "merge_commit_sha": "b3"}
{"iid": 3, "title": "Lab", "description": "Closes #7", "merged_at": "2020-01-03T00:00:00Z", "merge_commit_sha": "c3"}
"""
CLOSED = """
{"event": "closed", "commit_id": "a1", "issue": {"number": 12}}
{"event": "closed", "commit_id": null, "issue": {"number": 12}}
{"event": "referenced", "commit_id": "a2", "issue": {"number": 12}}
{"event": "closed", "commit_id": "b2", "issue_url": "https://api.github.com/repos/a/b/issues/12"}
{"nodes": [{"number": 13, "title": "Crash", "createdAt": "2020-01-01T00:00:00Z", "labels": {"nodes": [{"name": "bug"}]},
  "timelineItems": {"nodes": [
    {"closer": {"oid": "c3"}}, {"closer": {"number": 20, "mergeCommit": {"oid": "d4"}}}, {"closer": null}]}}]}
"""


def test_pull_requests_of_gh_rest_and_gitlab_that_were_merged():
    assert exports(PULLS).closings == [
        Closing("20", "a1", ("12",), "Fix\n\nFixes #13"),
        Closing("21", "", ("12",), "Graph\n\n"),
        Closing("23", "b2", (), "Rest\n\n"),
        Closing("3", "c3", (), "Lab\n\nCloses #7"),
    ]


def test_what_closed_an_issue_by_events_and_as_graphql_says():
    read = exports(CLOSED)
    events = [("", "a1", ("12",)), ("", "b2", ("12",)), ("", "c3", ("13",)), ("20", "d4", ("13",))]
    assert [closing[:3] for closing in read.closings] == events


NOT_PLANNED = "closed without a fix (not planned, duplicate, not reproduced)"
OTHER = "labelled as something else than a bug"


@pytest.mark.parametrize(
    ("record", "left_out"),
    [
        (GITHUB_REST | {"state": "closed"}, OTHER),
        (GITLAB, ""),
        (JIRA, NOT_PLANNED),
        (
            JIRA | {"fields": JIRA_FIELDS | {"resolution": None, "resolutiondate": None}},
            "still open",
        ),
        (JIRA | {"fields": JIRA_FIELDS | {"resolution": {"name": "Fixed"}}}, OTHER),
        (BUGZILLA, OTHER),
        (BUGZILLA | {"severity": "major"}, ""),
        (BUGZILLA | {"resolution": "WORKSFORME"}, NOT_PLANNED),
        (BUGZILLA | {"resolution": "", "is_open": True}, "still open"),
    ],
)
def test_what_is_left_out(record, left_out):
    [issue] = exports({"total": 1, "issues": [record]}).issues.values()
    assert issue.left_out == left_out


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("number,title\n12,Crash", "x.json: malformed JSON in line 1"),
        ('[{"a": 1}]', r"x.json, record 1: JSON of no known kind \(keys: a\)"),
        (
            [{key: GITHUB_CLI[key] for key in ("number", "title", "body")}],
            "does not say when it was opened; export that, too",
        ),
        ([GITHUB_CLI | {"createdAt": "soon"}], "'soon' is no time"),
        (
            [GITHUB_CLI, GITLAB],
            "record 2: is of GitLab, and others are of GitHub; mine one tracker at a time",
        ),
    ],
)
def test_what_is_no_export(text, says):
    with pytest.raises(ReportError, match=says):
        exports(text)


# How messages name issues


KNOWN = {"1", "12", "34", "567", "58522", "LANG-9"}


@pytest.mark.parametrize(
    ("message", "found"),
    [
        ("fix: crash, closes #12, #34 and #567", {"12": CLOSES, "34": CLOSES, "567": CLOSES}),
        ("Crash\n\nCloses https://github.com/Ann/One/issues/12.", {"12": CLOSES}),
        ("Crash\n\nFixes ann/one#12", {"12": CLOSES}),
        ("Crash\n\nFixes bob/two#12 and https://github.com/bob/two/issues/34", {}),
        ("Fix https://bz.apache.org/bugzilla/show_bug.cgi?id=58522", {"58522": CLOSES}),
        ("Fixes 12 of the 34 failures", {}),
        ("Issue #12: mind the gap", {"12": NAMES}),
        ("LANG-9 Mind the gap", {"LANG-9": NAMES}),
        ("Mind the gap (#12)", {"12": NUMBER}),
        ("Mind the gap\n\nIt was wide: #12.", {"12": BODY}),
        ("Mind the gap\n\n#12 was wide.", {"12": BODY}),
        ("Mind the gap\n\nIssue 12 was wide.", {"12": NAMES}),
        ("Mind the gap\n\n- LANG-9 was wide", {"LANG-9": NAMES}),
        # a list goes on with bare numbers where it began with a word such as issue, or where they are long
        ("Fixes issue 12 and 567", {"12": CLOSES, "567": CLOSES}),
        ("Fixes #12, 58522", {"12": CLOSES, "58522": CLOSES}),
        ("Fixes #12 and 567 failures", {"12": CLOSES}),
        ("Follow-up to #12, as in issue #34, refs #567", {}),
        ("Merge 12 files, v1.12, 34%, #120, a#12b, &#12;", {}),
        ("Mind the gap\n\nsee the talk in https://github.com/ann/one/issues/12#issuecomment-9", {}),
        ("Update\n\n- Mind it ([#12](https://github.com/ann/one/pull/12))", {}),
        ("Lock\n\n  #34  0x00005 in g ()", {}),
        ("Add a failing test for #12", {}),
    ],
)
def test_what_a_message_names(message, found):
    assert find_mentions(message, KNOWN, {"ann/one"}) == found


def test_numbers_alone_are_issues_of_bugzilla_and_a_pattern_names_the_id_in_a_group():
    assert find_mentions("58522: mind the gap", KNOWN, ()) == {}
    for message in ("58522: mind the gap", "PR 58522: mind the gap", "[58522] mind the gap\n58522"):
        assert find_mentions(message, KNOWN, (), bare=True) == {"58522": NAMES}
    with pytest.raises(ConfigError, match="has no group; put the issue's id in a group"):
        compile_pattern(r"Bug-Id: \d+")


@pytest.mark.parametrize(
    "text", ["fix " * 5000, "https://a" + "/b" * 9000, "a" * 19000 + "/", "#1," * 6000]
)
def test_long_texts_take_no_long_time(text):
    began = time.process_time()
    find_mentions(text, KNOWN, ())
    assert time.process_time() - began < 0.5
