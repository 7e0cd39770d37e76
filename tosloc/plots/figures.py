"""Draw the figures of an evaluation.

They are readable when printed in grey, their axes name the denominator, and equal numbers give
equal bytes.
"""

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
"""Line style and marker of each series, so that series differ even without colour."""
COLOURS: Final = ("#000000", "#1f5fa8", "#b3541e", "#5a5a5a", "#2f7d4f", "#8a4f9e")
"""Colours of the series, dark enough on white and with different lightness."""
BAR_COLOUR: Final = "#8c8c8c"

_STYLE: Final[Any] = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#d9d9d9",
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "svg.hashsalt": "tosloc",
}
_NO_DATE: Final[Any] = {"Date": None, "Creator": None}
"""Metadata of an SVG file without a date, so that the same figure always has the same bytes."""
_SAVE_OPTIONS: Final[Any] = {".svg": {"metadata": _NO_DATE}, ".png": {"dpi": 150}}
TICKS: Final = (1, 10, *COVERAGE_CUTS)
CURVE_POINTS: Final = 100
BIN_ENDS: Final = (1, 5, 10, 50, 100, 300, sys.maxsize)
"""Last rank of each bin."""
BIN_NAMES: Final = ("1", "2–5", "6–10", "11–50", "51–100", "101–300", ">300", "not\nranked")


@contextmanager
def drawing(width: float = 5.2, height: float = 3.4) -> Iterator[tuple[Figure, Axes]]:
    """Yield a figure of the given size, in inches, with one pair of axes in the common style."""
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(figure)
        yield figure, figure.add_subplot()


def svg(figure: Figure) -> str:
    """Return the figure as an SVG document for a page, without its XML header."""
    buffer = BytesIO()
    with mpl.rc_context(_STYLE):
        figure.savefig(buffer, format="svg", metadata=_NO_DATE)
    text = buffer.getvalue().decode()
    return text[text.index("<svg") :]


def save_figure(figure: Figure, path: Path) -> list[Path]:
    """Write the figure as SVG and PNG, and return the two paths.

    Each path is ``path`` with the ending .svg or .png, instead of one of these if it has one.
    """
    if path.suffix in _SAVE_OPTIONS:
        path = path.with_suffix("")
    targets = []
    for ending, options in _SAVE_OPTIONS.items():
        target = path.with_name(path.name + ending)
        with mpl.rc_context(_STYLE), atomic_write(target) as temporary:
            figure.savefig(temporary, format=ending.removeprefix("."), **options)
        targets.append(target)
    return targets


def coverage_figure(evaluation: Evaluation) -> Figure:
    """Draw coverage@k, of fixed files, and any@k, of reports, against k on a logarithmic axis.

    The axis ends at the number of files of the largest version, or at 300 or the last rank of a
    fixed file if there are more.
    """
    last_ranks = [scores.ranks[-1] for scores in evaluation.per_report if scores.ranks]
    most = evaluation.most_searched
    end = max([TICKS[-1] if most is None else max(1, min(TICKS[-1], most)), *last_ranks])
    cuts = np.unique(np.round(np.geomspace(1, end, CURVE_POINTS)).astype(int)).tolist()
    curves = {
        "coverage@k: fixed files found": [evaluation.coverage(k) for k in cuts],
        "any@k: reports with any found": [evaluation.mean(Measure("Hit", k)) for k in cuts],
    }
    with drawing() as (figure, axes):
        for number, (label, values) in enumerate(curves.items()):
            line_style = series_style(number) | {"marker": ""}
            axes.plot(cuts, values, drawstyle="steps-post", label=label, **line_style)
        axes.set(
            xscale="log",
            xlabel="k (ranks, logarithmic)",
            ylabel="found within the first k files",
            ylim=(0, 1.03),
        )
        ticks = [tick for tick in TICKS if tick <= end]
        axes.set_xticks(ticks, map(str, ticks))
        axes.set_xticks([], minor=True)
        axes.yaxis.set_major_formatter(PercentFormatter(1))
        axes.legend(loc="lower right")
    return figure


def first_hit_figure(evaluation: Evaluation) -> Figure:
    """Draw the share of reports for each range of ranks of their first fixed file.

    The bars show the number of reports.
    """
    first_ranks = []
    for scores in evaluation.per_report:
        first_ranks.append(scores.ranks[0] if scores.ranks else math.inf)
    counts = np.bincount(np.searchsorted(BIN_ENDS, first_ranks), minlength=len(BIN_NAMES))
    shares = counts / (len(first_ranks) or 1)
    with drawing() as (figure, axes):
        bars = axes.bar(
            range(len(counts)),
            shares,
            0.79,
            facecolor=BAR_COLOUR,
            edgecolor=COLOURS[0],
            linewidth=0.8,
        )
        axes.bar_label(bars, labels=[str(count) for count in counts], padding=1.5, fontsize=8)
        axes.set_xticks(range(len(BIN_NAMES)), BIN_NAMES, fontsize=8)
        axes.set_axisbelow(True)
        axes.grid(visible=False, axis="x")
        axes.set(xlabel="rank of the first fixed file", ylabel="reports (numbers above the bars)")
        axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    return figure


def series_style(number: int) -> dict[str, Any]:
    """Return line style and marker of the series with this number, from 0, for ``Axes.plot``."""
    line, marker = STROKES[number % len(STROKES)]
    color = COLOURS[number % len(COLOURS)]
    return {
        "color": color,
        "linestyle": line,
        "marker": marker,
        "markersize": 4.5,
        "linewidth": 1.4,
        "markerfacecolor": "white" if number % 2 else color,
    }
