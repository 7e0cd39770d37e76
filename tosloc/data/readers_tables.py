"""The published tables of bug reports (Ye et al., FSE 2014): spreadsheets and phpMyAdmin exports.

Both become rows ``column -> cell``, and a row becomes a labelled report in one place. The ``*_timestamp`` columns went
through single precision and are never read; the row number ``id`` is not the report's id, ``bug_id`` is.
"""

from __future__ import annotations

import io
import warnings
import zipfile
from collections.abc import Iterable, Iterator
from itertools import islice, zip_longest
from xml.etree.ElementTree import Element

from tosloc.data.report_file import (
    MOST_TAGS,
    LabelledReport,
    ReportFile,
    split_paths,
    split_ranks,
    text_or_empty,
    time_of,
    without_bug_number,
)
from tosloc.errors import ReportError
from tosloc.records import BugReport

_REQUIRED = ("bug_id", "summary", "report_time", "commit", "files")
_LARGEST = 200_000_000
"""Bytes that a spreadsheet may unpack to."""
_ROWS, _COLUMNS = 1_048_576, 64
"""What is read of a sheet: every row that there can be, and more columns than a table of reports has."""

_Row = tuple[str, dict[str, object]]
"""Where the row stands, for errors, and its cells."""


def spreadsheet_reports(file: ReportFile) -> Iterator[LabelledReport]:
    """Labelled reports of an .xlsx file."""
    return _table_reports(_spreadsheet_rows(file.data, file.name), file)


def phpmyadmin_reports(file: ReportFile) -> Iterator[LabelledReport]:
    """Labelled reports of a phpMyAdmin export."""
    return _table_reports(_export_rows(file.xml, file.name), file)


def _spreadsheet_rows(data: bytes, name: str) -> Iterator[_Row]:
    """Rows of the first sheet that has the columns of bug reports; ReportError when there is none or it is damaged."""
    import openpyxl  # only where there is a spreadsheet

    found: list[str] = []
    try:
        _check_size(data, name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about styles and extensions, of no use to who reads the cells
            book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
            for sheet in book.worksheets:
                sheet.reset_dimensions()  # the written size may be wrong; count the rows that are there
                rows = _filled(sheet.iter_rows(values_only=True, max_col=_COLUMNS))
                header = _header(next(rows, ()))
                if set(_REQUIRED) <= set(header):
                    cells = list(rows)
                    book.close()
                    return _rows(cells, header, f"{name}, sheet {sheet.title}")
                found += filter(None, header)
            book.close()
    except ReportError:
        raise
    except Exception as error:  # openpyxl lets errors of every kind out of a damaged file
        raise ReportError(f"{name}: damaged, or no spreadsheet (.xlsx); fetch or save it again") from error
    raise ReportError(f"{name}: {_lacks(found)}")


def _check_size(data: bytes, name: str) -> None:
    """Raise ReportError for a spreadsheet that unpacks to too much: a small file may hold any number of cells."""
    tags = 0
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = archive.infolist()
        if sum(part.file_size for part in parts) > _LARGEST:
            raise ReportError(f"{name}: unpacks to more than {_LARGEST // 1_000_000} MB; split it into smaller files")
        for part in parts:
            tags += archive.read(part).count(b"<")
    if tags > MOST_TAGS:
        raise ReportError(f"{name}: has more than {MOST_TAGS:,} tags inside; split it into smaller files")


def _filled(rows: Iterable[tuple[object, ...]]) -> Iterator[tuple[object, ...]]:
    """Rows without their empty ends, up to the last row that a spreadsheet can have."""
    for cells in islice(rows, _ROWS):
        width = 0 if cells.count(None) == len(cells) else len(cells)
        while width and cells[width - 1] is None:
            width -= 1
        yield cells[:width]


def _header(cells: tuple[object, ...]) -> list[str]:
    """Column names; the published files leave their last one, after ``files``, unnamed: it is ``result``."""
    names = [text_or_empty(cell) for cell in cells]
    while names and not names[-1]:
        names.pop()
    if names and names[-1] == "files" and "result" not in names:
        names.append("result")
    return names


def _rows(rows: list[tuple[object, ...]], header: list[str], name: str) -> Iterator[_Row]:
    for number, cells in enumerate(rows, start=2):
        if cells:
            yield f"{name}, row {number}", dict(zip_longest(header, cells[: len(header)]))


def _lacks(found: Iterable[str]) -> str:
    have = sorted(set(found))
    missing = [column for column in _REQUIRED if column not in have]
    return (
        f"lacks {', '.join(missing) or 'a sheet with all columns'}; its columns are: {', '.join(have[:15]) or 'none'}"
    )


def _export_rows(root: Element, name: str) -> Iterator[_Row]:
    """Rows of a phpMyAdmin export (``database/table/column``), whatever its root is called."""
    tables = [table for database in root.iter("database") for table in database.iter("table")]
    if not tables:
        raise ReportError(f"{name}: an export without a row; export the table's data, too")
    for number, table in enumerate(tables, start=1):
        yield f"{name}, row {number}", {column.get("name", ""): column.text for column in table.iter("column")}


def _table_reports(rows: Iterable[_Row], file: ReportFile) -> Iterator[LabelledReport]:
    """Labelled reports of the rows; ReportError for a row that lacks a column, a bug number, a commit or a time."""
    for where, row in rows:
        if any(column not in row for column in _REQUIRED):
            raise ReportError(f"{where}: {_lacks(row)}")
        bug, commit = _whole(row["bug_id"]), _whole(row["commit"])
        if not bug or not commit:
            raise ReportError(f"{where}: has no {'commit' if bug else 'bug_id'}; fill in the cell or delete the row")
        yield LabelledReport(
            BugReport(
                bug,
                without_bug_number(text_or_empty(row["summary"]), bug),
                text_or_empty(row.get("description")),
                time_of(row["report_time"], file.zone, where),
            ),
            commit,
            split_paths(text_or_empty(row["files"]), file.suffixes),
            text_or_empty(row.get("status")),
            split_ranks(text_or_empty(row.get("result"))),
        )


def _whole(cell: object) -> str:
    """Text of a cell; 55937.0, as spreadsheets keep numbers, is 55937."""
    if isinstance(cell, float) and cell.is_integer():
        cell = int(cell)
    return text_or_empty(cell)
