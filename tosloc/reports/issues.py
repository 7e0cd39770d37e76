"""Read new bug reports: text, Markdown, JSON of a tracker, or failures that machines report.

``trackers.TRACKERS`` lists the trackers, and ``failures.table.FORMATS`` the formats of failures.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, Literal, TextIO

from tosloc.core.errors import ReportError, pluralize
from tosloc.core.inputs import read_text, zone_of
from tosloc.core.patterns import lazy_pattern
from tosloc.core.reports import BugReport
from tosloc.reports.failures.table import read_failures
from tosloc.reports.markdown import parse_markdown
from tosloc.reports.text.forms import bare_title, is_pointer
from tosloc.reports.text.markup import COMMENT, without_pictures
from tosloc.reports.text.parts import split_report_text
from tosloc.reports.trackers import Record

__all__ = ["Record", "is_unfilled", "read_new_reports", "read_report"]

LARGEST_REPORT: Final = 10_000_000
"""Number of characters from which a report is refused, because it is a log or a dump."""


# ---- new reports


def read_report(source: Path | Literal["-"] | TextIO, *, zone: str = "UTC") -> BugReport:
    """Return the one new report in a file, on standard input (``"-"``) or in an open text stream.

    It is text or Markdown (its first line with words is the summary; front matter may give ``id``
    and ``opened``), the JSON of ``gh issue view``, of GitLab's, Bugzilla's or Jira's REST
    interface, or our own ``{id, summary, description, opened}``. From test results, the output of a
    run or an event of Sentry (see docs/formats.md) the most frequent failure is returned, with a
    note about the others. The opening time is None if the report has none; a time without a zone is
    read in ``zone``. If the report has no id, the name of the file is its id.

    Raises ReportError if the report is missing, empty, an empty template, binary, too large, or
    JSON of an unknown kind.
    """
    return read_new_reports(source, zone=zone, one=True)[0]


def read_new_reports(
    source: Path | Literal["-"] | TextIO,
    *,
    zone: str = "UTC",
    one: bool = False,
    every_failure: bool = False,
) -> list[BugReport]:
    """Return the new reports in a file, many or exactly ``one``.

    A file of JSON lines or a JSON list contains many reports. A file in any other format that
    ``read_report`` reads contains one.
    With ``every_failure`` each distinct failure of a run is a report. If one of many reports has no
    id, the name of the file with the report's number is its id. Raises ReportError.
    """
    text, name = read_text(source)
    default_id = source.stem if isinstance(source, Path) and source.is_file() else BugReport.TEXT_ID
    read_in = zone_of(zone)
    failures = read_failures(text, read_in, name)
    if failures:
        if not every_failure:
            failures = _lead_failure(failures, name)
        return _with_ids(failures, default_id)
    if re.match(r'\s*(?:\[\s*)?\{\s*["}]|\s*\[\s*\]', text) and not _begins_with_json(text):
        found = []
        for record in Record.read_all(text, name):
            found.append((record.where, record.report(read_in)))
    else:
        found = [(name, parse_markdown(text, name, read_in))]
    if not found or (one and len(found) > 1):
        raise ReportError(f"{name} contains {len(found)} reports; give exactly one")
    if len(found) == 1 and len(text) >= LARGEST_REPORT:
        raise ReportError(
            f"{name} is 10 MB or larger; keep only the description and the stack trace"
        )
    for where, report in found:
        if not report.summary and not report.description:
            raise ReportError(
                f"{where}: the report is empty; write a summary line and a description"
            )
        if is_unfilled(report):
            raise ReportError(
                f"{where}: the report is an empty template; fill in what happens and where"
            )
    return _with_ids([report for _, report in found], default_id)


def _lead_failure(failures: Sequence[BugReport], name: str) -> list[BugReport]:
    """Return the first of a run's failures, with a note about the others."""
    others = len(failures) - 1
    if not others:
        return [failures[0]]
    note = (
        f"{name} has {pluralize(others, 'other failure')}; `tosloc localize --jsonl` answers each"
    )
    return [replace(failures[0], notes=(note,))]


def _with_ids(reports: Sequence[BugReport], default_id: str) -> list[BugReport]:
    """Return the reports; those without an id get ``default_id``, with a number if there are more.

    >>> [report.id for report in _with_ids([BugReport("", "a", "", None)] * 2, "bug")]
    ['bug:1', 'bug:2']
    """
    named = []
    for number, report in enumerate(reports, start=1):
        suffix = "" if len(reports) == 1 else f":{number}"
        named.append(replace(report, id=report.id or f"{default_id}{suffix}"))
    return named


def _begins_with_json(text: str) -> bool:
    """Return whether a text begins with JSON, but continues in words, such as a line of a log.

    >>> texts = ('{"level": 3} is logged', '{"level": 3}', '{"title": "a"} b')
    >>> [_begins_with_json(text) for text in texts]
    [True, False, False]
    """
    text = text.lstrip("\ufeff \t\n")
    if not text.startswith("{"):
        return False
    try:
        value, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return False
    is_issue = bool({"title", "summary"} & set(value))
    next_character = text[end:].lstrip()[:1]
    return not is_issue and next_character not in ("", ",", "{", "[")


# ---- a form that nobody has filled in: what trackers put into a new issue, and nothing beside it


_FORM: Final = lazy_pattern(
    r"""(?ix)
      \W*  # blank, a rule, an empty list item
    | \#{1,6}\s.* | (?:=+|-{2,})  # a heading
    | [-*+]?\s* (?:\*\*|__) [^*_]+ (?:\*\*|__) \s*:?  # **Describe the bug**
    | [-*+]\s+\[[\sx]?\]\s.*  # a box to tick
    | [-*+]?\s* [^:]{1,40} : \s* (?:\[?e\.?g\.?.*)?  # - OS: [e.g. iOS]
    | [-*+]?\s* [\w\s]{1,20} \[e\.?g\.?[^\]]*\] \s*  # - Browser [e.g. chrome]
    | _?no\ response_? | n/?a | none | tbd | \W*what\ did\ you\ expect.*
    | \d\.\s* (?: (?:go\ to|click\ on|scroll\ down\ to)\ ['"].* | see\ error )
    | (?:please\ )?
      (?:describe|explain|include|provide|paste|fill\ in|tell\ us|enter|replace\ this)\b.*
    """
)
"""Lines of a form that nobody filled in, besides those that ``split_report_text`` recognizes."""


def is_unfilled(report: BugReport) -> bool:
    """Return whether a report contains nothing but a form: comments, headings, boxes, examples.

    A report that only points to a picture, or shows one, contains no words, but it does not count
    as a form.

    >>> form = "**Describe the bug**\\nA clear and concise description.\\n\\n- OS: [e.g. iOS]"
    >>> [is_unfilled(BugReport("", title, form, None)) for title in ("Bug report", "Crash")]
    [True, False]
    """
    if bare_title(COMMENT.sub("", report.summary)):
        return False
    visible = COMMENT.sub("", report.description)
    if without_pictures(visible) != visible or is_pointer(visible):
        return False
    parts = split_report_text(report.description)
    lines = "\n".join(parts._replace(environment="", form="")).splitlines()
    return all(_FORM.fullmatch(line.strip(" *_")) for line in lines)
