"""The command ``truncation``: how far a cut ranking and another denominator inflate mean average precision."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tosloc.cli.judging import MarkdownOption, QrelsOption, SplitOption
from tosloc.cli.options import FigureOption, JsonOption, Split, check_drawing
from tosloc.cli.printing import Table, form_of, markdown, print_json, print_table

if TYPE_CHECKING:
    from tosloc.evaluate import Evaluation
    from tosloc.evaluate.truncation import Truncation

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
    from tosloc.evaluate.truncation import truncation as cut

    form_of(as_json, as_markdown)
    check_drawing(figure, *(() if as_json else (run,)))  # its words stand beside its figure
    scored = read_scored(run, split.value, qrels)
    evaluation = scored.evaluation()
    result = cut(evaluation)
    if figure is not None:
        _draw(result, figure)
    if as_json:
        print_json(_as_json(scored.name, evaluation, result))
    else:
        _print(scored.name, evaluation, result, as_markdown)


def _draw(result: Truncation, path: Path) -> None:
    from tosloc.plots.drawing import save_figure
    from tosloc.plots.figures import truncation_figure

    save_figure(truncation_figure(result), path)


def _print(name: str, evaluation: Evaluation, result: Truncation, as_markdown: bool) -> None:
    from tosloc.io import printable
    from tosloc.plots import truncation as tables

    print(printable(tables.truncation_heading(name, evaluation)) + ("." if as_markdown else ""))
    for caption, rows in tables.truncation_tables(result):
        if as_markdown:
            print(f"\n{caption}:\n\n{markdown(Table(tables.TRUNCATION_COLUMNS, rows))}", end="")
        else:
            print_table(Table(tables.SHORT_TRUNCATION_COLUMNS, rows, f"\n{caption}", left=()), edge=False)
    findings, meanings = tables.truncation_findings(result), tables.TRUNCATION_MEANINGS
    if as_markdown:
        print("\n" + "\n".join(f"- {line}" for line in (*findings, *meanings)))
    else:
        print("\n".join((*findings, "", *meanings)))


def _as_json(name: str, evaluation: Evaluation, result: Truncation) -> dict[str, Any]:
    from tosloc.evaluate.truncation import PUBLISHED, invariants

    rows = []
    for row in result.rows:
        paper, paper_dropped = PUBLISHED.get((row.truth, row.cut.name), (None, None))
        values = dataclasses.asdict(row) | {"cut": row.cut.name, "over": row.over, "over_dropped": row.over_dropped}
        rows.append({**values, "paper_over": paper, "paper_over_dropped": paper_dropped})
    return {
        "run": name,
        "summary": evaluation.summary(),
        "baseline": result.baseline,
        "rows": rows,
        "relations": [dataclasses.asdict(one) for one in invariants(result)],
        "assumed": result.assumed,
    }
