"""How time grows with the number of files searched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from tosloc.plots.drawing import GREYS, STROKES, drawing

MARKERS = ("o", "s", "^", "D", "v", "P")


def growth_figure(systems: Mapping[str, Mapping[str, Sequence[tuple[int, float]]]]) -> Figure:
    """System -> project -> (files, relative time): a line for each of both, on logarithmic axes."""
    with drawing(6.2, 3.8) as (figure, axes):
        projects = list(dict.fromkeys(project for each in systems.values() for project in each))
        for number, each in enumerate(systems.values()):
            for project, points in each.items():
                line = STROKES[number % len(STROKES)][0]
                axes.plot(
                    *zip(*points, strict=True),
                    color=GREYS[number % len(GREYS)],
                    linestyle=line,
                    marker=MARKERS[projects.index(project) % len(MARKERS)],
                    markersize=4.5,
                    linewidth=1.3,
                )
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
