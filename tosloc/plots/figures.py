"""Figures of evaluations, one or several by name: they read in grey, and their axes tell the denominator."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from tosloc.evaluate.curves import (
    BIN_NAMES,
    RECALL_LEVELS,
    any_curve,
    coverage_curve,
    first_hits,
    interpolated_precision,
    largest_rank,
    precision_at_recall,
)
from tosloc.evaluate.evaluate import Evaluation
from tosloc.evaluate.reliability import BINS, Reliability
from tosloc.evaluate.truncation import FIRST_TEN, TENTHS, TRUTHS, CutMeans, Truncation
from tosloc.plots.drawing import GREYS, STROKES, drawing

MARKS: Final = (10, 50, 100, 300)
HATCHES: Final = ("", "////", "....", "xxxx", "\\\\\\\\", "----")
TWO_PANELS: Final = (7.2, 3.1)
"""Inches of a figure with two panels; printed 5.2 inches wide, its letters still have 6.5 points."""
SERIES: Final[tuple[tuple[str, Callable[[CutMeans], float], float], ...]] = (
    ("textbook, undefined as 0", lambda row: row.textbook, 3.2),
    ("seen-relevant, undefined as 0", lambda row: row.seen, 5.5),
    ("seen-relevant, undefined dropped", lambda row: row.seen_dropped, 5.0),
    ("textbook, undefined dropped", lambda row: row.textbook_dropped, 6.5),
)
"""What is drawn of a cut: name, value, size of its mark in points."""
FIRST_TEN_PLACE: Final = -0.06
"""Where the first ten files stand beside the fractions, which they are none of."""


def precision_recall_figure(evaluations: Mapping[str, Evaluation]) -> Figure:
    """Mean precision over the reports against recall: uninterpolated on the left, interpolated on the right.

    See ``precision_at_recall`` and ``interpolated_precision`` for how each is averaged.
    """
    levels = np.linspace(0, 1, RECALL_LEVELS)
    with _panels() as (figure, (left, right)):
        for number, (name, evaluation) in enumerate(evaluations.items()):
            recall, precision = precision_at_recall(evaluation)
            style = _style(number)
            line = {key: style[key] for key in ("color", "linestyle", "linewidth")}
            left.stairs(precision, recall, baseline=None, **line)
            at = np.searchsorted(recall, levels[1:] - 1e-9, side="left") - 1
            left.plot(levels[1:], precision[at], **{**style, "linestyle": "none"})
            left.plot([], [], label=name, **style)
            right.plot(levels, interpolated_precision(evaluation), **style)
        left.set_title("uninterpolated, area = MAP")
        right.set_title("interpolated, 11 points")
        left.set_ylabel("precision, mean over reports")
        for axes in (left, right):
            axes.set(xlabel="recall (share of a report's fixed files)", xlim=(-0.02, 1.02), ylim=(0, 1.02))
            axes.set_xticks(np.linspace(0, 1, 6))
        _legend(figure, left, 3)
    return figure


def coverage_figure(evaluations: Mapping[str, Evaluation]) -> Figure:
    """Coverage@k, of fixed files, and any@k, of reports, against k on a logarithmic axis."""
    end = max([*MARKS, *[largest_rank(evaluation) for evaluation in evaluations.values()]])
    cuts = np.unique(np.round(np.geomspace(1, end, 200)).astype(int)).tolist()
    with _panels() as (figure, (left, right)):
        for number, (name, evaluation) in enumerate(evaluations.items()):
            style = _style(number)
            for axes, curve in ((left, coverage_curve), (right, any_curve)):
                axes.plot(cuts, curve(evaluation, cuts), drawstyle="steps-post", **{**style, "marker": ""})
                axes.plot(MARKS, curve(evaluation, MARKS), **{**style, "linestyle": "none"})
                if len(evaluations) == 1:
                    where: Any = {"xytext": (3, -4), "textcoords": "offset points", "ha": "left", "va": "top"}
                    for place, value in zip(MARKS, curve(evaluation, MARKS).tolist(), strict=True):
                        axes.annotate(f"{value:.0%}", (place, value), fontsize=8, **where)
            left.plot([], [], label=name, **style)
        left.set_title("fixed files: coverage@k")
        right.set_title("reports: any fixed file, any@k")
        left.set_ylabel("share within the first k")
        for axes in (left, right):
            axes.set(xscale="log", xlabel="k (ranks, logarithmic)", xlim=(0.93, end * 1.08), ylim=(0, 1.03))
            ticks = [1, *MARKS, end] if end > 2 * MARKS[-1] else [1, *MARKS]
            axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
            axes.set_xticks([], minor=True)
            axes.yaxis.set_major_formatter(PercentFormatter(1))
        _legend(figure, left, 3)
    return figure


def first_hit_figure(evaluations: Mapping[str, Evaluation]) -> Figure:
    """Share of the reports whose first fixed file stands in each range of ranks.

    Their number stands on the bars of one or two runs; those of more runs are too narrow for it.
    """
    width = 0.84 / len(evaluations)
    numbered = len(evaluations) <= 2
    with drawing() as (figure, axes):
        for number, (name, evaluation) in enumerate(evaluations.items()):
            counts = first_hits(evaluation)
            places = np.arange(len(counts)) + (number - (len(evaluations) - 1) / 2) * width
            bars = axes.bar(
                places,
                counts / (len(evaluation.per_report) or 1),
                width * 0.94,
                label=name,
                facecolor="#ffffff" if number else "#8c8c8c",
                edgecolor=GREYS[number % len(GREYS)],
                hatch=HATCHES[number % len(HATCHES)],
                linewidth=0.8,
            )
            if numbered:
                axes.bar_label(bars, labels=[f"{count}" for count in counts], padding=1.5, fontsize=8)
        axes.set_xticks(range(len(BIN_NAMES)), BIN_NAMES, fontsize=8)
        axes.set_axisbelow(True)
        axes.grid(visible=False, axis="x")
        shares = "reports (their number on the bars)" if numbered else "reports"
        axes.set(xlabel="rank of the first fixed file", ylabel=shares)
        axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        axes.margins(y=0.1)
        if len(evaluations) > 1:
            axes.legend()
    return figure


def reliability_figure(found: Mapping[str, Reliability]) -> Figure:
    """How often the first file is right against its share, in ten bins; how many answers each bin has below."""
    with drawing(4.6, 4.6) as (figure, axes):
        axes.remove()
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
        upper.plot((0, 1), (0, 1), color="#b4b4b4", linewidth=3, label="share = how often right", zorder=1)
        for number, (name, one) in enumerate(found.items()):
            bins = [row for row in one.bins if row.answers]
            label = f"{name} (error {one.error:.3f})"
            upper.plot([row.share for row in bins], [row.right for row in bins], label=label, **_style(number))
            parts = [row.answers / max(len(one.shares), 1) for row in one.bins]
            lower.plot([(row.low + row.high) / 2 for row in one.bins], parts, **_style(number))
        upper.set(ylabel="first file right", ylim=(-0.02, 1.02))
        upper.legend(handlelength=3.5)
        lower.set(xlabel="share of the first file", ylabel="answers", xlim=(0, 1))
        lower.set_xticks(np.linspace(0, 1, BINS + 1))
        for axes in (upper, lower):
            axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    return figure


def truncation_figure(result: Truncation) -> Figure:
    """Mean average precision of cut rankings, cleaned truth and bloated truth side by side.

    Figures 1 and 3 of Hirsch and Hofer in one (left), and their figure 2 with undefined dropped besides (right).
    """
    ticks = [tenths / TENTHS for tenths in range(2, TENTHS + 1, 2)]
    names = [f"k={FIRST_TEN.amount}", *map(str, ticks)]
    with _panels() as (figure, panels):
        for axes, truth in zip(panels, TRUTHS, strict=True):
            rows, ten = result.fractions(truth), result.at(truth, FIRST_TEN)
            base = result.baseline[truth]
            axes.axhline(base, color="#b4b4b4", linewidth=4, label="textbook, uncut rankings", zorder=1)
            places = [row.cut.amount / TENTHS for row in rows]
            # the textbook's small marks stand on top of what they hide
            for number, (name, value, size) in enumerate(SERIES):
                style = {**_style(number), "markersize": size, "zorder": 3 - number / 10}
                axes.plot(places, [value(row) for row in rows], label=name, **style)
                axes.plot([FIRST_TEN_PLACE], [value(ten)], **{**style, "linestyle": "none"})
            axes.axvline(0.02, color="#b0b0b0", linewidth=0.8)
            axes.set_xticks([FIRST_TEN_PLACE, *ticks], names)
            axes.set(xlabel="kept, as a fraction of the files searched", xlim=(-0.12, 1.04))
            axes.set_title("existing files (cleaned)" if truth == "cleaned" else "all listed files (bloated)")
        panels[0].set_ylabel("mean average precision")
        _legend(figure, panels[0], 2)
    return figure


@contextmanager
def _panels() -> Iterator[tuple[Figure, Sequence[Axes]]]:
    """A figure of two panels side by side that share their vertical axis."""
    with drawing(*TWO_PANELS) as (figure, axes):
        axes.remove()
        panels = figure.subplots(1, 2, sharey=True)
        yield figure, panels
        for one in panels:
            one.title.set_fontsize("medium")


def _style(number: int) -> dict[str, Any]:
    line, marker = STROKES[number % len(STROKES)]
    return {
        "color": GREYS[number % len(GREYS)],
        "linestyle": line,
        "marker": marker,
        "markersize": 4.5,
        "linewidth": 1.4,
        "markerfacecolor": "white" if number % 2 else GREYS[number % len(GREYS)],
    }


def _legend(figure: Figure, axes: Axes, columns: int) -> None:
    """Names below the panels, where there is more than one to tell apart."""
    handles, labels = axes.get_legend_handles_labels()
    if len(labels) > 1:
        figure.legend(handles, labels, loc="outside lower center", ncols=min(columns, len(labels)), handlelength=3.5)
