"""Read the rows of published data sets, which are spreadsheets or XML.

A row is yielded with its location for errors, and with its cells by column. The ``*_timestamp``
columns of spreadsheets were rounded to single precision, so they are never read.
"""

from __future__ import annotations

import io
import warnings
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, zip_longest
from typing import Final
from xml.etree.ElementTree import Element, ParseError

import defusedxml.ElementTree

from tosloc.core.errors import ReportError
from tosloc.core.inputs import clean
from tosloc.reports.trackers import Json

MOST_TAGS: Final = 2_000_000
"""Largest accepted number of XML tags in a file: five times those of the largest published file.

A spreadsheet is a file of XML, too.
"""
_MAX_UNPACKED_BYTES: Final = 200_000_000
"""Largest number of bytes to which a spreadsheet may unpack."""
_MAX_CHARACTERS: Final = 100_000_000
"""Largest number of characters in all rows of a sheet: ten times the largest published file.

A text that many rows share counts once for each row.
"""
_MAX_ROWS: Final = 1_048_576
"""Largest number of rows of a sheet: as many as there can be."""
_MAX_COLUMNS: Final = 64
"""Largest number of columns of a sheet that are read; tables of reports have fewer."""
_REQUIRED: Final = ("bug_id", "summary", "report_time", "commit", "files")
_MISSING: Final = frozenset({"", "nan", "none", "null"})


def spreadsheet_rows(data: bytes, name: str) -> Iterator[tuple[str, Json]]:
    """Yield location and cells of the rows of the first sheet with the columns of bug reports."""
    import openpyxl  # Imported here because few files are spreadsheets.

    try:
        # A small file may contain any number of cells.
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
            if sum(member.file_size for member in members) > _MAX_UNPACKED_BYTES:
                raise ReportError(
                    f"{name} unpacks to more than {_MAX_UNPACKED_BYTES // 1_000_000} MB; split it"
                )
            if sum(archive.read(member).count(b"<") for member in members) > MOST_TAGS:
                raise ReportError(f"{name}: has more than {MOST_TAGS:,} tags; split it")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Styles and extensions do not matter for cells.
            book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
            for sheet in book.worksheets:
                sheet.reset_dimensions()  # The written size may be wrong.
                cells = islice(sheet.iter_rows(values_only=True, max_col=_MAX_COLUMNS), _MAX_ROWS)
                header = [cell_text(cell) for cell in next(cells, ())]
                if {*_REQUIRED} <= {*header}:
                    rows = _read_rows(cells, name)
                    break
            else:
                raise ReportError(f"{name} has no table with the columns {', '.join(_REQUIRED)}")
    except ReportError:
        raise
    except Exception as error:  # For a damaged file openpyxl raises errors of every kind.
        raise ReportError(
            f"{name} is damaged, or not a spreadsheet (.xlsx); download or save it again"
        ) from error
    last = header.index("files") + 1
    if not any(header[last:]):  # The last column of the published files has no name.
        header = [*header[:last], "result"]
    for number, row in rows:
        yield (
            f"{name}, sheet {sheet.title}, row {number}",
            dict(zip_longest(header, row[: len(header)])),
        )


def _read_rows(cells: Iterable[Sequence[object]], name: str) -> list[tuple[int, Sequence[object]]]:
    """Return the rows below the header that are not empty, with their numbers.

    Raises ReportError if all rows together have too many characters.
    """
    rows = []
    characters = 0
    for number, row in enumerate(cells, start=2):
        if not any(row):
            continue
        characters += sum(len(value) for value in row if isinstance(value, str))
        if characters > _MAX_CHARACTERS:
            raise ReportError(
                f"{name}: its rows have more than {_MAX_CHARACTERS:,} characters; split it"
            )
        rows.append((number, row))
    return rows


def xml_rows(data: bytes, name: str) -> Iterator[tuple[str, Json]]:
    """Yield location and cells of the rows in a phpMyAdmin export or in BugLocator's XML.

    Bench4BL uses the same XML. An export has ``database/table/column``; the other format has no
    commits.
    """
    if data.count(b"<") > MOST_TAGS:
        raise ReportError(f"{name}: has more than {MOST_TAGS:,} tags; split it")
    try:
        root: Element = defusedxml.ElementTree.fromstring(data)
    except (ParseError, LookupError, ValueError, RecursionError) as error:
        raise ReportError(
            f"{name} is malformed XML, or has entities, which are not supported ({error})"
        ) from error
    for number, table in enumerate(root.iterfind(".//database/table"), start=1):
        yield (
            f"{name}, row {number}",
            {column.get("name", ""): column.text for column in table.iter("column")},
        )
    for number, bug in enumerate(root.iter("bug"), start=1):
        files = [cell_text(element.text) for element in bug.iterfind("fixedFiles/file")]
        row: Json = {
            "files": "\n".join(files),
            "summary": bug.findtext("buginformation/summary"),
            "description": bug.findtext("buginformation/description"),
            "bug_id": bug.get("id"),
            "report_time": bug.get("opendate"),
            "fixed_on": bug.get("fixdate"),
        }
        yield f"{name}, bug {number}", row


def cell_text(value: object) -> str:
    """Return the text of a cell; empty if it is missing, ``nan``, ``None`` or ``NULL``."""
    if isinstance(value, float) and value.is_integer():  # Spreadsheets store 55937 as 55937.0.
        value = int(value)
    text = clean("" if value is None else str(value)).strip()
    return "" if text.lower() in _MISSING else text
