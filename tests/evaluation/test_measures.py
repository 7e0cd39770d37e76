"""Worked numbers of the literature, and properties."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tosloc.evaluation.measures import average_precision, found_at, hit_at, reciprocal_rank


def ranks(pattern: str) -> list[int]:
    """Ranks of the ones, such as [1, 3] for "101"."""
    return [rank for rank, mark in enumerate(pattern, start=1) if mark == "1"]


@pytest.mark.parametrize(
    ("found", "relevant", "k", "expected"),
    [
        ([1, 2, 5, 12, 15], 5, None, 0.653),
        ([1, 2, 5, 12, 15], 5, 10, 0.52),
        (ranks("11010100000100"), 8, None, 0.479),
        ([3, 5, 8], 3, None, 0.369),
        ([1, 4], 2, 10, 0.75),
        ([1, 12], 2, 10, 0.50),
        ([1, 12], 2, None, 0.583),
        (ranks("11"), 6, 10, 0.333),
        (ranks("10000"), 2, 5, 0.5),
        (ranks("10001"), 2, 5, 0.7),
        ([], 3, None, 0.0),
        ([], 0, None, 0.0),
    ],
)
def test_average_precision_divides_by_all_fixed_files(
    found: list[int], relevant: int, k: int | None, expected: float
) -> None:
    assert average_precision(found, relevant, k) == pytest.approx(expected, abs=5e-4)


def test_reciprocal_rank_is_of_the_first_fixed_file() -> None:
    assert reciprocal_rank([7, 2]) == 0.5
    assert reciprocal_rank([]) == 0.0


def test_top_k_asks_for_any_and_coverage_counts_all() -> None:
    assert [hit_at([5, 60], k) for k in (1, 4, 5, 10)] == [False, False, True, True]
    assert [found_at([5, 60], k) for k in (4, 5, 50, 100)] == [0, 1, 1, 2]


@given(st.sets(st.integers(1, 60), min_size=1), st.integers(0, 5), st.integers(1, 60))
def test_a_shorter_ranking_never_raises_average_precision(found: set[int], more: int, k: int) -> None:
    relevant = len(found) + more
    assert average_precision(found, relevant, k) <= average_precision(found, relevant) <= 1
    assert average_precision(found, relevant) <= average_precision(found, len(found))
    assert average_precision(range(1, relevant + 1), relevant) == 1
