"""Print results to standard output as tables, Markdown or JSON; notes and progress to stderr."""

from __future__ import annotations

import json
import math
import os
import shutil
import sys
import threading
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from tosloc.core.errors import RunError
from tosloc.core.io import escape_unprintable
from tosloc.core.progress import ANNOUNCEMENT, TimeLeft

if TYPE_CHECKING:
    from rich.console import Console

    from tosloc.core.progress import Progress
    from tosloc.evaluate.measures import Measure
    from tosloc.evaluate.statistics import Difference, Interval

MAX_LINE_WIDTH: Final = 100_000
"""Columns of a table in a file or pipe, so many that no line has to be wrapped."""
_MIN_COLUMNS: Final = 20
"""Smallest number of columns that is used; narrower tables cannot be read."""
SECONDS_BETWEEN_PROGRESS_LINES: Final = 30.0
"""Seconds between two lines about the progress of long work, if bars cannot be shown."""
UNKNOWN: Final = "-"
"""Text in a cell whose value is not known."""


@dataclass(frozen=True)
class Table:
    """A table of results, the same on a terminal and in Markdown."""

    heads: Sequence[str]
    """Heads of the columns; a head may have several lines."""
    rows: Sequence[Sequence[str]]
    title: str = ""
    note: str = ""
    """A sentence below the table."""
    left: Container[int] = (0,)
    """Positions of the columns that are aligned to the left."""

    def markdown(self) -> str:
        """Return the table in Markdown, with its title and note as paragraphs of their own.

        >>> print(Table(["a", "b|c"], [["1", "2"]]).markdown(), end="")
        | a | b\\|c |
        |---|---|
        | 1 | 2 |
        """
        lines = [_markdown_row(self.heads), "|---" * len(self.heads) + "|"]
        lines += map(_markdown_row, self.rows)
        paragraphs = (self.title.strip(), "\n".join(lines), self.note.strip())
        return "\n\n".join(filter(None, paragraphs)) + "\n"

    def with_search_spaces(self, search_spaces: Mapping[str, str]) -> Table:
        """Return the table with a line below it on the files that runs searched.

        ``search_spaces`` maps the names of runs to the files in words, "" if they are not known.
        """
        lines = filter(None, (self.note, _search_spaces_note(search_spaces)))
        return replace(self, note="\n".join(lines))

    def print(self) -> None:
        """Print the table with its title above and its note below.

        On a terminal, cells are wrapped; in a file or pipe, lines can have any length.
        """
        from rich.box import SIMPLE_HEAD
        from rich.table import Table as RichTable
        from rich.text import Text

        console = make_console()
        rich_table = RichTable(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
        for position, head in enumerate(self.heads):
            lines = "\n".join(map(escape_unprintable, head.split("\n")))
            side: Any = "left" if position in self.left else "right"
            rich_table.add_column(lines, justify=side, overflow="fold")
        for row in self.rows:
            rich_table.add_row(*(Text(escape_unprintable(cell)) for cell in row))
        if not console.is_terminal:
            console.width = MAX_LINE_WIDTH
        if self.title:
            console.print(Text(self.title, style="bold"), soft_wrap=True)
        console.print(rich_table)
        if self.note:
            console.print(self.note, style="dim", soft_wrap=True)


def _markdown_row(cells: Sequence[str]) -> str:
    """Return a row of a Markdown table."""
    one_line_cells = [" ".join(cell.split()).replace("|", r"\|") for cell in cells]
    return f"| {' | '.join(one_line_cells)} |"


def _search_spaces_note(search_spaces: Mapping[str, str]) -> str:
    """Return a line on the files that runs searched, by the names of the runs.

    A run whose search space is not known is left out. Equal search spaces are named once; of more
    than two runs that share one, only the first is named.
    """
    names_by_space: dict[str, list[str]] = {}
    for name, space in search_spaces.items():
        if space:
            names_by_space.setdefault(space, []).append(name)
    spaces = list(names_by_space)
    if len(spaces) == 1 and len(names_by_space[spaces[0]]) == len(search_spaces):
        return escape_unprintable(f"Searched: {spaces[0]}")
    parts = []
    for space, names in names_by_space.items():
        others = f" and {len(names) - 1:,} others" if len(names) > 2 else ""
        shown_names = names[0] + others if others else " and ".join(names)
        parts.append(f"{shown_names} searched {space}")
    return escape_unprintable("; ".join(parts))


class Form(Enum):
    """Format in which results are printed."""

    terminal = "terminal"
    markdown = "markdown"
    json = "json"

    @classmethod
    def chosen(cls, as_json: bool, as_markdown: bool = False) -> Form:
        """Return the form that the options select. Raises RunError if both are given."""
        if as_json and as_markdown:
            raise RunError("--json and --markdown cannot be combined; choose one of them")
        if as_json:
            return cls.json
        return cls.markdown if as_markdown else cls.terminal

    def print(self, values: Any, tables: Sequence[Table]) -> None:
        """Print results: ``values`` as JSON, or the tables."""
        if self is Form.json:
            print_json(values)
        elif self is Form.markdown:
            print("\n".join(table.markdown() for table in tables), end="")
        else:
            for table in tables:
                table.print()


def print_json(value: Any, indent: int | None = 2) -> None:
    """Print a value as JSON, on one line if ``indent`` is None."""
    print(json.dumps(value, indent=indent, allow_nan=False), flush=True)


def print_notes(notes: Iterable[str]) -> None:
    """Print sentences about the input on standard error."""
    for note in notes:
        print(f"tosloc: {escape_unprintable(note)}", file=sys.stderr)


def make_console(*, stderr: bool = False) -> Console:
    """Return a console that prints text without changing it.

    It has at least 20 columns, whatever the environment variable COLUMNS says.
    """
    from rich.console import Console

    width = None
    height = None
    if {"COLUMNS", "LINES"} & os.environ.keys():
        size = shutil.get_terminal_size()
        width = min(max(size.columns, _MIN_COLUMNS), MAX_LINE_WIDTH)
        height = min(max(size.lines, 1), MAX_LINE_WIDTH)
    return Console(
        stderr=stderr, highlight=False, markup=False, emoji=False, width=width, height=height
    )


def progress_bars() -> AbstractContextManager[Progress]:
    """Return a context manager that yields a progress callback.

    On a terminal the callback shows bars, elsewhere a line every 30 seconds. Both contain the time
    that is left, once it can be estimated.
    """
    return _terminal_bars() if sys.stderr.isatty() else _progress_lines()


@contextmanager
def _terminal_bars() -> Iterator[Progress]:
    """Yield a progress callback that shows bars, which vanish when the work is done."""
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[left]}", markup=False),
    )
    with Bars(*columns, console=make_console(stderr=True), transient=True) as bars:
        tasks: dict[str, Any] = {}
        time_left = TimeLeft()

        def show(what: str, done: int, total: int) -> None:
            if total == ANNOUNCEMENT:
                bars.console.print(f"tosloc: {escape_unprintable(what)}", soft_wrap=True)
                return
            bars.start()
            if what not in tasks:
                tasks[what] = bars.add_task(what, left="")
            left = time_left.describe(what, done, total)
            bars.update(tasks[what], completed=done, total=total or None, left=left)
            if bars.finished:
                # An answer may be printed now, so no bar may be in its line.
                bars.stop()
                for task in tasks.values():
                    bars.remove_task(task)
                tasks.clear()

        yield show


