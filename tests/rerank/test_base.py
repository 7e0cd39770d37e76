"""The record of a report's candidates, and the measures of a reordered head."""

from __future__ import annotations

import numpy as np
import pytest

from tests.rerank.made import candidates
from tosloc.rerank.base import values_of


def test_a_reordered_head_is_measured_with_the_rest_in_its_places() -> None:
    head = candidates("a b c", "001", missed_ranks=(10,), relevant=3)
    assert values_of(head, head.scores) == pytest.approx((1 / 3, (1 / 3 + 2 / 10) / 3))
    assert values_of(head, np.array([0.0, 1.0, 2.0])) == pytest.approx((1, (1 + 2 / 10) / 3))
    assert values_of(head, np.zeros(3)) == values_of(head, head.scores)  # equal scores keep stage one's order
    assert values_of(candidates("a", "0"), np.zeros(1)) == (0.0, 0.0)


def test_what_a_shorter_head_loses_keeps_its_rank() -> None:
    whole = candidates("a b c d", "0101", missed_ranks=(10,), relevant=3)
    head = whole.head(2)
    assert (head.fixed.tolist(), head.scores.tolist(), head.missed_ranks) == ([False, True], [0, -1], (4, 10))
    assert (head.paths, head.blobs, head.path_ids.tolist()) == (("src/a.java", "src/b.java"), ("a", "b"), [0, 1])
    # the fixed file at place 2 rises to the first place, the others stay
    assert values_of(head, np.array([0.0, 1.0])) == pytest.approx((1, (1 + 2 / 4 + 3 / 10) / 3))
    for depth in (4, 9):
        assert values_of(whole.head(depth), whole.scores) == values_of(whole, whole.scores)
    assert len(whole.head(0)) == 0
    assert whole.head(0).missed_ranks == (2, 4, 10)
