"""Files of labelled reports: traps of the published tables, other formats, hostile files."""

import io
import json
import os
import zipfile
from datetime import UTC, datetime
from xml.sax.saxutils import escape

import openpyxl
import pytest

from tosloc.core.errors import ConfigError, ReportError
from tosloc.core.inputs import LARGEST_FILE
from tosloc.core.reports import BugReport
from tosloc.reports import published_tables
from tosloc.reports.formats import (
    ChangedFunction,
    LabelledReport,
    read_reports,
    split_paths,
    split_ranks,
)
from tosloc.reports.issues import read_report
from tosloc.reports.published_tables import MOST_TAGS

FILES = ("b/Eclipse SWT/gtk/Widget.java", "b/Eclipse SWT Custom Widgets/common/StyledText.java")
ROW = (
    {
        "id": 1,
        "bug_id": 425999,
        "summary": "Bug 425999 [GTK3] Bug in Snippet294",
        "description": "It fails.",
    }
    | {
        "report_time": "2014-01-17 11:03:53",
        "report_timestamp": 1389970000,
        "status": "resolved wontfix",
    }
    | {"commit": "247e8fc", "commit_timestamp": 1389990000, "files": " ".join(FILES)}
    | {"result": f"2:{FILES[0]} 13:{FILES[1]}"}
)
REPORT = LabelledReport(
    BugReport(
        "425999",
        "[GTK3] Bug in Snippet294",
        "It fails.",
        datetime(2014, 1, 17, 11, 3, 53, tzinfo=UTC),
    ),
    "425999",
    "247e8fc",
    False,
    FILES,
    {FILES[0]: 2, FILES[1]: 13},
    fixed_on=None,
    functions=(),
)


def spreadsheet(folder, *changes, columns=None):
    """Write the published form: one sheet, the last column unnamed."""
    book = openpyxl.Workbook()
    book.active.title = "swt"
    book.active.append(columns or [*list(ROW)[:-1], None])
    for change in changes:
        book.active.append(list((ROW | change).values()))
    book.save(folder / "reports.data")
    return folder / "reports.data"


def export(folder, change, head="", root="pma_xml_export"):
    """Write a phpMyAdmin export of one row, with CREATE TABLE text and comments, or bare."""
    cells = "".join(
        f'<column name="{name}">{escape(str(value))}</column>'
        for name, value in (ROW | change).items()
    )
    space = ' xmlns:pma="http://example.org/"' if root == "pma_xml_export" else ""
    structure = '<pma:table name="t">CREATE TABLE `t` (`id` int);</pma:table>' if space else ""
    (folder / "reports.data").write_text(
        f'<?xml version="1.0" encoding="utf-8"?>\n<!-- dump -->{head}<{root}{space}>{structure}'
        "<!-- - Database -->"
        f'<database name="t"><table name="t">{cells}</table>\n</database></{root}>',
        encoding="utf-8",
    )
    return folder / "reports.data"


def only(path, zone="UTC"):
    [report] = read_reports(path, zone)
    return report


def refused(path, words, read=read_reports):
    with pytest.raises(ReportError, match=rf"\A[^\n]*{words}[^\n]*\Z") as caught:
        read(path)
    assert str(path) in str(caught.value)


def test_spreadsheet(tmp_path):
    path = spreadsheet(
        tmp_path, {"bug_id": 425999.0, "report_timestamp": "?", "commit_timestamp": None}
    )
    assert only(path) == REPORT
    report = only(
        spreadsheet(tmp_path, {"result": None, "description": "nan", "summary": "Bug 4 is back"})
    )
    assert report.published_ranks == {}
    assert report.report.summary == "Bug 4 is back"
    assert report.report.description == ""
    # blank rows, and a sheet before
    path = spreadsheet(tmp_path, {}, dict.fromkeys(ROW))
    book = openpyxl.load_workbook(io.BytesIO(path.read_bytes()))
    book.create_sheet("notes", 0).append(["about", "this"])
    book.save(path)
    assert only(path) == REPORT