@contextmanager
def _progress_lines() -> Iterator[Progress]:
    """Yield a progress callback that prints its latest state from time to time."""
    latest = "still working"
    time_left = TimeLeft()
    ended = threading.Event()

    def show(what: str, done: int, total: int) -> None:
        nonlocal latest
        if total == ANNOUNCEMENT:
            print_notes([what])
            return
        parts = [what, f"{done:,} of {total:,}" if total else f"{done:,}"]
        left = time_left.describe(what, done, total)
        latest = ", ".join([*parts, left] if left else parts)

    def print_lines() -> None:
        while not ended.wait(SECONDS_BETWEEN_PROGRESS_LINES):
            # OSError: the reader of standard error is gone. ValueError: standard error is closed.
            with suppress(OSError, ValueError):
                print(f"tosloc: {escape_unprintable(latest)}", file=sys.stderr, flush=True)

    # A thread prints, because one step of the work may take longer than the interval.
    thread = threading.Thread(target=print_lines, daemon=True)
    thread.start()
    try:
        yield show
    finally:
        ended.set()
        # The thread does not end in this second if nobody reads what it prints.
        thread.join(1)


# Cells, and the table of a comparison


def share_cell(value: float | None, sign: bool = False) -> str:
    """Return a number from 0 to 1, or a difference, as four characters, as papers print it.

    >>> share_cell(0.6854), share_cell(1.0), share_cell(-0.0082), share_cell(None)
    ('.685', '1.00', '-.008', '-')
    >>> share_cell(0.0082, sign=True)
    '+.008'
    """
    if value is None:
        return UNKNOWN
    text = f"{value:+.3f}" if sign else f"{value:.3f}"
    text = text.replace("0.", ".", 1).replace("1.000", "1.00")
    return ".000" if text in ("-.000", "+.000") else text


