"""The effect of truncated rankings on mean average precision: a diagnostic, never a result.

Tables III and V of Hirsch and Hofer, "The MAP metric in information retrieval fault localization":
two denominators (all fixed files, or only those above the cut, called seen-relevant), undefined
values set to 0 or dropped, and two truths. For BugLocator on Bench4BL they found that seen-relevant
is 18.53 % above textbook at k = 10, and 55.63 % above it if undefined values are dropped.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from tosloc.core.errors import RunError, pluralize
from tosloc.core.metrics import average_precision
from tosloc.evaluate.measures import Evaluation, ReportScores
from tosloc.evaluate.statistics import exact_mean

Truth: TypeAlias = Literal["cleaned", "bloated"]
"""Files that count as fixed: those in the searched version, or all that the data list.

Files that are missing in the version cannot be ranked.
"""

TRUTHS: Final[tuple[Truth, Truth]] = ("cleaned", "bloated")
TENTHS: Final = 10
"""Number of cuts at a fraction of the files."""
FIRST_FILES: Final = 10
"""Number of files that the last cut keeps."""
COLUMNS: Final = (
    "\n\ncut",
    "\n\nfiles",
    "\ntext-\nbook",
    "\n\nseen",
    "\nover\n%",
    "dropped\ntext-\nbook",
    "\n\nseen",
    "\nover\n%",
)
"""Heads of a table that fits a terminal of 80 columns."""
MEANINGS: Final = (
    "textbook: divided by all fixed files; seen-relevant: by those above the cut (a diagnostic,"
    " never a result)",
    "undefined: a report without a file to divide by (no fixed files, or for seen-relevant none"
    " above the cut); it counts as 0 or is dropped",
    "cleaned: the listed files that exist in the version; bloated: all of them, though a missing"
    " one cannot be ranked",
    "a cut keeps that fraction of the files searched, rounded up, or the first k",
    "over: percent by which seen-relevant exceeds textbook with undefined as 0, at the same cut",
)
"""Meanings of the columns."""


@dataclass(frozen=True, slots=True)
class CutMeans:
    """Mean average precision, computed in four ways, of rankings that are cut at one place."""

    truth: Truth
    cut: str
    """0.1 to 1.0 of the files searched, or k = 10."""
    files: float
    """Number of files kept, as a mean over the reports."""
    textbook: float
    """MAP divided by all fixed files, undefined values set to 0: the paper's MAP_mb."""
    textbook_dropped: float
    """``textbook`` with undefined values dropped."""
    seen: float
    """MAP over fixed files above the cut, undefined values set to 0: the paper's MAP_asrd."""
    seen_dropped: float
    """``seen`` with undefined values dropped."""
    over: float | None
    """Percentage by which ``seen`` is above ``textbook``; None if ``textbook`` is 0."""
    over_dropped: float | None
    """Percentage by which ``seen_dropped`` is above ``textbook``; None if ``textbook`` is 0."""


@dataclass(frozen=True, slots=True)
class Truncation:
    """All cuts of a run's rankings under both truths."""

    rows: tuple[CutMeans, ...]
    """The means of each truth: at the fractions 0.1 to 1.0, then at k = 10."""
    baseline: dict[Truth, float]
    """Textbook mean average precision of the whole rankings."""
    assumed: int
    """Number of reports whose number of searched files is unknown.

    The length of the ranking replaces it.
    """

    def of(self, truth: Truth) -> list[CutMeans]:
        """Return the means under one truth: at the fractions 0.1 to 1.0, then at k = 10."""
        return [row for row in self.rows if row.truth == truth]

    def tables(self) -> list[tuple[str, list[list[str]]]]:
        """Return the title and the cells, under ``COLUMNS``, of the table of each truth."""
        tables: list[tuple[str, list[list[str]]]] = []
        for truth in TRUTHS:
            files = "the listed files that exist" if truth == "cleaned" else "all listed files"
            title = f"{truth} truth ({files}); uncut textbook MAP {self.baseline[truth]:.4f}"
            tables.append((title, [_cells(row) for row in self.of(truth)]))
        return tables

    @property
    def notes(self) -> tuple[str, ...]:
        """Meanings of the columns, and a sentence on unknown numbers."""
        if not self.assumed:
            return MEANINGS
        number = pluralize(self.assumed, "report")
        unknown = (
            f"the number of files searched is unknown for {number}; the length of the ranking is"
            " used instead"
        )
        return (*MEANINGS, unknown)


