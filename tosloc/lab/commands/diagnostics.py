"""The commands ``truncation``, ``calibration`` and ``reproduce-check``, which examine results."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from tosloc.core.arrays import BoolArray, FloatArray
from tosloc.core.errors import RunError, ToslocError
from tosloc.evaluate.measures import Measure
from tosloc.evaluate.run_paths import ScoredRun
from tosloc.lab.agreement import Pair, compare_published, compare_reproduction
from tosloc.lab.commands.options import FigureOption
from tosloc.lab.reliability import (
    Reliability,
    first_shares,
    judged_answers,
    reliability_figure,
)
from tosloc.lab.truncation import COLUMNS
from tosloc.lab.truncation import truncation as truncate_rankings
from tosloc.rank.model import TEMPERATURE_KEY, TEMPERATURES
from tosloc.terminal.options import (
    JsonOption,
    MarkdownOption,
    QrelsOption,
    RunsArgument,
    SplitOption,
    check_drawing,
)
from tosloc.terminal.printing import UNKNOWN, Form, Table, interval_cell, p_value_cell, share_cell

RunArgument = Annotated[
    Path,
    typer.Argument(
        metavar="RUN",
        help="Folder that train or rank wrote, the folder of one split, or a run file.",
    ),
]


def truncation(
    run: RunArgument,
    split: SplitOption = None,
    qrels: QrelsOption = None,
    as_markdown: MarkdownOption = False,
    as_json: JsonOption = False,
) -> None:
    """Show how truncating a run's rankings changes MAP.

    This is a diagnostic, not a result. It shows MAP divided by all fixed files and by those above
    the cut. Undefined values are either set to 0 or dropped. Fixed files are either those in the
    searched version, or all that are listed.
    """
    form = Form.chosen(as_json, as_markdown)
    scored = ScoredRun.read(run, split, qrels)
    evaluation = scored.evaluation()
    result = truncate_rankings(evaluation)
    summary = evaluation.counts | {"mrr": evaluation.mrr, "map": evaluation.map}
    values = {"run": scored.name, "summary": summary, **dataclasses.asdict(result)}
    tables = [Table(COLUMNS, cells, title, left=()) for title, cells in result.tables()]
    form.print(values, tables)
    if form is not Form.json:
        _print_list(result.notes)


def _print_list(lines: Iterable[str]) -> None:
    """Print an empty line, then the lines as a list in Markdown."""
    print("", *(f"- {line}" for line in lines), sep="\n")


CALIBRATION_HEADS = (
    "project",
    "answers",
    "temperature",
    "first file right",
    "mean confidence",
    "calibration error",
    "error by chance",
)
TOGETHER = "all runs together"
"""Name of the row that counts the answers of several runs as one set."""
MAX_RUNS_IN_DETAIL = 6
"""Number of runs whose bins fit beside each other."""
CALIBRATION_NOTE = (
    "Calibration error: the mean distance, over ten bins of answers, between the mean confidence in"
    " the first file and the fraction of right first files. Error by chance: the error expected if"
    " answers were right exactly as often as their confidence states."
)


def calibration(
    runs: RunsArgument,
    split: SplitOption = None,
    qrels: QrelsOption = None,
    temperature: Annotated[
        float | None,
        typer.Option(
            "--temperature",
            help="Temperature of the softmax that turns scores into confidence.",
            show_default="the run's own",
        ),
    ] = None,
    figure: FigureOption = None,
    as_markdown: MarkdownOption = False,
    as_json: JsonOption = False,
) -> None:
    """Compare the confidence of answers with how often they are right.

    Prints the confidence in the first file next to how often the fix changed it, in ten bins, and
    the expected calibration error. Several runs are also counted together; the bins and the figure
    of more than six show only that.
    """
    form = Form.chosen(as_json, as_markdown)
    check_drawing(figure)
    lowest, highest = TEMPERATURES
    if temperature is not None and not lowest <= temperature <= highest:
        raise RunError(f"--temperature must be from {lowest:g} to {highest:g}, not {temperature:g}")
    reliabilities: dict[str, Reliability] = {}
    values: list[dict[str, Any]] = []
    pooled: list[tuple[FloatArray, BoolArray]] = []
    for path in runs:
        scored = ScoredRun.read(path, split, qrels)
        run_temperature = _run_temperature(scored, path) if temperature is None else temperature
        name = scored.name if scored.name not in reliabilities else str(path)
        answers = judged_answers(scored.run, scored.qrels)
        pooled.append(first_shares(answers, run_temperature))
        reliability = Reliability.of_shares(*pooled[-1])
        reliabilities[name] = reliability
        values.append(_reliability_values(name, run_temperature, reliability))
    if len(values) > 1:
        shares_of_first, right = map(np.concatenate, zip(*pooled, strict=True))
        together = Reliability.of_shares(shares_of_first, right)
        values.append(_reliability_values(TOGETHER, None, together))
        if len(reliabilities) > MAX_RUNS_IN_DETAIL:
            reliabilities = {TOGETHER: together}
    if figure is not None:
        from tosloc.plots.figures import save_figure

        save_figure(reliability_figure(reliabilities), figure)
    form.print(values, _calibration_tables(values))


def _run_temperature(scored: ScoredRun, path: Path) -> float:
    """Return the temperature in the header of a run. Raises RunError if it has none."""
    temperature = scored.run.header.get(TEMPERATURE_KEY)
    lowest, highest = TEMPERATURES
    if isinstance(temperature, int | float) and lowest <= temperature <= highest:
        return float(temperature)
    raise RunError(f"{path}: the run does not contain a temperature; name one with --temperature")


def _reliability_values(
    name: str, temperature: float | None, reliability: Reliability
) -> dict[str, Any]:
    """Return a reliability as plain values; the means of empty bins, which are NaN, are left out.

    The temperature is None for several runs together.
    """
    bins: list[dict[str, Any]] = []
    for row in reliability.bins:
        bins.append({key: value for key, value in row._asdict().items() if not math.isnan(value)})
    plain = dataclasses.asdict(reliability)
    return {"run": name, "temperature": temperature, **plain, "bins": bins}


def _calibration_tables(values: Sequence[Mapping[str, Any]]) -> list[Table]:
    """Return a table with a row for each run, and a table of the runs' bins."""
    rows: list[list[str]] = []
    for run in values:
        temperature = run["temperature"]
        row = [run["run"], f"{run['answers']:,}"]
        row.append(UNKNOWN if temperature is None else f"{temperature:.4g}")
        row += [share_cell(run[name]) for name in ("right", "share", "error", "error_by_chance")]
        rows.append(row)
    detailed = values if len(values) <= MAX_RUNS_IN_DETAIL + 1 else values[-1:]
    bin_heads = ["confidence"]
    bin_heads += [f"{run['run']}: answers, mean confidence, right" for run in detailed]
    bin_rows: list[list[str]] = []
    for run_bins in zip(*(run["bins"] for run in detailed), strict=True):
        limits = f"{run_bins[0]['low']:.1f} to {run_bins[0]['high']:.1f}"
        bin_rows.append([limits, *(_bin_cell(run_bin) for run_bin in run_bins)])
    return [
        Table(CALIBRATION_HEADS, rows, note=CALIBRATION_NOTE),
        Table(bin_heads, bin_rows),
    ]