@pytest.mark.parametrize(
    ("cell", "opened"),
    [
        ("2014-01-17 11:03:53", datetime(2014, 1, 17, 16, 3, 53, tzinfo=UTC)),
        (
            "2014-03-09 02:30:00",
            datetime(2014, 3, 9, 7, 30, tzinfo=UTC),
        ),  # skipped: clocks went from 2 to 3
        (
            "2014-11-02 01:30:00",
            datetime(2014, 11, 2, 5, 30, tzinfo=UTC),
        ),  # twice: the first, in summer time
        (datetime(2014, 7, 1, 12), datetime(2014, 7, 1, 16, tzinfo=UTC)),  # a date cell
    ],
)
def test_times_are_read_in_a_zone(tmp_path, cell, opened):
    path = spreadsheet(tmp_path, {"report_time": cell})
    assert only(path, "America/New_York").report.opened == opened
    with pytest.raises(ConfigError, match="America/New York"):
        read_reports(path, "America/New York")


def test_export(tmp_path):
    lines = {"files": "\n".join(FILES), "result": f"2:{FILES[0]}\n13:{FILES[1]}"}
    assert only(export(tmp_path, lines, root="root")) == REPORT
    assert only(export(tmp_path, {"summary": "[GTK3] Bug in Snippet294"})) == REPORT


def test_a_bug_that_comes_again_paths_and_ranks(tmp_path):
    path = spreadsheet(tmp_path, {}, {"commit": "1111111"}, {"bug_id": 5}, {"commit": "2222222"})
    found = [f"{report.report.id} {report.bug} {report.commit}" for report in read_reports(path)]
    assert (
        found
        == """425999 425999 247e8fc
425999#2 425999 1111111
5 5 247e8fc
425999#3 425999 2222222""".splitlines()
    )
    path = spreadsheet(tmp_path, {"files": "src/a b.py src/C.java d/E.PY notes.txt"})
    [report] = read_reports(path, suffixes=[".py"])
    assert report.listed == (
        "src/a b.py",
        "src/C.java d/E.PY",
    )  # blanks separate only after a known suffix
    with pytest.raises(
        ReportError, match=r"no listed file has one of the 1 searched suffixes \(\.go\)"
    ):
        read_reports(path, suffixes=[".go"])
    assert split_paths(".java a.java\nb.java a.java c.jav", [".java"]) == (
        ".java a.java",
        "b.java",
        "a.java",
    )
    assert split_ranks("2:a b.java 13:c:1.java 1:a b.java 1:") == {"a b.java": 1, "c:1.java": 13}