def _cells(row: CutMeans) -> list[str]:
    return [
        row.cut,
        f"{row.files:,.0f}",
        f"{row.textbook:.4f}",
        f"{row.seen:.4f}",
        _over_cell(row.over),
        f"{row.textbook_dropped:.4f}",
        f"{row.seen_dropped:.4f}",
        _over_cell(row.over_dropped),
    ]


def _over_cell(over: float | None) -> str:
    return "-" if over is None else f"{over:+.2f}"


def kept_files(searched: int, tenths: int | None) -> int:
    """Return the number of the ``searched`` files that a cut keeps.

    It keeps ``tenths`` tenths of them, or the first ten if ``tenths`` is None. Tenths are rounded
    up, so that a cut keeps at least one file. The paper does not say how it rounds; the difference
    is one file.

    >>> [kept_files(files, 1) for files in (3, 10, 11)], kept_files(3, None)
    ([1, 1, 2], 3)
    >>> kept_files(10, 7)  # 0.7 * 10 is a little more than 7
    7
    """
    if tenths is None:
        return min(searched, FIRST_FILES)
    return -(-tenths * searched // TENTHS)


def truncation(evaluation: Evaluation) -> Truncation:
    """Return the means of an evaluation at every cut.

    Raises RunError if neither the number of searched files nor the length of a ranking is known, or
    if fixed files have ranks beyond it.
    """
    reports = evaluation.per_report
    searched = [_searched_files(report) for report in reports]
    rows: list[CutMeans] = []
    baseline: dict[Truth, float] = {}
    for truth in TRUTHS:
        relevant = [
            report.relevant if truth == "cleaned" else len(report.judgement.listed)
            for report in reports
        ]
        baseline[truth] = exact_mean(
            [
                average_precision(report.ranks, number)
                for report, number in zip(reports, relevant, strict=True)
            ]
        )
        for tenths in (*range(1, TENTHS + 1), None):
            kept = [kept_files(files, tenths) for files in searched]
            cut = f"k = {FIRST_FILES}" if tenths is None else f"{tenths / TENTHS:.1f}"
            rows.append(_cut_means(reports, relevant, kept, truth, cut))
    assumed = sum(report.searched is None for report in reports)
    return Truncation(tuple(rows), baseline, assumed)


def _searched_files(scores: ReportScores) -> int:
    """Return the number of searched files for a report. Raises RunError if it is unknown."""
    files = scores.searched if scores.searched is not None else scores.ranked
    if files is None:
        raise RunError(
            f"report {scores.report}: neither its ranking's length nor the number of files searched"
            ' is known, so it cannot be cut; add the number to the judgements as "searched"'
        )
    if scores.ranks and scores.ranks[-1] > files:
        raise RunError(
            f"report {scores.report}: a fixed file has the rank {scores.ranks[-1]} of only {files}"
            " files searched"
        )
    return files


def _cut_means(
    reports: Sequence[ReportScores],
    relevant: Sequence[int],
    kept: Sequence[int],
    truth: Truth,
    cut: str,
) -> CutMeans:
    """Return the means of reports, from the number of relevant and of kept files of each."""
    textbook_values = [
        average_precision(report.ranks, number, k)
        for report, number, k in zip(reports, relevant, kept, strict=True)
    ]
    # Precision over the files found (Baeza-Yates and Ribeiro-Neto 1999; equation 7 of the paper).
    # This precision mostly grows as k shrinks. Equation 16 takes that for a law, which is wrong:
    # where fixed files follow each other, the last one has the highest precision.
    seen_values = [
        average_precision(report.ranks, len(report.ranks), k, over="found")
        for report, k in zip(reports, kept, strict=True)
        if report.ranks and report.ranks[0] <= k
    ]
    textbook = exact_mean(textbook_values)
    seen = math.fsum(seen_values) / (len(reports) or 1)
    seen_dropped = exact_mean(seen_values)
    # Dropping an undefined report changes only the denominator, because it had added 0.
    defined = len(reports) - relevant.count(0)
    return CutMeans(
        truth,
        cut,
        files=exact_mean(kept),
        textbook=textbook,
        textbook_dropped=math.fsum(textbook_values) / (defined or 1),
        seen=seen,
        seen_dropped=seen_dropped,
        over=_percent_above(seen, textbook),
        over_dropped=_percent_above(seen_dropped, textbook),
    )


def _percent_above(value: float, base: float) -> float | None:
    return 100 * (value / base - 1) if base else None
