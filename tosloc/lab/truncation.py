"""What cutting rankings short does to mean average precision: a diagnostic for any run, never a result.

Tables III and V of Hirsch and Hofer, "The MAP metric in information retrieval fault localization":
two denominators (all fixed files; only those seen above the cut), undefined values set to 0 or dropped, and two truths.
For BugLocator on Bench4BL they found seen-relevant 18.53 % above textbook at k = 10, 55.63 % with undefined dropped.
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
"""The fixed files that exist in the searched version, or all that the data lists: the missing ones cannot be ranked."""

TRUTHS: Final[tuple[Truth, Truth]] = ("cleaned", "bloated")
TENTHS: Final = 10
FIRST: Final = 10  # files that the last cut keeps
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
    "textbook: divided by all fixed files; seen-relevant: by those above the cut (a diagnostic, never a result)",
    "undefined, for want of a file to divide by: a report without fixed files, or for seen-relevant without any above "
    "the cut; it counts 0, or is dropped",
    "cleaned: the listed files that exist in the version; bloated: all of them, though a missing one cannot be ranked",
    "a cut keeps that fraction of the files searched, rounded up, or the first k",
    "over: how far seen-relevant is above textbook with undefined as 0, at the same cut",
)


@dataclass(frozen=True, slots=True)
class CutMeans:
    """Mean average precision of rankings that are cut at one place, in four ways."""

    truth: Truth
    cut: str  # 0.1 to 1.0 of the files searched, or k = 10
    files: float  # files kept, mean over the reports
    textbook: float  # divided by all fixed files, undefined set to 0: the paper's MAP_mb
    textbook_dropped: float  # the same with undefined reports dropped
    seen: (
        float  # divided by the fixed files above the cut, undefined set to 0: the paper's MAP_asrd
    )
    seen_dropped: float  # the same with undefined reports dropped
    over: (
        float | None
    )  # how much seen is above textbook, in percent of the latter; None if that is 0
    over_dropped: float | None  # the same of seen_dropped, above textbook (undefined set to 0), too


@dataclass(frozen=True, slots=True)
class Truncation:
    """All cuts of a run's rankings under both truths."""

    rows: tuple[CutMeans, ...]  # truth by truth: the fractions 0.1 to 1.0, then k = 10
    baseline: dict[Truth, float]  # textbook mean average precision of the rankings as they are
    assumed: int  # reports whose number of files searched is not known, so that their ranking's length stands for it

    def of(self, truth: Truth) -> list[CutMeans]:
        """The means under one truth: at the fractions 0.1 to 1.0, and last at k = 10."""
        return [row for row in self.rows if row.truth == truth]

    def tables(self) -> list[tuple[str, list[list[str]]]]:
        """For each truth what its table is about, and the table's cells under ``COLUMNS``, a row for each cut."""
        found = []
        for truth in TRUTHS:
            files, rows = (
                "the listed files that exist" if truth == "cleaned" else "all listed files",
                [],
            )
            for row in self.of(truth):
                rows.append([row.cut, f"{row.files:,.0f}"])
                ways = (
                    (row.textbook, row.seen, row.over),
                    (row.textbook_dropped, row.seen_dropped, row.over_dropped),
                )
                for textbook, seen, over in ways:
                    rows[-1] += [
                        f"{textbook:.4f}",
                        f"{seen:.4f}",
                        "-" if over is None else f"{over:+.2f}",
                    ]
            found.append(
                (f"{truth} truth ({files}); uncut textbook MAP {self.baseline[truth]:.4f}", rows)
            )
        return found

    @property
    def notes(self) -> tuple[str, ...]:
        """What the columns mean, and what is not known."""
        number = pluralize(self.assumed, "report")
        unknown = f"of {number} the number of files searched is not known; the ranking's length stands for it"
        return (*MEANINGS, unknown) if self.assumed else MEANINGS


def kept_files(searched: int, tenths: int | None) -> int:
    """Files that a cut keeps of ``searched``: so many tenths, or the first ten. It never leaves nothing: tenths are
    rounded up (the paper does not say how it rounds; the difference is one file).

    >>> [kept_files(files, 1) for files in (3, 10, 11)], kept_files(3, None)
    ([1, 1, 2], 3)
    >>> kept_files(10, 7)  # 0.7 * 10 is a little more than 7
    7
    """
    return min(searched, FIRST) if tenths is None else -(-tenths * searched // TENTHS)


def truncation(evaluation: Evaluation) -> Truncation:
    """The means of an evaluation at every cut. Raises RunError for a report of which neither the number of files
    searched nor the length of the ranking is known, or whose fixed files have ranks beyond it.
    """
    reports, rows, baseline = evaluation.per_report, [], {}
    searched = [_searched(one) for one in reports]
    for truth in TRUTHS:
        relevant = [
            one.relevant if truth == "cleaned" else len(one.judgement.listed) for one in reports
        ]
        whole = [average_precision(one.ranks, n) for one, n in zip(reports, relevant, strict=True)]
        baseline[truth] = exact_mean(whole)
        for tenths in (*range(1, TENTHS + 1), None):
            kept = [kept_files(files, tenths) for files in searched]
            name = f"k = {FIRST}" if tenths is None else f"{tenths / TENTHS:.1f}"
            rows.append(_means(reports, relevant, kept, truth, name))
    return Truncation(tuple(rows), baseline, assumed=sum(one.searched is None for one in reports))


def _searched(one: ReportScores) -> int:
    files = one.searched if one.searched is not None else one.ranked
    if files is None:
        raise RunError(
            f"report {one.report}: neither its ranking's length nor the number of files searched is known, so there is "
            'no fraction of it; give the judgements a number "searched"'
        )
    if one.ranks and one.ranks[-1] > files:
        raise RunError(
            f"report {one.report}: a fixed file has the rank {one.ranks[-1]} of only {files} files searched"
        )
    return files


def _means(
    reports: Sequence[ReportScores],
    relevant: Sequence[int],
    kept: Sequence[int],
    truth: Truth,
    name: str,
) -> CutMeans:
    textbook = [
        average_precision(one.ranks, n, k)
        for one, n, k in zip(reports, relevant, kept, strict=True)
    ]
    # over the found (Baeza-Yates and Ribeiro-Neto 1999; equation 7 of the paper). It mostly grows as k shrinks, which
    # equation 16 takes for a law. It is none: where fixed files come in a row, the last has the highest precision
    defined = [
        average_precision(one.ranks, len(one.ranks), k, over="found")
        for one, k in zip(reports, kept, strict=True)
        if one.ranks and one.ranks[0] <= k
    ]
    mean, seen, seen_dropped = (
        exact_mean(textbook),
        math.fsum(defined) / (len(reports) or 1),
        exact_mean(defined),
    )
    return CutMeans(
        truth,
        name,
        files=exact_mean(kept),
        textbook=mean,
        textbook_dropped=math.fsum(textbook)
        / (len(reports) - relevant.count(0) or 1),  # what is dropped had added 0
        seen=seen,
        seen_dropped=seen_dropped,
        over=100 * (seen / mean - 1) if mean else None,
        over_dropped=100 * (seen_dropped / mean - 1) if mean else None,
    )