def test_spreadsheet_that_is_wrong(tmp_path):
    path = spreadsheet(tmp_path, {})
    whole = path.read_bytes()
    for damaged in (whole[: len(whole) // 2], b"PK\x03\x04 is no zip"):
        path.write_bytes(damaged)
        refused(path, r"reports\.data is damaged, or not a spreadsheet")
    refused(
        spreadsheet(tmp_path, {}, columns=["name", "summary"]),
        "has no table with the columns bug_id, summary,",
    )
    refused(spreadsheet(tmp_path, {"bug_id": None}), "sheet swt, row 2: this report lacks id")
    refused(spreadsheet(tmp_path, {"report_time": "soon"}), "row 2: 'soon' is not a time")
    refused(spreadsheet(tmp_path), "contains no report in a known format")
    refused(spreadsheet(tmp_path, {}, {"summary": "another"}), "report 425999 is listed twice")
    ids = {"bug_id": "425999#2"}, {}, {"commit": "1111111"}
    refused(spreadsheet(tmp_path, *ids), "report 425999 is listed twice")


BUGLOCATOR = """<?xml version="1.0" encoding="UTF-8"?>
<bugrepository name="SWT">
  <bug id="75739" opendate="2004-10-06 15:10:00" fixdate="2004-10-06 16:08:00">
    <buginformation><summary>Variables not accessible</summary>
    <description>see &lt;x&gt;</description></buginformation>
    <fixedFiles><file>org.eclipse.swt.SWT.java</file><file>a.properties</file><file>org.eclipse.swt.SWT.java</file>
    </fixedFiles>
  </bug>
  <bug id="7" master="" opendate="2010-01-02 03:04:05" fixdate="" resolution="Fixed">
    <buginformation><summary>Bug 7 newer</summary><description/><version>1.0</version>
    </buginformation>
    <fixedFiles><file type="M">src/main/java/org/x/Y.java</file></fixedFiles>
    <links><link type="Reference" description="relates to">75739</link></links>
  </bug>
</bugrepository>
"""


def test_xml(tmp_path):
    path = tmp_path / "bugs"
    path.write_text(BUGLOCATOR, "utf-8")
    first, second = read_reports(path, "America/New_York")
    opened, fixed = (
        datetime(2004, 10, 6, hour, minute, tzinfo=UTC) for hour, minute in ((19, 10), (20, 8))
    )
    assert first.report == BugReport("75739", "Variables not accessible", "see <x>", opened)
    assert first.fixed_on == fixed
    assert first.commit is None
    assert first.listed == ("org.eclipse.swt.SWT.java",)
    assert second.report.summary == "newer"
    assert second.report.description == ""
    assert second.fixed_on is None
    for text, words in (
        (BUGLOCATOR.replace('id="7"', 'id="75739"'), "report 75739 is listed twice"),
        (BUGLOCATOR.replace("opendate", "opened"), "bug 1: this report lacks opened"),
        (BUGLOCATOR[:400], "malformed XML"),
        ("<html/>", "contains no report in a known format"),
    ):
        path.write_text(text, "utf-8")
        refused(path, words)
    bomb = (
        '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">'
        '<!ENTITY c "&b;&b;&b;&b;&b;&b;">]>'
    )
    for head in (bomb, '<!DOCTYPE x [<!ENTITY c SYSTEM "file:///etc/hostname">]>'):
        path = export(tmp_path, {"description": "ENTITY"}, head=head)
        path.write_text(path.read_text("utf-8").replace(">ENTITY<", ">&c;<"), "utf-8")
        refused(path, "has entities, which are not supported")


LINE = {
    "id": "a/b#12",
    "summary": "S",
    "description": "D",
    "opened": "2020-01-02T03:04:05+01:00",
} | {
    "fix_commit": "abcd",
    "fixed": ["x/A.java", "B.md"],
}


def lines(folder, *records):
    path = folder / "lines"
    text = "\n".join(
        record if isinstance(record, str) else json.dumps(record) for record in records
    )
    path.write_text("\ufeff" + text + "\n\n", "utf-8")
    return path


def test_lines(tmp_path):
    later = {
        "id": 3,
        "opened": 1_400_000_000,
        "description": None,
        "fix_commit": None,
        "new key": 1,
        "methods": None,
    }
    first, second = read_reports(lines(tmp_path, LINE, "", LINE | later), "Europe/Paris")
    assert first.report == BugReport("a/b#12", "S", "D", datetime(2020, 1, 2, 2, 4, 5, tzinfo=UTC))
    assert first.commit == "abcd"
    assert first.listed == ("x/A.java",)
    assert first.functions == ()
    assert second.report == BugReport("3", "S", "", datetime.fromtimestamp(1_400_000_000, UTC))
    named: dict[str, object] = {
        "fix_commit": None,
        "version": "abcd",
        "functions": {"x/A.java": ["A.run", "A.run", "A\ud800"], "B": []},
    }
    named["methods"] = [{"path": "x/A.java", "name": "a::b", "start": 3, "end": 5, "more": 1}]
    report = only(lines(tmp_path, LINE | named))
    assert report.commit == "abcd"
    assert report.names_version is True
    assert report.functions == tuple(
        ChangedFunction("x/A.java", *named) for named in (("A.run",), ("A\ufffd",), ("a::b", 3))
    )


def test_changed_lines_of_a_version_are_read(tmp_path):
    record = LINE | {"changed_lines": [["x/A.java", 3, 9]]}
    assert only(lines(tmp_path, record)).changed_lines == (("x/A.java", 3, 9),)


FIXED = "'fixed' must be a list of paths, 'functions' an object"
METHOD = {"path": "a.py", "name": "f", "start": 1}


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ('{"id": 1, "summary": }', "malformed JSON in line 2, column 22"),
        ({"fixed": None, "opened": None}, "lacks opened, fixed"),
        ({"fixed": "x/A.java"}, FIXED),
        ({"summary": {"a": 1}}, "'summary' must be text, not dict"),
        ({"opened": "2020-13-01"}, "'2020-13-01' is not a time"),
        ({"id": "a/b#12"}, "report a/b#12 is listed twice"),
        ({"version": "ef01"}, "names both a fix_commit and a version to search"),
        *(({"functions": value}, FIXED) for value in (["f"], {"a.py": "f"})),
        *(
            ({"methods": [METHOD | {"start": n}]}, "'methods' must be a list of objects")
            for n in (True, 0, 1 << 40)
        ),
        *(
            ({"changed_lines": value}, "'changed_lines' must be a list of")
            for value in ("a.py", [["a.py", 3]], [["a.py", 3, 2]], [["a.py", 0, 2]])
        ),
        *(
            ({"introduced_by": value}, "'introduced_by' must be a list of ids of commits")
            for value in ("247e8fcd", [1], ["--all"])
        ),
    ],
)
def test_lines_that_are_wrong(tmp_path, wrong, words):
    wrong = wrong if isinstance(wrong, str) else LINE | {"id": "2"} | wrong
    refused(lines(tmp_path, LINE, wrong), words)