def _bin_cell(run_bin: Mapping[str, Any]) -> str:
    if not run_bin["answers"]:
        return UNKNOWN
    return f"{run_bin['answers']} {share_cell(run_bin['share'])} {share_cell(run_bin['right'])}"


_DEFAULT_MEASURES = "AP,RR,nDCG@10"


def reproduce_check(
    our_baseline: Annotated[
        Path, typer.Option("--our-baseline", metavar="RUN", help="Reproduced baseline run.")
    ],
    our_advanced: Annotated[
        Path, typer.Option("--our-advanced", metavar="RUN", help="Reproduced advanced run.")
    ],
    baseline: Annotated[
        Path | None,
        typer.Option(
            "--baseline", metavar="RUN", help="Original baseline run: a folder or a file."
        ),
    ] = None,
    advanced: Annotated[
        Path | None, typer.Option("--advanced", metavar="RUN", help="Original advanced run.")
    ] = None,
    published_baseline: Annotated[
        float | None,
        typer.Option(
            "--published-baseline", help="Published mean of the baseline, in place of --baseline."
        ),
    ] = None,
    published_advanced: Annotated[
        float | None,
        typer.Option(
            "--published-advanced",
            help="Published mean of the advanced run, in place of --advanced.",
        ),
    ] = None,
    measures: Annotated[
        str,
        typer.Option(
            "--measures",
            "--measure",
            help="Measures, separated by commas. Published means need exactly one.",
        ),
    ] = _DEFAULT_MEASURES,
    split: SplitOption = None,
    depth: Annotated[
        int | None,
        typer.Option(
            "--depth",
            help="Number of first files whose order Kendall's tau compares.",
            show_default="all files",
        ),
    ] = None,
    markdown: MarkdownOption = False,
    as_json: JsonOption = False,
) -> None:
    """Show at which levels a result is reproduced.

    Compares order, effectiveness, effect, statistics and means between an original pair of runs
    (baseline and advanced) and a reproduced pair, on the same reports or on another project.
    """
    form = Form.chosen(as_json, markdown)
    parsed_measures = list(dict.fromkeys(Measure.parse(name) for name in measures.split(",")))
    ours = _read_pair(our_baseline, our_advanced, split)
    if baseline and advanced and published_baseline is None and published_advanced is None:
        original = _read_pair(baseline, advanced, split)
        rows, remarks = compare_reproduction(original, ours, parsed_measures, depth)
        title = f"Original runs: {len(original.keys)} reports; reproduced: {len(ours.keys)}"
        heads = ["level", "measure", "baseline", "advanced", "effect"]
    elif (
        published_baseline is not None
        and published_advanced is not None
        and not (baseline or advanced)
    ):
        if measures == _DEFAULT_MEASURES or len(parsed_measures) != 1:
            raise ToslocError("published means need exactly one measure, such as --measure AP")
        [measure] = parsed_measures
        rows, remarks = compare_published(published_baseline, published_advanced, ours, measure)
        title = f"{len(ours.keys)} reproduced reports against published means of {measure}"
        heads = list(rows[0])
    else:
        raise ToslocError(
            "name the original runs with --baseline and --advanced, or their means with"
            " --published-baseline and --published-advanced"
        )
    cells = [[_level_cell(row, head) for head in heads] for row in rows]
    text_heads = ("level", "measure", "mean")
    left_columns = {column for column, head in enumerate(heads) if head in text_heads}
    values = {"reports": len(ours.keys), "rows": rows, "remarks": remarks}
    form.print(values, [Table(heads, cells, title, left=left_columns)])
    if form is not Form.json:
        _print_list(remarks)


def _level_cell(row: Mapping[str, Any], head: str) -> str:
    """Return the cell of a row under a head, in the format of its quantity."""
    value = row.get(head, "")
    measure = row.get("measure", row.get("mean", ""))
    if isinstance(value, str | int):
        return str(value)
    if head == "interval":
        return interval_cell(value, sign=True)
    if measure.startswith("p of"):
        return p_value_cell(value)
    return share_cell(value, sign=head == "difference" or "delta" in measure.lower())


def _read_pair(baseline: Path, advanced: Path, split: str | None) -> Pair:
    """Read the runs of a pair, and evaluate them."""
    baseline_run = ScoredRun.read(baseline, split)
    advanced_run = ScoredRun.read(advanced, split)
    return Pair(
        (baseline_run.run, baseline_run.evaluation()),
        (advanced_run.run, advanced_run.evaluation()),
    )
