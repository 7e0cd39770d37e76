"""Systems side by side in two search spaces, with what was published of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from tosloc.plots.drawing import GREYS, drawing


@dataclass(frozen=True, slots=True)
class Bar:
    """A system's values on one project; None where they are not known."""

    whole: float | None
    """All files searched."""
    fewer: float | None
    """Only files that were ever fixed."""
    published: float | None
    """The paper's, all files."""


def spaces_figure(projects: Mapping[str, Mapping[str, Bar]], measure: str) -> Figure:
    """A panel for each project, a line for each system: bars for ours, a stroke for the published value."""
    names = list(next(iter(projects.values())))
    with drawing(7.2, 0.9 + 0.27 * len(names)) as (figure, axes):
        axes.remove()
        panels = figure.subplots(1, len(projects), sharex=True, sharey=True, squeeze=False)[0]
        for panel, (project, systems) in zip(panels, projects.items(), strict=True):
            for row, name in enumerate(names):
                bar = systems[name]
                if bar.fewer is not None:
                    panel.barh(row, bar.fewer, 0.72, facecolor="white", edgecolor="#8c8c8c", linewidth=0.8, zorder=2)
                if bar.whole is not None:
                    ours = name.startswith("TosLoc")
                    panel.barh(row, bar.whole, 0.72, color=GREYS[1] if ours else "#a8a8a8", zorder=3)
                if bar.published is not None:
                    panel.plot([bar.published] * 2, [row - 0.42, row + 0.42], color="black", linewidth=1.6, zorder=4)
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
