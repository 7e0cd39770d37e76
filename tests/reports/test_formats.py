"""Files of labelled reports: the traps of the published tables, the other formats, and what is made to do harm."""

from __future__ import annotations

import io
import json
import os
import time
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from xml.sax.saxutils import escape

import openpyxl
import pytest

from tosloc.errors import ConfigError, ReportError
from tosloc.reports.formats import MOST_TAGS, ChangedFunction, LabelledReport, read_reports, split_paths, split_ranks
from tosloc.reports.issues import read_report
from tosloc.reports.source import LARGEST_FILE

COLUMNS = "id bug_id summary description report_time report_timestamp status commit commit_timestamp files".split()
ROW: dict[str, object] = {
    "id": 1,
    "bug_id": 425999,
    "summary": "Bug 425999 [GTK3] Bug in Snippet294",
    "description": "It fails.",
    "report_time": "2014-01-17 11:03:53",
    "report_timestamp": 1389970000,
    "status": "resolved wontfix",
    "commit": "247e8fc",
    "commit_timestamp": 1389990000,
    "files": "b/Eclipse SWT/gtk/Widget.java b/Eclipse SWT Custom Widgets/common/StyledText.java",
    "result": "2:b/Eclipse SWT/gtk/Widget.java 13:b/Eclipse SWT Custom Widgets/common/StyledText.java",
}
FILES = ("b/Eclipse SWT/gtk/Widget.java", "b/Eclipse SWT Custom Widgets/common/StyledText.java")


def spreadsheet(folder: Path, *changes: dict[str, object], columns: list[str | None] | None = None) -> Path:
    """The published form: one sheet, the last column unnamed."""
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = "swt"
    sheet.append(columns or [*COLUMNS, None])
    for change in changes:
        sheet.append(list((ROW | change).values()))
    book.save(folder / "reports.data")
    return folder / "reports.data"


def export(folder: Path, *changes: dict[str, object], head: str = "", root: str = "pma_xml_export") -> Path:
    """A phpMyAdmin export: with CREATE TABLE text and comments, or the bare variant."""
    rows = ""
    for change in changes:
        cells = (ROW | change).items()
        rows += '<table name="t">' + "".join(
            f'<column name="{name}">{escape(str(value))}</column>' for name, value in cells
        )
        rows += "</table>\n"
    structure = (
        '<pma:structure_schemas><pma:database name="t"><pma:table name="t">CREATE TABLE `t` (`id` int);</pma:table>'
        "</pma:database></pma:structure_schemas>"
    )
    space = ' xmlns:pma="http://example.org/"' if root == "pma_xml_export" else ""
    (folder / "reports.data").write_text(
        f'<?xml version="1.0" encoding="utf-8"?>\n<!-- dump -->{head}<{root}{space}>{structure if space else ""}'
        f'<!-- - Database --><database name="t">{rows}</database></{root}>',
        encoding="utf-8",
    )
    return folder / "reports.data"


def only(path: Path, zone: str = "UTC") -> LabelledReport:
    [report] = read_reports(path, zone)
    return report


def check_row(report: LabelledReport, opened: datetime) -> None:
    assert (report.report.id, report.bug, report.commit) == ("425999", "425999", "247e8fc")
    assert report.report.summary == "[GTK3] Bug in Snippet294"
    assert report.report.description == "It fails."
    assert report.report.opened == opened
    assert report.listed == FILES
    assert report.published_ranks == {FILES[0]: 2, FILES[1]: 13}


def test_spreadsheet(tmp_path: Path) -> None:
    path = spreadsheet(tmp_path, {"bug_id": 425999.0, "report_timestamp": "?", "commit_timestamp": None})
    check_row(only(path), datetime(2014, 1, 17, 11, 3, 53, tzinfo=UTC))
    check_row(only(path, "America/New_York"), datetime(2014, 1, 17, 16, 3, 53, tzinfo=UTC))
    report = only(spreadsheet(tmp_path, {"result": None, "status": None, "summary": "Bug 4 is back"}))
    assert (report.published_ranks, report.report.summary) == ({}, "Bug 4 is back")


