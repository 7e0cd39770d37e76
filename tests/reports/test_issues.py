"""One new report, in every form that people have it."""

import io
import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.trackers import BUGZILLA, GITHUB_CLI, GITHUB_REST, GITLAB, JIRA, JIRA_FIELDS
from tosloc.core.errors import ConfigError, ReportError
from tosloc.core.reports import BugReport
from tosloc.reports.issues import (
    LARGEST_REPORT,
    Record,
    is_unfilled,
    read_new_reports,
    read_report,
)


def read(folder, content, name="bug.md", **options):
    path = folder / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(
            content if isinstance(content, str) else json.dumps(content), encoding="utf-8"
        )
    return read_report(path, **options)


def refused(folder, content, words):
    with pytest.raises(ReportError, match=rf"\A[^\n]*bug\.md[^\n]*({words})[^\n]*\Z"):
        read(folder, content)


def test_text_and_markdown_with_front_matter(tmp_path):
    expected = BugReport("bug", "NPE in the pool", "It fails.\n\n## Steps\n1. go", None)
    for text in (
        "# NPE in the pool #\n\nIt fails.\n\n## Steps\n1. go\n",
        "NPE in the pool\r\n\r\nIt fails.\r\n\r\n## Steps\r\n1. go",
        "\ufeff\n\nNPE in the pool\n===============\nIt fails.\n\n## Steps\n1. go\n",
    ):
        assert read(tmp_path, text) == expected
    front_matter = "---\nid: '42'\nopened: 2014-01-15T07:30:17+02:00\nlabels:\n - a\n---\n"
    text = f"{front_matter}# Crash: twice\nrest\n"
    opened = datetime(2014, 1, 15, 5, 30, 17, tzinfo=UTC)
    assert read(tmp_path, text) == BugReport("42", "Crash: twice", "rest", opened)
    assert read(tmp_path, "---\ntitle: Crash: twice\n---\nall of it").summary == "Crash: twice"
    report = read(tmp_path, "---\n\nsummary line\n\n---\nrest")  # a rule
    assert report.summary == "---"
    assert report.description == "summary line\n\n---\nrest"
    report = read(tmp_path, "---\nopened: 2014-07-01 12:00\n---\na", zone="America/New_York")
    assert report.opened == datetime(2014, 7, 1, 16, tzinfo=UTC)
    with pytest.raises(ConfigError, match="there is no time zone 'Mars/Base'"):
        read(tmp_path, "a", zone="Mars/Base")


def test_a_document_that_is_nested_too_deeply_is_refused():
    document: dict[str, object] = {"type": "text", "text": "inmost"}
    for _ in range(3_000):
        document = {"type": "paragraph", "content": [document]}
    issue: dict[str, object] = {
        "key": "A-1",
        "fields": {"summary": "Crash", "description": document},
    }
    with pytest.raises(ReportError, match=r"^bug\.json: its description is nested too deeply$"):
        Record(issue, "bug.json").report()


ADF = {
    "type": "doc",
    "version": 1,
    "content": [
        {
            "type": "paragraph",
            "content": [{"type": "text", "text": "one "}, {"type": "text", "text": "line"}],
        },
        {"type": "codeBlock", "content": [{"type": "text", "text": "at a.B.c(B.java:1)"}]},
        {
            "type": "paragraph",
            "content": [{"type": "mention", "attrs": {"text": "@a"}}, {"type": "hardBreak"}],
        },
    ],
}


@pytest.mark.parametrize(
    ("record", "number", "title", "description"),
    [
        (GITHUB_CLI, "12", "Crash", "On\nsave"),
        (GITHUB_REST, "13", "Hang", ""),
        (GITLAB, "7", "Crash", "On save"),
        (
            JIRA | {"fields": JIRA_FIELDS | {"description": ADF}},
            "LANG-9",
            "Crash",
            "one line\nat a.B.c(B.java:1)\n@a",
        ),
        (BUGZILLA, "58522", "Crash", "On save"),
        (
            {"id": "x1", "summary": "S", "description": "D", "opened": 1_577_836_800_000},
            "x1",
            "S",
            "D",
        ),
    ],
)
def test_issues_of_each_tracker(tmp_path, record, number, title, description):
    expected = BugReport(number, title, description, datetime(2020, 1, 1, tzinfo=UTC))
    assert (
        read(tmp_path, [record])
        == read(tmp_path, {"bugs": [record]})
        == read(tmp_path, record)
        == expected
    )
    path = tmp_path / "many.json"
    path.write_text(f"{json.dumps(record)}\n{json.dumps(record)}\n")
    assert read_new_reports(path) == [expected, expected]
    # what an issue does not say
    assert read(tmp_path, {"title": "T"}) == BugReport("bug", "T", "", None)
    path.write_text(
        '[{"title": "a"}, {"key": "A-1", "fields": {"summary": "S", "description": null}}]'
    )
    assert read_new_reports(path) == [
        BugReport("many:1", "a", "", None),
        BugReport("A-1", "S", "", None),
    ]


