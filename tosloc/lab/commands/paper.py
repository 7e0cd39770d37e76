"""The commands ``baselines``, ``bm25`` and ``reproduce``.

They rank with other techniques, and make the tables and figures of the paper.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from tosloc.core.cluster import on_cluster
from tosloc.core.errors import ToslocError, require
from tosloc.git.repository import resolve_revision
from tosloc.lab.commands.options import (
    ConfigOption,
    ProjectsOption,
    ReportsOption,
    RepositoryOption,
    read_settings,
)
from tosloc.lab.projects import read_projects
from tosloc.terminal.options import ClusterOption, JsonOption, MarkdownOption, OutOption, Split
from tosloc.terminal.printing import UNKNOWN, Form, Table, p_value_cell, print_notes, progress_bars

if TYPE_CHECKING:
    from tosloc.lab.paper.workspace import Cell, PaperResult, PaperTable, Published

TABLES: Final = {
    "table-2": ("data", "measure_lengths"),
    "table-3": ("data", "count_contents"),
    "table-4": ("systems", "measure_accuracy"),
    "table-5": ("systems", "measure_speed"),
    "table-6": ("reranking", "ablate_reranker"),
    "figure-5": ("reranking", "measure_coverage"),
    "figure-6": ("reranking", "sweep_candidates"),
}
"""Table or figure -> module of ``tosloc.lab.paper`` and its function that makes it."""
DATA_URL: Final = (
    "https://figshare.com/articles/dataset/The_dataset_of_six_open_source_Java_projects/951967"
)
"""Where the labelled reports of the paper's projects are published."""


