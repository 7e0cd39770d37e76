"""Results tables on a terminal or in a file: runs side by side, their strata, and comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tosloc.cli.cells import COUNTS, SHARES, count, length, mean, of_difference, ranks, share, stratum_cells
from tosloc.cli.printing import printable

if TYPE_CHECKING:
    from tosloc.evaluation.compare import Comparison, Move
    from tosloc.evaluation.tables import Results

MEANINGS = {
    "reports": "reports judged",
    "relevant": "fixed files in the searched versions",
    "dropped": "fixed files their version lacks, removed",
    "empty": "reports left without any, counted as 0",
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
    "length": "ranking length over files searched",
}
UNBOUNDED = 100_000
FEW_NOTE = "* fewer than 30 reports: the interval says little"


def print_results(columns: Sequence[Results]) -> None:
    """Print the headline over all reports, a column for each run; more tables where a terminal is too narrow."""
    console = _console()
    start = 0
    while start < len(columns):
        stop = len(columns)
        while stop > start + 1 and not _fits(console, _headline(columns[start:stop], meanings=False)):
            stop -= 1
        with_meanings = _headline(columns[start:stop], meanings=True)
        fits = _fits(console, with_meanings)
        _print(console, with_meanings if fits else _headline(columns[start:stop], meanings=False))
        start = stop


def print_strata(results: Results) -> None:
    """Print the strata of a run, below its headline."""
    table = _table("stratum", "reports", "relevant", "MRR [95 %]", "MAP [95 %]")
    for row in results.strata:
        table.add_row(*stratum_cells(row))
    console = _console()
    console.print(f" strata of {printable(results.name)}", style="bold", soft_wrap=True)
    _print(console, table)
    if any(row.few and row.reports for row in results.strata):
        console.print(f" {FEW_NOTE}\n", style="dim")


def print_comparison(comparison: Comparison, top: int) -> None:
    """Print how run b stands against run a, and the ``top`` reports that rose and that fell most."""
    a, b = printable(comparison.a), printable(comparison.b)
    table = _table("", *(repr(one.measure) for one in comparison.differences))
    table.columns[0].no_wrap = False  # it names the runs
    cells = [of_difference(one) for one in comparison.differences]
    for (name, _), *_ in zip(*cells, strict=True):
        table.add_row(name.format(a=a, b=b), *(dict(column)[name] for column in cells))
    console = _console()
    console.print(f"\n {b} against {a}, {len(comparison.moves)} reports", style="bold", soft_wrap=True)
    _print(console, table)
    for moves, word in ((comparison.risen(top), "risen"), (comparison.fallen(top), "fallen")):
        if moves:
            console.print(f" reports that have {word} most from {a} to {b}", style="bold", soft_wrap=True)
            _print(console, _moves(moves))


def _moves(moves: Sequence[Move]) -> Table:
    table = _table("report", "AP from", "to", "change", "ranks from", "to")
    for column in table.columns[4:]:
        column.justify, column.overflow, column.no_wrap = "left", "fold", False
    for move in moves:
        table.add_row(
            printable(move.report),
            share(move.a.average_precision),
            share(move.b.average_precision),
            share(move.difference, sign=True),
            ranks(move.a),
            ranks(move.b),
        )
    return table


def _headline(columns: Sequence[Results], meanings: bool) -> Table:
    rows = [(name, [count(one.summary[name]) for one in columns]) for name in COUNTS]
    rows += [(name, [mean(one.summary[name], one.intervals[name]) for one in columns]) for name in SHARES]
    for name in columns[0].measures:
        rows.append((name, [mean(one.measures[name].value, one.measures[name].interval) for one in columns]))
    rows.append(("length", [length(one.summary["length"]) for one in columns]))
    table = _table("all reports", *(f"{printable(one.name)} [95 %]" for one in columns))
    if meanings:
        table.add_column("", no_wrap=True)
    for name, cells in rows:
        meaning = Text(MEANINGS.get(name, "mean over all reports"), style="dim")
        table.add_row(name, *cells, *([meaning] if meanings else []))
    return table


def _table(*columns: str) -> Table:
    table = Table(*columns, box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for column in table.columns:
        column.no_wrap = True
    for column in table.columns[1:]:
        column.justify = "right"
    return table


def _console() -> Console:
    return Console(highlight=False, markup=False)


def _needs(console: Console, table: Table) -> int:
    return console.measure(table, options=console.options.update(max_width=UNBOUNDED)).maximum


def _fits(console: Console, table: Table) -> bool:
    return not console.is_terminal or _needs(console, table) <= console.width


def _print(console: Console, table: Table) -> None:
    """Print a table; a file, unlike a terminal, takes lines of any length, and a narrow terminal gets cells wrapped."""
    needed = _needs(console, table)
    if not console.is_terminal:
        console.width = max(console.width, needed)
    elif needed > console.width:
        for column in table.columns:
            column.no_wrap, column.overflow = False, "fold"
    console.print(table)
