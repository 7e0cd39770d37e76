"""The figures of the tables: lengths of files, search spaces side by side, growth of time, depth of reranking."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from tosloc.plots.drawing import GREYS, STROKES, drawing  # first: it sees to what matplotlib reads
from tosloc.records import FloatArray

# isort: split
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator, PercentFormatter


def _stroke(number: int, linewidth: float = 1.3) -> dict[str, Any]:
    line, marker = STROKES[number % len(STROKES)]
    color = GREYS[number % len(GREYS)]
    return {"color": color, "linestyle": line, "marker": marker, "markersize": 4.5, "linewidth": linewidth}


def lengths_figure(projects: Mapping[str, tuple[FloatArray, FloatArray]], unit: str, limit: int) -> Figure:
    """Share of a project's files up to a length on a logarithmic axis, from (Q,) shares and (Q,) lengths at them."""
    with drawing() as (figure, axes):
        for number, (name, (shares, lengths)) in enumerate(projects.items()):
            axes.plot(lengths.clip(1), shares, **_stroke(number, 1.4), markevery=10, label=name)
        axes.axvline(limit, color="#8c8c8c", linewidth=0.9)
        axes.annotate(f"{limit}", (limit, 1.0), xytext=(3, 0), textcoords="offset points", fontsize=8, va="top")
        axes.set(xscale="log", xlabel=f"length in {unit} (logarithmic)", ylabel="files up to it", ylim=(0, 1.02))
        axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        axes.legend()
    return figure


Bar: TypeAlias = tuple[float | None, float | None, float | None]
"""A system's values on one project, on all files, on fewer, and as published; None where they are not known."""


def spaces_figure(projects: Mapping[str, Mapping[str, Bar]], measure: str) -> Figure:
    """A panel for each project, a line for each system: bars for ours, a stroke for the published value."""
    names = list(next(iter(projects.values())))
    with drawing(7.2, 0.9 + 0.27 * len(names)) as (figure, axes):
        axes.remove()
        panels = figure.subplots(1, len(projects), sharex=True, sharey=True, squeeze=False)[0]
        for panel, (project, systems) in zip(panels, projects.items(), strict=True):
            for row, name in enumerate(names):
                whole, fewer, published = systems[name]
                if fewer is not None:
                    panel.barh(row, fewer, 0.72, facecolor="white", edgecolor="#8c8c8c", linewidth=0.8, zorder=2)
                if whole is not None:
                    ours = name.startswith("TosLoc")
                    panel.barh(row, whole, 0.72, color=GREYS[1] if ours else "#a8a8a8", zorder=3)
                if published is not None:
                    panel.plot([published] * 2, [row - 0.42, row + 0.42], color="black", linewidth=1.6, zorder=4)
            panel.set_title(project, fontsize="medium")
            panel.set_xlabel(measure)
            panel.grid(visible=False, axis="y")
        panels[0].set_yticks(range(len(names)), names)
        panels[0].set_xlim(left=0)
        panels[0].invert_yaxis()
        handles = [
            Patch(facecolor="#a8a8a8", label="all files of the version"),
            Patch(facecolor="white", edgecolor="#8c8c8c", label="ever-fixed files only (flattering)"),
            Line2D([], [], color="black", linewidth=1.6, label="published, all files"),
        ]
        figure.legend(handles=handles, loc="outside lower center", ncols=3, handlelength=1.8)
    return figure


MARKERS = ("o", "s", "^", "D", "v", "P")


def growth_figure(systems: Mapping[str, Mapping[str, Sequence[tuple[int, float]]]]) -> Figure:
    """System -> project -> (files, relative time): a line for each of both, on logarithmic axes."""
    with drawing(6.2, 3.8) as (figure, axes):
        projects = list(dict.fromkeys(project for each in systems.values() for project in each))
        for number, each in enumerate(systems.values()):
            for project, points in each.items():
                marker = MARKERS[projects.index(project) % len(MARKERS)]
                axes.plot(*zip(*points, strict=True), **{**_stroke(number), "marker": marker})
        axes.set(xscale="log", yscale="log", xlabel="files searched (logarithmic)")
        axes.set_ylabel("processor time a report,\nmedian of stage one = 1 (logarithmic)")
        sizes = [files for each in systems.values() for points in each.values() for files, _ in points]
        ticks = [tick for tick in (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000)
                 if min(sizes) / 1.6 <= tick <= max(sizes) * 1.6]  # fmt: skip
        if ticks:
            axes.xaxis.set_minor_locator(NullLocator())
            axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        handles = [
            axes.plot([], [], color=GREYS[n % len(GREYS)], linestyle=STROKES[n % len(STROKES)][0], label=name)[0]
            for n, name in enumerate(systems)
        ] + [
            axes.plot([], [], color="#5a5a5a", linestyle="none", marker=MARKERS[n % len(MARKERS)], label=name)[0]
            for n, name in enumerate(projects)
        ]
        figure.legend(handles=handles, loc="outside right upper", handlelength=3)
    return figure


_WIDTH: Final = 3.6
APART: Final = 0.1
"""Least distance of two labelled numbers, as a share of the axis."""
ROUNDEST: Final = {"1": 0, "5": 1, "2": 2}
"""First digits of the numbers that are labelled before others."""


Curves: TypeAlias = tuple[Sequence[int], Mapping[str, Sequence[float]]]
"""Numbers of candidates, and what it is called -> a value for each."""


def candidates_figure(projects: Mapping[str, Curves], label: str) -> Figure:
    """A panel for each project, all of the same series and on one scale, over a logarithmic axis."""
    width = _WIDTH * len(projects)
    with drawing(width, _WIDTH) as (figure, only):
        only.remove()
        panels = figure.subplots(1, len(projects), sharey=True, squeeze=False)[0]
        for axes, (project, (candidates, series)) in zip(panels, projects.items(), strict=True):
            for number, (name, values) in enumerate(series.items()):
                axes.plot(candidates, values, **_stroke(number), label=name)
            axes.set(xscale="log", xlabel="candidates (logarithmic)")
            axes.set_title(project, fontsize="medium")
            axes.xaxis.set_minor_locator(NullLocator())
            ticks = labelled(candidates)
            axes.set_xticks(ticks, [str(tick) for tick in ticks])
        panels[0].set_ylabel(label)
        handles, labels = panels[0].get_legend_handles_labels()
        # in even rows; a letter of a name takes .065 inches
        most = max(1, int(width / (0.065 * max(map(len, labels)) + 0.6)))
        ncols = math.ceil(len(labels) / math.ceil(len(labels) / most))
        figure.legend(handles, labels, loc="outside lower center", ncols=ncols, fontsize=8, handlelength=3)
        return figure


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
