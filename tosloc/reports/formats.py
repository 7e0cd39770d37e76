"""Files of labelled reports: the published tables of Ye et al. (FSE 2014), BugLocator's XML, our own JSON lines.

The content tells the kind, not the name; what each reader yields are records as our own lines have them.
"""

from __future__ import annotations

import io
import re
import warnings
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any, Final, NamedTuple
from xml.etree.ElementTree import Element, ParseError

import defusedxml.ElementTree

from tosloc.core.errors import ReportError
from tosloc.core.records import BugReport
from tosloc.reports.issues import OUR_LINES, records_of, report_of, text_at
from tosloc.reports.source import Json, clean, decoded, read_bytes, time_of, zone_of

MOST_TAGS: Final = 2_000_000
"""Tags of XML, or of the XML inside a spreadsheet: five times those of the largest published file."""
_LARGEST: Final = 200_000_000  # bytes that a spreadsheet may unpack to
_ROWS, _COLUMNS = 1_048_576, 64
"""What is read of a sheet: every row that there can be, and more columns than a table of reports has."""
_REQUIRED: Final = ("bug_id", "summary", "report_time", "commit", "files")
_MOST_LINES: Final = 1 << 31  # no file has a line of such a number
_MISSING: Final = frozenset({"", "nan", "none", "null"})
_RANK: Final = re.compile(r"(?s)(?:\A|(?<=\s))([0-9]{1,9}):(.*?)(?=\s[0-9]{1,9}:|\Z)")


class ChangedFunction(NamedTuple):
    """A function that a fix changed, as data names it."""

    path: str
    name: str
    start: int = 0
    """Its first line after the fix; 0 where the data gives none, and then the name is the qualified one before it."""


@dataclass(frozen=True)
class LabelledReport:
    """A bug report with its answer, as a file of reports lists it: nothing is checked against a repository yet."""

    report: BugReport
    """Its id is the tracker's number; a number that comes again with another commit becomes ``55937#2``, and so on."""
    bug: str  # the tracker's number
    commit: str | None
    """The fixing commit as listed, full or abbreviated; None where the data has none. With ``names_version`` that to
    search, named in place of the fix."""
    names_version: bool
    listed: tuple[str, ...]
    """The fixed source files as listed, each once, in order: paths, or dotted class names (``org.x.Y.java``)."""
    published_ranks: Mapping[str, int]
    """path -> rank that the authors of the data published for it; empty where they gave none."""
    fixed_on: datetime | None
    """When the tracker says that the bug was fixed; only formats without commits have it."""
    functions: tuple[ChangedFunction, ...]  # truth of the function level; each once
    weak: bool = False
    """Whether a commit message stands in for the report, as ``tosloc mine`` marks it."""


def read_reports(
    path: str | Path, zone: str = "UTC", *, suffixes: Iterable[str] = (".java",)
) -> list[LabelledReport]:
    """The labelled reports of a file, in its order, ids unique (see ``LabelledReport``).

    A spreadsheet (.xlsx) or phpMyAdmin export of the published data, the XML of BugLocator and Bench4BL, or JSON lines
    ``{id, summary, description, opened, fix_commit, fixed}``. Times without a zone are read in ``zone``. Only listed
    files that end with one of ``suffixes`` are kept. Raises ReportError when the file cannot be read, is of no known
    kind, is damaged, or lists no source file at all; ConfigError for an unknown zone.
    """
    name, ends = str(path), frozenset(suffixes)
    data, read_in = read_bytes(Path(path), name), zone_of(zone)
    beginning = data[:4096].removeprefix(b"\xef\xbb\xbf").lstrip()
    if beginning.startswith(b"PK"):
        records = _of_rows(_spreadsheet(data, name), ends)
    elif beginning.startswith((b"<", b"\xff\xfe<", b"\xfe\xff\0<")):
        records = _of_rows(_xml(data, name), ends)
    elif beginning.startswith(b"{"):
        records = records_of(decoded(data, name), name)
    else:
        raise ReportError(
            f"{name}: no file of reports; expected .xlsx (no .xls), phpMyAdmin or BugLocator XML, or JSON lines"
        )
    commits: defaultdict[str, set[str | None]] = defaultdict(set)
    kept: dict[str, LabelledReport] = {}
    for where, record in records:
        report = _labelled(record, where, read_in, ends)
        again = len(commits[report.bug])
        commits[report.bug].add(report.commit)
        if again:
            report = replace(report, report=replace(report.report, id=f"{report.bug}#{again + 1}"))
        if len(commits[report.bug]) == again or report.report.id in kept:
            raise ReportError(
                f"{where}: report {report.bug} is listed twice with one commit, or none; keep one of them"
            )
        kept[report.report.id] = report
    if not kept:
        raise ReportError(f"{name}: holds no report, or of no form that is known")
    if not any(report.listed for report in kept.values()):
        some = ", ".join(sorted(ends)[:9])
        raise ReportError(
            f"{name}: no listed file ends with one of {len(ends)} suffixes ({some}); name its own"
        )
    return list(kept.values())


