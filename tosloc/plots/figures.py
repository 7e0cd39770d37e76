"""Figures: readable when printed in grey, their axes tell the denominator, the same bytes for the same numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from tosloc.evaluate.curves import BIN_NAMES, BINS, Reliability, any_curve, coverage_curve, first_hits
from tosloc.evaluate.evaluate import COVERED, Evaluation
from tosloc.evaluate.truncation import FIRST, TENTHS, TRUTHS, Truncation
from tosloc.io import written_whole

STROKES: Final = (("-", "o"), ("--", "s"), (":", "^"), ("-.", "D"), ((0, (5, 1, 1, 1, 1, 1)), "v"), ((0, (1, 3)), "P"))
"""Line style and marker of each series: they tell series apart without any colour."""
GREYS: Final = ("#000000", "#1f5fa8", "#b3541e", "#5a5a5a", "#2f7d4f", "#8a4f9e")
"""Colours of the series, dark enough on white and of different lightness."""

_STYLE: Final[Any] = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#d9d9d9",
    "grid.linewidth": 0.6,
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "legend.frameon": False,
    "svg.hashsalt": "tosloc",
    "svg.fonttype": "path",
}
MARKS: Final = (10, *COVERED)
SERIES: Final = (
    ("textbook, undefined as 0", "textbook", 3.2),
    ("seen-relevant, undefined as 0", "seen", 5.5),
    ("seen-relevant, undefined dropped", "seen_dropped", 5.0),
    ("textbook, undefined dropped", "textbook_dropped", 6.5),
)
"""What is drawn of a cut: name, value, size of its mark in points."""
FIRST_TEN_PLACE: Final = -0.06  # where the first ten files stand beside the fractions, which they are none of


@contextmanager
def drawing(width: float = 5.2, height: float = 3.4) -> Iterator[tuple[Figure, Axes]]:
    """A figure of so many inches with one pair of axes, in the common style."""
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(figure)
        yield figure, figure.add_subplot()


def svg(figure: Figure) -> str:
    """The figure as an SVG document, without its XML header, to stand in a page."""
    buffer = BytesIO()
    with mpl.rc_context(_STYLE):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue().decode()
    return text[text.index("<svg") :]


def save_figure(figure: Figure, path: Path) -> list[Path]:
    """Write the figure as ``path``, which may have one of the two endings, .svg and .png; the files written."""
    if path.suffix in (".svg", ".png"):
        path = path.with_suffix("")
    made = []
    for ending, options in ((".svg", {"metadata": {"Date": None, "Creator": None}}), (".png", {"dpi": 150})):
        target = path.with_name(path.name + ending)
        with mpl.rc_context(_STYLE), written_whole(target) as temporary:
            figure.savefig(temporary, format=ending[1:], **options)
        made.append(target)
    return made


def coverage_figure(evaluation: Evaluation) -> Figure:
    """Coverage@k, of fixed files, and any@k, of reports, against k on a logarithmic axis."""
    end = max([*MARKS, *(one.ranks[-1] for one in evaluation.per_report if one.ranks)])
    cuts = np.unique(np.round(np.geomspace(1, end, 200)).astype(int)).tolist()
    with _panels() as (figure, left, right):
        left.set(title="fixed files: coverage@k", ylabel="share within the first k")
        right.set(title="reports: any fixed file, any@k")
        for axes, curve in ((left, coverage_curve), (right, any_curve)):
            values = curve(evaluation, MARKS)
            axes.plot(cuts, curve(evaluation, cuts), drawstyle="steps-post", **{**_style(0), "marker": ""})
            axes.plot(MARKS, values, **{**_style(0), "linestyle": "none"})
            where: Any = {"xytext": (3, -4), "textcoords": "offset points", "ha": "left", "va": "top"}
            for place, value in zip(MARKS, values.tolist(), strict=True):
                axes.annotate(f"{value:.0%}", (place, value), fontsize=8, **where)
            axes.set(xscale="log", xlabel="k (ranks, logarithmic)", xlim=(0.93, end * 1.08), ylim=(0, 1.03))
            ticks = [1, *MARKS, end] if end > 2 * MARKS[-1] else [1, *MARKS]
            axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
            axes.set_xticks([], minor=True)
            axes.yaxis.set_major_formatter(PercentFormatter(1))
    return figure


def first_hit_figure(evaluation: Evaluation) -> Figure:
    """Share of the reports whose first fixed file stands in each range of ranks, their number on the bars."""
    counts = first_hits(evaluation)
    with drawing() as (figure, axes):
        shares = counts / (len(evaluation.per_report) or 1)
        bars = axes.bar(range(len(counts)), shares, 0.79, facecolor="#8c8c8c", edgecolor=GREYS[0], linewidth=0.8)
        axes.bar_label(bars, labels=list(map(str, counts)), padding=1.5, fontsize=8)
        axes.set_xticks(range(len(BIN_NAMES)), BIN_NAMES, fontsize=8)
        axes.set_axisbelow(True)
        axes.grid(visible=False, axis="x")
        axes.set(xlabel="rank of the first fixed file", ylabel="reports (their number on the bars)")
        axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        axes.margins(y=0.1)
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
            parts = [row.answers / max(one.answers, 1) for row in one.bins]
            lower.plot([(row.low + row.high) / 2 for row in one.bins], parts, **_style(number))
        upper.set(ylabel="first file right", ylim=(-0.02, 1.02))
        upper.legend(handlelength=3.5)
        lower.set(xlabel="share of the first file", ylabel="answers", xlim=(0, 1))
        lower.set_xticks(np.linspace(0, 1, BINS + 1))
        for axes in (upper, lower):
            axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    return figure


def truncation_figure(result: Truncation) -> Figure:
    """Mean average precision of cut rankings, cleaned truth and bloated truth side by side. Figures 1 and 3 of Hirsch
    and Hofer in one (left), and their figure 2 with undefined dropped besides (right).
    """
    places = [tenths / TENTHS for tenths in range(1, TENTHS + 1)]
    with _panels() as (figure, *panels):
        for axes, truth in zip(panels, TRUTHS, strict=True):
            *rows, ten = result.of(truth)
            axes.axhline(
                result.baseline[truth], color="#b4b4b4", linewidth=4, label="textbook, uncut rankings", zorder=1
            )
            # the textbook's small marks stand on top of what they hide
            for number, (name, key, size) in enumerate(SERIES):
                style = {**_style(number), "markersize": size, "zorder": 3 - number / 10}
                axes.plot(places, [getattr(row, key) for row in rows], label=name, **style)
                axes.plot([FIRST_TEN_PLACE], [getattr(ten, key)], **{**style, "linestyle": "none"})
            axes.axvline(0.02, color="#b0b0b0", linewidth=0.8)
            axes.set_xticks([FIRST_TEN_PLACE, *places[1::2]], [f"k={FIRST}", *map(str, places[1::2])])
            axes.set(xlabel="kept, as a fraction of the files searched", xlim=(-0.12, 1.04))
            axes.set_title("existing files (cleaned)" if truth == "cleaned" else "all listed files (bloated)")
        panels[0].set_ylabel("mean average precision")
    return figure


@contextmanager
def _panels() -> Iterator[tuple[Figure, Axes, Axes]]:
    """A figure of two panels side by side that share their vertical axis, with the names of what the left one shows
    below. Printed 5.2 inches wide, its letters still have 6.5 points.
    """
    with drawing(7.2, 3.1) as (figure, axes):
        axes.remove()
        left, right = figure.subplots(1, 2, sharey=True)
        yield figure, left, right
        for one in (left, right):
            one.title.set_fontsize("medium")
        handles, labels = left.get_legend_handles_labels()
        if labels:
            figure.legend(handles, labels, loc="outside lower center", ncols=2, handlelength=3.5)


def _style(number: int) -> dict[str, Any]:
    line, marker = STROKES[number % len(STROKES)]
    color = GREYS[number % len(GREYS)]
    return {
        "color": color,
        "linestyle": line,
        "marker": marker,
        "markersize": 4.5,
        "linewidth": 1.4,
        "markerfacecolor": "white" if number % 2 else color,
    }