def test_json_that_is_wrong(tmp_path):
    refused(tmp_path, '{\n  "title": "a",\n  "body": oops}', "malformed JSON in line 3, column 11")
    refused(tmp_path, [{"title": "a"}, {"title": "b"}], "contains 2 reports; give exactly one")
    deep = '{"content":[' * 100_000 + "]}" * 100_000
    refused(
        tmp_path,
        '{"key": "A-1", "fields": {"summary": "S", "description": ' + deep + "}}",
        "cannot be read",
    )
    refused(tmp_path, [], "contains 0 reports")
    refused(tmp_path, {"message": "Not Found"}, r"unknown kind of JSON \(keys: message\)")
    refused(tmp_path, {"title": ["a"]}, "'title' must be text, not list")
    for time in (1e300, "253402300800000", "2020-13-01", True, ["2020"]):
        refused(tmp_path, {"summary": "a", "opened": time}, "is not a time")


FORM = (
    "<!-- tell us -->\n### Steps to reproduce\n1. Go to '...'\n2. See error\n- [ ] I looked\n"
    "**OS**: [e.g. iOS]\nN/A"
)


def test_text_that_is_odd_empty_or_a_form_that_nobody_filled_in(tmp_path):
    for line in ("[GTK3] {crash} in Snippet", "[{0}] is printed", "{a}"):
        assert read(tmp_path, f"{line}\nrest") == BugReport("bug", line, "rest", None)
    assert read(tmp_path, b"caf\xe9 fails").summary == "caf\ufffd fails"
    assert read(tmp_path, "café fails".encode("utf-16")).summary == "café fails"
    assert read(tmp_path, '{"title": "a\\ud800b"}').summary == "a\ufffdb"
    for content in ("", {"title": "", "body": None}, "---\nid: 3\n---\n", "{}"):
        refused(tmp_path, content, "empty|unknown kind")
    refused(tmp_path, b"x" * LARGEST_REPORT, "is 10 MB or larger")
    refused(
        tmp_path,
        {"title": "[Bug]: ", "body": FORM},
        "is an empty template; fill in what happens and where",
    )
    for title, body in (("Crash on save", FORM), ("Bug report", f"{FORM}\nIt hangs after a while")):
        assert not is_unfilled(BugReport("1", title, body, None))


@pytest.mark.parametrize(
    "body",
    ['See screenshot. <img alt="cart" src="a.png">', "See the attached video.", "![cart](a.png)"],
)
def test_a_report_that_only_shows_a_picture_is_no_empty_template(tmp_path, body):
    assert read(tmp_path, f"# Bug\n{body}").description == body


def test_a_picture_is_no_title(tmp_path):
    picture = "![shot](https://x.org/z.png)"
    assert read(tmp_path, f"# {picture}") == BugReport("bug", "", f"# {picture}", None)
    assert read(tmp_path, f"{picture}\n\nCarts are empty\nrest").summary == "Carts are empty"
    assert read(tmp_path, f"# Carts are empty {picture}").summary == "Carts are empty"


def test_standard_input_streams_and_what_a_shell_hands_over(monkeypatch):
    expected = BugReport("report", "é", "rest", None)
    assert read_report(io.StringIO("é\nrest")) == expected
    monkeypatch.setattr(
        "sys.stdin", io.TextIOWrapper(io.BytesIO("é\nrest".encode()), encoding="ascii")
    )
    assert read_report("-") == expected
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(ReportError, match="standard input is closed; give a file"):
        read_report("-")
    with pytest.raises(ReportError, match="is binary"):
        read_report(io.StringIO("a\0b"))
    reading, writing = os.pipe()
    os.write(writing, b"Cookie lost\n\nafter a click")
    os.close(writing)
    with os.fdopen(reading):
        assert read_report(Path(f"/dev/fd/{reading}")).summary == "Cookie lost"
    monkeypatch.setattr("tosloc.core.inputs.LARGEST_FILE", 8)
    with pytest.raises(ReportError, match="is larger than"):
        read_report(io.StringIO("123456789"))
