"""The commands ``truncation`` and ``calibration``: what a cut does to MAP, and whether shares mean what they say."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tosloc.cli.judging import MarkdownOption, QrelsOption, RunsArgument, SplitOption
from tosloc.cli.options import FigureOption, JsonOption, Split, check_drawing
from tosloc.cli.printing import Form, Table, form_of, show
from tosloc.errors import RunError

if TYPE_CHECKING:
    from tosloc.evaluate.reliability import Reliability

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


HEADS = ("project", "answers", "temperature", "first file right", "mean share", "calibration error", "by chance")
MEANING = (
    "calibration error: of ten bins of first shares, how far the bin's share is off the answers that were right; by"
    " chance: the same of as many answers that are right just as often as they say"
)


def calibration(
    runs: RunsArgument,
    split: SplitOption = Split.test,
    qrels: QrelsOption = None,
    temperature: Annotated[
        float | None,
        typer.Option("--temperature", help="Of the softmax that makes shares.", show_default="the run's own"),
    ] = None,
    figure: FigureOption = None,
    as_markdown: MarkdownOption = False,
    as_json: JsonOption = False,
) -> None:
    """Show how sure answers are beside how often they are right.

    The share of the first file against how often the fix changed it: ten bins, expected calibration error.
    """
    from tosloc.calibration import HIGHEST, LOWEST, TEMPERATURE
    from tosloc.evaluate import read_scored
    from tosloc.evaluate.reliability import Reliability, judged_answers

    form = form_of(as_json, as_markdown)
    check_drawing(figure)
    if temperature is not None and not LOWEST <= temperature <= HIGHEST:
        raise RunError(f"--temperature: a number from {LOWEST:g} to {HIGHEST:g}, not {temperature:g}")
    found: dict[str, tuple[Reliability, float]] = {}
    for path in runs:
        scored = read_scored(path, split.value, qrels)
        own = scored.run.header.get(TEMPERATURE) if temperature is None else temperature
        if not isinstance(own, int | float) or not LOWEST <= own <= HIGHEST:
            raise RunError(f"{path}: the run says no temperature of its shares; name one with --temperature")
        name = scored.name if scored.name not in found else str(path)
        found[name] = Reliability.of(judged_answers(scored.run, scored.qrels), float(own)), float(own)
    if figure is not None:
        draw(found, figure)
    show(form, [_values(name, *one) for name, one in found.items()], _tables(found))


def draw(found: Mapping[str, tuple[Reliability, float]], path: Path) -> None:
    """Write the figure of all runs. Raises MissingExtra."""
    from tosloc.plots.drawing import save_figure
    from tosloc.plots.figures import reliability_figure

    save_figure(reliability_figure({name: one for name, (one, _) in found.items()}), path)


def _tables(found: Mapping[str, tuple[Reliability, float]]) -> list[Table]:
    from tosloc.cli.cells import UNKNOWN, share

    rows = [
        [
            name,
            f"{len(one.shares):,}",
            f"{temperature:.4g}",
            *(share(value) for value in (one.right_share, one.mean_share, one.error, one.error_by_chance())),
        ]
        for name, (one, temperature) in found.items()
    ]
    heads = ("first share", *(f"{name}: answers, share, right" for name in found))
    bins = [
        [f"{row[0].low:.1f} to {row[0].high:.1f}"]
        + [f"{one.answers} {share(one.share)} {share(one.right)}" if one.answers else UNKNOWN for one in row]
        for row in zip(*(one.bins for one, _ in found.values()), strict=True)
    ]
    return [Table(HEADS, rows, note=MEANING), Table(heads, bins)]


def _values(name: str, one: Reliability, temperature: float) -> dict[str, Any]:
    bins = [
        {"low": row.low, "high": row.high, "answers": row.answers}
        | ({"share": row.share, "right": row.right} if row.answers else {})
        for row in one.bins
    ]
    return {
        "run": name,
        "answers": len(one.shares),
        "temperature": temperature,
        "right": one.right_share,
        "share": one.mean_share,
        "error": one.error,
        "error by chance": one.error_by_chance(),
        "bins": bins,
    }
