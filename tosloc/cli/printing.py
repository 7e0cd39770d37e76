"""Results on standard output: tables for a terminal or in Markdown, JSON for machines; their cells. Beside them, on
standard error, notes and the progress of long work.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import sys
import threading
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from tosloc.core.errors import RunError, pluralize
from tosloc.core.io import escape_unprintable

if TYPE_CHECKING:
    from rich.console import Console

    from tosloc.core.records import Progress
    from tosloc.evaluate.compare import Comparison
    from tosloc.evaluate.measures import Measure, ReportScores
    from tosloc.evaluate.statistics import Difference, Interval
    from tosloc.evaluate.tables import Results

MAX_LINE_WIDTH: Final = 100_000  # letters of a line, where a table may be as wide as it likes
_NARROWEST: Final = 20  # columns; in fewer nothing can be read
SECONDS_BETWEEN_PROGRESS_LINES: Final = 30.0
"""Between two lines about the progress of long work, where no bars can be shown."""
MAX_RANKS_SHOWN: Final = 8
UNKNOWN: Final = "-"


class Form(Enum):
    """How results are printed."""

    terminal = "terminal"
    markdown = "markdown"
    json = "json"


@dataclass(frozen=True)
class Table:
    """A table of results, the same on a terminal and in Markdown."""

    heads: Sequence[str]  # a head may have several lines
    rows: Sequence[Sequence[str]]
    title: str = ""
    note: str = ""  # what stands below it
    left: Container[int] = (0,)  # columns that are aligned to the left


def output_form(as_json: bool, as_markdown: bool) -> Form:
    """The form that is asked for. Raises RunError for two."""
    if as_json and as_markdown:
        raise RunError("--json and --markdown: choose one of them")
    return Form.json if as_json else Form.markdown if as_markdown else Form.terminal


def print_results(form: Form, values: Any, tables: Sequence[Table]) -> None:
    """Print results: their plain values as JSON, or the tables."""
    if form is Form.json:
        print_json(values)
    elif form is Form.markdown:
        print("\n".join(map(markdown_table, tables)), end="")
    else:
        for table in tables:
            print_table(table)


def print_json(value: Any, indent: int | None = 2) -> None:
    """Print a value as JSON, without an ``indent`` on one line."""
    print(json.dumps(value, indent=indent, allow_nan=False), flush=True)


def print_notes(notes: Iterable[str]) -> None:
    """Print sentences about the input on standard error."""
    for note in notes:
        print(f"tosloc: {escape_unprintable(note)}", file=sys.stderr)


def make_console(*, stderr: bool = False) -> Console:
    """Return a console that prints text as it is, and is at least 20 columns wide whatever COLUMNS says."""
    from rich.console import Console

    size = shutil.get_terminal_size() if {"COLUMNS", "LINES"} & os.environ.keys() else None
    return Console(
        stderr=stderr,
        highlight=False,
        markup=False,
        emoji=False,
        width=None if size is None else min(max(size.columns, _NARROWEST), MAX_LINE_WIDTH),
        height=None if size is None else min(max(size.lines, 1), MAX_LINE_WIDTH),
    )


@contextmanager
def progress_bars() -> Iterator[Progress]:
    """Yield a progress callback. A terminal shows bars with the time that is left, anything else gets a line every
    30 seconds.
    """
    with _progress_bars() if sys.stderr.isatty() else _progress_lines() as show:
        yield show


@contextmanager
def _progress_bars() -> Iterator[Progress]:
    from rich.progress import Progress as Bars

    with Bars(console=make_console(stderr=True), transient=True) as bars:
        tasks: dict[str, Any] = {}

        def show(what: str, done: int, total: int) -> None:
            bars.start()
            if what not in tasks:
                tasks[what] = bars.add_task(what)
            bars.update(tasks[what], completed=done, total=total or None)
            if bars.finished:  # an answer may be printed now: nothing stands in its line
                bars.stop()
                for task in tasks.values():
                    bars.remove_task(task)
                tasks.clear()

        yield show


@contextmanager
def _progress_lines() -> Iterator[Progress]:
    latest = "still at work"
    ended = threading.Event()

    def show(what: str, done: int, total: int) -> None:
        nonlocal latest
        latest = f"{what}, {done:,} of {total:,}" if total else f"{what}, {done:,}"

    def print_lines() -> None:
        while not ended.wait(SECONDS_BETWEEN_PROGRESS_LINES):
            with suppress(OSError, ValueError):  # its reader is gone; it is closed
                print(f"tosloc: {escape_unprintable(latest)}", file=sys.stderr, flush=True)

    # a thread, because a step may take longer than that without a word
    thread = threading.Thread(target=print_lines, daemon=True)
    thread.start()
    try:
        yield show
    finally:
        ended.set()
        thread.join(1)  # longer only if nobody reads what it prints


def markdown_table(table: Table) -> str:
    """A table in Markdown, its title and note as lines of their own.

    >>> print(markdown_table(Table(["a", "b|c"], [["1", "2"]])), end="")
    | a | b\\|c |
    |---|---|
    | 1 | 2 |
    """
    heads, *rows = (
        " | ".join(" ".join(cell.split()).replace("|", r"\|") for cell in row)
        for row in (table.heads, *table.rows)
    )
    text = "\n".join(
        [f"| {heads} |", "|---" * len(table.heads) + "|", *(f"| {line} |" for line in rows)]
    )
    return (
        "\n\n".join(part for part in (table.title.strip(), text, table.note.strip()) if part) + "\n"
    )


def print_table(table: Table) -> None:
    """Print a table with its title above and its note below. A file or pipe takes lines of any length; on a terminal
    cells are wrapped.
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as RichTable
    from rich.text import Text

    console = make_console()
    made = RichTable(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for place, head in enumerate(table.heads):
        lines = "\n".join(map(escape_unprintable, head.split("\n")))
        made.add_column(lines, justify="left" if place in table.left else "right", overflow="fold")
    for row in table.rows:
        made.add_row(*(Text(escape_unprintable(cell)) for cell in row))
    if not console.is_terminal:
        console.width = MAX_LINE_WIDTH
    if table.title:
        console.print(Text(table.title, style="bold"), soft_wrap=True)
    console.print(made)
    if table.note:
        console.print(table.note, style="dim", soft_wrap=True)


def print_rows(rows: Sequence[Mapping[str, str | int | float]]) -> None:
    """Print rows of the same columns as a table, a row below the other's head."""

    def cell(value: str | float) -> str:
        return (
            f"{value:.3f}"
            if isinstance(value, float)
            else f"{value:,}"
            if isinstance(value, int)
            else value
        )

    heads, *cells = [[name, *(cell(row[name]) for row in rows)] for name in rows[0]]
    print_table(Table(heads, cells))


# Results of runs, their strata, and comparisons


def share_cell(value: float | None, sign: bool = False) -> str:
    """A share of 1 as four signs, as papers print it.

    >>> share_cell(0.6854), share_cell(1.0), share_cell(-0.0082), share_cell(0.0082, sign=True), share_cell(None)
    ('.685', '1.00', '-.008', '+.008', '-')
    """
    if value is None:
        return UNKNOWN
    text = f"{value:{'+' if sign else ''}.3f}".replace("0.", ".", 1).replace("1.000", "1.00")
    return ".000" if text in ("-.000", "+.000") else text


def count_cell(value: float | None) -> str:
    """A number of reports or files, or a share of a whole, which is 1.00 for all of it alone.

    >>> count_cell(1234), count_cell(0.99999), count_cell(1.0), count_cell(None)
    ('1,234', '.999', '1.00', '-')
    """
    return (
        f"{value:,}"
        if isinstance(value, int)
        else share_cell(value and math.floor(1000 * value) / 1000)
    )


def mean_cell(value: float | None, interval: Interval | None, sign: bool = False) -> str:
    """A mean with its interval, if there is one."""
    return (
        share_cell(value, sign)
        if interval is None
        else f"{share_cell(value, sign)} {interval_cell(interval, sign)}"
    )


def interval_cell(interval: Interval | None, sign: bool = False) -> str:
    """An interval's ends."""
    return (
        UNKNOWN
        if interval is None
        else f"[{share_cell(interval.low, sign)}, {share_cell(interval.high, sign)}]"
    )


def p_value_cell(p: float | None) -> str:
    """A p-value to as many places as say anything.

    >>> p_value_cell(0.04321), p_value_cell(0.00003), p_value_cell(None)
    ('.043', '<.001', '-')
    """
    return UNKNOWN if p is None else "<.001" if p < 0.001 else share_cell(p)


def ranks_cell(one: ReportScores) -> str:
    """Ranks of a report's fixed files, the first few, and how many are not ranked."""
    shown = [str(rank) for rank in one.ranks[:MAX_RANKS_SHOWN]]
    for number, what in (
        (len(one.ranks) - MAX_RANKS_SHOWN, "more"),
        (one.relevant - len(one.ranks), "not ranked"),
    ):
        shown += [f"{number} {what}"] if number > 0 else []
    return ", ".join(shown)


def results_table(results: Sequence[Results]) -> Table:
    """Return the headline over all reports, a column for each run, without rows that say nothing about any run."""
    from tosloc.evaluate.tables import COUNT_MEANINGS

    counts = [one.evaluation.counts for one in results]
    said = {name: results[0].name_unit(meaning) for name, meaning in COUNT_MEANINGS.items()}
    rows = [
        [name, *(count_cell(one[name]) for one in counts), meaning]
        for name, meaning in said.items()
    ]
    telling = {mean.name for one in results for mean in one.informative_means}
    for of_runs in zip(*(one.means for one in results), strict=True):
        name, _, _, meaning = of_runs[0]
        if name not in telling:
            continue
        rows.append([name, *(mean_cell(one.mean, one.interval) for one in of_runs), meaning])
    heads = ["all reports", *(f"{one.scored.name} [95 %]" for one in results), ""]
    return Table(heads, rows, left=(0, len(results) + 1))


def strata_table(results: Results) -> Table:
    """Return the strata of a run that say more than its headline; a star says that the reports are few."""
    rows = [
        [
            row.name,
            f"{row.reports:,}{'*' * row.is_small}",
            f"{row.relevant:,}",
            *(mean_cell(one.mean, one.interval) for one in row.means),
        ]
        for row in results.informative_strata
    ]
    heads = ["stratum", "reports", "relevant", "MRR [95 %]", "MAP [95 %]"]
    note = (
        " * fewer than 30 reports: the interval says little"
        if any(row.is_small for row in results.informative_strata)
        else ""
    )
    return Table(heads, rows, f" strata of {results.scored.name}", note)


def differences_table(
    differences: Mapping[Measure, Difference], a: str, b: str, of: str, title: str = ""
) -> Table:
    """How run b stands against run a in means ``of`` something: a row for each value, a column for each measure."""
    columns = [
        {
            f"mean of {a}": share_cell(one.a),
            f"mean of {b}": share_cell(one.b),
            "difference": share_cell(one.difference, sign=True),
            "... 95 % interval": interval_cell(one.interval, sign=True),
            "p, paired t-test": UNKNOWN
            if one.t is None
            else f"{p_value_cell(one.p_t)} (t = {one.t:.2f})",
            "p, paired bootstrap": p_value_cell(one.p_bootstrap),
            "p, McNemar": p_value_cell(one.p_mcnemar),
            "p, t-test, Holm": p_value_cell(one.p_t_holm),
            "p, bootstrap, Holm": p_value_cell(one.p_bootstrap_holm),
            "p, McNemar, Holm": p_value_cell(one.p_mcnemar_holm),
            f"better in {b}": count_cell(one.wins),
            "equal": count_cell(one.ties),
            f"better in {a}": count_cell(one.losses),
        }
        for one in differences.values()
    ]
    rows = [[name, *(column[name] for column in columns)] for name in columns[0]]
    unmade = {UNKNOWN}  # in every column of a test that was not made
    shown = [
        row for row in rows if not row[0].endswith(("McNemar", "Holm")) or {*row[1:]} != unmade
    ]
    return Table([of, *map(repr, differences)], shown, title)


def comparison_tables(comparison: Comparison, top: int) -> list[Table]:
    """How run b stands against run a, and the ``top`` reports that rose and that fell most."""
    a, b = comparison.a, comparison.b
    number = pluralize(len(comparison.pairs), "report")
    tables = [differences_table(comparison.differences, a, b, number, f"\n {b} against {a}")]
    for how, pairs in comparison.most_changed(top).items():
        rows = [
            [
                pair.report,
                share_cell(pair.a.average_precision),
                share_cell(pair.b.average_precision),
                share_cell(pair.difference, sign=True),
                ranks_cell(pair.a),
                ranks_cell(pair.b),
            ]
            for pair in pairs
        ]
        heads = ["report", "AP from", "to", "change", "ranks from", "to"]
        tables += (
            [Table(heads, rows, f" reports that have {how} most from {a} to {b}", left=(0, 4, 5))]
            if rows
            else []
        )
    return tables
