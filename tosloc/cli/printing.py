"""Results on standard output: tables for a terminal or in Markdown, JSON for machines."""

from __future__ import annotations

import json
import sys
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import zip_longest
from typing import Any, Final, Literal

from tosloc.errors import RunError
from tosloc.io import printable

UNBOUNDED: Final = 100_000  # letters of a line, where a table may be as wide as it likes


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
    meanings: Sequence[str] = ()  # what each row says, on a terminal


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
    heads, *rows = (
        " | ".join(" ".join(cell.split()).replace("|", r"\|") for cell in row) for row in (table.heads, *table.rows)
    )
    text = "\n".join([f"| {heads} |", "|---" * len(table.heads) + "|", *(f"| {line} |" for line in rows)])
    return "\n\n".join(part for part in (table.title.strip(), text, table.note.strip()) if part) + "\n"


def print_table(table: Table) -> None:
    """Print a table with its title above and its note below. A file or pipe takes lines of any length; on a terminal
    cells are wrapped.
    """
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    console = Console(highlight=False, markup=False)
    made = RichTable(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for place, head in enumerate([*table.heads, *([""] if table.meanings else [])]):
        lines = "\n".join(printable(line) for line in head.split("\n"))
        told = place == len(table.heads)
        justify: Literal["left", "right"] = "left" if told or place in table.left else "right"
        made.add_column(lines, justify=justify, style="dim" if told else "", overflow="fold")
    for row, meaning in zip_longest(table.rows, table.meanings):
        made.add_row(*(Text(printable(cell)) for cell in (*row, *([] if meaning is None else [meaning]))))
    if not console.is_terminal:
        console.width = UNBOUNDED
    if table.title:
        console.print(Text(table.title, style="bold"), soft_wrap=True)
    console.print(made)
    if table.note:
        console.print(table.note, style="dim", soft_wrap=True)


def print_rows(rows: Sequence[Mapping[str, str | int | float]]) -> None:
    """Print rows of the same columns as a table, a row below the other's head; nothing for no row."""
    if rows:

        def cell(value: str | float) -> str:
            return f"{value:.3f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else value

        heads, *cells = [[name, *(cell(row[name]) for row in rows)] for name in rows[0]]
        print_table(Table(heads, cells))
