"""Bug reports from files: one new report, or a file of labelled ones; the content tells the kind, not the name."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Literal, TextIO, TypeVar
from xml.etree.ElementTree import Element, ParseError

import defusedxml.ElementTree
from defusedxml.common import DefusedXmlException

from tosloc.data.readers_buglocator import buglocator_reports
from tosloc.data.readers_issue import issue_of
from tosloc.data.readers_lines import line_reports
from tosloc.data.readers_parts import LabelledReport, decode, read_bytes, unique, zone_of
from tosloc.data.readers_tables import phpmyadmin, spreadsheet, table_reports
from tosloc.errors import ReportError
from tosloc.records import BugReport

__all__ = ["LARGEST_REPORT", "LabelledReport", "read_report", "read_reports"]

_Content = TypeVar("_Content", str, bytes)

LARGEST_REPORT = 10_000_000
"""A single report of as many bytes is refused: it is a log or a dump, not a description."""


def read_report(source: Path | Literal["-"] | TextIO, now: datetime, *, zone: str = "UTC") -> BugReport:
    """The one new report in a file, on standard input (``"-"``) or in an open text stream.

    Text or Markdown (its first line is the summary; front matter may give ``id`` and ``opened``), the JSON of
    ``gh issue view``, of Bugzilla's or Jira's REST interface, or our own ``{id, summary, description, opened}``.
    It is opened ``now`` unless it says when; a time without a zone is read in ``zone``. One without an id is called
    like its file. Raises ReportError when it is missing, empty, binary, too large, or JSON of no known kind.
    """
    fallback = "report"
    if isinstance(source, Path):
        name, fallback = str(source), source.stem
        text = decode(_small(read_bytes(source, name, LARGEST_REPORT), name), name)
    else:
        name = "standard input" if source == "-" else str(getattr(source, "name", "the report"))
        stream = sys.stdin if source == "-" else source
        binary = getattr(stream, "buffer", None)
        if binary is not None:
            text = decode(_small(read_bytes(binary, name, LARGEST_REPORT), name), name)
        else:
            text = stream.read(LARGEST_REPORT)
            _small(text, name)
            if "\0" in text:
                raise ReportError(f"{name}: is binary (it has NUL bytes); give text, Markdown or JSON")
    return issue_of(text, name=name, fallback=fallback, now=now, zone=zone_of(zone))


def _small(content: _Content, name: str) -> _Content:
    if len(content) >= LARGEST_REPORT:
        raise ReportError(
            f"{name}: is 10 MB or larger; keep the description and the stack trace, and leave out the rest"
        )
    return content


def read_reports(path: str | Path, zone: str = "UTC", *, suffixes: Iterable[str] = (".java",)) -> list[LabelledReport]:
    """The labelled reports of a file, in its order, ids unique (see ``LabelledReport``).

    A spreadsheet (.xlsx) or phpMyAdmin export of the published data, the XML of BugLocator and Bench4BL, or JSON lines
    ``{id, summary, description, opened, fix_commit, fixed}``. Times without a zone are read in ``zone``. Only listed
    files that end with one of ``suffixes`` are kept. Raises ReportError when the file cannot be read, is of no known
    kind, is damaged, or lists no source file at all; ConfigError for an unknown zone.
    """
    name = str(path)
    ends = frozenset(suffixes)
    data = read_bytes(Path(path), name)
    reports = unique(_kind(data, name=name, zone=zone_of(zone), suffixes=ends), name)
    if not reports:
        raise ReportError(f"{name}: holds no report")
    if not any(report.listed for report in reports):
        raise ReportError(f"{name}: no listed file ends with {', '.join(sorted(ends))}; name its source suffixes")
    return reports


def _kind(data: bytes, *, name: str, zone: tzinfo, suffixes: frozenset[str]) -> Iterator[LabelledReport]:
    """Reports of a file whose kind its first bytes tell."""
    if data.startswith(b"PK"):
        return table_reports(spreadsheet(data, name), name=name, zone=zone, suffixes=suffixes)
    if data.startswith(b"\xd0\xcf\x11\xe0"):
        raise ReportError(f"{name}: an old Excel file (.xls); save it as .xlsx")
    begin = data[:4096].removeprefix(b"\xef\xbb\xbf").lstrip()
    if begin.startswith((b"<", b"\xff\xfe<", b"\xfe\xff\0<")):
        root = _root(data, name)
        if root.tag == "bugrepository":
            return buglocator_reports(root, name=name, zone=zone, suffixes=suffixes)
        if root.tag == "pma_xml_export" or root.find(".//database/table/column") is not None:
            return table_reports(phpmyadmin(root, name), name=name, zone=zone, suffixes=suffixes)
        raise ReportError(f"{name}: XML with root <{root.tag}>; expected a phpMyAdmin export or <bugrepository>")
    if begin.startswith(b"{"):
        return line_reports(decode(data, name), name=name, zone=zone, suffixes=suffixes)
    raise ReportError(
        f"{name}: no file of reports; expected .xlsx, phpMyAdmin or BugLocator XML, or one JSON object a line"
    )


def _root(data: bytes, name: str) -> Element:
    """Root of the XML; a document that declares entities of its own or points outside itself is refused."""
    try:
        root: Element = defusedxml.ElementTree.fromstring(data)
    except DefusedXmlException as error:
        raise ReportError(
            f"{name}: declares XML entities, which are not expanded; remove its <!DOCTYPE ...>"
        ) from error
    except (ParseError, LookupError, ValueError) as error:
        raise ReportError(f"{name}: malformed XML ({error})") from error
    return root
