"""Tables of the paper made again, in words: for a terminal, for Markdown, and as plain values."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tosloc.cli.cells import UNKNOWN, p_value_cell, share, within
from tosloc.cli.printing import Table, print_json, print_notes, print_table
from tosloc.cli.printing import markdown as to_markdown
from tosloc.errors import counted

if TYPE_CHECKING:
    from tosloc.lab.paper.reproduction import Reproduced
    from tosloc.lab.paper.tables import Cell, Nearness, WorkStep

NEAR: Final = "ours - published, ours / published: in the order of the columns"
STORED: Final = "as stored: against what this project measured and stored before; it says nothing of the paper"


def cell_text(cell: str | Cell | Nearness) -> str:
    """A cell as people read it, with the paper's number in brackets."""
    from tosloc.lab.paper.tables import Nearness

    if isinstance(cell, str):
        return cell
    if isinstance(cell, Nearness):
        return _nearness(cell)
    text = _number(cell.value, cell.form) + cell.mark
    if cell.interval is not None:
        text += f" {within(cell.interval, sign=cell.form == 'change')}"
    return text if cell.paper is None else f"{text} ({_published(cell.paper, cell.form)})"


def _number(value: float | None, form: str) -> str:
    if value is None:
        return UNKNOWN
    if form == "p":
        return p_value_cell(value)
    if form in ("share", "change"):
        return share(value, sign=form == "change")
    digits = {"count": 0, "one": 1, "ratio": 2}[form]
    return f"{value:,.{digits}f}"


def _published(value: float, form: str) -> str:
    """A number as the paper prints it: shares to two places.

    >>> _published(0.4, "share"), _published(-0.052, "change"), _published(1536, "count")
    ('.40', '-.05', '1,536')
    """
    if form in ("share", "change"):
        return f"{value:{'+' if form == 'change' else ''}.2f}".replace("0.", ".", 1)
    return _number(value, form)


def _nearness(row: Nearness) -> str:
    """Differences from the paper's numbers, or ratios to them, in the order of the columns; nothing where it has none.

    >>> from tosloc.lab.paper.tables import Cell, Nearness
    >>> _nearness(Nearness([Cell(0.4, paper=0.24), Cell(0.2), Cell(0.2, paper=0.2)])), _nearness(Nearness([Cell(0.2)]))
    ('+.16, -, .00', '')
    >>> _nearness(Nearness([Cell(563, "count", paper=860), Cell(1759, "count", paper=3693)]))
    '.65, .48'
    """
    values = row.values
    if all(value is None for value in values):
        return ""
    texts = (UNKNOWN if value is None else f"{value:{'' if row.as_ratio else '+'}.2f}" for value in values)
    return ", ".join(".00" if text in ("+0.00", "-0.00") else text.replace("0.", ".", 1) for text in texts)


def _texts(made: Reproduced) -> list[tuple[str, Sequence[str], list[list[str]]]]:
    """Title, heads and rows of each table, each row beside the paper's and the stored numbers."""
    from tosloc.lab.paper.tables import compared

    tables = [compared(table, made.expected) for table in made.outcome.tables]
    return [(one.title, one.heads, [[cell_text(cell) for cell in row] for row in one.rows]) for one in tables]


def _cells(made: Reproduced) -> Iterator[Cell]:
    return (cell for table in made.outcome.tables for cell in table.cells())


def print_steps(steps: Sequence[WorkStep], as_json: bool) -> None:
    """What a table needs."""
    rows = [[step.state, step.what, str(step.path or "")] for step in steps]
    if as_json:
        print_json([dict(zip(("state", "what", "place"), row, strict=True)) for row in rows])
    else:
        print_table(Table(["state", "work", "place"], rows, left=range(3)))


def print_reproduced(made: Reproduced) -> None:
    """The tables, how many numbers are as stored, and the notes."""
    for title, heads, rows in _texts(made):
        print_table(Table(heads, rows, title))
    print(_summary(made))
    print_notes(made.outcome.notes)


def _summary(made: Reproduced) -> str:
    from tosloc.lab.paper.expected import VERDICTS

    checks = made.checks
    counts = {verdict: sum(check.verdict == verdict for check in checks) for verdict in VERDICTS}
    found = ", ".join(f"{count:,} {verdict}" for verdict, count in counts.items() if count)
    text = f"{counted(len(checks), 'number')}, against those stored: {found or 'none'}"
    absent = len(made.expected.ours.keys() - {check.key for check in checks})
    return f"{text}; {absent:,} stored, but not measured now" if absent else text


def plain_values(made: Reproduced) -> dict[str, Any]:
    """For machines."""
    from tosloc.lab.paper.tables import off_published

    numbers = [
        {
            "key": list(one.key),
            "ours": one.measured,
            "published": one.paper,
            "ours - published": off_published(one.measured, one.paper),
            "ours / published": off_published(one.measured, one.paper, ratio=True),
            "stored": one.expected,
            "as stored": one.verdict,
        }
        for one in made.checks
    ]
    return {
        "table": made.request.table,
        "title": made.expected.title,
        "split": made.expected.split,
        "space": made.expected.space,
        "numbers": numbers,
        "notes": list(made.outcome.notes),
        **made.outcome.details,
    }


def markdown(made: Reproduced, command: str = "") -> str:
    """The tables with their heading and notes; below the heading the ``command``, if it is given."""
    expected = made.expected
    parts = [f"## {made.label}: {expected.title}", f"```console\n$ {command}\n```" if command else ""]
    about = {"Reports": expected.split, "Files searched": expected.space, "In brackets": expected.source}
    parts.append("\n".join(f"- {name}: {text}" for name, text in about.items() if text))
    for title, heads, rows in _texts(made):
        parts += [to_markdown(Table(heads, rows, title)).rstrip()]
    columns = {NEAR: any(cell.paper is not None for cell in _cells(made)), STORED: bool(made.checks)}
    notes = [*made.outcome.notes, *(note for note, there in columns.items() if there)]
    notes += [f"left out: {one}" for one in expected.left_out]
    parts.append("\n".join("- " + note.replace("*", r"\*") for note in notes))
    return "\n\n".join(part for part in parts if part) + "\n"


def write_document(path: Path, made: Reproduced) -> None:
    """Write the table into its part of a Markdown file, and its figures to the folder ``figures`` beside it."""
    from tosloc.io import write_text
    from tosloc.lab.paper.documents import with_part

    text = path.read_text(encoding="utf-8") if path.exists() else ""
    body, folder = markdown(made, made.request.command(made.expected)), path.parent / "figures"
    for name in made.outcome.figures:
        link = os.path.relpath(folder / f"{name}.png", path.parent)
        body += f"\n![{made.label}: {made.expected.title}]({link})\n"
    document = with_part(text, made.request.table, body, str(path))  # before anything is written
    made.draw(folder)
    write_text(path, document)
