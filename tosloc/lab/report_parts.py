"""Measure the share of each part in the text of reports (docs/method.md, parts of a report)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tosloc.code import text
from tosloc.core.progress import Progress, ignore_progress
from tosloc.core.reports import BugReport
from tosloc.reports.formats import read_reports
from tosloc.reports.text import SharedLines, TextParts
from tosloc.retrieval.query import Query

TITLE = "title"
FRAMES = "frames"
"""Stack frames of Java, .NET, JavaScript and Python, which are removed first."""
DROPPED = "dropped"
"""Addresses, pictures, HTML comments, repeated lines of logs, and flags of builds."""
PARTS: tuple[str, ...] = (TITLE, *TextParts._fields, FRAMES, DROPPED)
"""Names of the parts."""


@dataclass(frozen=True)
class PartShares:
    """Numbers of words in the reports of one data set."""

    reports: int
    words: int
    """Number of words of all titles and descriptions."""
    shares: dict[str, float]
    """Part -> share of these words."""


def measure_parts(paths: Sequence[Path], progress: Progress = ignore_progress) -> PartShares:
    """Return the share of words in each part, over files of labelled reports of one project each.

    The projects' issue forms are not available. The part of the form is therefore recognized by the
    shape of lines, and by lines that many earlier reports share. Raises ReportError for a file that
    cannot be read.
    """
    counts: Counter[str] = Counter()
    number_of_reports = 0
    for number, path in enumerate(paths, start=1):
        # Reports count whatever files they fixed.
        reports = [labelled.report for labelled in read_reports(path, suffixes=("",))]
        shared_lines = SharedLines.collect(reports)
        for report in reports:
            form_lines: frozenset[str] = frozenset()
            if report.opened is not None:
                form_lines = shared_lines.as_of(report.opened_seconds)
            counts.update(count_words(report, form_lines))
        number_of_reports += len(reports)
        progress("reading reports", number, len(paths))
    words = counts.total()
    shares = {part: counts[part] / max(words, 1) for part in PARTS}
    return PartShares(number_of_reports, words, shares)


def count_words(report: BugReport, form_lines: frozenset[str] = frozenset()) -> dict[str, int]:
    """Return the number of words of each part of a report.

    ``Query`` explains ``form_lines``.

    >>> counts = count_words(BugReport("1", "It hangs", "Why?\\n- OS: Linux", None))
    >>> counts["title"], counts["prose"], counts["environment"], counts["dropped"]
    (2, 1, 2, 0)
    """
    query = Query(report, form_lines)
    counts = {TITLE: len(text.words(report.summary))}
    for part, content in query.text.parts._asdict().items():
        counts[part] = len(text.words(content))
    described = len(text.words(report.description))
    counts[FRAMES] = len(text.words(query.text.description)) - len(text.words(query.text.prose))
    kept = sum(counts.values()) - counts[TITLE]
    # A blank within a word, such as between scripts, makes two words of one.
    counts[DROPPED] = max(described - kept, 0)
    return counts


def find_report_files(path: Path) -> list[Path]:
    """Return ``path`` itself if it is a file, or the files of JSON lines in a folder, by name."""
    if path.is_dir():
        return sorted(path.glob("*.jsonl"))
    return [path]
