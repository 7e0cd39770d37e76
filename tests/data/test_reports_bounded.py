"""Files of reports that are made to take all memory or all time, or are no files: refused in one sentence."""

from __future__ import annotations

import io
import os
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import openpyxl
import pytest

from tosloc.data import reports
from tosloc.data.report_file import LARGEST_FILE, MOST_TAGS, split_paths, split_ranks
from tosloc.data.reports import read_report, read_reports
from tosloc.errors import ReportError

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


def spreadsheet(path: Path, sheet: bytes) -> Path:
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


def test_what_a_shell_hands_over_is_read() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"Cookie lost\n\nafter a click")
    os.close(writing)
    try:
        assert read_report(Path(f"/dev/fd/{reading}")).summary == "Cookie lost"
    finally:
        os.close(reading)


def test_standard_input_that_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reports.sys, "stdin", None)
    with pytest.raises(ReportError, match="standard input: is closed; give a file"):
        read_report("-")


@pytest.mark.slow
def test_a_file_larger_than_memory(tmp_path: Path) -> None:
    for start in (b"{", b"<bugrepository>", b"PK\x03\x04"):
        with (tmp_path / "huge").open("wb") as file:
            file.write(start)
            file.truncate(50 * LARGEST_FILE)
        refused(tmp_path / "huge", "is 100 MB or larger; split it")


@pytest.mark.slow
def test_a_spreadsheet_that_unpacks_to_more_than_memory(tmp_path: Path) -> None:
    refused(spreadsheet(tmp_path / "bugs.xlsx", b" " * 300_000_000), "unpacks to more than 200 MB")
    rows = START + b"<row/>" * (MOST_TAGS + 1) + END
    refused(spreadsheet(tmp_path / "bugs.xlsx", rows), "tags inside; split it")


def test_a_spreadsheet_with_one_row_far_below(tmp_path: Path) -> None:
    far = START + b'<row r="999999999"><c r="XFD999999999"><v>1</v></c></row>' + END
    refused(spreadsheet(tmp_path / "bugs.xlsx", far), "lacks")


@pytest.mark.slow
def test_xml_of_more_tags_than_memory_holds(tmp_path: Path) -> None:
    (tmp_path / "bugs").write_bytes(b"<bugrepository>" + b"<a/>" * (MOST_TAGS + 1) + b"</bugrepository>")
    refused(tmp_path / "bugs", "has more than 2,000,000 tags")


@pytest.mark.parametrize(
    "unit", ["a ", "a/", "1: ", "1:", " ", ".java", ".java ", "\t1:x", "# ", " #", "---\n", "a.b(C.java:1) "]
)
def test_cells_and_headings_take_time_by_their_length(unit: str) -> None:
    def seconds(size: int) -> float:
        text = unit * (size // len(unit))
        started = time.process_time()
        split_paths(text + "x", [".java", ".js"])
        split_ranks("1:" + text + "x")
        read_report(io.StringIO("# " + text + "x\n\n" + text))
        return time.process_time() - started

    assert seconds(200_000) < 2  # with the square of the length it was minutes


def test_the_same_paths_and_ranks_as_ever() -> None:
    assert split_paths("a/Eclipse SWT/B.java c/D.JAVA e", [".java"]) == ("a/Eclipse SWT/B.java", "c/D.JAVA")
    assert split_paths(".java a.java\nb.java a.java", [".java"]) == (".java a.java", "b.java", "a.java")
    assert split_paths("x.d.ts y.ts", [".ts", ".d.ts"]) == ("x.d.ts", "y.ts")
    assert split_ranks("2:a b.java 13:c:1.java 1:a b.java") == {"a b.java": 1, "c:1.java": 13}
    assert split_ranks("x 1:") == {}


def test_a_document_whose_kinds_are_no_words(tmp_path: Path) -> None:
    (tmp_path / "bug.json").write_text(
        '{"key": "A-1", "fields": {"summary": "s", "description": {"type": {"a": 1}, "content": [{"type": ["text"]},'
        ' {"type": "text", "text": [[]]}, {"type": "text", "text": "words"}]}}}'
    )
    assert read_report(tmp_path / "bug.json").description == "words"
