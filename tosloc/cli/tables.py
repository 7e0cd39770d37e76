"""Results tables: runs side by side, their strata, and comparisons."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from tosloc.cli.cells import UNKNOWN, count_cell, length_cell, of_difference, ranks_cell, share, with_interval
from tosloc.cli.printing import Table
from tosloc.errors import counted

if TYPE_CHECKING:
    from tosloc.evaluate.compare import Comparison, Difference, Move
    from tosloc.evaluate.tables import Results

COUNTS: Final = {
    "reports": "reports judged",
    "relevant": "fixed files in the searched versions",
    "dropped": "fixed files their version lacks, removed",
    "empty": "reports left without any, counted as 0",
}
"""Counts of the summary, with what they count."""
SCORES: Final = {
    "mrr": "mean reciprocal rank, first fixed file",
    "map": "mean average precision, whole ranking",
    "top1": "reports with a fixed file at rank 1",
    "top5": "... within the first 5",
    "top10": "... within the first 10",
    "coverage50": "fixed files within the first 50",
    "coverage100": "... within the first 100",
    "coverage300": "... within the first 300",
    "any50": "reports with a fixed file in the first 50",
    "any100": "... within the first 100",
    "any300": "... within the first 300",
}
"""Means and shares of the summary, with what they are."""
FUNCTION_INTERVAL: Final = "Acc@5"
"""The measure of functions whose interval a table shows."""
FEW_NOTE: Final = " * fewer than 30 reports: the interval says little"


def results_table(results: Sequence[Results]) -> Table:
    """The headline over all reports, a column for each run."""
    rows = [(name, says, [count_cell(one.summary[name]) for one in results]) for name, says in COUNTS.items()]
    for name, says in SCORES.items():
        rows.append((name, says, [with_interval(one.summary[name], one.intervals[name]) for one in results]))
    for name in results[0].measures:
        means = [one.measures[name] for one in results]
        rows.append((name, "mean over all reports", [with_interval(one.value, one.interval) for one in means]))
    lengths = [length_cell(one.summary["length"]) for one in results]
    rows.append(("length", "ranking length over files searched", lengths))
    return Table(
        ["all reports", *(f"{one.name} [95 %]" for one in results)],
        [[name, *cells] for name, _, cells in rows],
        meanings=[says for _, says, _ in rows],
        by_column=True,
    )


def functions_table(results: Sequence[Results]) -> Table:
    """The function level, a row for each ranker."""
    rows = [
        [one.name, count_cell(one.summary["reports"])]
        + [
            with_interval(mean.value, mean.interval if name == FUNCTION_INTERVAL else None)
            for name, mean in one.measures.items()
        ]
        for one in results
    ]
    return Table(["functions", "reports", *results[0].measures], rows)


def strata_table(results: Results) -> Table:
    """The strata of a run; a star says that the reports are few."""
    rows = []
    for row in results.strata:
        reports = count_cell(row.reports) + ("*" if row.few and row.reports else "")
        means = [UNKNOWN if one is None else with_interval(one.value, one.interval) for one in (row.mrr, row.map)]
        rows.append([row.name, reports, count_cell(row.relevant), *means])
    few = any(row.few and row.reports for row in results.strata)
    heads = ["stratum", "reports", "relevant", "MRR [95 %]", "MAP [95 %]"]
    return Table(heads, rows, f" strata of {results.name}", FEW_NOTE if few else "")


def differences_table(differences: Sequence[Difference], a: str, b: str, of: str, title: str = "") -> Table:
    """How run b stands against run a in means ``of`` something: a row for each value, a column for each measure."""
    columns = [of_difference(one, a, b) for one in differences]
    names = max(columns, key=len)  # a test that is not for every measure has a row all the same
    rows = [[name, *(column.get(name, UNKNOWN) for column in columns)] for name in names]
    return Table([of, *(repr(one.measure) for one in differences)], rows, title)


def comparison_tables(comparison: Comparison, top: int) -> list[Table]:
    """How run b stands against run a, and the ``top`` reports that rose and that fell most."""
    a, b = comparison.a, comparison.b
    number = counted(len(comparison.moves), "report")
    tables = [differences_table(comparison.differences, a, b, number, f"\n {b} against {a}")]
    for moves, word in ((comparison.risen(top), "risen"), (comparison.fallen(top), "fallen")):
        if moves:
            heads = ["report", "AP from", "to", "change", "ranks from", "to"]
            title = f" reports that have {word} most from {a} to {b}"
            tables.append(Table(heads, _moves(moves), title, left=(0, 4, 5)))
    return tables


def _moves(moves: Iterable[Move]) -> list[list[str]]:
    return [
        [
            move.report,
            share(move.a.average_precision),
            share(move.b.average_precision),
            share(move.difference, sign=True),
            ranks_cell(move.a),
            ranks_cell(move.b),
        ]
        for move in moves
    ]
