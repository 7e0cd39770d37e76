"""Results on standard output, for people and for machines."""

from __future__ import annotations

import json
import sys
from collections.abc import Container, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tosloc.io import printable

UNBOUNDED: Final = 100_000
"""Letters of a line, where a table may be as wide as it likes."""
Rows: TypeAlias = Sequence[Sequence[str | Text]]


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    print(json.dumps(value, indent=2, allow_nan=False))


def print_notes(notes: Iterable[str]) -> None:
    """Print sentences about the input on standard error."""
    for note in notes:
        print(f"tosloc: {printable(note)}", file=sys.stderr)


def print_table(
    heads: Sequence[str],
    rows: Rows,
    *,
    title: str = "",
    left: Container[int] = (0,),
    edge: bool = True,
    note: str = "",
) -> None:
    """Print a table with a title above and a note below it, columns aligned to the right but for the ``left`` ones.

    A file or pipe takes lines of any length; a narrow terminal gets cells wrapped. A head may have several lines.
    Without ``edge`` the empty lines and columns around the table are left out.
    """
    console, table = _console(), _table(heads, rows, left)
    table.show_edge = edge
    if title:
        console.print(Text(title, style="bold"), soft_wrap=True)
    needed = _width(console, table)
    if not console.is_terminal:
        console.width = max(console.width, needed)
    elif needed > console.width:
        for column in table.columns:
            column.no_wrap, column.overflow = False, "fold"
    console.print(table)
    if note:
        console.print(note, style="dim")


def fits(heads: Sequence[str], rows: Rows) -> bool:
    """Whether such a table is printed with whole cells: where the terminal is as wide, and to any file or pipe."""
    console = _console()
    return not console.is_terminal or _width(console, _table(heads, rows)) <= console.width


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table.

    >>> print(markdown_table(["a", "b|c"], [["1", "2"]]), end="")
    | a | b\\|c |
    |---|---|
    | 1 | 2 |
    """
    lines = [heads, *rows]
    text = ["| " + " | ".join(" ".join(cell.split()).replace("|", r"\|") for cell in line) + " |" for line in lines]
    return "\n".join([text[0], "|---" * len(heads) + "|", *text[1:]]) + "\n"


def print_rows(
    rows: Sequence[Mapping[str, str | int | float]], meanings: Mapping[str, str] = MappingProxyType({})
) -> None:
    """Print rows of the same columns as a table, a row below the other's head; nothing for no row.

    What the columns mean stands behind them, where the terminal is wide enough.
    """
    if rows:
        first, *others = rows[0]
        heads = [first, *(str(row[first]) for row in rows)]
        cells: list[list[str | Text]] = [[name, *(_number(row[name]) for row in rows)] for name in others]
        told = [[*line, Text(meanings.get(name, ""), style="dim")] for name, line in zip(others, cells, strict=True)]
        if meanings and fits([*heads, ""], told):
            print_table([*heads, ""], told, left=(0, len(heads)))
        else:
            print_table(heads, cells)


def print_counts(counts: Mapping[str, Any], meanings: Mapping[str, str] = MappingProxyType({})) -> None:
    """Print names with their values, and what they mean."""
    cells = {name: (printable(name), _number(value)) for name, value in counts.items()}
    widest, longest = (max(len(cell[place]) for cell in cells.values()) for place in (0, 1))
    for name, (said, value) in cells.items():
        print(f"{said:<{widest}}  {value:>{longest}}  {meanings.get(name, '')}".rstrip())


def _console() -> Console:
    return Console(highlight=False, markup=False)


def _table(heads: Sequence[str], rows: Rows, left: Container[int] = (0,)) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for place, head in enumerate(heads):
        lines = "\n".join(printable(line) for line in head.split("\n"))
        table.add_column(lines, justify="left" if place in left else "right", no_wrap=True)
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text(printable(cell)) for cell in row))
    return table


def _width(console: Console, table: Table) -> int:
    return console.measure(table, options=console.options.update(max_width=UNBOUNDED)).maximum


def _number(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return "-" if value is None else printable(str(value))
