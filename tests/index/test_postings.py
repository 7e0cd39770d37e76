"""Inverted lists and ranges against the obvious loops."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tosloc.index.postings import Postings, idf, ranges, summed


def longs(*values):
    return np.array(values, dtype=np.int64)


def rows_of(lists):
    """Row-wise arrays (starts, terms) of lists of terms."""
    starts = np.concatenate(([0], np.cumsum([len(row) for row in lists]))).astype(np.int64)
    return starts, np.array([term for row in lists for term in row], dtype=np.int32)


def test_inverted_lists_by_hand():
    # row 0: terms 1 3; row 1: nothing; row 2: terms 0 1
    starts, terms = rows_of([[1, 3], [], [0, 1]])
    postings = Postings.invert(starts, terms, 5, np.array([13, 23, 31, 33]))
    assert postings.starts.tolist() == [0, 1, 3, 3, 4, 4]
    assert postings.rows.tolist() == [2, 0, 2, 0]
    assert postings.values.tolist() == [31, 13, 33, 23]
    chosen = postings.select(longs(3, 2, 1))
    assert chosen.positions.tolist() == [3, 1, 2]
    assert chosen.sizes.tolist() == [1, 0, 2]
    assert chosen.spread(np.array([5.0, 6.0, 7.0])).tolist() == [5.0, 7.0, 7.0]


@given(st.lists(st.sets(st.integers(0, 6)).map(sorted), max_size=8))
@settings(max_examples=60, deadline=None)
def test_every_posting_comes_from_its_row(lists):
    starts, terms = rows_of(lists)
    postings = Postings.invert(starts, terms, 7, np.arange(len(terms)))
    for term in range(7):
        start, end = postings.starts[term], postings.starts[term + 1]
        assert postings.rows[start:end].tolist() == [row for row, held in enumerate(lists) if term in held]
        assert (terms[postings.values[start:end]] == term).all()
    assert sorted(postings.values.tolist()) == list(range(len(terms)))


@pytest.mark.parametrize(
    ("starts", "ends", "expected"),
    [([], [], []), ([4], [4], []), ([5, 0, 9], [7, 0, 12], [5, 6, 9, 10, 11]), ([3, 3], [5, 5], [3, 4, 3, 4])],
)
def test_ranges_one_after_the_other(starts, ends, expected):
    made = ranges(longs(*starts), longs(*ends))
    assert made.positions.tolist() == expected
    assert made.sizes.tolist() == [end - start for start, end in zip(starts, ends, strict=True)]


def test_sums_of_groups():
    assert summed(longs(2, 0, 2), [1.5, 4.0, -0.5], 4).tolist() == [4.0, 0.0, 1.0, 0.0]
    assert summed(longs(), np.zeros(0), 2).tolist() == [0.0, 0.0]
    assert summed(longs(), np.zeros(0), 2).dtype == np.float64


def test_idf_by_hand():
    assert idf(3, longs(0, 2, 3)) == pytest.approx([math.log(8), math.log(1.6), math.log(8 / 7)])
