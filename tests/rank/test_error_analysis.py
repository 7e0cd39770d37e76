"""What set one file above another."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tosloc.rank import lambdamart
from tosloc.rank.error_analysis import WEIGHTED_SUM, differences, meaning, telling, why_above
from tosloc.rank.feature_tables import FeatureTable, RankingLists
from tosloc.rank.lambdamart import HeadRanker, fit_trees, head_rows
from tosloc.rank.stage_one import StageOne

TABLE = np.array([[1.0, 0.0], [0.2, 0.5], [0.9, 0.4], [0.0, 0.1], [0.3, 0.3]], dtype=np.float32)


@pytest.fixture
def ranker(small_trees: None, monkeypatch: pytest.MonkeyPatch) -> HeadRanker:
    monkeypatch.setattr(lambdamart, "DEPTH", 4)
    rng = np.random.default_rng(1)
    lists = []
    for _ in range(40):
        table = rng.random((6, 2)).astype(np.float32)
        table = table[np.argsort(-table[:, 0])]
        lists.append((head_rows(table, table[:, 0].astype(np.float64)), table[:, 1] == table[:, 1].max()))
    return HeadRanker(("bm25f", "path"), fit_trees(RankingLists.of(lists), 7), 2.0)


def test_parts_add_up_to_the_difference_of_the_scores(ranker: HeadRanker) -> None:
    stage = StageOne(("bm25f", "path"), np.array([2.0, 1.0]))
    terms = [pytest.approx({"bm25f": 1.4, "path": -0.1}), pytest.approx({"bm25f": 1.6, "path": -0.5})]
    assert differences(stage, TABLE, [2, 0], 1) == terms
    stage = replace(stage, ranker=ranker)
    scores = stage.scores(TABLE)
    for file, parts in zip([2, 0], differences(stage, TABLE, [2, 0], 1), strict=True):
        assert parts.keys() == {"bm25f", "path", WEIGHTED_SUM}
        assert sum(parts.values()) == pytest.approx(scores[file] - scores[1])
    # of a file that the ranker does not order the weighted sum is told
    assert differences(stage, TABLE, [0], 3) == [pytest.approx({"bm25f": 2.0, "path": -0.1})]


def test_stored_tables_are_asked_by_report_and_path() -> None:
    table = FeatureTable("7", TABLE[:2], np.array([False, True]), np.ones(2, np.float32), np.array([5, 3], np.int32))
    paths = ["", "", "", "fixed.py", "", "above.py"]
    asked = {"7": ("fixed.py", ["above.py"]), "8": ("fixed.py", ["above.py"])}
    stage = StageOne(("bm25f", "path"), np.array([2.0, 1.0]))
    assert why_above(stage, [table], paths, asked) == {("7", "above.py"): pytest.approx({"bm25f": 1.6, "path": -0.5})}
    assert why_above(stage, [table], paths, {"7": ("fixed.py", ["other.py"])}) == {}


def test_the_features_that_did_most_are_told() -> None:
    parts = {WEIGHTED_SUM: 2.0, "path": 0.25, "bm25f": 0.5, "code": -0.1, "chunk": 0.01, "lead": 0.02}
    assert telling(parts) == [("bm25f", 0.5), ("path", 0.25), ("lead", 0.02)]
    assert telling({WEIGHTED_SUM: 2.0, "path": -0.5}) == [(WEIGHTED_SUM, 2.0)]
    assert telling({"path": 0.1, "bm25f": -0.2}) == []
    assert meaning("bm25f").startswith("BM25F over fields")
    assert meaning(WEIGHTED_SUM)