def count_cell(value: float | None) -> str:
    """Return a count of reports or files, or a share, which is 1.00 only if it is the whole.

    >>> count_cell(1234), count_cell(0.99999), count_cell(1.0), count_cell(None)
    ('1,234', '.999', '1.00', '-')
    """
    if value is None:
        return UNKNOWN
    if isinstance(value, int):
        return f"{value:,}"
    return share_cell(math.floor(1000 * value) / 1000)


def mean_cell(value: float | None, interval: Interval | None, sign: bool = False) -> str:
    """Return a mean, followed by its interval if there is one."""
    mean = share_cell(value, sign)
    return mean if interval is None else f"{mean} {interval_cell(interval, sign)}"


def interval_cell(interval: Interval | None, sign: bool = False) -> str:
    """Return the ends of an interval as text."""
    if interval is None:
        return UNKNOWN
    return f"[{share_cell(interval.low, sign)}, {share_cell(interval.high, sign)}]"


def p_value_cell(p: float | None) -> str:
    """Return a p-value with three decimals.

    >>> p_value_cell(0.04321), p_value_cell(0.00003), p_value_cell(None)
    ('.043', '<.001', '-')
    """
    return "<.001" if p is not None and p < 0.001 else share_cell(p)


def differences_table(
    differences: Mapping[Measure, Difference], a: str, b: str, of: str, title: str = ""
) -> Table:
    """Return a table of how run b differs from run a, with a column for each measure.

    ``of`` says what the means are computed over, such as "120 reports". Tests that were not made
    have no row.
    """
    columns = [_difference_column(difference, a, b) for difference in differences.values()]
    rows = []
    for name in columns[0]:
        cells = [column[name] for column in columns]
        is_unmade_test = name.endswith(("McNemar", "Holm")) and set(cells) == {UNKNOWN}
        if not is_unmade_test:
            rows.append([name, *cells])
    note = ""
    if any(difference.is_small for difference in differences.values()):
        note = (
            f"{of}: fewer than 30, so intervals are too narrow, and p by the bootstrap too small."
        )
    return Table([of, *map(repr, differences)], rows, title, note)


def _difference_column(difference: Difference, a: str, b: str) -> dict[str, str]:
    """Return name of a row -> cell, for the column of one difference of two means."""
    t_test = UNKNOWN
    if difference.t is not None:
        t_test = f"{p_value_cell(difference.p_t)} (t = {difference.t:.2f})"
    return {
        f"mean of {a}": share_cell(difference.a),
        f"mean of {b}": share_cell(difference.b),
        "difference": share_cell(difference.difference, sign=True),
        "95 % interval of the difference": interval_cell(difference.interval, sign=True),
        "p, paired t-test": t_test,
        "p, paired bootstrap": p_value_cell(difference.p_bootstrap),
        "p, McNemar": p_value_cell(difference.p_mcnemar),
        "p, t-test, Holm": p_value_cell(difference.p_t_holm),
        "p, bootstrap, Holm": p_value_cell(difference.p_bootstrap_holm),
        "p, McNemar, Holm": p_value_cell(difference.p_mcnemar_holm),
        f"reports better in {b}": count_cell(difference.wins),
        "reports equal in both": count_cell(difference.ties),
        f"reports better in {a}": count_cell(difference.losses),
    }
