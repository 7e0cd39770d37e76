"""The commands ``truncation``, ``calibration`` and ``reproduce-check``: what figures are worth."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from tosloc.cli.judging import MarkdownOption, QrelsOption, RunsArgument, SplitOption
from tosloc.cli.options import FigureOption, JsonOption, Split, check_drawing
from tosloc.cli.printing import (
    UNKNOWN,
    Form,
    Table,
    interval_cell,
    output_form,
    p_value_cell,
    print_results,
    share_cell,
)
from tosloc.core.errors import RunError, ToslocError
from tosloc.evaluate.measures import Measure
from tosloc.evaluate.run_paths import read_scored_run
from tosloc.lab.agreement import Pair, compare_published, compare_reproduction
from tosloc.lab.reliability import Reliability, judged_answers, reliability_figure
from tosloc.lab.truncation import COLUMNS
from tosloc.lab.truncation import truncation as cut
from tosloc.rank.calibration import MAX_TEMPERATURE, MIN_TEMPERATURE, TEMPERATURE_KEY

RunArgument = Annotated[
    Path,
    typer.Argument(
        metavar="RUN", help="Folder that train or rank wrote, a split's folder, or a run file."
    ),
]


def truncation(
    run: RunArgument,
    split: SplitOption = Split.test,
    qrels: QrelsOption = None,
    as_markdown: MarkdownOption = False,
    as_json: JsonOption = False,
) -> None:
    """Show what cutting a run's rankings does to MAP.

    A diagnostic, never a result: MAP with the textbook's denominator and with the fixed files seen above the cut only,
    undefined values as 0 and dropped, for the listed files that exist and for all of them.
    """
    form = output_form(as_json, as_markdown)
    scored = read_scored_run(run, split.value, qrels)
    evaluation = scored.evaluation()
    result = cut(evaluation)
    summary = evaluation.counts | {"mrr": evaluation.mrr, "map": evaluation.map}
    values = {"run": scored.name, "summary": summary, **dataclasses.asdict(result)}
    print_results(
        form, values, [Table(COLUMNS, cells, text, left=()) for text, cells in result.tables()]
    )
    if form is not Form.json:
        print("\n".join(("", *(f"- {line}" for line in result.notes))))


HEADS = (
    "project",
    "answers",
    "temperature",
    "first file right",
    "mean share",
    "calibration error",
    "by chance",
)
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
        typer.Option(
            "--temperature", help="Of the softmax that makes shares.", show_default="the run's own"
        ),
    ] = None,
    figure: FigureOption = None,
    as_markdown: MarkdownOption = False,
    as_json: JsonOption = False,
) -> None:
    """Show how sure answers are beside how often they are right.

    The share of the first file against how often the fix changed it: ten bins, expected calibration error.
    """
    form = output_form(as_json, as_markdown)
    check_drawing(figure)
    if temperature is not None and not MIN_TEMPERATURE <= temperature <= MAX_TEMPERATURE:
        raise RunError(
            f"--temperature: a number from {MIN_TEMPERATURE:g} to {MAX_TEMPERATURE:g}, not {temperature:g}"
        )
    found: dict[str, Reliability] = {}
    values = []
    for path in runs:
        scored = read_scored_run(path, split.value, qrels)
        own = scored.run.header.get(TEMPERATURE_KEY) if temperature is None else temperature
        if not isinstance(own, int | float) or not MIN_TEMPERATURE <= own <= MAX_TEMPERATURE:
            raise RunError(
                f"{path}: the run says no temperature of its shares; name one with --temperature"
            )
        name = scored.name if scored.name not in found else str(path)
        one = found[name] = Reliability.of(judged_answers(scored.run, scored.qrels), float(own))
        bins = [
            {key: value for key, value in row._asdict().items() if value == value}
            for row in one.bins
        ]  # no NaN
        values.append(
            {"run": name, "temperature": float(own), **dataclasses.asdict(one), "bins": bins}
        )
    if figure is not None:
        from tosloc.plots.figures import save_figure

        save_figure(reliability_figure(found), figure)
    print_results(form, values, _tables(values))


def _tables(values: Sequence[Mapping[str, Any]]) -> list[Table]:
    names = ("right", "share", "error", "error_by_chance")
    rows = [
        [
            one["run"],
            f"{one['answers']:,}",
            f"{one['temperature']:.4g}",
            *(share_cell(one[name]) for name in names),
        ]
        for one in values
    ]
    heads = ("first share", *(f"{one['run']}: answers, share, right" for one in values))
    bins = [
        [f"{of[0]['low']:.1f} to {of[0]['high']:.1f}"]
        + [
            f"{one['answers']} {share_cell(one['share'])} {share_cell(one['right'])}"
            if one["answers"]
            else UNKNOWN
            for one in of
        ]
        for of in zip(*(one["bins"] for one in values), strict=True)
    ]
    return [Table(HEADS, rows, note=MEANING), Table(heads, bins)]


_DEFAULT = "AP,RR,nDCG@10"


def reproduce_check(
    our_baseline: Annotated[
        Path, typer.Option("--our-baseline", metavar="RUN", help="Our baseline run.")
    ],
    our_advanced: Annotated[
        Path, typer.Option("--our-advanced", metavar="RUN", help="Our advanced run.")
    ],
    baseline: Annotated[
        Path | None,
        typer.Option(
            "--baseline", metavar="RUN", help="The original baseline run: a folder, or a file."
        ),
    ] = None,
    advanced: Annotated[
        Path | None, typer.Option("--advanced", metavar="RUN", help="The original advanced run.")
    ] = None,
    published_baseline: Annotated[
        float | None,
        typer.Option("--published-baseline", help="Instead: the published mean of the baseline."),
    ] = None,
    published_advanced: Annotated[
        float | None,
        typer.Option("--published-advanced", help="The published mean of the advanced run."),
    ] = None,
    measures: Annotated[
        str,
        typer.Option(
            "--measures",
            "--measure",
            help="Measures, with commas between; one for published means.",
        ),
    ] = _DEFAULT,
    split: SplitOption = Split.test,
    depth: Annotated[
        int | None,
        typer.Option(
            "--depth",
            help="Compare the order of the first files only, by tau.",
            show_default="all files",
        ),
    ] = None,
    markdown: MarkdownOption = False,
    as_json: JsonOption = False,
) -> None:
    """Say how far a result is reproduced.

    Order, effectiveness, effect, statistics and means between an original pair of runs (baseline and advanced) and
    ours, on the same reports or on another project's.
    """
    form = output_form(as_json, markdown)
    wanted = list(dict.fromkeys(Measure.parse(name) for name in measures.split(",")))
    ours = _pair(our_baseline, our_advanced, split)
    values: dict[str, Any] = {"reports": len(ours.keys)}
    if baseline and advanced and published_baseline is published_advanced is None:
        original = _pair(baseline, advanced, split)
        rows, remarks = compare_reproduction(original, ours, wanted, depth)
        title = f"{len(original.keys)} reports of the original, {len(ours.keys)} of ours"
        heads = ["level", "measure", "baseline", "advanced", "effect"]
    elif (
        published_baseline is not None
        and published_advanced is not None
        and not (baseline or advanced)
    ):
        if measures == _DEFAULT or len(wanted) != 1:
            raise ToslocError("published means are of one measure; name it, such as --measure AP")
        rows, remarks = compare_published(published_baseline, published_advanced, ours, wanted[0])
        title = f"our {len(ours.keys)} reports against published means of {wanted[0]}"
        heads = list(rows[0])
    else:
        raise ToslocError(
            "name the original pair by --baseline and --advanced, or by --published-baseline and --published-advanced"
        )
    cells = [[_level_cell(row, head) for head in heads] for row in rows]
    left = {place for place, head in enumerate(heads) if head in ("level", "measure", "mean")}
    print_results(
        form, values | {"rows": rows, "remarks": remarks}, [Table(heads, cells, title, left=left)]
    )
    if form is not Form.json:
        print("", *(f"- {remark}" for remark in remarks), sep="\n")


def _level_cell(row: Mapping[str, Any], head: str) -> str:
    value, measure = row.get(head, ""), row.get("measure", row.get("mean", ""))
    if isinstance(value, str | int):
        return str(value)
    if head == "interval":
        return interval_cell(value, sign=True)
    if measure.startswith("p of"):
        return p_value_cell(value)
    return share_cell(value, sign=head == "difference" or "delta" in measure.lower())


def _pair(baseline: Path, advanced: Path, split: Split) -> Pair:
    runs = (read_scored_run(path, split.value) for path in (baseline, advanced))
    return Pair(*((one.run, one.evaluation()) for one in runs))
