"""Figures 5 and 6 of the paper: how many files are read again, against what they hold and what comes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from tosloc.report.drawing import GREYS, STROKES, drawing


def sweep_figure(candidates: Sequence[int], *panels: tuple[str, Mapping[str, Sequence[float]]]) -> Figure:
    """A panel for each axis name and its series, a value for each number of candidates; lines differ without colour."""
    with drawing(3.6 * len(panels), 3.6) as (figure, axes):
        axes.remove()
        for place, (name, series) in enumerate(panels, start=1):
            one = figure.add_subplot(1, len(panels), place)
            for number, (label, values) in enumerate(series.items()):
                line, marker = STROKES[number % len(STROKES)]
                color = GREYS[number % len(GREYS)]
                one.plot(
                    candidates, values, color=color, linestyle=line, linewidth=1.2, marker=marker, markersize=4.5,
                    label=label,
                )  # fmt: skip
            one.set_xscale("log")
            one.minorticks_off()
            one.set_xticks(candidates, [str(number) for number in candidates])
            one.set(xlabel="files that are read again", ylabel=name)
            one.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=2, fontsize=8)
        return figure
