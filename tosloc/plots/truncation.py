"""The words and cells of the truncation tables, for a terminal, for Markdown and for pages."""

from __future__ import annotations

from typing import Final

from tosloc.errors import counted
from tosloc.evaluate.evaluate import Evaluation
from tosloc.evaluate.truncation import (
    FIRST_TEN,
    PUBLISHED,
    TRUTHS,
    WHOLE_RANKING,
    CutMeans,
    RankingCut,
    Truncation,
    invariants,
)

TRUNCATION_COLUMNS: Final = (
    "cut",
    "files kept, mean",
    "MAP textbook",
    "MAP seen-relevant",
    "over textbook, %",
    "paper, %",
    "MAP textbook, undefined dropped",
    "MAP seen-relevant, undefined dropped",
    "over textbook, undefined dropped, %",
    "paper, undefined dropped, %",
)
SHORT_TRUNCATION_COLUMNS: Final = (
    "\n\ncut",
    "\n\nfiles",
    "\ntext-\nbook",
    "\n\nseen",
    "\nover\n%",
    "\npaper\n%",
    "dropped\ntext-\nbook",
    "\n\nseen",
    "\nover\n%",
    "\npaper\n%",
)
"""The same for a terminal of 80 columns."""

TRUNCATION_MEANINGS: Final = (
    "textbook: divided by all fixed files; seen-relevant: by those above the cut (a diagnostic, never a result)",
    "undefined, for want of a file to divide by: a report without fixed files, or for seen-relevant without any above "
    "the cut; it counts 0, or is dropped",
    "cleaned: the listed files that exist in the version; bloated: all of them, though a missing one cannot be ranked",
    "a cut keeps that fraction of the files searched, rounded up, or the first k",
    "over: how far seen-relevant is above textbook with undefined as 0, at the same cut",
    "paper: BugLocator on Bench4BL (Hirsch and Hofer, tables III and V, sections VI-C to VI-E)",
)


def truncation_heading(name: str, evaluation: Evaluation) -> str:
    """What was judged, in a line."""
    length = "not known" if evaluation.length is None else f"{evaluation.length:.3f}"
    values = evaluation.summary()
    reports, relevant, dropped, empty = (int(values[key] or 0) for key in ("reports", "relevant", "dropped", "empty"))
    return (
        f"{name}: {counted(reports, 'report')}, {counted(relevant, 'fixed file')}, {counted(dropped, 'listed file')}"
        f" that their versions lack, {counted(empty, 'report')} left without any, ranking length over files searched"
        f" {length}"
    )


def truncation_tables(result: Truncation) -> list[tuple[str, list[list[str]]]]:
    """For each truth what its table is about, and the table's cells, a row for each cut."""
    tables = []
    for truth in TRUTHS:
        files = "the listed files that exist" if truth == "cleaned" else "all listed files"
        caption = f"{truth} truth ({files}); uncut textbook MAP {result.baseline[truth]:.4f}"
        tables.append((caption, [_row(row) for row in result.rows if row.truth == truth]))
    return tables


def truncation_findings(result: Truncation) -> list[str]:
    """Lines below the tables: the size of the effect beside the paper's, and which invariants hold."""
    lines = [overestimate(result)]
    for one in invariants(result):
        verdict = "holds" if one.holds else "DOES NOT HOLD" if one.law else "does not hold"
        lines.append(f"{'always' if one.law else 'this run'}: {one.text}: {verdict}")
    if result.assumed:
        lines.append(
            f"of {counted(result.assumed, 'report')} the number of files searched is not known; the ranking's length"
            " stands for it"
        )
    return lines


def overestimate(result: Truncation) -> str:
    """A sentence: how far seen-relevant is above textbook here, and in the paper."""
    parts = []
    for cut in (WHOLE_RANKING, RankingCut(5, "tenths"), RankingCut(1, "tenths"), FIRST_TEN):
        here, paper = result.at("cleaned", cut).over, PUBLISHED["cleaned", cut.name][0]
        parts.append(f"{_percent(here)} at {cut.name} (paper {_percent(paper)})")
    dropped, paper = result.at("cleaned", FIRST_TEN).over_dropped, PUBLISHED["cleaned", FIRST_TEN.name][1]
    parts.append(f"{_percent(dropped)} with undefined dropped (paper {_percent(paper)})")
    return "cleaned, seen-relevant against textbook: " + ", ".join(parts)


def _percent(value: float | None) -> str:
    return "undefined" if value is None else f"{value:+.2f} %"


def _row(row: CutMeans) -> list[str]:
    paper, paper_dropped = PUBLISHED.get((row.truth, row.cut.name), (None, None))
    return [
        row.cut.name,
        f"{row.files:,.0f}",
        f"{row.textbook:.4f}",
        f"{row.seen:.4f}",
        _signed(row.over),
        _signed(paper),
        f"{row.textbook_dropped:.4f}",
        f"{row.seen_dropped:.4f}",
        _signed(row.over_dropped),
        _signed(paper_dropped),
    ]


def _signed(value: float | None) -> str:
    return "-" if value is None else f"{value:+.2f}"
