"""Means over projects that count alike, by hand, and differences of two systems over the same projects."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tosloc.errors import RunError
from tosloc.evaluate.evaluate import Evaluation, ReportScores
from tosloc.evaluate.judgements import Judgement
from tosloc.evaluate.measures import Measure, Outcome
from tosloc.evaluate.project_means import ProjectMeans, compare_projects, project_difference_values
from tosloc.evaluate.statistics import mean_interval


def evaluation(ranks: Sequence[int]) -> Evaluation:
    """Reports with one fixed file each, at these ranks."""
    return Evaluation(
        tuple(
            ReportScores(Judgement(str(number), ("a",), ("a",), 100), Outcome((rank,), 1, 100, 100, None))
            for number, rank in enumerate(ranks)
        )
    )


SMALL, LARGE = evaluation([1]), evaluation([2, 4, 4, 4])


def test_each_project_counts_the_same_and_each_report() -> None:
    means = ProjectMeans.of({"small": SMALL, "large": LARGE}, [Measure("Acc", 3), Measure("Hit", 1)])
    assert means.projects == ("small", "large")
    assert means.reports == (1, 4)
    assert means.names == ["mrr", "map", "top1", "top5", "top10", "Acc@3"]
    large = (1 / 2 + 3 / 4) / 4
    assert means.macro.tolist() == pytest.approx([(1 + large) / 2, (1 + large) / 2, 1 / 2, 1, 1, (1 + 1 / 4) / 2])
    assert means.micro.tolist() == pytest.approx([(1 + 4 * large) / 5, (1 + 4 * large) / 5, 1 / 5, 1, 1, 2 / 5])
    interval = means.intervals[0]
    assert interval is not None
    assert interval == mean_interval(np.array([1, large]))
    assert (interval.low, interval.high) == (large, 1)  # of two projects a resample has both, or one twice
    values = means.values()
    assert values["projects"][1] == {
        "project": "large", "reports": 4, "mrr": pytest.approx(large), "map": pytest.approx(large), "top1": 0.0,
        "top5": 1.0, "top10": 1.0, "Acc@3": 0.25,
    }  # fmt: skip
    assert values["macro"]["mrr"] == {"mean": pytest.approx((1 + large) / 2), "interval": [large, 1]}
    assert values["micro"]["reports"] == 5


def test_one_project_has_no_interval() -> None:
    means = ProjectMeans.of({"large": LARGE})
    assert means.intervals == (None,) * 5
    assert means.macro.tolist() == means.micro.tolist()


def test_differences_are_of_projects() -> None:
    worse = ProjectMeans.of({"small": SMALL, "large": LARGE, "same": SMALL})
    better = ProjectMeans.of({"small": evaluation([2]), "large": evaluation([1, 1, 1, 4]), "same": SMALL})
    mrr = compare_projects(worse, better)[0]
    large = (1 / 2 + 3 / 4) / 4, (3 + 1 / 4) / 4
    assert (mrr.measure, mrr.wins, mrr.ties, mrr.losses) == ("mrr", 1, 1, 1)
    assert mrr.paired.mean == pytest.approx((large[1] - large[0] - 1 / 2) / 3)
    assert mrr.b - mrr.a == pytest.approx(mrr.paired.mean)
    assert mrr.micro_b - mrr.micro_a == pytest.approx((4 * (large[1] - large[0]) - 1 / 2) / 6)
    values = project_difference_values(mrr)
    assert values["interval"][0] < 0 < values["interval"][1]
    assert values["p_bootstrap"] > 0.05
    nothing = compare_projects(worse, worse)[0]
    assert (nothing.paired.mean, nothing.ties, nothing.paired.bootstrap_p) == (0, 3, 1)


@pytest.mark.parametrize(
    "other", [{"small": SMALL}, {"small": LARGE, "large": LARGE}, {"other": SMALL, "large": LARGE}]
)
def test_other_projects_are_refused(other: dict[str, Evaluation]) -> None:
    with pytest.raises(RunError, match="not of the same reports of the same projects"):
        compare_projects(ProjectMeans.of({"small": SMALL, "large": LARGE}), ProjectMeans.of(other))
