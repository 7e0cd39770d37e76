"""How every figure looks: readable when printed in grey, the same bytes for the same numbers, no display needed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from tosloc.io import written_whole

STROKES: Final = (("-", "o"), ("--", "s"), (":", "^"), ("-.", "D"), ((0, (5, 1, 1, 1, 1, 1)), "v"), ((0, (1, 3)), "P"))
"""Line style and marker of each series: they tell series apart without any colour."""
GREYS: Final = ("#000000", "#1f5fa8", "#b3541e", "#5a5a5a", "#2f7d4f", "#8a4f9e")
"""Colours of the series, dark enough on white and of different lightness."""

_STYLE: Final[Any] = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#d9d9d9",
    "grid.linewidth": 0.6,
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "legend.frameon": False,
    "svg.hashsalt": "tosloc",
    "svg.fonttype": "path",
}


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
    for ending, options in ((".svg", {"metadata": {"Date": None, "Creator": None}}), (".png", {"dpi": 150})):
        target = path.with_name(path.name + ending)
        with mpl.rc_context(_STYLE), written_whole(target) as temporary:
            figure.savefig(temporary, format=ending[1:], **options)
        made.append(target)
    return made
