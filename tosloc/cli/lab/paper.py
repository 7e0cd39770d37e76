"""The command ``reproduce``: the tables and figures of the paper, made again. Heavy imports wait inside."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tosloc.cli.judging import MarkdownOption
from tosloc.cli.lab.projects import PROJECTS
from tosloc.cli.options import JsonOption, OutOption
from tosloc.cli.printing import Form, Table, form_of, print_notes, show
from tosloc.cli.tables import UNKNOWN, p_value_cell, share, within

if TYPE_CHECKING:
    from tosloc.lab.paper.reproduction import Reproduced
    from tosloc.lab.paper.workspace import Cell

RunsOption = Annotated[
    Path | None,
    typer.Option(
        "--runs",
        metavar="DIR",
        exists=True,
        file_okay=False,
        help="Finished runs: DIR/PROJECT, PROJECT-two, baselines/PROJECT/SYSTEM.",
    ),
]
EncoderOption = Annotated[
    str,
    typer.Option(
        "--encoder",
        metavar="NAME",
        help="Encoder (folder or name on the hub) whose tokens table 2 counts; that table 6 and figure 6 train on.",
        show_default="words; the configuration's",
    ),
]


def reproduce(
    table: Annotated[
        str, typer.Argument(metavar="TABLE", help="table-2, table-3, table-4, table-5, table-6, figure-5 or figure-6.")
    ],
    out: OutOption,
    projects: Annotated[Path, PROJECTS],
    only: Annotated[str, typer.Option("--only", metavar="NAMES", help="Projects, with commas between.")] = "",
    systems: Annotated[
        str, typer.Option("--systems", metavar="NAMES", help="Systems of tables 4 and 5, with commas between.")
    ] = "",
    runs: RunsOption = None,
    finished: Annotated[
        bool, typer.Option("--finished", help="Make no run: read those that are finished, say which are missing.")
    ] = False,
    encoder: EncoderOption = "",
    versions: Annotated[
        int, typer.Option("--versions", min=0, help="Versions of tables 2 and 5.", show_default="all; 6")
    ] = 0,
    figures: Annotated[
        Path | None,
        typer.Option("--figures", metavar="DIR", file_okay=False, help="Folder to write figures to, as SVG and PNG."),
    ] = None,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Make a table or figure of the paper again.

    Downloads nothing and goes on where it was interrupted. The paper's numbers stand in brackets.
    """
    from tosloc.cli.progress import shown
    from tosloc.lab.paper.reproduction import reproduce as make
    from tosloc.lab.paper.workspace import Workspace

    form = form_of(as_json, as_markdown)
    work = Workspace((), out, runs, not finished, _names(systems), encoder, versions)
    with shown() as callback:
        made = make(table, projects, _names(only), work, callback)
    if figures is not None:
        made.draw(figures)
    tables = [
        Table(one.heads, [[cell_text(cell) for cell in row] for row in one.rows], one.title)
        for one in made.outcome.tables
    ]
    about = made.published
    if form is Form.markdown:
        print(f"## {table.replace('-', ' ').capitalize()}: {about.title}\n")
        told = {"Reports": about.split, "Files searched": about.space, "In brackets": about.source}
        print("\n".join(f"- {name}: {text}" for name, text in told.items() if text) + "\n")
    show(form, plain_values(made), tables)
    print_notes([*made.outcome.notes, *(f"left out: {one}" for one in about.left_out)])


def _names(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


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


def plain_values(made: Reproduced) -> dict[str, Any]:
    """For machines."""

    def plain(cell: str | Cell) -> Any:
        return cell if isinstance(cell, str) else {"ours": cell.value, "published": cell.paper}

    return {
        "table": made.table,
        "title": made.published.title,
        "split": made.published.split,
        "space": made.published.space,
        "tables": [
            {"title": one.title, "heads": list(one.heads), "rows": [[plain(cell) for cell in row] for row in one.rows]}
            for one in made.outcome.tables
        ],
        "notes": list(made.outcome.notes),
        **made.outcome.details,
    }