# ---- tables and XML: where each row stands, and its cells by column. The *_timestamp columns went through single
# precision and are never read


def _spreadsheet(data: bytes, name: str) -> Iterator[tuple[str, Json]]:
    """Rows of the first sheet that has the columns of bug reports."""
    import openpyxl  # only where there is a spreadsheet

    try:
        with zipfile.ZipFile(
            io.BytesIO(data)
        ) as archive:  # a small file may hold any number of cells
            members = archive.infolist()
            if sum(member.file_size for member in members) > _LARGEST:
                raise ReportError(
                    f"{name}: unpacks to more than {_LARGEST // 1_000_000} MB; split it"
                )
            if sum(archive.read(member).count(b"<") for member in members) > MOST_TAGS:
                raise ReportError(f"{name}: has more than {MOST_TAGS:,} tags; split it")
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # about styles and extensions, of no use to who reads the cells
            book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
            for sheet in book.worksheets:
                sheet.reset_dimensions()  # the written size may be wrong; count the rows that are there
                cells = islice(sheet.iter_rows(values_only=True, max_col=_COLUMNS), _ROWS)
                header = [_text(cell) for cell in next(cells, ())]
                if {*_REQUIRED} <= {*header}:
                    rows = [(number, row) for number, row in enumerate(cells, start=2) if any(row)]
                    break
            else:
                raise ReportError(f"{name}: lacks a table with the columns {', '.join(_REQUIRED)}")
    except ReportError:
        raise
    except Exception as error:  # openpyxl lets errors of every kind out of a damaged file
        raise ReportError(
            f"{name}: damaged, or no spreadsheet (.xlsx); fetch or save it again"
        ) from error
    last = header.index("files") + 1
    if not any(header[last:]):  # the published files leave their last column unnamed
        header = [*header[:last], "result"]
    for number, row in rows:
        yield (
            f"{name}, sheet {sheet.title}, row {number}",
            dict(zip_longest(header, row[: len(header)])),
        )


def _xml(data: bytes, name: str) -> Iterator[tuple[str, Json]]:
    """Rows of a phpMyAdmin export (``database/table/column``), or of BugLocator and Bench4BL: without commits."""
    if data.count(b"<") > MOST_TAGS:
        raise ReportError(f"{name}: has more than {MOST_TAGS:,} tags; split it")
    try:
        root: Element = defusedxml.ElementTree.fromstring(data)
    except (ParseError, LookupError, ValueError, RecursionError) as error:
        raise ReportError(
            f"{name}: malformed XML, or with entities, which are not expanded ({error})"
        ) from error
    for number, table in enumerate(root.iterfind(".//database/table"), start=1):
        yield (
            f"{name}, row {number}",
            {column.get("name", ""): column.text for column in table.iter("column")},
        )
    for number, bug in enumerate(root.iter("bug"), start=1):
        said = {
            column: bug.findtext(f"buginformation/{column}")
            for column in ("summary", "description")
        }
        files = "\n".join(_text(element.text) for element in bug.iterfind("fixedFiles/file"))
        said |= {
            "bug_id": bug.get("id"),
            "report_time": bug.get("opendate"),
            "fixed_on": bug.get("fixdate"),
        }
        yield f"{name}, bug {number}", {"files": files, **said}


def _of_rows(
    rows: Iterable[tuple[str, Json]], suffixes: Iterable[str]
) -> Iterator[tuple[str, Json]]:
    """Our records of rows, their summaries without a leading ``Bug 123456`` of this very bug."""
    for where, row in rows:
        said = defaultdict(str, {key: _text(value) for key, value in row.items()})
        bug = said["bug_id"]
        record = {
            "id": bug,
            "summary": _without_number(said["summary"], bug),
            "description": said["description"],
            "opened": row.get("report_time"),
            "fix_commit": said["commit"],
            "fixed": list(split_paths(said["files"], suffixes)),
            "fixed_on": said["fixed_on"],
            "published_ranks": said["result"],
        }
        yield where, record


