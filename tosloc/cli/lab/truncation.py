"""The command ``truncation``: how far a cut ranking and another denominator inflate mean average precision."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tosloc.cli.judging import MarkdownOption, QrelsOption, SplitOption
from tosloc.cli.options import JsonOption, Split
from tosloc.errors import RunError

if TYPE_CHECKING:
    from tosloc.evaluation import Evaluation
    from tosloc.evaluation.truncation import Truncation

RunArgument = Annotated[
    Path, typer.Argument(metavar="RUN", help="Folder that train or rank wrote, a split's folder, or a run file.")
]


def truncation(
    run: RunArgument,
    split: SplitOption = Split.test,
    qrels: QrelsOption = None,
    figure: Annotated[
        Path | None, typer.Option("--figure", metavar="PATH", help="Draw it, as PATH.svg and PATH.png.")
    ] = None,
    as_markdown: MarkdownOption = False,
    as_json: JsonOption = False,
) -> None:
    """Show what cutting a run's rankings does to MAP.

    A diagnostic, never a result: MAP with the textbook's denominator and with the fixed files seen above the cut only,
    undefined values as 0 and dropped, for the listed files that exist and for all of them.
    """
    from tosloc.cli.printing import print_json
    from tosloc.evaluation import read_scored
    from tosloc.evaluation.truncation import truncation as cut

    if as_json and as_markdown:
        raise RunError("--json and --markdown: choose one of them")
    judged = read_scored(run, split.value, qrels)
    evaluation = judged.evaluation()
    result = cut(evaluation)
    if figure is not None:
        _draw(result, figure)
    if as_json:
        print_json(_as_json(judged.name, evaluation, result))
    elif as_markdown:
        _print_markdown(judged.name, evaluation, result)
    else:
        _print_tables(judged.name, evaluation, result)


def _draw(result: Truncation, path: Path) -> None:
    from tosloc.plots.drawing import save
    from tosloc.plots.figures import truncation_figure

    save(truncation_figure(result), path.with_suffix("") if path.suffix in (".svg", ".png") else path)


def _print_tables(name: str, evaluation: Evaluation, result: Truncation) -> None:
    from tosloc.cli.printing import print_table, printable
    from tosloc.evaluation.truncation import TRUTHS
    from tosloc.plots.truncation import MEANINGS, SHORT_COLUMNS, caption, findings, heading, rows

    print(printable(heading(name, evaluation)))
    for truth in TRUTHS:
        print_table(SHORT_COLUMNS, rows(result, truth), title=f"\n{caption(result, truth)}", left=(), edge=False)
    for line in (*findings(result), "", *MEANINGS):
        print(line)


def _print_markdown(name: str, evaluation: Evaluation, result: Truncation) -> None:
    from tosloc.cli.printing import markdown_table, printable
    from tosloc.evaluation.truncation import TRUTHS
    from tosloc.plots.truncation import COLUMNS, MEANINGS, caption, findings, heading, rows

    print(printable(heading(name, evaluation)) + ".")
    for truth in TRUTHS:
        print(f"\n{caption(result, truth)}:\n")
        print(markdown_table(COLUMNS, rows(result, truth)), end="")
    print()
    for line in (*findings(result), *MEANINGS):
        print(f"- {line}")


def _as_json(name: str, evaluation: Evaluation, result: Truncation) -> dict[str, Any]:
    from tosloc.evaluation.invariants import PAPER, invariants

    rows = []
    for row in result.rows:
        paper, paper_dropped = PAPER.get((row.truth, row.cut.name), (None, None))
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