@pytest.mark.parametrize("root", ["pma_xml_export", "root"])
def test_export(tmp_path: Path, root: str) -> None:
    lines = {"files": "\n".join(FILES), "result": f"2:{FILES[0]}\n13:{FILES[1]}"}
    changes: list[dict[str, object]] = [{}, {**lines}, {"summary": "[GTK3] Bug in Snippet294"}]
    for change in changes:
        check_row(only(export(tmp_path, change, root=root)), datetime(2014, 1, 17, 11, 3, 53, tzinfo=UTC))


@pytest.mark.parametrize("missing", [None, "", "nan", "NaN", "None", "NULL"])
def test_missing_description(tmp_path: Path, missing: str | None) -> None:
    assert only(spreadsheet(tmp_path, {"description": missing})).report.description == ""


def test_cells_cut_by_the_spreadsheet(tmp_path: Path) -> None:
    files = " ".join(f"a/File{number:05}.java" for number in range(2000))[:32_767]
    report = only(spreadsheet(tmp_path, {"description": "d" * 32_767, "files": files}))
    assert len(report.report.description) == 32_767
    assert report.listed[-1] == "a/File01926.java"
    assert len(report.listed) == 1927  # the 1928th is cut, and no source file


def test_times(tmp_path: Path) -> None:
    path = spreadsheet(tmp_path, {"report_time": "2014-03-09 02:30:00"})  # skipped: clocks went from 2 to 3
    assert only(path, "America/New_York").report.opened == datetime(2014, 3, 9, 7, 30, tzinfo=UTC)
    path = spreadsheet(tmp_path, {"report_time": "2014-11-02 01:30:00"})  # twice: the first, in summer time
    assert only(path, "America/New_York").report.opened == datetime(2014, 11, 2, 5, 30, tzinfo=UTC)
    path = spreadsheet(tmp_path, {"report_time": datetime(2014, 7, 1, 12)})  # a date cell
    assert only(path, "America/New_York").report.opened == datetime(2014, 7, 1, 16, tzinfo=UTC)
    path = spreadsheet(tmp_path, {"report_time": "soon"})
    with pytest.raises(ReportError, match=r"reports\.data, sheet swt, row 2: 'soon' is no time"):
        read_reports(path)
    with pytest.raises(ConfigError, match="America/New York"):
        read_reports(path, "America/New York")


def test_a_bug_that_comes_again(tmp_path: Path) -> None:
    path = spreadsheet(tmp_path, {}, {"commit": "1111111"}, {"bug_id": 5, "commit": "247e8fc"}, {"commit": "2222222"})
    reports = read_reports(path)
    assert [report.report.id for report in reports] == ["425999", "425999#2", "5", "425999#3"]
    assert [report.bug for report in reports] == ["425999", "425999", "5", "425999"]
    assert reports[3].commit == "2222222"
    with pytest.raises(ReportError, match="report 425999 is listed twice with commit 247e8fc"):
        read_reports(spreadsheet(tmp_path, {}, {"summary": "another"}))


def test_blank_rows_and_second_sheet(tmp_path: Path) -> None:
    path = spreadsheet(tmp_path, {}, dict.fromkeys(ROW))
    book = openpyxl.load_workbook(io.BytesIO(path.read_bytes()))
    book.create_sheet("notes", 0).append(["about", "this"])
    book.save(path)
    assert only(path).report.id == "425999"


def test_other_suffixes(tmp_path: Path) -> None:
    path = spreadsheet(tmp_path, {"files": "src/a b.py src/C.java d/E.PY notes.txt"})
    [report] = read_reports(path, suffixes=[".py"])
    assert report.listed == ("src/a b.py", "src/C.java d/E.PY")  # blanks separate only after a known suffix
    [report] = read_reports(path, suffixes=[".py", ".java"])
    assert report.listed == ("src/a b.py", "src/C.java", "d/E.PY")
    with pytest.raises(ReportError, match=r"no listed file ends with \.go"):
        read_reports(path, suffixes=[".go"])


