"""One new report, in every form that people have it."""

from __future__ import annotations

import io
import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.trackers import BUGZILLA, GH, GITLAB, JIRA, JIRA_FIELDS, REST
from tosloc.errors import ConfigError, ReportError
from tosloc.records import BugReport
from tosloc.reports.issues import LARGEST_REPORT, is_unfilled, read_new_reports, read_report


def read(folder: Path, content: str | bytes | object, name: str = "bug.md", **options: str) -> BugReport:
    path = folder / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return read_report(path, **options)


def refused(folder: Path, content: str | bytes | object, words: str):
    with pytest.raises(ReportError, match=words) as caught:
        read(folder, content)
    assert "\n" not in str(caught.value)
    assert str(folder / "bug.md") in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "# NPE in the pool #\n\nIt fails.\n\n## Steps\n1. go\n",
        "NPE in the pool\r\n\r\nIt fails.\r\n\r\n## Steps\r\n1. go",
        "\ufeff\n\nNPE in the pool\n===============\nIt fails.\n\n## Steps\n1. go\n",
    ],
)
def test_text_and_markdown(tmp_path, text: str):
    expected = BugReport("bug", "NPE in the pool", "It fails.\n\n## Steps\n1. go", None)
    assert read(tmp_path, text) == expected


def test_front_matter(tmp_path):
    text = "---\nid: '42'\nopened: 2014-01-15T07:30:17+02:00\nlabels:\n - a\n---\n# Crash\nrest\n"
    assert read(tmp_path, text) == BugReport("42", "Crash", "rest", datetime(2014, 1, 15, 5, 30, 17, tzinfo=UTC))
    assert read(tmp_path, "---\ntitle: Crash: twice\n---\nall of it").summary == "Crash: twice"
    report = read(tmp_path, "---\n\nsummary line\n\n---\nrest")  # a rule
    assert (report.summary, report.description) == ("---", "summary line\n\n---\nrest")
    report = read(tmp_path, "---\nopened: 2014-07-01 12:00\n---\na", zone="America/New_York")
    assert report.opened == datetime(2014, 7, 1, 16, tzinfo=UTC)
    with pytest.raises(ConfigError, match="no time zone is named 'Mars/Base'"):
        read(tmp_path, "a", zone="Mars/Base")


ADF = {
    "type": "doc",
    "version": 1,
    "content": [
        {"type": "paragraph", "content": [{"type": "text", "text": "one "}, {"type": "text", "text": "line"}]},
        {"type": "codeBlock", "content": [{"type": "text", "text": "at a.B.c(B.java:1)\nat d"}]},
        {"type": "paragraph", "content": [{"type": "mention", "attrs": {"text": "@ann"}}, {"type": "hardBreak"}]},
        {"type": {"a": 1}, "content": [{"type": ["text"]}, {"type": "text", "text": [[]]}]},
    ],
}


@pytest.mark.parametrize(
    ("record", "number", "title", "description"),
    [
        (GH, "12", "Crash", "On\nsave"),
        (REST, "13", "Hang", ""),
        (GITLAB, "7", "Crash", "On save"),
        (JIRA, "LANG-9", "Crash", "On save"),
        (
            JIRA | {"fields": JIRA_FIELDS | {"description": ADF}},
            "LANG-9",
            "Crash",
            "one line\nat a.B.c(B.java:1)\nat d\n@ann",
        ),
        (BUGZILLA, "58522", "Crash", "On save"),
        ({"id": "x1", "summary": "S", "description": "D", "opened": 1_577_836_800}, "x1", "S", "D"),
    ],
)
def test_one_issue_of_each_tracker(tmp_path, record, number: str, title: str, description: str):
    expected = BugReport(number, title, description, datetime(2020, 1, 1, tzinfo=UTC))
    assert read(tmp_path, record, "bug.txt") == expected
    assert read(tmp_path, [record]) == read(tmp_path, {"bugs": [record]}) == expected
    path = tmp_path / "many.json"
    path.write_text(f"{json.dumps(record)}\n{json.dumps(record)}\n")
    assert read_new_reports(path) == [expected, expected]


