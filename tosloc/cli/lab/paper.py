"""The commands ``baselines``, ``bm25`` and ``reproduce``: other techniques, and the tables and figures of the paper."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from tosloc.cli.judging import MarkdownOption
from tosloc.cli.lab.learning import ConfigOption, ProjectsOption, settings_of
from tosloc.cli.options import (
    ClusterOption,
    JsonOption,
    OutOption,
    ReportsOption,
    RepositoryOption,
    Split,
)
from tosloc.cli.printing import (
    UNKNOWN,
    Form,
    Table,
    output_form,
    p_value_cell,
    print_notes,
    print_results,
    progress_bars,
)
from tosloc.core.cluster import on_cluster
from tosloc.core.errors import ToslocError, require
from tosloc.git.repository import resolve_revision
from tosloc.lab.projects import read_projects

if TYPE_CHECKING:
    from tosloc.lab.paper.workspace import Cell, Published, Result

TABLES: Final = {
    "table-2": ("data", "lengths"),
    "table-3": ("data", "contents"),
    "table-4": ("systems", "accuracy"),
    "table-5": ("systems", "speed"),
    "table-6": ("reranking", "ablation"),
    "figure-5": ("reranking", "coverage"),
    "figure-6": ("reranking", "sweep"),
}
"""What is made again -> module and function of ``tosloc.lab.paper`` that measures it, and makes what lacks."""
DATA: Final = (
    "https://figshare.com/articles/dataset/The_dataset_of_six_open_source_Java_projects/951967"
)


def baselines(
    repo: RepositoryOption,
    reports: ReportsOption,
    out: OutOption,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAMES",
            help="buglocator, brtracer, bluir, amalgam, blia, dnnloc, dreamloc.",
            show_default="all seven",
        ),
    ] = None,
    config: ConfigOption = None,
    split: Annotated[
        Split | None,
        typer.Option("--split", help="Reports to rank.", show_default="validation, then test"),
    ] = None,
    cluster: ClusterOption = None,
) -> None:
    """Rank labelled reports with published techniques.

    Every file of each version, under OUT/NAME; a second call leaves finished techniques alone.
    """
    from tosloc.lab import baseline_runs

    techniques = [baseline_runs.technique(name) for name in names or baseline_runs.SYSTEMS]
    splits = baseline_runs.SPLITS if split is None else (split.value,)
    with on_cluster(cluster, {repo: ""}, resolve_revision), progress_bars() as callback:
        folders = baseline_runs.rank_with(
            techniques, settings_of(config), repo, reports, out, splits, callback
        )
    for folder in folders:
        print(folder)
    print(f"tosloc: ranked; now run: tosloc evaluate {out}/* --split {splits[-1]}", file=sys.stderr)


def bm25(
    repo: RepositoryOption,
    reports: ReportsOption,
    out: OutOption,
    config: ConfigOption = None,
    split: Annotated[Split, typer.Option("--split", help="Reports to rank.")] = Split.all,
) -> None:
    """Rank labelled reports by BM25 over whole files.

    The library bm25s as it comes, over the files that tosloc rank searches.
    """
    from tosloc.lab.bm25_runs import rank_with_bm25s

    require("BM25 over whole files", "lab", "bm25s")
    with progress_bars() as callback:
        rank_with_bm25s(settings_of(config), repo, reports, out, split.value, callback)
    print(f"tosloc: ranked; now run: tosloc evaluate {out} --split {split.value}", file=sys.stderr)


def reproduce(
    table: Annotated[str, typer.Argument(metavar="TABLE", help=f"{', '.join(TABLES)}.")],
    out: OutOption,
    projects: ProjectsOption,
    runs: Annotated[
        Path | None,
        typer.Option(
            "--runs",
            metavar="DIR",
            exists=True,
            file_okay=False,
            help="Finished runs: DIR/PROJECT, DIR/baselines/PROJECT/SYSTEM.",
        ),
    ] = None,
    finished: Annotated[
        bool,
        typer.Option(
            "--finished", help="Make no run: read those that are finished, say which are missing."
        ),
    ] = False,
    encoder: Annotated[
        str,
        typer.Option(
            "--encoder",
            metavar="NAME",
            help="Encoder (folder or name on the hub) whose tokens table 2 counts; that table 6 and figure 6 train on.",
            show_default="words; the configuration's",
        ),
    ] = "",
    figures: Annotated[
        Path | None,
        typer.Option(
            "--figures",
            metavar="DIR",
            file_okay=False,
            help="Folder to write figures to, as SVG and PNG.",
        ),
    ] = None,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Make a table or figure of the paper again.

    Downloads nothing and goes on where it was interrupted. The paper's numbers stand in brackets.
    """
    from tosloc.lab.paper.workspace import Workspace, read_published

    form = output_form(as_json, as_markdown)
    if table not in TABLES:
        raise ToslocError(
            f"no table of the paper is called {table!r} here; there are {', '.join(TABLES)}"
        )
    about, known = (
        read_published(table),
        {project.name: project for project in read_projects(projects)},
    )
    names = [name for name in about.projects or known if name in known]
    if not names:
        raise ToslocError(f"{projects}: none of {', '.join(about.projects)} (published at {DATA})")
    measure = getattr(import_module(f"tosloc.lab.paper.{TABLES[table][0]}"), TABLES[table][1])
    with progress_bars() as callback:
        made = measure(
            Workspace(
                about, [known[name] for name in names], out, callback, runs, not finished, encoder
            )
        )
    if figures is not None and made.curves is not None:
        from tosloc.lab.paper.reranking import candidates_figure
        from tosloc.plots.figures import save_figure

        save_figure(candidates_figure(made.curves, made.label), figures / table)
    _show(form, table, about, made)
    print_notes(f"{name} is not in {projects}" for name in about.projects if name not in known)


def _show(form: Form, table: str, about: Published, made: Result) -> None:
    if form is Form.markdown:
        print(f"## {table.replace('-', ' ').capitalize()}: {about.title}\n")
        notes = {"Reports": about.split, "Files searched": about.space, "In brackets": about.source}
        print("\n".join(f"- {name}: {text}" for name, text in notes.items() if text) + "\n")
    tables = [
        Table(one.heads, [list(map(cell_text, row)) for row in one.rows]) for one in made.tables
    ]
    plain = [
        {"heads": list(one.heads), "rows": [list(map(_plain, row)) for row in one.rows]}
        for one in made.tables
    ]
    print_results(form, {"table": table, "tables": plain, "notes": list(made.notes)}, tables)
    print_notes([*made.notes, *(f"left out: {one}" for one in about.left_out)])


def _plain(cell: str | Cell) -> Any:
    return cell if isinstance(cell, str) else {"ours": cell.value, "published": cell.paper}


def cell_text(cell: str | Cell) -> str:
    """A cell as people read it, with the paper's number in brackets, its shares to two places."""
    if isinstance(cell, str):
        return cell
    text = UNKNOWN
    if cell.value is not None:
        text = p_value_cell(cell.value) if cell.form == "p" else _number(cell.value, cell.form)
    return (
        text
        if cell.paper is None
        else f"{text} ({_number(cell.paper, cell.form.replace('3', '2'))})"
    )


def _number(value: float, form: str) -> str:
    text = f"{value:{form}}"
    return text if form.startswith(",") else text.replace("0.", ".", 1).replace("1.000", "1.00")