def test_spreadsheet_that_is_wrong(tmp_path: Path) -> None:
    whole = spreadsheet(tmp_path, {}).read_bytes()
    path = tmp_path / "broken.xlsx"
    for damaged in (whole[: len(whole) // 2], whole[:40], b"PK\x03\x04 is no zip", b"PK"):
        path.write_bytes(damaged)
        with pytest.raises(ReportError, match=r"broken\.xlsx: damaged, or no spreadsheet"):
            read_reports(path)
    with pytest.raises(ReportError, match="lacks bug_id, report_time, commit, files; its columns are: name, summary"):
        read_reports(spreadsheet(tmp_path, {}, columns=["name", "summary"]))
    with pytest.raises(ReportError, match="row 2: has no bug id"):
        read_reports(spreadsheet(tmp_path, {"bug_id": None}))
    with pytest.raises(ReportError, match="holds no report"):
        read_reports(spreadsheet(tmp_path))


BOMB = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;">]>'
OUTSIDE = '<!DOCTYPE x [<!ENTITY c SYSTEM "file:///etc/hostname">]>'


@pytest.mark.parametrize("head", [BOMB, OUTSIDE])
def test_entities_are_refused(tmp_path: Path, head: str) -> None:
    path = export(tmp_path, {"description": "ENTITY"}, head=head)
    path.write_text(path.read_text("utf-8").replace(">ENTITY<", ">&c;<"), "utf-8")
    with pytest.raises(ReportError, match="declares XML entities, which are not expanded") as caught:
        read_reports(path)
    assert "\n" not in str(caught.value)


BUGLOCATOR = """<?xml version="1.0" encoding="UTF-8"?>
<bugrepository name="SWT">
  <bug id="75739" opendate="2004-10-06 15:10:00" fixdate="2004-10-06 16:08:00">
    <buginformation><summary>Variables not accessible</summary><description>see &lt;x&gt;</description></buginformation>
    <fixedFiles><file>org.eclipse.swt.SWT.java</file><file>a.properties</file><file>org.eclipse.swt.SWT.java</file>
    </fixedFiles>
  </bug>
  <bug id="7" master="" opendate="2010-01-02 03:04:05" fixdate="" resolution="Fixed">
    <buginformation>
      <summary>Bug 7 newer</summary><description/><version>1.0</version><fixedVersion>1.1</fixedVersion><type>Bug</type>
    </buginformation>
    <fixedFiles><file type="M">src/main/java/org/x/Y.java</file></fixedFiles>
    <links><link type="Reference" description="relates to">75739</link></links>
  </bug>
</bugrepository>
"""


def test_buglocator(tmp_path: Path) -> None:
    path = tmp_path / "bugs"
    path.write_text(BUGLOCATOR, "utf-8")
    first, second = read_reports(path, "America/New_York")
    assert (first.report.id, first.report.summary, first.report.description) == (
        "75739",
        "Variables not accessible",
        "see <x>",
    )
    assert first.report.opened == datetime(2004, 10, 6, 19, 10, tzinfo=UTC)
    assert first.fixed_on == datetime(2004, 10, 6, 20, 8, tzinfo=UTC)
    assert first.commit is None
    assert first.listed == ("org.eclipse.swt.SWT.java",)
    assert (second.report.summary, second.report.description, second.fixed_on) == ("newer", "", None)
    assert second.listed == ("src/main/java/org/x/Y.java",)


def test_buglocator_that_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "bugs"
    path.write_text(BUGLOCATOR.replace('id="7"', 'id="75739"'), "utf-8")
    with pytest.raises(ReportError, match="report 75739 is listed twice without a commit"):
        read_reports(path)
    path.write_text(BUGLOCATOR.replace("opendate", "opened"), "utf-8")
    with pytest.raises(ReportError, match="bug 75739: has no opening time"):
        read_reports(path)
    path.write_text(BUGLOCATOR[:400], "utf-8")
    with pytest.raises(ReportError, match="malformed XML"):
        read_reports(path)
    path.write_text("<html/>", "utf-8")
    with pytest.raises(ReportError, match="XML with root <html>"):
        read_reports(path)


LINE: dict[str, object] = {
    "id": "a/b#12",
    "summary": "S",
    "description": "D",
    "opened": "2020-01-02T03:04:05+01:00",
    "fix_commit": "abcd",
    "fixed": ["x/A.java", "B.md"],
}


def lines(folder: Path, *records: object) -> Path:
    path = folder / "lines"
    text = "\n".join(record if isinstance(record, str) else json.dumps(record) for record in records)
    path.write_text("\ufeff" + text + "\n\n", "utf-8")
    return path


def test_lines(tmp_path: Path) -> None:
    later = LINE | {"id": 3, "opened": 1_400_000_000, "description": None, "fix_commit": None, "new key": 1}
    first, second, third = read_reports(
        lines(tmp_path, LINE, "", later, LINE | {"id": "4", "opened": "2020-07-01 12:00"}), "Europe/Paris"
    )
    assert (first.report.id, first.bug, first.commit, first.listed) == ("a/b#12", "a/b#12", "abcd", ("x/A.java",))
    assert first.report.opened == datetime(2020, 1, 2, 2, 4, 5, tzinfo=UTC)
    assert (second.report.id, second.commit, second.report.description) == ("3", None, "")
    assert second.report.opened_seconds == 1_400_000_000
    assert third.report.opened == datetime(2020, 7, 1, 10, tzinfo=UTC)


def test_lines_may_name_the_version_and_what_was_changed_in_it(tmp_path: Path) -> None:
    named = LINE | {
        "fix_commit": None,
        "version": "abcd",
        "functions": {"x/A.java": ["A.run", "A.run", "A\ud800"], "y/B.java": []},
        "methods": [{"path": "x/A.java", "name": "a::b", "start": 3, "end": 5, "more": 1}],
    }
    [report] = read_reports(lines(tmp_path, named))
    assert (report.commit, report.version) == (None, "abcd")
    assert report.functions == (
        ChangedFunction("x/A.java", "A.run"),
        ChangedFunction("x/A.java", "A\ufffd"),
        ChangedFunction("x/A.java", "a::b", 3),
    )
    [report] = read_reports(lines(tmp_path, LINE | {"functions": None, "methods": None}))
    assert (report.version, report.functions) == (None, ())


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ('{"id": 1, "summary": }', "malformed JSON in line 2, column 22"),
        ("[1]", "JSON, but no object"),
        ({"id": 1, "summary": "S"}, "record 2: lacks opened, fixed"),
        (LINE | {"id": ""}, "record 2: lacks id"),
        (LINE | {"id": "2", "fixed": "x/A.java"}, "record 2: 'fixed' must be a list"),
        (LINE | {"id": "2", "summary": {"a": 1}}, "record 2: 'summary' must be text, and is dict"),
        (LINE | {"id": "2", "opened": "2020-13-01"}, "record 2: '2020-13-01' is no time"),
        (LINE, "report a/b#12 is listed twice with commit abcd"),
        (LINE | {"id": "2", "version": "ef01"}, "record 2: names both a fix_commit and the version to search"),
        (LINE | {"id": "2", "version": ["ef01"]}, "record 2: 'version' must be text, and is list"),
        *(
            (LINE | {"id": "2", "functions": value}, "record 2: 'functions' must be an object of paths")
            for value in (["f"], {"a.py": "f"}, {"a.py": [1]}, 7)
        ),
        *(
            (LINE | {"id": "2", "methods": value}, "record 2: 'methods' must be a list of objects")
            for value in (
                ["f"],
                [{"path": "a.py", "name": "f", "start": True}],
                [{"path": 1, "name": "f", "start": 1}],
                [{"path": "a.py", "name": "f", "start": 1 << 40}],
            )
        ),
    ],
)
def test_lines_that_are_wrong(tmp_path: Path, wrong: object, words: str) -> None:
    with pytest.raises(ReportError, match=words):
        read_reports(lines(tmp_path, LINE, wrong))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b" \n", "is empty"),
        (b"summary,files\n", "no file of reports; expected"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "no file of reports; expected .xlsx \\(no .xls\\)"),
        (b"\x00\x01\x02", "no file of reports"),
    ],
)
def test_no_file_of_reports(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "reports.xlsx"
    path.write_bytes(content)
    with pytest.raises(ReportError, match=words):
        read_reports(path)
    with pytest.raises(ReportError, match="no such file"):
        read_reports(tmp_path / "none.xlsx")
    with pytest.raises(ReportError, match="is a folder"):
        read_reports(tmp_path)


# ---- made to take all memory or all time, or no files


SHEET = "xl/worksheets/sheet1.xml"
START = b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
END = b"</sheetData></worksheet>"


def refused(path: Path, words: str, read: Callable[[Path], object] = read_reports) -> None:
    started = time.monotonic()
    with pytest.raises(ReportError) as caught:
        read(path)
    assert words in str(caught.value)
    assert str(path) in str(caught.value)
    assert time.monotonic() - started < 20


def by_hand(path: Path, sheet: bytes) -> Path:
    """A spreadsheet whose first sheet is written by hand."""
    book = openpyxl.Workbook()
    buffer = io.BytesIO()
    book.save(buffer)
    with zipfile.ZipFile(buffer) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as new:
        for name in old.namelist():
            new.writestr(name, sheet if name == SHEET else old.read(name))
    return path


@pytest.mark.parametrize("read", [read_report, read_reports])
def test_what_is_no_file_is_not_waited_for(tmp_path: Path, read: Callable[[Path], object]) -> None:
    os.mkfifo(tmp_path / "pipe")
    refused(tmp_path / "pipe", "is a named pipe, not a file", read)
    (tmp_path / "zero").symlink_to("/dev/zero")
    refused(tmp_path / "zero", "is a device, not a file", read)
    refused(tmp_path, "is a folder", read)


@pytest.mark.slow
def test_a_file_larger_than_memory(tmp_path: Path) -> None:
    for start in (b"{", b"<bugrepository>", b"PK\x03\x04"):
        with (tmp_path / "huge").open("wb") as file:
            file.write(start)
            file.truncate(50 * LARGEST_FILE)
        refused(tmp_path / "huge", "is 100 MB or larger; split it")


@pytest.mark.slow
def test_a_spreadsheet_that_unpacks_to_more_than_memory(tmp_path: Path) -> None:
    refused(by_hand(tmp_path / "bugs.xlsx", b" " * 300_000_000), "unpacks to more than 200 MB")
    rows = START + b"<row/>" * (MOST_TAGS + 1) + END
    refused(by_hand(tmp_path / "bugs.xlsx", rows), "tags inside; split it")


def test_a_spreadsheet_with_one_row_far_below(tmp_path: Path) -> None:
    far = START + b'<row r="999999999"><c r="XFD999999999"><v>1</v></c></row>' + END
    refused(by_hand(tmp_path / "bugs.xlsx", far), "lacks")


@pytest.mark.slow
def test_xml_of_more_tags_than_memory_holds(tmp_path: Path) -> None:
    (tmp_path / "bugs").write_bytes(b"<bugrepository>" + b"<a/>" * (MOST_TAGS + 1) + b"</bugrepository>")
    refused(tmp_path / "bugs", "has more than 2,000,000 tags")


def test_the_same_paths_and_ranks_as_ever() -> None:
    assert split_paths("a/Eclipse SWT/B.java c/D.JAVA e", [".java"]) == ("a/Eclipse SWT/B.java", "c/D.JAVA")
    assert split_paths(".java a.java\nb.java a.java", [".java"]) == (".java a.java", "b.java", "a.java")
    assert split_paths("x.d.ts y.ts", [".ts", ".d.ts"]) == ("x.d.ts", "y.ts")
    assert split_ranks("2:a b.java 13:c:1.java 1:a b.java") == {"a b.java": 1, "c:1.java": 13}
    assert split_ranks("x 1:") == {}
