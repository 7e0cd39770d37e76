"""The command ``truncation``: how far a cut ranking and another denominator inflate mean average precision."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from tosloc.cli.judging import MarkdownOption, QrelsOption, SplitOption
from tosloc.cli.options import FigureOption, JsonOption, Split, check_drawing
from tosloc.cli.printing import Form, Table, form_of, show

RunArgument = Annotated[
    Path, typer.Argument(metavar="RUN", help="Folder that train or rank wrote, a split's folder, or a run file.")
]


def truncation(
    run: RunArgument,
    split: SplitOption = Split.test,
    qrels: QrelsOption = None,
    figure: FigureOption = None,
    as_markdown: MarkdownOption = False,
    as_json: JsonOption = False,
) -> None:
    """Show what cutting a run's rankings does to MAP.

    A diagnostic, never a result: MAP with the textbook's denominator and with the fixed files seen above the cut only,
    undefined values as 0 and dropped, for the listed files that exist and for all of them.
    """
    from tosloc.evaluate import read_scored
    from tosloc.evaluate.truncation import COLUMNS
    from tosloc.evaluate.truncation import truncation as cut

    form = form_of(as_json, as_markdown)
    check_drawing(figure)
    scored = read_scored(run, split.value, qrels)
    evaluation = scored.evaluation()
    result = cut(evaluation)
    if figure is not None:
        from tosloc.plots.drawing import save_figure
        from tosloc.plots.figures import truncation_figure

        save_figure(truncation_figure(result), figure)
    rows = [
        dataclasses.asdict(row) | {"cut": row.cut.name, "over": row.over, "over_dropped": row.over_dropped}
        for row in result.rows
    ]
    values = {"run": scored.name, "summary": evaluation.summary(), "baseline": result.baseline, "rows": rows}
    show(
        form,
        values | {"assumed": result.assumed},
        [Table(COLUMNS, cells, text, left=()) for text, cells in result.tables()],
    )
    if form is not Form.json:
        print("\n".join(("", *(f"- {line}" for line in result.notes))))
