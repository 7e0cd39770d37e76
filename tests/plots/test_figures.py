"""Figures: what is on their axes, and the same bytes each time."""

import numpy as np
import pytest

from tosloc.evaluate.measures import Evaluation, ReportScores
from tosloc.evaluate.runs.judgements import Judgement
from tosloc.plots.figures import coverage_figure, first_hit_figure, save_figure, svg


def make_evaluation(*ranks_by_report):
    """Return an evaluation of reports with two fixed files each, some of which are ranked."""
    judgement = Judgement("1", ("A", "B"), ("A", "B"), 2000)
    return Evaluation(tuple(ReportScores(judgement, ranks, 2000) for ranks in ranks_by_report))


FOUR_REPORTS = make_evaluation((1, 3), (2,), (40, 900), ())
EVALUATIONS = pytest.mark.parametrize(
    "evaluation", [FOUR_REPORTS, make_evaluation(())], ids=["some found", "nothing found"]
)
FIGURES = pytest.mark.parametrize("draw", [coverage_figure, first_hit_figure])


@FIGURES
@EVALUATIONS
def test_every_axis_has_a_label(draw, evaluation):
    for axes in draw(evaluation).axes:
        assert axes.get_xlabel()
        assert axes.get_ylabel()


@FIGURES
@EVALUATIONS
def test_a_figure_has_the_same_bytes_each_time(draw, evaluation):
    assert svg(draw(evaluation)) == svg(draw(evaluation))


@pytest.mark.parametrize(
    ("line", "label", "total", "within"),
    [(0, "fixed files", 8, {2: 2, 3: 3, 900: 5}), (1, "reports", 4, {2: 2, 3: 2, 900: 3})],
    ids=["coverage", "any"],
)
def test_the_curves_of_coverage_by_hand(line, label, total, within):
    curve = coverage_figure(FOUR_REPORTS).axes[0].get_lines()[line]
    shares = dict(curve.get_xydata().tolist())
    assert label in str(curve.get_label())
    for k, number in within.items():
        assert shares[k] == pytest.approx(number / total)


@pytest.mark.parametrize(
    ("searched", "end", "ticks"),
    [(60, 60, ["1", "10", "50"]), (2000, 300, ["1", "10", "50", "100", "300"]), (None, 300, None)],
)
def test_coverage_ends_at_the_largest_version(searched, end, ticks):
    judgement = Judgement("1", ("A", "B"), ("A", "B"), searched)
    axes = coverage_figure(Evaluation((ReportScores(judgement, (1, 4), 60),))).axes[0]
    assert np.max(axes.get_lines()[0].get_xdata()) == end
    if ticks is not None:
        assert [label.get_text() for label in axes.get_xticklabels()] == ticks


def test_the_bars_of_first_hits_by_hand():
    texts = first_hit_figure(FOUR_REPORTS).axes[0].texts
    assert [text.get_text() for text in texts] == ["1", "1", "0", "1", "0", "0", "0", "1"]


def test_the_curves_of_coverage_have_different_styles():
    first, second = coverage_figure(FOUR_REPORTS).axes[0].get_lines()
    assert first.get_color() != second.get_color()
    assert first.get_marker() == ""
    assert second.get_marker() == ""


@pytest.mark.slow
def test_a_saved_figure_has_the_same_bytes_each_time(tmp_path):
    first = save_figure(coverage_figure(FOUR_REPORTS), tmp_path / "coverage-1.0")
    second = save_figure(coverage_figure(FOUR_REPORTS), tmp_path / "again")
    assert [path.name for path in first] == ["coverage-1.0.svg", "coverage-1.0.png"]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
