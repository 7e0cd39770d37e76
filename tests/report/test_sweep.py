"""The figure of how many files are read again."""

from __future__ import annotations

from tosloc.report.drawing import svg
from tosloc.report.sweep import sweep_figure

PANELS = (
    ("coverage", {"of fixed files": [0.5, 0.7, 0.8]}),
    ("MRR and MAP", {"MRR": [0.4, 0.5, 0.5], "MAP": [0.3, 0.3, 0.2]}),
)


def test_each_panel_has_its_series():
    figure = sweep_figure([10, 20, 200], *PANELS)
    assert len(figure.axes) == 2
    for axes, (name, series) in zip(figure.axes, PANELS, strict=True):
        assert axes.get_ylabel() == name
        assert {line.get_label(): list(line.get_ydata()) for line in axes.lines} == series
        assert all(list(line.get_xdata()) == [10, 20, 200] for line in axes.lines)
        assert [tick.get_text() for tick in axes.get_xticklabels()] == ["10", "20", "200"]
        assert len({(line.get_linestyle(), line.get_marker()) for line in axes.lines}) == len(series)


def test_the_same_numbers_give_the_same_picture():
    assert svg(sweep_figure([1, 2, 3], *PANELS)) == svg(sweep_figure([1, 2, 3], *PANELS))