def test_what_an_issue_does_not_say(tmp_path):
    assert read(tmp_path, {"title": "T"}) == BugReport("bug", "T", "", None)
    assert read(tmp_path, {"key": "A-1", "fields": {"summary": "S", "description": None}}).opened is None
    assert read(tmp_path, {"summary": "S", "opened": 1_400_000_000_000}).opened_seconds == 1_400_000_000
    path = tmp_path / "many.json"
    path.write_text('[{"title": "a"}, {"title": "b", "number": 3}]')
    assert [report.id for report in read_new_reports(path)] == ["many:1", "3"]


def test_json_that_is_wrong(tmp_path):
    refused(tmp_path, '{\n  "title": "a",\n  "body": oops}', "malformed JSON in line 3, column 11")
    refused(tmp_path, [{"title": "a"}, {"title": "b"}], "holds 2 reports; give one")
    refused(tmp_path, {"bugs": []}, "holds 0 reports; give one")
    deep = '{"content":[' * 100_000 + "]}" * 100_000
    refused(tmp_path, '{"key": "A-1", "fields": {"summary": "S", "description": ' + deep + "}}", "cannot be read")
    refused(tmp_path, {"message": "Not Found"}, r"JSON of no known kind \(keys: message\)")
    refused(tmp_path, {"title": ["a"]}, "'title' must be text, and is list")
    refused(tmp_path, {"title": "a", "createdAt": "yesterday"}, "'yesterday' is no time")
    for time in (1e300, -1e300, "253402300800000", "10000-01-01", "2020-13-01", True, ["2020"]):
        refused(tmp_path, {"summary": "a", "opened": time}, "is no time")
    refused(tmp_path, {"summary": "a", "opened": "2020-01-01", "description": ["x"]}, "'description' must be text")


def test_text_that_is_odd(tmp_path):
    for line in ("[GTK3] {crash} in Snippet", "{code} is not rendered", "[{0}] is printed", "{a}"):
        assert read(tmp_path, f"{line}\nrest") == BugReport("bug", line, "rest", None)
    assert read(tmp_path, b"caf\xe9 fails").summary == "caf\ufffd fails"
    assert read(tmp_path, "café fails".encode("utf-16")).summary == "café fails"
    assert read(tmp_path, '{"title": "a\\ud800b"}').summary == "a\ufffdb"
    for content in ("", " \n\t\n", {"title": "", "body": None}, "---\nid: 3\n---\n", "{}"):
        refused(tmp_path, content, "empty|no known kind")
    refused(tmp_path, b"x" * LARGEST_REPORT, "is 10 MB or larger")


def test_standard_input_and_streams(monkeypatch):
    expected = BugReport("report", "é", "rest", None)
    assert read_report(io.StringIO("é\nrest")) == expected
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("é\nrest".encode()), encoding="ascii"))
    assert read_report("-") == expected
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    with pytest.raises(ReportError, match="standard input: is empty"):
        read_report("-")
    with pytest.raises(ReportError, match="is binary"):
        read_report(io.StringIO("a\0b"))
    with pytest.raises(ReportError, match=r"none\.md: no such file; check the path"):
        read_report(Path("none.md"))
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(ReportError, match="standard input: is closed; give a file"):
        read_report("-")


def test_what_a_shell_hands_over_is_read():
    reading, writing = os.pipe()
    os.write(writing, b"Cookie lost\n\nafter a click")
    os.close(writing)
    with os.fdopen(reading):
        assert read_report(Path(f"/dev/fd/{reading}")).summary == "Cookie lost"


FORM = "<!-- tell us -->\n### Steps to reproduce\n1. Go to '...'\n2. See error\n- [ ] I looked\n**OS**: [e.g. iOS]\nN/A"


def test_a_form_that_nobody_filled_in(tmp_path):
    refused(tmp_path, {"title": "[Bug]: ", "body": FORM}, "is an empty template; fill in what happens and where")
    for title, body in (("Crash on save", FORM), ("Bug report", f"{FORM}\nIt hangs after a while")):
        assert not is_unfilled(BugReport("1", title, body, None))
