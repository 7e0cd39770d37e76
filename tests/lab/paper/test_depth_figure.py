"""The figure of how many files are read again."""

from __future__ import annotations

import pytest

from tosloc.lab.paper.figures import Panel, candidates_figure

pytestmark = pytest.mark.slow

PANELS = (
    ("coverage", {"of fixed files": [0.5, 0.7, 0.8]}),
    ("MRR and MAP", {"MRR": [0.4, 0.5, 0.5], "MAP": [0.3, 0.3, 0.2]}),
)


def panels(*candidates: int) -> list[Panel]:
    return [Panel(candidates, series, label=name) for name, series in PANELS]


def test_each_panel_has_its_series():
    figure = candidates_figure(panels(10, 20, 200))
    assert len(figure.axes) == 2
    for axes, (name, series) in zip(figure.axes, PANELS, strict=True):
        assert axes.get_ylabel() == name
        assert {line.get_label(): list(line.get_ydata()) for line in axes.lines} == series
        assert all(list(line.get_xdata()) == [10, 20, 200] for line in axes.lines)
        assert [tick.get_text() for tick in axes.get_xticklabels()] == ["10", "20", "200"]
        assert len({(line.get_linestyle(), line.get_marker()) for line in axes.lines}) == len(series)


def test_panels_of_the_same_series_share_a_legend():
    series = {"MRR": [0.4, 0.5], "MAP": [0.3, 0.35]}
    figure = candidates_figure([Panel([10, 50], series, "tomcat", "mean"), Panel([10, 50], series, "jdt", "mean")])
    assert [panel.get_title() for panel in figure.axes] == ["tomcat", "jdt"]
    assert [list(line.get_ydata()) for line in figure.axes[1].lines] == [[0.4, 0.5], [0.3, 0.35]]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["MRR", "MAP"]
    assert [panel.get_ylabel() for panel in figure.axes] == ["mean", ""]
    assert figure.axes[0].get_ylim() == figure.axes[1].get_ylim()