def _without_number(summary: str, bug: str) -> str:
    """Return a summary without a leading ``Bug 123456:`` or ``Bug 123456 -`` of this very bug.

    >>> [_without_number(f"Bug {start} Crash", "12") for start in ("12:", "12 -", "12", "123", "12a")]
    ['Crash', 'Crash', 'Crash', 'Bug 123 Crash', 'Bug 12a Crash']
    """
    start = f"Bug {bug}"
    if not summary.startswith(start):
        return summary
    rest = summary[len(start) :]
    marked = rest.lstrip()
    if marked[:1] in (":", "-"):
        after = marked[1:]
        if not after or after[0].isspace():
            return after.lstrip()
    if not rest or rest[0].isspace():
        return marked
    return summary


def split_paths(text: str, suffixes: Iterable[str]) -> tuple[str, ...]:
    """Paths of a cell, each once, in order; they end with a source suffix, in either case, and may contain blanks.

    What does not end with a suffix (a path cut at the end of its cell, a file that is no source) is left out.

    >>> split_paths("a/Eclipse SWT/B.java c/D.java", [".java"])
    ('a/Eclipse SWT/B.java', 'c/D.java')
    """
    end = re.compile(rf"(?:{'|'.join(map(re.escape, sorted(suffixes)))})(?=\s|$)", re.IGNORECASE)
    found = []
    for line in text.splitlines():
        start = 0
        for suffix in end.finditer(line):
            path = line[start : suffix.end()].lstrip()
            if path != suffix[0]:  # else a path begins with it
                found.append(path)
                start = suffix.end()
    return tuple(dict.fromkeys(found))


def split_ranks(text: str) -> dict[str, int]:
    """path -> rank from ``rank:path rank:path``; paths may contain blanks, the best rank of a repeated path counts.

    >>> split_ranks("2:a/Eclipse SWT/B.java 13:c/D.java")
    {'a/Eclipse SWT/B.java': 2, 'c/D.java': 13}
    """
    ranks: dict[str, int] = {}
    for rank, path in _RANK.findall(text):
        if path := path.strip():
            ranks[path] = min(int(rank), ranks.get(path, int(rank)))
    return ranks


def _text(value: object) -> str:
    """Text of a cell or element: "" where it is missing, also when written as ``nan``, ``None`` or ``NULL``."""
    if isinstance(value, float) and value.is_integer():  # 55937.0, as spreadsheets keep numbers
        value = int(value)
    text = clean("" if value is None else str(value)).strip()
    return "" if text.lower() in _MISSING else text


def _labelled(record: Json, where: str, zone: tzinfo, suffixes: Iterable[str]) -> LabelledReport:
    """The report of a record; keys beyond ours are ignored.

    In place of ``fix_commit`` it may name the ``version`` to search. The functions that the fix changed may follow:
    ``functions`` ({path: [qualified name]}) and ``methods`` ([{path, name, start}], lines after the fix).
    """
    if missing := [key for key in ("id", "opened", "fixed") if record.get(key) in (None, "")]:
        raise ReportError(f"{where}: lacks {', '.join(missing)}")
    keys = ("fix_commit", "version", "fixed_on", "published_ranks")
    fix, version, fixed_on, ranks = (text_at(record, key, where) for key in keys)
    if fix and version:
        raise ReportError(
            f"{where}: names both a fix_commit and the version to search; keep one of them"
        )
    fixed: Any = record["fixed"]
    functions, methods = record.get("functions") or {}, record.get("methods") or []
    names: dict[str, Any] = functions if isinstance(functions, dict) else {"": None}
    for texts in (fixed, *names.values()):
        if not isinstance(texts, list) or not all(isinstance(one, str) for one in texts):
            raise ReportError(
                f"{where}: 'fixed' must be a list of paths, 'functions' an object of lists of names"
            )
    changed = [
        ChangedFunction(clean(path), clean(name)) for path in names for name in names[path] if name
    ]
    for method in methods if isinstance(methods, list) else [None]:
        match method:
            case {"path": str(path), "name": str(name), "start": int(n)} if (
                n is not True and 1 <= n < _MOST_LINES
            ):
                changed.append(ChangedFunction(clean(path), clean(name), n))
            case _:
                raise ReportError(
                    f"{where}: 'methods' must be a list of objects with a path, a name and a first line"
                )
    ends = tuple(suffix.lower() for suffix in suffixes)
    report = report_of(record, where, zone, OUR_LINES)
    return LabelledReport(
        report,
        report.id,
        fix or version or None,
        bool(version),
        tuple(dict.fromkeys(path for path in fixed if path.lower().endswith(ends))),
        split_ranks(ranks),
        time_of(fixed_on, zone, where) if fixed_on else None,
        tuple(dict.fromkeys(changed)),
        record.get("weak") is True,
    )
