"""Figures: what is on their axes, the and the same bytes each time."""

from collections.abc import Callable
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from tosloc.evaluate.evaluate import Evaluation, ReportScores
from tosloc.evaluate.judgements import Judgement
from tosloc.evaluate.measures import Outcome
from tosloc.plots.figures import (
    any_curve,
    coverage_curve,
    coverage_figure,
    first_hit_figure,
    first_hits,
    save_figure,
    svg,
)


def evaluation(*ranks: tuple[int, ...]) -> Evaluation:
    reports = []
    for number, found in enumerate(ranks):
        fixed = tuple([f"F{place}" for place in range(max(1, len(found)))])
        outcome = Outcome(found, len(fixed), 2000, 2000)
        reports.append(ReportScores(Judgement(str(number), fixed, fixed, 2000), outcome))
    return Evaluation(tuple(reports))


ONE = evaluation((1, 3), (2,), (40, 900), ())


@pytest.mark.parametrize("draw", [coverage_figure, first_hit_figure])
@pytest.mark.parametrize("run", [ONE, evaluation(())], ids=["some", "nothing found"])
def test_every_axis_says_what_it_is_and_bytes_repeat(draw: Callable[[Evaluation], Figure], run: Evaluation) -> None:
    figure = draw(run)
    assert all(axes.get_xlabel() for axes in figure.axes)
    assert figure.axes[0].get_ylabel()
    assert svg(figure) == svg(draw(run))
    assert figure.legends == []


def test_coverage_is_marked_where_tables_look() -> None:
    left = coverage_figure(ONE).axes[0]
    assert [label.get_text() for label in left.get_xticklabels()] == ["1", "10", "50", "100", "300", "900"]
    assert [text.get_text() for text in left.texts] == ["50%", "67%", "67%", "67%"]


@pytest.mark.slow
def test_a_saved_figure_has_the_same_bytes_each_time(tmp_path: Path) -> None:
    made, again = (save_figure(coverage_figure(ONE), tmp_path / name) for name in ("coverage-1.0", "again"))
    assert [path.name for path in made] == ["coverage-1.0.svg", "coverage-1.0.png"]
    assert [path.read_bytes() for path in made] == [path.read_bytes() for path in again]


def test_curves_by_hand() -> None:
    """Of four fixed files one is not ranked; a report without any counts."""
    two = evaluation((1, 4), (2,), ())
    assert coverage_curve(two, [1, 2, 4]) == pytest.approx([1 / 4, 2 / 4, 3 / 4])
    assert any_curve(two, [1, 2, 4]) == pytest.approx([1 / 3, 2 / 3, 2 / 3])
    assert first_hits(two) == [1, 1, 0, 0, 0, 0, 0, 1]
