"""Bug reports from files: one new report, or a file of labelled ones; the content tells the kind, not the name."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, Literal, NamedTuple, TextIO
from xml.etree.ElementTree import Element

from tosloc.data.readers_buglocator import buglocator_reports
from tosloc.data.readers_issue import issue_of, issues_of
from tosloc.data.readers_lines import line_reports
from tosloc.data.readers_tables import phpmyadmin_reports, spreadsheet_reports
from tosloc.data.report_file import (
    LARGEST_FILE,
    LabelledReport,
    ReportFile,
    decoded_text,
    read_bytes,
    too_large,
    unique,
    zone_of,
)
from tosloc.errors import ReportError
from tosloc.records import BugReport

__all__ = ["LARGEST_REPORT", "LabelledReport", "read_new_reports", "read_report", "read_reports"]

LARGEST_REPORT = 10_000_000
"""A single report of as many bytes is refused: it is a log or a dump, not a description."""


def read_report(source: Path | Literal["-"] | TextIO, *, zone: str = "UTC") -> BugReport:
    """The one new report in a file, on standard input (``"-"``) or in an open text stream.

    Text or Markdown (its first line is the summary; front matter may give ``id`` and ``opened``), the JSON of
    ``gh issue view``, of GitLab's, Bugzilla's or Jira's REST interface, or our own
    ``{id, summary, description, opened}``. Its opening time is None unless it says when; a time without a zone is read
    in ``zone``. One without an id is called like its file. Raises ReportError when it is missing, empty, an empty
    template, binary, too large, or JSON of no known kind.
    """
    text, name, fallback = _content(source, LARGEST_REPORT)
    return issue_of(text, name=name, fallback=fallback, zone=zone_of(zone))


def read_new_reports(source: Path | Literal["-"] | TextIO, *, zone: str = "UTC") -> list[BugReport]:
    """The new reports in a file, one or many: as ``read_report``, or many as JSON lines or as a list of JSON.

    One of many without an id is called like its file, with its number. Raises ReportError.
    """
    text, name, fallback = _content(source, LARGEST_FILE)
    reports = issues_of(text, name=name, fallback=fallback, zone=zone_of(zone))
    if len(reports) == 1 and len(text) >= LARGEST_REPORT:
        raise too_large(name, LARGEST_REPORT)
    return reports


def _content(source: Path | Literal["-"] | TextIO, limit: int) -> tuple[str, str, str]:
    """Text of a source, its name for errors, and what a report without an id is called."""
    if isinstance(source, Path):
        name = str(source)
        return decoded_text(read_bytes(source, name, limit), name), name, source.stem
    name = "standard input" if source == "-" else str(getattr(source, "name", "the report"))
    stream = sys.stdin if source == "-" else source
    if stream is None:  # the program was started without it
        raise ReportError(f"{name}: is closed; give a file")
    binary = getattr(stream, "buffer", None)
    if binary is not None:
        text = decoded_text(read_bytes(binary, name, limit), name)
    else:
        text = stream.read(limit)
        if len(text) >= limit:
            raise too_large(name, limit)
        if "\0" in text:
            raise ReportError(f"{name}: is binary (it has NUL bytes); give text, Markdown or JSON")
    return text, name, "report"


def read_reports(path: str | Path, zone: str = "UTC", *, suffixes: Iterable[str] = (".java",)) -> list[LabelledReport]:
    """The labelled reports of a file, in its order, ids unique (see ``LabelledReport``).

    A spreadsheet (.xlsx) or phpMyAdmin export of the published data, the XML of BugLocator and Bench4BL, or JSON lines
    ``{id, summary, description, opened, fix_commit, fixed}``. Times without a zone are read in ``zone``. Only listed
    files that end with one of ``suffixes`` are kept. Raises ReportError when the file cannot be read, is of no known
    kind, is damaged, or lists no source file at all; ConfigError for an unknown zone.
    """
    name = str(path)
    ends = frozenset(suffixes)
    file = ReportFile(name, read_bytes(Path(path), name, LARGEST_FILE), zone_of(zone), ends)
    reports = unique(_labelled_reports(file), name)
    if not reports:
        raise ReportError(f"{name}: holds no report")
    if not any(report.listed for report in reports):
        which = f"ends with {', '.join(sorted(ends))}" if len(ends) <= 10 else "is of a language that TosLoc knows"
        raise ReportError(f"{name}: no listed file {which}; name its source suffixes")
    return reports


class ReportFormat(NamedTuple):
    """One format of files of labelled reports."""

    matches: Callable[[ReportFile], bool]
    """Whether a file is of this format, by its content."""
    read: Callable[[ReportFile], Iterable[LabelledReport]]
    """Its reports. Raises ReportError when it is damaged."""


FORMATS: Final = (
    ReportFormat(lambda file: file.data.startswith(b"PK"), spreadsheet_reports),
    ReportFormat(lambda file: file.is_xml and file.xml.tag == "bugrepository", buglocator_reports),
    ReportFormat(lambda file: file.is_xml and _is_export(file.xml), phpmyadmin_reports),
    ReportFormat(lambda file: file.beginning.startswith(b"{"), line_reports),
)
"""The first one that matches reads the file; a new format is a line here and a function in a module of its own."""


def _is_export(root: Element) -> bool:
    return root.tag == "pma_xml_export" or root.find(".//database/table/column") is not None


def _labelled_reports(file: ReportFile) -> Iterable[LabelledReport]:
    for known in FORMATS:
        if known.matches(file):
            return known.read(file)
    if file.data.startswith(b"\xd0\xcf\x11\xe0"):
        raise ReportError(f"{file.name}: an old Excel file (.xls); save it as .xlsx")
    if file.is_xml:
        raise ReportError(
            f"{file.name}: XML with root <{file.xml.tag}>; expected a phpMyAdmin export or <bugrepository>"
        )
    raise ReportError(
        f"{file.name}: no file of reports; expected .xlsx, phpMyAdmin or BugLocator XML, or one JSON object a line"
    )
