"""What cutting rankings short does to mean average precision: a diagnostic for any run, never a result.

Tables III and V and figures 1 to 3 of Hirsch and Hofer, "The MAP metric in information retrieval fault localization":
two denominators (all fixed files; only those seen above the cut), undefined values set to 0 or dropped, and two truths.
For BugLocator on Bench4BL they found seen-relevant 18.53 % above textbook at k = 10, 55.63 % with undefined dropped.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from tosloc.errors import RunError, counted
from tosloc.evaluate.evaluate import Evaluation, ReportScores
from tosloc.metrics import average_precision

Truth: TypeAlias = Literal["cleaned", "bloated"]
"""The fixed files that exist in the searched version, or all that the data lists: the missing ones cannot be ranked."""

TRUTHS: Final[tuple[Truth, Truth]] = ("cleaned", "bloated")
TENTHS: Final = 10
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
class RankingCut:
    """Where rankings are cut: after a fraction of the files searched, or after the first so many files."""

    amount: int
    unit: Literal["tenths", "files"]

    def length(self, searched: int) -> int:
        """Files that are kept of ``searched``. A fraction is rounded up, so that a cut never leaves nothing.

        The paper does not say how it rounds; the difference is one file.

        >>> [RankingCut(1, "tenths").length(files) for files in (3, 10, 11)], RankingCut(10, "files").length(3)
        ([1, 1, 2], 3)
        >>> RankingCut(7, "tenths").length(10)  # 0.7 * 10 is a little more than 7
        7
        """
        return min(searched, self.amount if self.unit == "files" else -(-self.amount * searched // TENTHS))

    @property
    def name(self) -> str:
        """How tables call it: 0.1 to 1.0, or k = 10."""
        return f"k = {self.amount}" if self.unit == "files" else f"{self.amount / TENTHS:.1f}"


FRACTIONS: Final = tuple([RankingCut(tenths, "tenths") for tenths in range(1, TENTHS + 1)])
FIRST_TEN: Final = RankingCut(10, "files")


@dataclass(frozen=True, slots=True)
class CutMeans:
    """Mean average precision of rankings that are cut at one place, in four ways."""

    truth: Truth
    cut: RankingCut
    files: float
    """Files kept, mean over the reports."""
    reports: int
    empty: int
    """Reports without any fixed file: the textbook's value is undefined."""
    unseen: int
    """Reports without any fixed file above the cut, the empty ones among them: the seen-relevant value is undefined."""
    textbook: float
    """Divided by all fixed files, undefined set to 0: the paper's MAP_mb."""
    textbook_dropped: float
    """The same with undefined reports dropped."""
    seen: float
    """Divided by the fixed files above the cut, undefined set to 0: the paper's MAP_asrd."""
    seen_dropped: float
    """The same with undefined reports dropped."""

    @property
    def over(self) -> float | None:
        """How much ``seen`` is above ``textbook``, in percent of the latter; None if that is 0."""
        return 100 * (self.seen / self.textbook - 1) if self.textbook else None

    @property
    def over_dropped(self) -> float | None:
        """How much ``seen_dropped`` is above ``textbook`` (undefined set to 0), in percent; None if that is 0."""
        return 100 * (self.seen_dropped / self.textbook - 1) if self.textbook else None

    def cells(self) -> list[str]:
        """Under ``COLUMNS``."""
        cells = [self.cut.name, f"{self.files:,.0f}"]
        of_ways = (self.textbook, self.seen, self.over), (self.textbook_dropped, self.seen_dropped, self.over_dropped)
        for textbook, seen, over in of_ways:
            cells += [f"{textbook:.4f}", f"{seen:.4f}", "-" if over is None else f"{over:+.2f}"]
        return cells