@pytest.mark.parametrize(
    ("said", "weak"), [({}, False), ({"weak": False}, False), ({"weak": True}, True)]
)
def test_lines_say_whether_a_commit_message_stands_in_for_a_report(tmp_path, said, weak):
    line = {
        "id": "1",
        "summary": "a",
        "opened": "2014-01-17T00:00:00Z",
        "fix_commit": "247e8fc",
        "fixed": ["A.java"],
    }
    (tmp_path / "reports.jsonl").write_text(json.dumps(line | said))
    [report] = read_reports(tmp_path / "reports.jsonl")
    assert report.weak is weak


def test_lines_name_the_commits_that_introduced_a_bug(tmp_path):
    path = lines(tmp_path, LINE | {"introduced_by": ["247e8fcd", "0123456789"]})
    [report] = read_reports(path, suffixes=[".md"])
    assert report.introduced_by == ("247e8fcd", "0123456789")


def test_no_file_of_reports(tmp_path):
    path = tmp_path / "reports.xlsx"
    for content, words in (
        (b" \n", "is empty"),
        (b"\xd0\xcf\x11\xe0", r"not a file of labelled reports; expected .xlsx \(not .xls\)"),
    ):
        path.write_bytes(content)
        refused(path, words)
    refused(tmp_path / "none.xlsx", "No such file")
    os.mkfifo(tmp_path / "pipe")
    for read in (read_report, read_reports):
        refused(tmp_path / "pipe", "is a named pipe, not a file", read)


def by_hand(path, cells):
    """Write a spreadsheet whose first sheet has cells written by hand."""
    space = b'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    sheet, buffer = (
        b"<worksheet %s><sheetData>%s</sheetData></worksheet>" % (space, cells),
        io.BytesIO(),
    )
    openpyxl.Workbook().save(buffer)
    with (
        zipfile.ZipFile(buffer) as old,
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as new,
    ):
        for name in old.namelist():
            new.writestr(name, sheet if name == "xl/worksheets/sheet1.xml" else old.read(name))
    return path


def test_text_that_many_rows_share_counts_in_each(tmp_path, monkeypatch):
    monkeypatch.setattr(published_tables, "_MAX_CHARACTERS", 100_000)
    names = ["bug_id", "summary", "description", "report_time", "commit", "files"]
    book = openpyxl.Workbook()
    book.active.append(names)
    for number in range(1, 12):
        row = [number, "Cart", "word " * 2_000, "2020-01-01", "0123456789" * 4, "a/B.java"]
        book.active.append(row)
    book.save(tmp_path / "bugs.xlsx")
    refused(tmp_path / "bugs.xlsx", "its rows have more than 100,000 characters; split it")


@pytest.mark.slow
def test_what_is_larger_than_memory(tmp_path):
    for start in (b"{", b"<bugrepository>", b"PK\x03\x04"):
        with (tmp_path / "huge").open("wb") as file:
            file.write(start)
            file.truncate(50 * LARGEST_FILE)
        refused(tmp_path / "huge", "cannot be read .the file has more than 100,000,000 bytes")
    far = b'<row r="999999999"><c r="XFD999999999"><v>1</v></c></row>'
    refused(by_hand(tmp_path / "bugs.xlsx", far), "has no table with the columns")
    refused(by_hand(tmp_path / "bugs.xlsx", b" " * 300_000_000), "unpacks to more than 200 MB")
    refused(
        by_hand(tmp_path / "bugs.xlsx", b"<row/>" * (MOST_TAGS + 1)), "2,000,000 tags; split it"
    )
    (tmp_path / "bugs").write_bytes(
        b"<bugrepository>" + b"<a/>" * (MOST_TAGS + 1) + b"</bugrepository>"
    )
    refused(tmp_path / "bugs", "has more than 2,000,000 tags")
