"""The command ``report-parts``, which examines how TosLoc reads reports."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from tosloc.cli.judging import MarkdownOption
from tosloc.cli.options import JsonOption
from tosloc.cli.printing import Table, output_form, print_results, progress_bars, share_cell
from tosloc.core.errors import ReportError
from tosloc.lab.report_parts import PARTS, find_report_files, measure_parts

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

    Each file is one data set, and so are all files of JSON lines in a folder.
    """
    form = output_form(as_json, as_markdown)
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
    print_results(form, values, [Table(heads, rows, note=PARTS_NOTE)])
