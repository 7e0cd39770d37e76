"""Attributes of reports: for the strata of results, computed with the truth at hand and never seen by a ranker."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tosloc.analysis.traces import frames
from tosloc.records import BugReport, ReportAttributes

_WORD = re.compile(r"\w+")


def attributes_of(report: BugReport, fixed: Iterable[str]) -> ReportAttributes:
    """Attributes of a report whose fixed files are ``fixed``.

    A class counts as named when the file's name without its suffix stands in the text as a word, in the same case.

    >>> from datetime import UTC, datetime
    >>> report = BugReport("1", "Door.push fails", "", datetime(2020, 1, 1, tzinfo=UTC))
    >>> attributes_of(report, ["a/Door.java", "a/Doors.java"])
    ReportAttributes(description=False, stack_trace=False, named=1)
    """
    text = f"{report.summary}\n{report.description}"
    words = frozenset(_WORD.findall(text))
    stems = [path.rpartition("/")[2].partition(".")[0] for path in fixed]
    return ReportAttributes(
        description=bool(report.description.strip()),
        stack_trace=bool(frames(text)),
        named=sum(stem in words for stem in stems),
    )
