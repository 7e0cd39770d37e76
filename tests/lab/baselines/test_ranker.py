"""Every technique is a ranker: all files of the version, each once, ties by path, the same answer each time."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

from tests.lab.baselines.leaks import ASKED, FILES
from tests.lab.baselines.techniques import KINDS, fitted, project
from tests.lab.baselines.toy import case, seconds
from tosloc.lab.baselines.context import Baseline
from tosloc.records import BugReport, Ranker

TEXTS = {
    "usual": ("Table flickers", "at org.app.TreeViewer.expandAll(TreeViewer.java:5)"),
    "unknown words": ("xyzzy plugh", "frobnicate"),
    "empty": ("", ""),
    "odd": ("\udce9 ü \x00 😀 viewer", "a" * 5000 + " $$$ ... at at. at x.(y)"),
}


@pytest.fixture(scope="module", params=KINDS)
def technique(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Baseline:
    return fitted(request.param, project(), tmp_path_factory.mktemp(request.param))


@pytest.mark.parametrize("text", TEXTS)
def test_a_report_without_a_label_ranks_every_file_once(technique: Baseline, text: str) -> None:
    ranker: Ranker = technique
    version = technique.context.repo.snapshot(case(technique.context, ASKED.id).version, technique.context.suffixes)
    report = BugReport("new", *TEXTS[text], datetime.fromtimestamp(seconds(12), UTC))
    ranking = ranker.rank(report, version)
    assert sorted(ranking.paths) == sorted(FILES)
    assert np.isfinite(ranking.scores).all()
    assert (np.diff(ranking.scores) <= 0).all()
    ties = np.flatnonzero(np.diff(ranking.scores) == 0)
    assert all(ranking.paths[rank] < ranking.paths[rank + 1] for rank in ties.tolist())
    again = ranker.rank(report, version)
    assert (again.paths, again.scores.tolist()) == (ranking.paths, ranking.scores.tolist())
