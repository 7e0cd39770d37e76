"""Means over projects that count alike, by hand, and differences of two systems over the same projects."""

from __future__ import annotations

import numpy as np
import pytest

from tests.lab.paper.test_accuracy import evaluation
from tosloc.evaluate.compare import compare
from tosloc.evaluate.measures import Measure
from tosloc.evaluate.statistics import mean_interval
from tosloc.lab.project_means import ProjectMeans, over_projects, together

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


def test_differences_are_of_projects() -> None:
    better = {"small": evaluation([2]), "large": evaluation([1, 1, 1, 4]), "same": SMALL}
    sides = zip((SMALL, LARGE, SMALL), better.items(), strict=True)
    projects = {name: compare(("a", a), ("b", b)) for a, (name, b) in sides}
    rr = over_projects(projects)[1]
    large = (1 / 2 + 3 / 4) / 4, (3 + 1 / 4) / 4
    assert (repr(rr.measure), rr.wins, rr.ties, rr.losses) == ("RR", 1, 1, 1)
    assert rr.paired.mean == pytest.approx((large[1] - large[0] - 1 / 2) / 3)
    assert rr.b - rr.a == pytest.approx(rr.paired.mean)
    assert rr.paired.interval is not None
    assert rr.paired.interval.low < 0 < rr.paired.interval.high
    assert (rr.paired.bootstrap_p or 0) > 0.05
    of_all = together(projects).differences[1]
    assert of_all.b - of_all.a == pytest.approx((4 * (large[1] - large[0]) - 1 / 2) / 6)
    nothing = over_projects({"one": compare(("a", SMALL), ("b", SMALL)), "two": compare(("a", LARGE), ("b", LARGE))})[0]
    assert (nothing.paired.mean, nothing.ties, nothing.paired.bootstrap_p) == (0, 2, 1)
