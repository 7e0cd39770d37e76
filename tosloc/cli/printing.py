"""Results on standard output: tables for a terminal or in Markdown, JSON for machines."""

from __future__ import annotations

import json
import sys
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from tosloc.errors import RunError
from tosloc.io import printable

if TYPE_CHECKING:  # not loaded in vain: most commands print no table
    from rich import table as rich_table
    from rich.console import Console

UNBOUNDED: Final = 100_000
"""Letters of a line, where a table may be as wide as it likes."""


class Form(Enum):
    """How results are printed."""

    terminal = "terminal"
    markdown = "markdown"
    json = "json"


@dataclass(frozen=True)
class Table:
    """A table of results, the same on a terminal and in Markdown."""

    heads: Sequence[str]
    """A head may have several lines."""
    rows: Sequence[Sequence[str]]
    title: str = ""
    note: str = ""
    """What stands below it."""
    left: Container[int] = (0,)
    """Columns that are aligned to the left."""
    meanings: Sequence[str] = ()
    """What each row says, where a terminal is wide enough."""
    by_column: bool = False
    """Whether columns that do not fit on a terminal become a second table, below; else cells are wrapped."""


def form_of(as_json: bool, as_markdown: bool) -> Form:
    """The form that is asked for. Raises RunError for two."""
    if as_json and as_markdown:
        raise RunError("--json and --markdown: choose one of them")
    return Form.json if as_json else Form.markdown if as_markdown else Form.terminal


def show(form: Form, values: Any, tables: Sequence[Table]) -> None:
    """Print results: their plain values as JSON, or the tables."""
    if form is Form.json:
        print_json(values)
    elif form is Form.markdown:
        print("\n".join(map(markdown, tables)), end="")
    else:
        for table in tables:
            print_table(table)


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    print(json.dumps(value, indent=2, allow_nan=False))


def print_notes(notes: Iterable[str]) -> None:
    """Print sentences about the input on standard error."""
    for note in notes:
        print(f"tosloc: {printable(note)}", file=sys.stderr)


def markdown(table: Table) -> str:
    """A table in Markdown, its title and note as lines of their own.

    >>> print(markdown(Table(["a", "b|c"], [["1", "2"]])), end="")
    | a | b\\|c |
    |---|---|
    | 1 | 2 |
    """
    lines = [" | ".join(" ".join(str(cell).split()).replace("|", r"\|") for cell in row) for row in table.rows]
    heads = " | ".join(" ".join(head.split()).replace("|", r"\|") for head in table.heads)
    text = "\n".join([f"| {heads} |", "|---" * len(table.heads) + "|", *(f"| {line} |" for line in lines)])
    return "\n\n".join(part for part in (table.title.strip(), text, table.note.strip()) if part) + "\n"


def print_table(table: Table, *, edge: bool = True) -> None:
    """Print a table with its title above and its note below.

    A file or pipe takes lines of any length. Without ``edge`` the empty lines and columns around are left out.
    """
    from rich.console import Console
    from rich.text import Text

    console, whole = Console(highlight=False, markup=False), table
    if table.meanings:
        told = [[*row, says] for row, says in zip(table.rows, table.meanings, strict=True)]
        whole = replace(table, heads=[*table.heads, ""], rows=told, left={0, len(table.heads)})
        if console.is_terminal and _width(console, whole) > console.width:
            whole = replace(table, meanings=())
    if whole.title:
        console.print(Text(whole.title, style="bold"), soft_wrap=True)
    for part in _parts(console, whole) if table.by_column else [whole]:
        made, needed = _rich(part), _width(console, part)
        made.show_edge = edge
        if not console.is_terminal:
            console.width = max(console.width, needed)
        elif needed > console.width:
            for column in made.columns:
                column.no_wrap, column.overflow = False, "fold"
        console.print(made)
    if whole.note:
        console.print(whole.note, style="dim")


def _parts(console: Console, table: Table) -> Iterable[Table]:
    """The table, or tables of as many of its columns as fit, each with the first one."""

    def columns(first: int, last: int) -> Table:
        return Table([table.heads[0], *table.heads[first:last]], [[row[0], *row[first:last]] for row in table.rows])

    if not console.is_terminal or _width(console, table) <= console.width:
        yield table
        return
    first = 1
    while first < len(table.heads):
        last = len(table.heads)
        while last > first + 1 and _width(console, columns(first, last)) > console.width:
            last -= 1
        yield columns(first, last)
        first = last


def print_rows(rows: Sequence[Mapping[str, str | int | float]]) -> None:
    """Print rows of the same columns as a table, a row below the other's head; nothing for no row."""
    if rows:
        first, *others = rows[0]

        def cell(value: str | float) -> str:
            return (
                f"{value:.3f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
            )

        cells = [[name, *(cell(row[name]) for row in rows)] for name in others]
        print_table(Table([first, *(str(row[first]) for row in rows)], cells))


def _rich(table: Table) -> rich_table.Table:
    from rich import table as rich_table
    from rich.box import SIMPLE_HEAD
    from rich.text import Text

    made = rich_table.Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for place, head in enumerate(table.heads):
        lines = "\n".join(printable(line) for line in head.split("\n"))
        style = "dim" if table.meanings and place == len(table.heads) - 1 else ""
        made.add_column(lines, justify="left" if place in table.left else "right", no_wrap=True, style=style)
    for row in table.rows:
        made.add_row(*(Text(printable(cell)) for cell in row))
    return made


def _width(console: Console, table: Table) -> int:
    return console.measure(_rich(table), options=console.options.update(max_width=UNBOUNDED)).maximum