@dataclass(frozen=True, slots=True)
class Truncation:
    """All cuts of a run's rankings under both truths."""

    rows: tuple[CutMeans, ...]
    """Truth by truth: the fractions 0.1 to 1.0, then k = 10."""
    baseline: dict[Truth, float]
    """Textbook mean average precision of the rankings as they are."""
    assumed: int
    """Reports whose number of files searched is not known, so that their ranking's length stands for it."""

    def at(self, truth: Truth, cut: RankingCut) -> CutMeans:
        """The means of one truth at one cut."""
        return next(row for row in self.rows if row.truth == truth and row.cut == cut)

    def tables(self) -> list[tuple[str, list[list[str]]]]:
        """For each truth what its table is about, and the table's cells, a row for each cut."""
        found = []
        for truth in TRUTHS:
            files = "the listed files that exist" if truth == "cleaned" else "all listed files"
            caption = f"{truth} truth ({files}); uncut textbook MAP {self.baseline[truth]:.4f}"
            found.append((caption, [row.cells() for row in self.rows if row.truth == truth]))
        return found

    @property
    def notes(self) -> tuple[str, ...]:
        """What the columns mean, and what is not known."""
        number = counted(self.assumed, "report")
        unknown = f"of {number} the number of files searched is not known; the ranking's length stands for it"
        return (*MEANINGS, unknown) if self.assumed else MEANINGS

    def fractions(self, truth: Truth) -> list[CutMeans]:
        """The means of one truth at the fractions 0.1 to 1.0."""
        return [row for row in self.rows if row.truth == truth and row.cut.unit == "tenths"]


def truncation(evaluation: Evaluation) -> Truncation:
    """The means of an evaluation at every cut.

    Raises RunError for a report of which neither the number of files searched nor the length of the ranking is known,
    or whose fixed files have ranks beyond it.
    """
    reports = evaluation.per_report
    searched = [_searched(one) for one in reports]
    rows = [_means(reports, searched, truth, cut) for truth in TRUTHS for cut in (*FRACTIONS, FIRST_TEN)]
    return Truncation(
        tuple(rows),
        {
            truth: _mean([average_precision(one.ranks, _relevant(one, truth)) for one in reports], len(reports))
            for truth in TRUTHS
        },
        assumed=sum(one.outcome.searched is None for one in reports),
    )


def _searched(one: ReportScores) -> int:
    files = one.outcome.searched if one.outcome.searched is not None else one.outcome.ranked
    if files is None:
        raise RunError(
            f"report {one.report}: neither its ranking's length nor the number of files searched is known, so there is "
            'no fraction of it; give the judgements a number "searched"'
        )
    if one.ranks and one.ranks[-1] > files:
        raise RunError(f"report {one.report}: a fixed file has the rank {one.ranks[-1]} of only {files} files searched")
    return files


def _relevant(one: ReportScores, truth: Truth) -> int:
    return one.outcome.relevant if truth == "cleaned" else len(one.judgement.listed)


def _means(reports: Sequence[ReportScores], searched: Sequence[int], truth: Truth, cut: RankingCut) -> CutMeans:
    kept = [cut.length(files) for files in searched]
    relevant = [_relevant(one, truth) for one in reports]
    textbook = [average_precision(one.ranks, n, k) for one, n, k in zip(reports, relevant, kept, strict=True)]
    # over the found (Baeza-Yates and Ribeiro-Neto 1999; equation 7 of the paper). It mostly grows as k shrinks, which
    # equation 16 takes for a law. It is none: where fixed files come in a row, the last has the highest precision
    defined = [
        average_precision(one.ranks, len(one.ranks), k, over="found")
        for one, k in zip(reports, kept, strict=True)
        if one.ranks and one.ranks[0] <= k
    ]
    empty = relevant.count(0)
    return CutMeans(
        truth,
        cut,
        files=_mean(kept, len(kept)),
        reports=len(reports),
        empty=empty,
        unseen=len(reports) - len(defined),
        textbook=_mean(textbook, len(reports)),
        textbook_dropped=_mean(textbook, len(reports) - empty),  # what is dropped had added 0
        seen=_mean(defined, len(reports)),
        seen_dropped=_mean(defined, len(defined)),
    )


def _mean(values: Sequence[float], count: int) -> float:
    """Sum, rounded once, over a count; 0 of nothing."""
    return math.fsum(values) / count if count else 0.0
