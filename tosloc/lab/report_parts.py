"""How much of the text of reports each part takes (docs/method.md, parts of a report)."""

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
"""Stack frames of Java, .NET, JavaScript and Python, which are taken out first."""
DROPPED = "dropped"
"""Addresses, pictures, HTML comments, repeated lines of logs, and flags of builds."""
PARTS: tuple[str, ...] = (TITLE, *TextParts._fields, FRAMES, DROPPED)
"""Names of the parts."""


@dataclass(frozen=True)
class PartShares:
    """Words of the reports of one data set."""

    reports: int
    words: int
    """Number of words of all titles and descriptions."""
    shares: dict[str, float]
    """Part -> share of these words."""


def measure_parts(paths: Sequence[Path], progress: Progress = ignore_progress) -> PartShares:
    """Return how many words each part takes in files of labelled reports, a project in each.

    Issue forms of the projects are not at hand, so the form is what its lines show, and lines that
    many earlier reports share. Raises ReportError for a file that cannot be read.
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

    ``form_lines`` are as in ``Query``.

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
    """Return a file, or the files of a folder that are JSON lines, by name."""
    if path.is_dir():
        return sorted(path.glob("*.jsonl"))
    return [path]
