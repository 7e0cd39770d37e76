"""Means over projects that count alike, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tests.lab.paper.test_accuracy import evaluation
from tosloc.evaluate.measures import Measure
from tosloc.evaluate.statistics import mean_interval
from tosloc.lab.project_means import ProjectMeans

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