def baselines(
    repo: RepositoryOption,
    reports: ReportsOption,
    out: OutOption,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAMES",
            help="Techniques to run: buglocator, brtracer, bluir, amalgam, blia, dnnloc, dreamloc.",
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

    Ranks every file of each version and writes to OUT/NAME. Finished techniques are skipped.
    """
    from tosloc.lab import baseline_runs

    techniques = [baseline_runs.technique(name) for name in names or baseline_runs.SYSTEMS]
    splits = baseline_runs.SPLITS if split is None else (split.value,)
    with on_cluster(cluster, {repo: ""}, resolve_revision), progress_bars() as callback:
        runs = baseline_runs.rank_with(
            techniques, read_settings(config), repo, reports, out, splits, callback
        )
    for folder in runs.folders:
        print(folder)
    print_notes(runs.search_notes)
    print(
        f"tosloc: wrote the rankings to {out}; now run: tosloc evaluate {out}/* --split"
        f" {splits[-1]}",
        file=sys.stderr,
    )


def bm25(
    repo: RepositoryOption,
    reports: ReportsOption,
    out: OutOption,
    config: ConfigOption = None,
    split: Annotated[Split, typer.Option("--split", help="Reports to rank.")] = Split.all,
) -> None:
    """Rank labelled reports by BM25 over whole files.

    Uses the library bm25s with its defaults, over the files that tosloc rank searches.
    """
    from tosloc.lab.bm25_runs import rank_with_bm25s

    require("BM25 over whole files", "report", "bm25s")
    with progress_bars() as callback:
        notes = rank_with_bm25s(read_settings(config), repo, reports, out, split.value, callback)
    print_notes(notes)
    print(
        f"tosloc: wrote the rankings to {out}; now run: tosloc evaluate {out} --split"
        f" {split.value}",
        file=sys.stderr,
    )


def reproduce(
    table: Annotated[
        str, typer.Argument(metavar="TABLE", help=f"Table or figure: {', '.join(TABLES)}.")
    ],
    out: OutOption,
    projects: ProjectsOption,
    runs: Annotated[
        Path | None,
        typer.Option(
            "--runs",
            metavar="DIR",
            exists=True,
            file_okay=False,
            help="Folder with finished runs, in DIR/PROJECT and DIR/baselines/PROJECT/SYSTEM.",
        ),
    ] = None,
    finished: Annotated[
        bool,
        typer.Option(
            "--finished", help="Read only finished runs, and list those that are missing."
        ),
    ] = False,
    encoder: Annotated[
        str,
        typer.Option(
            "--encoder",
            metavar="NAME",
            help="Encoder: a folder or a name on the Hugging Face hub. Table 2 counts its tokens;"
            " table 6 and figure 6 train it.",
            show_default="words for table 2, the configuration's for the others",
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
    """Reproduce a table or figure of the paper.

    Nothing is downloaded, and an interrupted command resumes. The paper's numbers are in
    parentheses.
    """
    from tosloc.lab.paper.workspace import Workspace, read_published

    form = Form.chosen(as_json, as_markdown)
    if table not in TABLES:
        raise ToslocError(f"there is no table or figure {table!r}; choose from {', '.join(TABLES)}")
    published = read_published(table)
    project_by_name = {project.name: project for project in read_projects(projects)}
    names = [name for name in published.projects or project_by_name if name in project_by_name]
    if not names:
        wanted = ", ".join(published.projects)
        raise ToslocError(
            f"{projects} contains none of the projects {wanted} (their data are published at"
            f" {DATA_URL})"
        )
    module, function = TABLES[table]
    make_result = getattr(import_module(f"tosloc.lab.paper.{module}"), function)
    with progress_bars() as callback:
        work = Workspace(
            published=published,
            projects=[project_by_name[name] for name in names],
            out=out,
            progress=callback,
            runs=runs,
            make=not finished,
            encoder=encoder,
        )
        result = make_result(work)
    if figures is not None and result.curves is not None:
        from tosloc.lab.paper.reranking import candidates_figure
        from tosloc.plots.figures import save_figure

        save_figure(candidates_figure(result.curves, result.label), figures / table)
    _print_result(form, table, published, result)
    missing = [name for name in published.projects if name not in project_by_name]
    print_notes(f"{name} is not in {projects}" for name in missing)


def _print_result(form: Form, table: str, published: Published, result: PaperResult) -> None:
    if form is Form.markdown:
        _print_heading(table, published)
    tables: list[Table] = []
    table_values: list[dict[str, Any]] = []
    for paper_table in result.tables:
        cells = [[cell_text(cell) for cell in row] for row in paper_table.rows]
        tables.append(Table(paper_table.heads, cells))
        table_values.append(_table_values(paper_table))
    values = {"table": table, "tables": table_values, "notes": list(result.notes)}
    form.print(values, tables)
    print_notes([*result.notes, *(f"left out: {text}" for text in published.left_out)])


def _print_heading(table: str, published: Published) -> None:
    """Print the title of a table in Markdown, and a sentence on its numbers."""
    print(f"## {table.replace('-', ' ').capitalize()}: {published.title}\n")
    facts = {
        "Reports": published.split,
        "Files searched": published.space,
        "In parentheses": published.source,
    }
    for name, text in facts.items():
        if text:
            print(f"- {name}: {text}")
    print()


def _table_values(table: PaperTable) -> dict[str, Any]:
    """Return a table as plain values for JSON."""
    rows = [[_cell_value(cell) for cell in row] for row in table.rows]
    return {"heads": list(table.heads), "rows": rows}


def _cell_value(cell: str | Cell) -> Any:
    return cell if isinstance(cell, str) else {"ours": cell.value, "published": cell.paper}


def cell_text(cell: str | Cell) -> str:
    """Return a cell as text, with the paper's number in brackets; shares have two places there."""
    if isinstance(cell, str):
        return cell
    if cell.value is None:
        text = UNKNOWN
    elif cell.form == "p":
        text = p_value_cell(cell.value)
    else:
        text = _format_number(cell.value, cell.form)
    if cell.paper is None:
        return text
    return f"{text} ({_format_number(cell.paper, cell.form.replace('3', '2'))})"


def _format_number(value: float, form: str) -> str:
    """Return a number in a format; shares are written without their leading zero."""
    text = f"{value:{form}}"
    return text if form.startswith(",") else text.replace("0.", ".", 1).replace("1.000", "1.00")
