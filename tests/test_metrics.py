"""Ranks of fixed files by hand, what they are worth to learners and to evaluation, and that this is written once."""

from __future__ import annotations

import ast
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as settings_of
from hypothesis import strategies as st

import tosloc
from tosloc import metrics
from tosloc.metrics import average_precision, fixed_ranks, rr_and_ap
from tosloc.records import Ranking

PACKAGE = Path(tosloc.__file__).parent
RANKS = st.sets(st.integers(1, 3000), min_size=1, max_size=60).map(sorted)


def test_ranks_by_hand():
    scores = np.array([0.5, 0.9, 0.5, 0.1, 0.5])
    assert fixed_ranks(scores, np.array([False, False, True, True, True])).tolist() == [3, 4, 5]
    assert rr_and_ap([2, 4]) == pytest.approx((0.5, 0.5))
    assert rr_and_ap([1, 3]) == pytest.approx((1.0, 5 / 6))
    assert rr_and_ap([]) == (0.0, 0.0)
    assert rr_and_ap([3, 1], 3) == pytest.approx((1.0, 5 / 9))
    assert average_precision([2], 2) == 0.25
    assert average_precision([], 2) == 0.0


@given(RANKS, st.integers(0, 5))
def test_every_order_of_adding_is_kept_to_the_last_digit(ranks: list[int], missing: int) -> None:
    relevant, array = len(ranks) + missing, np.array(ranks, dtype=np.int64)
    in_numpys_order = float((np.arange(1, len(array) + 1) / array).sum() / relevant)
    one_by_one = sum(place / rank for place, rank in enumerate(ranks, start=1)) / relevant
    rounded_once = math.fsum(place / rank for place, rank in enumerate(ranks, start=1)) / relevant
    assert rr_and_ap(ranks, relevant) == (1.0 / ranks[0], in_numpys_order)
    assert rr_and_ap(ranks, relevant, add=sum) == (1.0 / ranks[0], one_by_one)
    assert average_precision(ranks, relevant) == rounded_once


@settings_of(deadline=None)
@given(st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.booleans()), min_size=1, max_size=9))
def test_learners_rank_as_a_ranking_does(files):
    scores = np.array([score for score, _ in files])
    fixed = np.array([hit for _, hit in files])
    paths = [str(place) for place in range(len(files))]
    ranking = Ranking.from_scores("r", paths, scores)
    assert fixed_ranks(scores, fixed).tolist() == [n for n, path in enumerate(ranking.paths, 1) if fixed[int(path)]]


def functions_of(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_no_other_module_defines_a_measure() -> None:
    own = functions_of(Path(metrics.__file__))
    assert {"average_precision", "reciprocal_rank", "ndcg", "hit_at", "precision_at", "recall_at", "bpref"} <= own
    others = {path: functions_of(path) for path in PACKAGE.rglob("*.py") if path != Path(metrics.__file__)}
    assert {str(path): again for path, names in others.items() if (again := names & own)} == {}
