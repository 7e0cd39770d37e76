"""The commands ``report-parts``, ``evidence`` and ``evidence-lines``.

They examine how TosLoc reads reports, and how near its answers are to the fixed code.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from tosloc.core.errors import ReportError
from tosloc.lab.commands.options import ProjectsOption
from tosloc.lab.evidence import FRAMES_SHOWN, measure_evidence
from tosloc.lab.evidence_lines import NEAR, measure_evidence_lines
from tosloc.lab.projects import read_projects
from tosloc.lab.report_parts import PARTS, find_report_files, measure_parts
from tosloc.localize.question import Code, Question
from tosloc.terminal.options import JsonOption, MarkdownOption
from tosloc.terminal.printing import UNKNOWN, Form, Table, progress_bars, share_cell

PARTS_NOTE = (
    "Shares of the words of titles and descriptions. Templates of the projects are not read."
)


def report_parts(
    data_sets: Annotated[
        list[Path],
        typer.Argument(metavar="REPORTS...", help="Files of labelled reports, or folders of them."),
    ],
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Show how much of the text of reports each part takes.

    A file is one data set. The files of JSON lines in a folder are one data set together.
    """
    form = Form.chosen(as_json, as_markdown)
    values = []
    columns = []
    for path in data_sets:
        files = find_report_files(path)
        if not files:
            raise ReportError(f"{path} contains no file of JSON lines (*.jsonl)")
        with progress_bars() as callback:
            measured = measure_parts(files, callback)
        values.append({"data set": str(path), **dataclasses.asdict(measured)})
        columns.append(measured)
    rows = [["reports", *(f"{measured.reports:,}" for measured in columns)]]
    rows.append(["words", *(f"{measured.words:,}" for measured in columns)])
    for part in PARTS:
        rows.append([part, *(share_cell(measured.shares[part]) for measured in columns)])
    heads = ("part", *(path.stem for path in data_sets))
    form.print(values, [Table(heads, rows, note=PARTS_NOTE)])


def evidence(
    projects: ProjectsOption, as_json: JsonOption = False, as_markdown: MarkdownOption = False
) -> None:
    """Count how often a file that a report states outright is a fixed one.

    The first table shows each kind of statement, with the ranking by the shipped weights before and
    after it counts. The second shows the project's own stack frames by language, and how often each
    is in a fixed file, from the innermost one on.
    """
    form = Form.chosen(as_json, as_markdown)
    project_list = read_projects(projects)
    with progress_bars() as callback:
        kinds, frames = measure_evidence(project_list, callback)
    values = {
        "kinds": [row._asdict() for row in kinds],
        "frames": [row._asdict() for row in frames],
    }
    kind_heads = ["statement", "reports", "files", "fixed", "MRR before", "MAP", "MRR after", "MAP"]
    kind_rows: list[list[str]] = []
    for kind in kinds:
        cells = [kind.kind, f"{kind.reports:,}", f"{kind.files:,}"]
        cells.append(share_cell(kind.right if kind.files else None))
        for mean in (kind.mrr_learned, kind.map_learned, kind.mrr, kind.map):
            cells.append(share_cell(mean))
        kind_rows.append(cells)
    frame_heads = ["frames", *(f"{number + 1}" for number in range(FRAMES_SHOWN))]
    frame_rows: list[list[str]] = []
    for frame in frames:
        cells = [frame.language]
        for count, right in zip(frame.counts, frame.right, strict=True):
            cells.append(f"{share_cell(right)} of {count}" if count else share_cell(None))
        frame_rows.append(cells)
    form.print(values, [Table(kind_heads, kind_rows), Table(frame_heads, frame_rows)])


def evidence_lines(
    projects: ProjectsOption,
    code: Annotated[Code, typer.Option(help="Code that the answers show.")] = "lines",
    functions: Annotated[
        int, typer.Option(min=1, help="Maximum number of functions that the answers list.")
    ] = Question.functions,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Measure how near the lines and functions that answers show are to what the fix changed.

    Answers count whose first file is a fixed one. Each report needs a fix_commit, or a version and
    the changed_lines.
    """
    form = Form.chosen(as_json, as_markdown)
    project_list = read_projects(projects)
    with progress_bars() as callback:
        rows = measure_evidence_lines(project_list, code, functions, callback)
    heads = [
        *("project", "reports", "right first file", "lines shown", f"within {NEAR} lines"),
        *("fix changes a function", "listed", "first"),
    ]
    cells: list[list[str]] = []
    for row in rows:
        lines = UNKNOWN if row.lines is None else f"{row.lines:.1f}"
        counts = [f"{row.reports:,}", f"{row.files:,}", lines, share_cell(row.near)]
        functions_cells = [share_cell(row.listed), share_cell(row.first)]
        cells.append([row.project, *counts, f"{row.with_functions:,}", *functions_cells])
    form.print([row._asdict() for row in rows], [Table(heads, cells)])
