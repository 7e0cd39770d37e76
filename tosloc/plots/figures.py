"""Figures: readable when printed in grey, their axes tell the denominator, the same bytes for the same numbers."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
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

from tosloc.core.io import atomic_write
from tosloc.evaluate.measures import Evaluation, Measure
from tosloc.evaluate.tables import COVERAGE_CUTS

STROKES: Final = (
    ("-", "o"),
    ("--", "s"),
    (":", "^"),
    ("-.", "D"),
    ((0, (5, 1, 1, 1, 1, 1)), "v"),
    ((0, (1, 3)), "P"),
)
"""Line style and marker of each series: they tell series apart without any colour."""
GREYS: Final = ("#000000", "#1f5fa8", "#b3541e", "#5a5a5a", "#2f7d4f", "#8a4f9e")
"""Colours of the series, dark enough on white and of different lightness."""

_STYLE: Final[Any] = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#d9d9d9",
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "svg.hashsalt": "tosloc",
}
MARKS: Final = (1, 10, *COVERAGE_CUTS)
BIN_ENDS: Final = (1, 5, 10, 50, 100, 300, sys.maxsize)  # last rank of each bin
BIN_NAMES: Final = ("1", "2–5", "6–10", "11–50", "51–100", "101–300", ">300", "not\nranked")


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
    for ending, options in (
        (".svg", {"metadata": {"Date": None, "Creator": None}}),
        (".png", {"dpi": 150}),
    ):
        target = path.with_name(path.name + ending)
        with mpl.rc_context(_STYLE), atomic_write(target) as temporary:
            figure.savefig(temporary, format=ending[1:], **options)
        made.append(target)
    return made


def coverage_figure(evaluation: Evaluation) -> Figure:
    """Coverage@k, of fixed files, and any@k, of reports, against k on a logarithmic axis."""
    end = max([MARKS[-1], *(one.ranks[-1] for one in evaluation.per_report if one.ranks)])
    cuts = np.unique(np.round(np.geomspace(1, end, 100)).astype(int)).tolist()
    curves = {
        "coverage@k: fixed files within": [evaluation.coverage(k) for k in cuts],
        "any@k: reports with any within": [evaluation.mean(Measure("Hit", k)) for k in cuts],
    }
    with drawing() as (figure, axes):
        for number, (label, values) in enumerate(curves.items()):
            axes.plot(
                cuts, values, drawstyle="steps-post", label=label, **{**style(number), "marker": ""}
            )
        axes.set(
            xscale="log",
            xlabel="k (ranks, logarithmic)",
            ylabel="share within the first k",
            ylim=(0, 1.03),
        )
        axes.set_xticks(MARKS, map(str, MARKS))
        axes.set_xticks([], minor=True)
        axes.yaxis.set_major_formatter(PercentFormatter(1))
        axes.legend(loc="lower right")
    return figure


def first_hit_figure(evaluation: Evaluation) -> Figure:
    """Share of the reports whose first fixed file stands in each range of ranks, their number on the bars."""
    first = [one.ranks[0] if one.ranks else math.inf for one in evaluation.per_report]
    counts = np.bincount(np.searchsorted(BIN_ENDS, first), minlength=len(BIN_NAMES))
    with drawing() as (figure, axes):
        bars = axes.bar(
            range(len(counts)),
            counts / (len(first) or 1),
            0.79,
            facecolor="#8c8c8c",
            edgecolor=GREYS[0],
            linewidth=0.8,
        )
        axes.bar_label(bars, labels=[*map(str, counts)], padding=1.5, fontsize=8)
        axes.set_xticks(range(len(BIN_NAMES)), BIN_NAMES, fontsize=8)
        axes.set_axisbelow(True)
        axes.grid(visible=False, axis="x")
        axes.set(xlabel="rank of the first fixed file", ylabel="reports (their number on the bars)")
        axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    return figure


def style(number: int) -> dict[str, Any]:
    """How the series of a number is drawn."""
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
