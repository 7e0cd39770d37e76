"""Ranks of fixed files, and the measures that learners compute from them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tosloc.core.metrics import fixed_ranks, rr_and_ap
from tosloc.core.rankings import Ranking


def test_files_of_equal_scores_are_ranked_in_path_order():
    scores = np.array([0.5, 0.9, 0.5, 0.1, 0.5])
    fixed = np.array([False, False, True, True, True])
    assert fixed_ranks(scores, fixed).tolist() == [3, 4, 5]


@pytest.mark.parametrize(
    ("ranks", "relevant", "values"),
    [([1, 3], None, (1, 5 / 6)), ([], None, (0, 0)), ([3, 1], 3, (1, 5 / 9))],
    ids=["all ranked", "none ranked", "one of three not ranked"],
)
def test_reciprocal_rank_and_average_precision_by_hand(ranks, relevant, values):
    assert rr_and_ap(ranks, relevant) == pytest.approx(values)


@given(st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.booleans()), min_size=1, max_size=9))
def test_learners_rank_as_a_ranking_does(files):
    scores = np.array([score for score, _ in files])
    fixed = np.array([is_fixed for _, is_fixed in files])
    paths = [str(row) for row in range(len(files))]
    ranking = Ranking.from_scores("r", paths, scores)
    ranks = [rank for rank, path in enumerate(ranking.paths, start=1) if fixed[int(path)]]
    assert fixed_ranks(scores, fixed).tolist() == ranks
