"""Figures 5 and 6 of the paper: how many files are read again, against what they hold and what comes of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from tosloc.plots.drawing import GREYS, STROKES, drawing

WIDTH: Final = 3.6
"""Inches of a panel."""
APART: Final = 0.1
"""Least distance of two labelled numbers, as a share of the axis."""
ROUNDEST: Final = {"1": 0, "5": 1, "2": 2}
"""First digits of the numbers that are labelled before others."""


@dataclass(frozen=True)
class Panel:
    """One pair of axes: curves over numbers of candidates."""

    candidates: Sequence[int]
    series: Mapping[str, Sequence[float]]
    """What it is called -> a value for each number of candidates."""
    title: str = ""
    label: str = ""
    """What the values are."""


def candidates_figure(panels: Sequence[Panel]) -> Figure:
    """The panels side by side, on logarithmic axes; lines differ without colour.

    Panels of the same label share their vertical axis, and panels of the same series one legend.
    """
    shared = len({panel.label for panel in panels}) <= 1
    alike = len({tuple(panel.series) for panel in panels}) <= 1
    with drawing(WIDTH * max(len(panels), 1), WIDTH) as (figure, only):
        only.remove()
        columns = figure.subplots(1, max(len(panels), 1), sharey=shared, squeeze=False)[0]
        for axes, panel in zip(columns, panels, strict=False):
            _draw(axes, panel)
            if not shared or axes is columns[0]:
                axes.set_ylabel(panel.label)
            if not alike:
                ncols = _columns(panel.series, WIDTH)
                axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=ncols, fontsize=8, handlelength=3)
        if alike and panels:
            handles, labels = columns[0].get_legend_handles_labels()
            ncols = _columns(labels, WIDTH * len(panels))
            figure.legend(handles, labels, loc="outside lower center", ncols=ncols, fontsize=8, handlelength=3)
        return figure


def _draw(axes: Axes, panel: Panel) -> None:
    for number, (name, values) in enumerate(panel.series.items()):
        line, marker = STROKES[number % len(STROKES)]
        axes.plot(
            panel.candidates,
            values,
            color=GREYS[number % len(GREYS)],
            linestyle=line,
            linewidth=1.3,
            marker=marker,
            markersize=4.5,
            label=name,
        )
    axes.set(xscale="log", xlabel="candidates (logarithmic)")
    axes.set_title(panel.title, fontsize="medium")
    axes.xaxis.set_minor_locator(NullLocator())
    ticks = labelled(panel.candidates)
    axes.set_xticks(ticks, [str(tick) for tick in ticks])


def labelled(candidates: Sequence[int]) -> list[int]:
    """Those of ascending numbers whose labels have room beside each other: first and last, then the roundest.

    >>> labelled([1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 200, 300]), labelled([10, 20, 200])
    ([1, 5, 10, 20, 50, 100, 300], [10, 20, 200])
    """
    if len(candidates) < 2:
        return list(candidates)
    room = APART * math.log(candidates[-1] / candidates[0])
    taken: list[int] = []
    ends = (candidates[0], candidates[-1])
    for number in sorted(candidates, key=lambda one: (one not in ends, ROUNDEST.get(str(one)[0], len(ROUNDEST)), one)):
        if all(abs(math.log(number / other)) >= room for other in taken):
            taken.append(number)
    return sorted(taken)


def _columns(names: Sequence[str] | Mapping[str, object], width: float) -> int:
    """Columns of a legend within so many inches, in even rows; a letter of a name takes .065 inches."""
    longest = max(map(len, names), default=1)
    most = max(1, int(width / (0.065 * longest + 0.6)))
    rows = math.ceil(len(names) / most)
    return math.ceil(len(names) / max(rows, 1))
