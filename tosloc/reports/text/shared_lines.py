"""Find lines that many reports of a project share, because they come from its issue form.

They replace the form if the repository has none, and contain the lines of earlier forms.

Letter in shapes: L lines.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from tosloc.code.text import separate_scripts
from tosloc.core.arrays import Array, FloatArray, unpack_words, validate_array
from tosloc.core.reports import BugReport
from tosloc.reports.text.forms import ANY_HEADING, template_key
from tosloc.reports.text.line_shapes import LONGEST_SHAPED_LINE
from tosloc.reports.text.logs import condense_logs
from tosloc.reports.text.markup import without_addresses
from tosloc.reports.text.parts import split_report_text
from tosloc.reports.traces import without_frames

MIN_REPORTS: Final = 5
"""Number of reports that must contain a line before it counts as shared."""
WINDOW: Final = 50
"""Number of consecutive reports, by opening time, within which these reports must be.

A shared line is therefore in at least a tenth of the reports of its time.
"""
_LETTER: Final = re.compile(r"[^\W\d_]")


def repeatable_lines(description: str) -> frozenset[str]:
    """Return the keys of the lines of a description that may come from a form.

    These are lines of prose with two words or more, and headings. Code, logs and the like are left
    out, because they repeat for other reasons. ``template_key`` explains the keys.

    >>> text = "# Crash\\nWhich depot?\\nnone\\njava.lang.Error\\nrun(3)\\n12:00:01 INFO it is up"
    >>> sorted(repeatable_lines(text))
    ['crash', 'which depot']
    """
    condensed = condense_logs(description).text
    bare = without_addresses(without_frames(condensed))
    keys = set()
    for line in split_report_text(separate_scripts(bare)).prose.splitlines():
        if len(line) > LONGEST_SHAPED_LINE:
            continue
        words = [word for word in line.split() if _LETTER.search(word)]
        if len(words) > 1 or (words and ANY_HEADING.match(line)):
            keys.add(template_key(line))
    return frozenset(keys)


@dataclass(frozen=True, eq=False)
class SharedLines:
    """The lines that reports of a project share, and the times from which they are shared."""

    keys: Sequence[str]
    """(L,) keys of the lines, see ``tosloc.reports.text.forms.template_key``."""
    times: FloatArray
    """(L,) time from which each line is shared, in seconds since 1970, ascending.

    It is the opening time of the report with which the line reached ``MIN_REPORTS``.
    """

    @classmethod
    def collect(cls, reports: Iterable[BugReport]) -> SharedLines:
        """Return the lines that ``MIN_REPORTS`` of ``WINDOW`` consecutive reports contain.

        Reports without an opening time do not count, nor do repeated ids.
        """
        reports_by_id: dict[str, BugReport] = {}
        for report in reports:
            if report.opened is not None:
                reports_by_id.setdefault(report.id, report)
        ordered = sorted(
            reports_by_id.values(), key=lambda report: (report.opened_seconds, report.id)
        )
        times: dict[str, float] = {}
        frequency: Counter[str] = Counter()
        window: deque[frozenset[str]] = deque()
        for report in ordered:
            lines = repeatable_lines(report.description)
            window.append(lines)
            frequency.update(lines)
            if len(window) > WINDOW:
                frequency.subtract(window.popleft())
            for line in sorted(lines):
                if frequency[line] >= MIN_REPORTS:
                    times.setdefault(line, report.opened_seconds)
        return cls(list(times), np.array(list(times.values()), dtype=np.float64))

    def as_of(self, opened: float) -> frozenset[str]:
        """Return the keys of the lines that were shared before ``opened`` (seconds since 1970)."""
        number = int(np.searchsorted(self.times, opened, side="left"))
        return frozenset(self.keys[:number])


NO_SHARED_LINES: Final = SharedLines.collect([])


def check_shared_lines(arrays: Mapping[str, Array], name: str) -> None:
    """Raise KeyError or ValueError unless untrusted arrays are a valid ``SharedLines``.

    The names of the arrays begin with ``name``.
    """
    lines = len(unpack_words(arrays[f"{name}.keys"]))
    times = validate_array(arrays, f"{name}.times", np.float64, lines, least=-np.inf, below=np.inf)
    if (np.diff(times) < 0).any():
        raise ValueError("shared lines are in no order of time")
