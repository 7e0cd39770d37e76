"""Tables of the paper made again, in words: for a terminal, for Markdown, and as plain values."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tosloc.cli.cells import UNKNOWN, p_value_cell, share, within

if TYPE_CHECKING:
    from tosloc.lab.paper.reproduction import Reproduced
    from tosloc.lab.paper.tables import Cell, WorkStep


def cell_text(cell: str | Cell) -> str:
    """A cell as people read it, with the paper's number in brackets."""
    if isinstance(cell, str):
        return cell
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


def _texts(made: Reproduced) -> list[tuple[str, Sequence[str], list[list[str]]]]:
    """Title, heads and rows of each table, with the verdict of each row."""
    from tosloc.lab.paper.tables import checked

    tables = [checked(table, made.expected) for table in made.outcome.tables]
    return [(one.title, one.heads, [[cell_text(cell) for cell in row] for row in one.rows]) for one in tables]


def print_steps(steps: Sequence[WorkStep], as_json: bool) -> None:
    """What a table needs."""
    from tosloc.cli.printing import print_json, print_table

    rows = [[step.state, step.what, str(step.path or "")] for step in steps]
    if as_json:
        print_json([dict(zip(("state", "what", "place"), row, strict=True)) for row in rows])
    else:
        print_table(["state", "work", "place"], rows, left=range(3))


def print_reproduced(made: Reproduced) -> None:
    """The tables, how many numbers are as expected, and the notes."""
    from tosloc.cli.printing import print_notes, print_table

    for title, heads, rows in _texts(made):
        print_table(heads, rows, title=title)
    print(_summary(made))
    print_notes(made.outcome.notes)


def _summary(made: Reproduced) -> str:
    from tosloc.lab.paper.expected import VERDICTS

    checks = made.checks
    counted = {verdict: sum(check.verdict == verdict for check in checks) for verdict in VERDICTS}
    numbers = "1 number" if len(checks) == 1 else f"{len(checks):,} numbers"
    text = f"{numbers}: " + (", ".join(f"{count:,} {verdict}" for verdict, count in counted.items() if count) or "none")
    absent = len(made.expected.ours.keys() - {check.key for check in checks})
    return f"{text}; {absent:,} expected, but not measured now" if absent else text


def plain_values(made: Reproduced) -> dict[str, Any]:
    """For machines."""
    numbers = [
        {
            "key": list(one.key),
            "ours": one.measured,
            "paper": one.paper,
            "expected": one.expected,
            "verdict": one.verdict,
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
    from tosloc.cli.printing import markdown_table

    expected = made.expected
    parts = [f"## {made.label}: {expected.title}", f"```console\n$ {command}\n```" if command else ""]
    about = {"Reports": expected.split, "Files searched": expected.space, "In brackets": expected.source}
    parts.append("\n".join(f"- {name}: {text}" for name, text in about.items() if text))
    for title, heads, rows in _texts(made):
        parts += [title, markdown_table(heads, rows).rstrip()]
    notes = [*made.outcome.notes, *(f"left out: {one}" for one in expected.left_out)]
    parts.append("\n".join("- " + note.replace("*", r"\*") for note in notes))
    return "\n\n".join(part for part in parts if part) + "\n"


def write_document(path: Path, made: Reproduced) -> None:
    """Write the table into its part of a Markdown file, and its figures to the folder ``figures`` beside it."""
    from tosloc.files import write_text
    from tosloc.lab.paper.documents import with_part

    text = path.read_text(encoding="utf-8") if path.exists() else ""
    body, folder = markdown(made, made.request.command(made.expected)), path.parent / "figures"
    for name in made.outcome.figures:
        link = os.path.relpath(folder / f"{name}.png", path.parent)
        body += f"\n![{made.label}: {made.expected.title}]({link})\n"
    document = with_part(text, made.request.table, body, str(path))  # before anything is written
    made.draw(folder)
    write_text(path, document)
