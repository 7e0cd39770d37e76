"""Ranks of fixed files by hand, and their worth beside what the evaluation says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as settings_of
from hypothesis import strategies as st

from tosloc.evaluation import measures
from tosloc.metrics import average_precision, fixed_ranks, precision_and_rank
from tosloc.records import Ranking


def test_ranks_by_hand():
    scores = np.array([0.5, 0.9, 0.5, 0.1, 0.5])
    assert fixed_ranks(scores, np.array([False, False, True, True, True])).tolist() == [3, 4, 5]
    assert precision_and_rank(np.array([2, 4])) == pytest.approx((0.5, 0.5))
    assert precision_and_rank(np.array([1, 3])) == pytest.approx((1.0, 5 / 6))
    assert precision_and_rank(np.array([], dtype=np.int64)) == (0.0, 0.0)


def test_average_precision_and_missing_files():
    scores = np.array([0.5, 0.9, 0.1, 0.7])
    assert average_precision(fixed_ranks(scores, np.array([0, 1])), 2) == pytest.approx((1 + 2 / 3) / 2)
    assert average_precision(fixed_ranks(scores, np.array([1])), 2) == 0.5
    assert average_precision(fixed_ranks(np.zeros(3), np.array([1])), 1) == 0.5
    assert average_precision(np.array([], dtype=np.int64), 2) == 0.0


@settings_of(deadline=None)
@given(st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.booleans()), min_size=1, max_size=9))
def test_judged_as_the_evaluation_does(files):
    scores = np.array([score for score, _ in files])
    fixed = np.array([hit for _, hit in files])
    paths = [str(place) for place in range(len(files))]
    ranking = Ranking.from_scores("r", paths, scores)
    ranks = ranking.ranks(path for path, hit in zip(paths, fixed, strict=True) if hit).values()
    assert precision_and_rank(fixed_ranks(scores, fixed)) == pytest.approx(
        (measures.reciprocal_rank(ranks), measures.average_precision(ranks, int(fixed.sum())))
    )
