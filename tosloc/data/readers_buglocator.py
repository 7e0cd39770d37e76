"""The XML of BugLocator, also as Bench4BL writes it: bugs with fixed files and dates, but without a fixing commit."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import tzinfo
from xml.etree.ElementTree import Element

from tosloc.data.readers_parts import LabelledReport, source_files, text_of, time_of, without_bug_number
from tosloc.errors import ReportError
from tosloc.records import BugReport


def buglocator_reports(root: Element, *, name: str, zone: tzinfo, suffixes: frozenset[str]) -> Iterator[LabelledReport]:
    """Labelled reports of ``<bugrepository>``, without commits; ``fixed_on`` is the listed date, if any.

    Files stay as listed (paths, or dotted class names); ReportError for a bug without id or opening date.
    """
    for number, bug in enumerate(root.iter("bug"), start=1):
        identity, opened = text_of(bug.get("id")), text_of(bug.get("opendate"))
        where = f"{name}, bug {identity or f'in place {number}'}"
        if not identity or not opened:
            raise ReportError(f"{where}: has no {'opendate' if identity else 'id'}; add the attribute")
        fixed = text_of(bug.get("fixdate"))
        files = [text_of(file.text) for file in bug.iterfind("fixedFiles/file")]
        yield LabelledReport(
            BugReport(
                identity,
                without_bug_number(text_of(bug.findtext("buginformation/summary")), identity),
                text_of(bug.findtext("buginformation/description")),
                time_of(opened, zone, where),
            ),
            None,
            source_files(files, suffixes),
            text_of(bug.get("resolution")),
            fixed_on=time_of(fixed, zone, where) if fixed else None,
        )
