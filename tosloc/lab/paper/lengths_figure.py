"""How long files are, as curves."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from tosloc.plots.drawing import GREYS, STROKES, drawing
from tosloc.records import FloatArray


def lengths_figure(projects: Mapping[str, tuple[FloatArray, FloatArray]], unit: str, limit: int) -> Figure:
    """Share of a project's files up to a length on a logarithmic axis, from (Q,) shares and (Q,) lengths at them.

    A line stands at the ``limit`` of what an encoder reads at once.
    """
    with drawing() as (figure, axes):
        for number, (name, (shares, lengths)) in enumerate(projects.items()):
            line, marker = STROKES[number % len(STROKES)]
            axes.plot(
                lengths.clip(1),
                shares,
                color=GREYS[number % len(GREYS)],
                linestyle=line,
                marker=marker,
                markevery=10,
                markersize=4.5,
                linewidth=1.4,
                label=name,
            )
        axes.axvline(limit, color="#8c8c8c", linewidth=0.9)
        axes.annotate(f"{limit}", (limit, 1.0), xytext=(3, 0), textcoords="offset points", fontsize=8, va="top")
        axes.set(xscale="log", xlabel=f"length in {unit} (logarithmic)", ylabel="files up to it", ylim=(0, 1.02))
        axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        axes.legend()
    return figure
