"""What comes of reading more files again, a panel for each project."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from tosloc.report.drawing import GREYS, STROKES, drawing


def depths_figure(projects: Mapping[str, tuple[Sequence[int], Mapping[str, Sequence[float]]]], said: str) -> Figure:
    """Project -> numbers of candidates and, by name, a value for each of them."""
    with drawing(3.6 * max(len(projects), 1), 3.3) as (figure, axes):
        axes.remove()
        panels = figure.subplots(1, len(projects), sharey=True, squeeze=False)[0]
        for panel, (project, (depths, series)) in zip(panels, projects.items(), strict=True):
            for number, (name, values) in enumerate(series.items()):
                line, marker = STROKES[number % len(STROKES)]
                panel.plot(
                    depths,
                    values,
                    color=GREYS[number % len(GREYS)],
                    linestyle=line,
                    marker=marker,
                    markersize=4.5,
                    linewidth=1.3,
                    label=name,
                )
            panel.set_title(project, fontsize="medium")
            panel.set(xscale="log", xlabel="candidates (logarithmic)")
            panel.xaxis.set_minor_locator(NullLocator())
            ticks = [depth for depth in depths if depth in (1, 5, 10, 20, 50, 100, 300)] or list(depths)
            panel.set_xticks(ticks, [str(depth) for depth in ticks])
        panels[0].set_ylabel(said)
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=min(4, len(labels)), handlelength=3)
    return figure
