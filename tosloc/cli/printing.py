"""Results on standard output, for people and for machines."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tosloc.records import Hit

REASONS_SHOWN = 2


def printable(text: str) -> str:
    r"""Text that is safe on a terminal: bytes that are no UTF-8 and control characters become escapes.

    >>> printable("caf\udce9\x1b[31m.java")
    'caf\\xe9\\x1b[31m.java'
    """
    decoded = text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in decoded)


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    print(json.dumps(value, indent=2, allow_nan=False))


def print_notes(notes: Iterable[str]) -> None:
    """Print sentences about the input on standard error."""
    for note in notes:
        print(f"tosloc: {printable(note)}", file=sys.stderr)


def hits_as_json(hits: Iterable[Hit]) -> list[dict[str, Any]]:
    """Hits as plain values."""
    return [
        {
            "rank": hit.rank,
            "path": hit.path,
            "score": hit.score,
            "why": [{"feature": one.feature, "share": one.share, "text": one.text} for one in hit.why],
        }
        for hit in hits
    ]


def print_hits(hits: Sequence[Hit]) -> None:
    """Print rank, score and path of each hit, whole, and below it why; a terminal gets long reasons cut."""
    console = _console()
    indent = " " * 16
    console.print(Text(f"{'rank':>4}  {'score':>8}  path, and why", style="bold"))
    for hit in hits:
        place = Text(f"{hit.rank:>4}  {hit.score:>8.3f}  ")
        console.print(place.append(printable(hit.path), style="cyan"), soft_wrap=True)
        for reason in hit.why[:REASONS_SHOWN]:
            text = Text(f"{indent}{reason.share:+.3f}  {printable(reason.text)}", style="dim")
            if console.is_terminal:
                text.truncate(console.width, overflow="ellipsis")
            console.print(text, soft_wrap=True)


def print_rows(rows: Sequence[Mapping[str, str | int | float]]) -> None:
    """Print rows of the same columns as a table; a few columns stand side by side, many below each other."""
    if not rows:
        return
    first, *others = rows[0]
    table = Table(first, *[printable(str(row[first])) for row in rows], box=SIMPLE_HEAD)
    for column in table.columns[1:]:
        column.justify = "right"
    for name in others:
        table.add_row(printable(name), *[_number(row[name]) for row in rows])
    _console().print(table)


def print_counts(counts: Mapping[str, Any]) -> None:
    """Print names with their values."""
    table = Table.grid(padding=(0, 2))
    for name, value in counts.items():
        table.add_row(printable(name), Text(_number(value), justify="right"))
    _console().print(table)


def _console() -> Console:
    return Console(highlight=False, markup=False)


def _number(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return "-" if value is None else printable(str(value))
