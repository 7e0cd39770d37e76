"""Figures of the tables that are made again: what they draw, and that the same numbers give the same bytes."""

from __future__ import annotations

import numpy as np

from tosloc.lab.paper.figures import candidates_figure, growth_figure, lengths_figure, spaces_figure
from tosloc.plots.drawing import svg


def labels(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_search_spaces_side_by_side():
    systems = {"BugLocator": (0.3, 0.45, 0.2), "DreamLoc": (None, None, 0.4), "TosLoc": (0.6, 0.7, None)}
    figure = spaces_figure({"tomcat": systems, "swt": systems}, "MAP")
    panels = figure.axes
    assert [panel.get_title() for panel in panels] == ["tomcat", "swt"]
    assert [text.get_text() for text in panels[0].get_yticklabels()] == list(systems)
    assert sorted(round(bar.get_width(), 3) for bar in panels[1].patches) == [0.3, 0.45, 0.6, 0.7]
    assert [line.get_xdata()[0] for line in panels[0].lines] == [0.2, 0.4]
    assert labels(figure)[2] == "published, all files"
    assert panels[0].yaxis_inverted()
    assert svg(figure) == svg(spaces_figure({"tomcat": systems, "swt": systems}, "MAP"))


def test_growth_on_logarithmic_axes():
    figure = growth_figure(
        {"DreamLoc": {"a": [(1000, 2.0), (2000, 6.0)], "b": [(5000, 9.0)]}, "stage one": {"a": [(1000, 1.0)]}}
    )
    [axes] = figure.axes
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    drawn = [(list(line.get_xdata()), line.get_linestyle(), line.get_marker()) for line in axes.lines[:3]]
    assert drawn == [([1000, 2000], "-", "o"), ([5000], "-", "s"), ([1000], "--", "o")]
    assert labels(figure) == ["DreamLoc", "stage one", "a", "b"]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["1,000", "2,000", "5,000"]


def test_lengths_against_what_an_encoder_reads():
    levels = np.linspace(0, 1, 5)
    figure = lengths_figure({"tomcat": (levels, np.array([0, 10, 100, 600, 9000.0]))}, "words", 512)
    [axes] = figure.axes
    curve, limit = axes.lines
    assert list(curve.get_xdata()) == [1, 10, 100, 600, 9000]  # a logarithm has no place for 0
    assert list(limit.get_xdata()) == [512, 512]
    assert axes.get_xlabel().startswith("length in words")


def test_how_many_files_are_read_again():
    series = {"MRR": [0.4, 0.5], "MAP": [0.3, 0.35]}
    figure = candidates_figure({"tomcat": ([10, 50], series), "jdt": ([10, 50], series)}, "mean")
    assert [panel.get_title() for panel in figure.axes] == ["tomcat", "jdt"]
    assert {line.get_label(): list(line.get_ydata()) for line in figure.axes[1].lines} == series
    assert [tick.get_text() for tick in figure.axes[0].get_xticklabels()] == ["10", "50"]
    assert labels(figure) == list(series)
    assert [panel.get_ylabel() for panel in figure.axes] == ["mean", ""]
    assert figure.axes[0].get_ylim() == figure.axes[1].get_ylim()
