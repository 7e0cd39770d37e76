"""The plot of effect ratio against DeltaRI: how much of an effect was found again (Breuer et al. 2020, figure 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tosloc.plots.drawing import GREYS, STROKES, drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHADES: Final = {1: "#f0f0f0", 2: "#dcdcdc", 3: "#e6e6e6", 4: "#ffffff"}
"""Of the regions: the preferred one is white, complete failure darkest."""
SHIFTS: Final = ((5, 3), (-9, -9), (5, 12))
"""Where the labels of a panel's series stand, in points from theirs: series lie on one line where baselines agree."""
_MARGIN: Final = 0.12
"""Of the plot's width and height, around the outermost points."""


@dataclass(frozen=True, slots=True)
class EffectPoint:
    """One pair of runs against the original pair."""

    label: str
    ratio: float
    """ER"""
    delta_ri: float


def effect_figure(*panels: Mapping[str, Sequence[EffectPoint]]) -> Figure:
    """A panel for each group of named series of points, each series joined in its order.

    A panel always shows (1, 0), where effect and relative improvement are both found again, and some of each region.
    """
    with drawing(5.2 if len(panels) == 1 else 3.7 * len(panels), 3.8) as (figure, axes):
        axes.remove()
        first = 0
        for column, series in enumerate(panels, start=1):
            _panel(figure.add_subplot(1, len(panels), column), series, first)
            first += len(series)
        return figure


def _panel(axes: Axes, series: Mapping[str, Sequence[EffectPoint]], first: int) -> None:
    """One plot; ``first`` is the number of its first series among all strokes."""
    points = [point for group in series.values() for point in group]
    ratios, deltas = [point.ratio for point in points], [point.delta_ri for point in points]
    _regions(axes, _span([0.0, 1.0, *ratios], 0.23), _span([0.0, *deltas], 0.12))
    axes.plot([1], [0], marker="*", markersize=13, color="#000000", markerfacecolor="#ffffff", linestyle="none")
    axes.lines[-1].set_label("(1, 0): found again")
    for number, (name, group) in enumerate(series.items()):
        line, marker = STROKES[(first + number) % len(STROKES)]
        color = GREYS[(first + number) % len(GREYS)]
        x, y = [point.ratio for point in group], [point.delta_ri for point in group]
        axes.plot(x, y, color=color, linestyle=line, linewidth=0.9, marker=marker, markersize=4.5, label=name)
        for point in group:
            shift = SHIFTS[number % len(SHIFTS)]
            where = (point.ratio, point.delta_ri)
            axes.annotate(point.label, where, xytext=shift, textcoords="offset points", fontsize=7, color=color)
    axes.set_xlabel("effect ratio ER")
    axes.set_ylabel("DeltaRI")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=2, fontsize=8)


def _span(values: Sequence[float], share: float) -> tuple[float, float]:
    """Limits that hold the values with a margin, and 0 with at least so large a share of the plot on both sides."""
    low, high = min(values), max(values)
    around = _MARGIN * (high - low or 1.0)
    low, high = low - around, high + around
    least = share / (1 - share)
    return min(low, -least * high), max(high, -least * low)


def _regions(axes: Axes, width: tuple[float, float], height: tuple[float, float]) -> None:
    """Shade and name the four regions."""
    axes.set_xlim(*width)
    axes.set_ylim(*height)
    axes.grid(False)
    for region, shade in SHADES.items():
        x = width[1] if region in (1, 4) else width[0]
        y = height[1] if region in (1, 2) else height[0]
        axes.fill_between([min(x, 0), max(x, 0)], min(y, 0), max(y, 0), color=shade, linewidth=0, zorder=0)
        axes.annotate(
            f"region {region}",
            (x, y),
            xytext=(-5 if x > 0 else 5, -5 if y > 0 else 5),
            textcoords="offset points",
            horizontalalignment="right" if x > 0 else "left",
            verticalalignment="top" if y > 0 else "bottom",
            color="#6e6e6e",
            zorder=1,
        )
    axes.axhline(0, color="#8c8c8c", linewidth=0.8, zorder=1)
    axes.axvline(0, color="#8c8c8c", linewidth=0.8, zorder=1)
