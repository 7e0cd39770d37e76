"""One new report, in every form that people have it."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tosloc.data.reports import LARGEST_REPORT, read_report
from tosloc.errors import ConfigError, ReportError
from tosloc.records import BugReport


def read(folder: Path, content: str | bytes | object, name: str = "bug.md", **options: str) -> BugReport:
    path = folder / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return read_report(path, **options)


def refused(folder: Path, content: str | bytes | object, words: str) -> None:
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
def test_text_and_markdown(tmp_path: Path, text: str) -> None:
    expected = BugReport("bug", "NPE in the pool", "It fails.\n\n## Steps\n1. go", None)
    assert read(tmp_path, text) == expected


def test_front_matter(tmp_path: Path) -> None:
    text = "---\nid: '42'\nopened: 2014-01-15T07:30:17+02:00\nlabels:\n - a\n---\n# Crash\nrest\n"
    assert read(tmp_path, text) == BugReport("42", "Crash", "rest", datetime(2014, 1, 15, 5, 30, 17, tzinfo=UTC))
    assert read(tmp_path, "---\ntitle: Crash: twice\n---\nall of it").summary == "Crash: twice"


def test_a_rule_is_no_front_matter(tmp_path: Path) -> None:
    report = read(tmp_path, "---\n\nsummary line\n\n---\nrest")
    assert (report.summary, report.description) == ("---", "summary line\n\n---\nrest")


def test_time_without_zone_is_read_in_the_given_zone(tmp_path: Path) -> None:
    report = read(tmp_path, "---\nopened: 2014-07-01 12:00\n---\na", zone="America/New_York")
    assert report.opened == datetime(2014, 7, 1, 16, tzinfo=UTC)
    with pytest.raises(ConfigError, match="no time zone is named 'Mars/Base'"):
        read(tmp_path, "a", zone="Mars/Base")


def test_github(tmp_path: Path) -> None:
    printed = {
        "title": "T",
        "body": "B\r\nC",
        "createdAt": "2024-02-03T04:05:06Z",
        "comments": [{"body": "fixed in X"}],
    }
    assert read(tmp_path, printed) == BugReport("bug", "T", "B\nC", datetime(2024, 2, 3, 4, 5, 6, tzinfo=UTC))
    assert read(tmp_path, printed | {"number": 7}).id == "7"
    assert read(tmp_path, printed | {"url": "https://github.com/a/b/issues/12"}).id == "12"
    assert read(tmp_path, [printed | {"body": None}]).description == ""
    answered = {"title": "T", "body": "B", "created_at": "2024-02-03T04:05:06Z", "number": 3}
    assert read(tmp_path, answered).opened == datetime(2024, 2, 3, 4, 5, 6, tzinfo=UTC)


def test_several_reports_are_not_one(tmp_path: Path) -> None:
    refused(tmp_path, [{"title": "a"}, {"title": "b"}], "holds 2 reports; give one")
    refused(tmp_path, {"bugs": []}, "holds 0 reports; give one")


def test_bugzilla(tmp_path: Path) -> None:
    bug = {"id": 55937, "summary": "S", "creation_time": "2013-12-30T10:00:00Z"}
    comments = {"comments": [{"text": "the description"}, {"text": "fixed by changing Foo.java"}]}
    expected = BugReport("55937", "S", "the description", datetime(2013, 12, 30, 10, tzinfo=UTC))
    assert read(tmp_path, {"bugs": [bug | comments]}) == expected
    assert read(tmp_path, bug | {"description": "the description"} | comments) == expected


def test_jira(tmp_path: Path) -> None:
    fields = {"summary": "S", "created": "2015-03-04T05:06:07.000+0200", "description": "plain"}
    opened = datetime(2015, 3, 4, 3, 6, 7, tzinfo=UTC)
    assert read(tmp_path, {"key": "CAMEL-9", "fields": fields}) == BugReport("CAMEL-9", "S", "plain", opened)
    document = {
        "type": "doc",
        "version": 1,
        "content": [
            {"type": "paragraph", "content": [{"type": "text", "text": "one "}, {"type": "text", "text": "line"}]},
            {"type": "codeBlock", "content": [{"type": "text", "text": "at a.B.c(B.java:1)\nat d"}]},
            {"type": "paragraph", "content": [{"type": "mention", "attrs": {"text": "@ann"}}, {"type": "hardBreak"}]},
        ],
    }
    report = read(tmp_path, {"key": "CAMEL-9", "fields": fields | {"description": document}})
    assert report.description == "one line\nat a.B.c(B.java:1)\nat d\n@ann"
    assert read(tmp_path, {"key": "A-1", "fields": {"summary": "S", "description": None}}).opened is None


def test_deeply_nested_document(tmp_path: Path) -> None:
    deep = '{"content":[' * 100_000 + "]}" * 100_000
    refused(tmp_path, '{"key": "A-1", "fields": {"summary": "S", "description": ' + deep + "}}", "cannot be read")


def test_our_own(tmp_path: Path) -> None:
    own = {"id": "x1", "summary": "S", "description": "D", "opened": 1_400_000_000}
    assert read(tmp_path, own) == BugReport("x1", "S", "D", datetime.fromtimestamp(1_400_000_000, UTC))
    assert read(tmp_path, own | {"opened": 1_400_000_000_000}).opened_seconds == 1_400_000_000


def test_json_that_is_wrong(tmp_path: Path) -> None:
    refused(tmp_path, '{\n  "title": "a",\n  "body": oops}', "malformed JSON in line 3, column 11")
    refused(tmp_path, {"message": "Not Found"}, r"JSON of no known kind \(keys: message\)")
    refused(tmp_path, {"title": ["a"]}, "'title' must be text, and is list")
    refused(tmp_path, {"title": "a", "createdAt": "yesterday"}, "'yesterday' is no time")
    refused(tmp_path, {"summary": "a", "opened": 1e300}, "is no time")


@pytest.mark.parametrize("line", ["[GTK3] {crash} in Snippet", "{code} is not rendered", "[{0}] is printed", "{a}"])
def test_prose_with_brackets_is_prose(tmp_path: Path, line: str) -> None:
    assert read(tmp_path, f"{line}\nrest") == BugReport("bug", line, "rest", None)


def test_name_does_not_tell_the_kind(tmp_path: Path) -> None:
    assert read(tmp_path, {"title": "T"}, "bug.txt").summary == "T"
    assert read(tmp_path, "just text", "bug.json").summary == "just text"


@pytest.mark.parametrize("content", ["", " \n\t\n", {"title": "", "body": None}, "---\nid: 3\n---\n", "{}"])
def test_empty(tmp_path: Path, content: object) -> None:
    refused(tmp_path, content, "empty|no known kind")


def test_binary(tmp_path: Path) -> None:
    refused(tmp_path, b"\x7fELF\x00\x01", "is binary")


def test_wrong_bytes_are_replaced(tmp_path: Path) -> None:
    assert read(tmp_path, b"caf\xe9 fails").summary == "caf\ufffd fails"
    assert read(tmp_path, "café fails".encode("utf-16")).summary == "café fails"
    assert read(tmp_path, '{"title": "a\\ud800b"}').summary == "a\ufffdb"


def test_size(tmp_path: Path) -> None:
    refused(tmp_path, b"x" * LARGEST_REPORT, "is 10 MB or larger")
    assert len(read(tmp_path, "s\n" + "y" * 9_000_000).description) == 9_000_000


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match=r"none\.md: no such file; check the path"):
        read_report(tmp_path / "none.md")
    with pytest.raises(ReportError, match="is a folder"):
        read_report(tmp_path)


def test_standard_input_and_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = BugReport("report", "é", "rest", None)
    assert read_report(io.StringIO("é\nrest")) == expected
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("é\nrest".encode()), encoding="ascii"))
    assert read_report("-") == expected
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    with pytest.raises(ReportError, match="standard input: the report is empty"):
        read_report("-")
    with pytest.raises(ReportError, match="is binary"):
        read_report(io.StringIO("a\0b"))
    with pytest.raises(ReportError, match="10 MB"):
        read_report(io.StringIO("x" * LARGEST_REPORT))
