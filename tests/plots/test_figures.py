"""Figures: what is on their axes, and the same bytes each time."""

import pytest

from tosloc.evaluate.judgements import Judgement
from tosloc.evaluate.measures import Evaluation, ReportScores
from tosloc.plots.figures import coverage_figure, first_hit_figure, save_figure, svg


def evaluation(*ranks):
    judged = Judgement("1", ("A", "B"), ("A", "B"), 2000)
    return Evaluation(tuple(ReportScores(judged, found, 2000) for found in ranks))


ONE = evaluation((1, 3), (2,), (40, 900), ())


@pytest.mark.parametrize("draw", [coverage_figure, first_hit_figure])
@pytest.mark.parametrize("run", [ONE, evaluation(())], ids=["some", "nothing found"])
def test_every_axis_says_what_it_is_and_bytes_repeat(draw, run):
    figure = draw(run)
    assert all(axes.get_xlabel() and axes.get_ylabel() for axes in figure.axes)
    assert svg(figure) == svg(draw(run))


def test_what_is_drawn_by_hand():
    """Of eight fixed files five are ranked: two in the first 2, three in the first 3; of four reports two, and two."""
    for line, expected in zip(
        coverage_figure(ONE).axes[0].get_lines(), ((2, 3, 5), (2, 2, 3)), strict=True
    ):
        drawn = dict(line.get_xydata().tolist())
        whole = 8 if "fixed files" in str(line.get_label()) else 4
        assert [drawn[k] for k in (2, 3, 900)] == pytest.approx(
            [number / whole for number in expected]
        )
    assert [one.get_text() for one in first_hit_figure(ONE).axes[0].texts] == [*"11010001"]


def test_the_curves_of_coverage_have_different_styles():
    first, second = coverage_figure(ONE).axes[0].get_lines()
    assert first.get_color() != second.get_color()
    assert first.get_marker() == second.get_marker() == ""


@pytest.mark.slow
def test_a_saved_figure_has_the_same_bytes_each_time(tmp_path):
    made, again = (
        save_figure(coverage_figure(ONE), tmp_path / name) for name in ("coverage-1.0", "again")
    )
    assert [path.name for path in made] == ["coverage-1.0.svg", "coverage-1.0.png"]
    assert [path.read_bytes() for path in made] == [path.read_bytes() for path in again]
