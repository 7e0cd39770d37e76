"""The XML of BugLocator, also as Bench4BL writes it: bugs with fixed files and dates, but without a fixing commit."""

from __future__ import annotations

from collections.abc import Iterator

from tosloc.data.report_file import LabelledReport, ReportFile, source_files, text_or_empty, time_of, without_bug_number
from tosloc.errors import ReportError
from tosloc.records import BugReport


def buglocator_reports(file: ReportFile) -> Iterator[LabelledReport]:
    """Labelled reports of ``<bugrepository>``, without commits; ``fixed_on`` is the listed date, if any.

    Files stay as listed (paths, or dotted class names); ReportError for a bug without id or opening date.
    """
    for number, bug in enumerate(file.xml.iter("bug"), start=1):
        identity, opened = text_or_empty(bug.get("id")), text_or_empty(bug.get("opendate"))
        where = f"{file.name}, bug {identity or f'in place {number}'}"
        if not identity or not opened:
            raise ReportError(f"{where}: has no {'opendate' if identity else 'id'}; add the attribute")
        fixed = text_or_empty(bug.get("fixdate"))
        listed = [text_or_empty(element.text) for element in bug.iterfind("fixedFiles/file")]
        yield LabelledReport(
            BugReport(
                identity,
                without_bug_number(text_or_empty(bug.findtext("buginformation/summary")), identity),
                text_or_empty(bug.findtext("buginformation/description")),
                time_of(opened, file.zone, where),
            ),
            None,
            source_files(listed, file.suffixes),
            text_or_empty(bug.get("resolution")),
            fixed_on=time_of(fixed, file.zone, where) if fixed else None,
        )
