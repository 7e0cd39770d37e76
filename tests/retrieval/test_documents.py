"""Dated texts as documents: statistics of what is known, cosines, neighbours, BM25 of aggregated texts."""

import math
from collections import Counter

import numpy as np
import pytest

from tosloc.retrieval.documents import Document, Documents, DocumentsView


def documents_of(texts, files=None):
    """Documents d0, d1 ... at times 0, 10 ..., document n touches file n unless told."""
    return Documents.collect(
        Document(f"d{n}", 10 * n, n, f"c{n}", Counter(text), tuple(files[n]) if files else (n,))
        for n, text in enumerate(texts)
    )


def bools(*values):
    return np.array(values, dtype=bool)


def test_collected_in_order_of_time_then_commit_then_name():
    made = Documents.collect(
        [
            Document("late", 5, 3, "c3", Counter(b=2), (3, 1, 3), ("x.Y",)),
            Document("z", 5, 2, "c2", Counter(), (0,)),
            Document("x", 5, 2, "c2", Counter(c=70_000, a=1), (2, 0)),
            Document("touches nothing", 1, 1, "c1", Counter(q=1), ()),
        ]
    )
    expected = Documents(
        *(["x", "z", "late"], [5, 5, 5], [2, 2, 3], ["c2", "c2", "c3"]),
        *(["a", "b", "c"], [0, 2, 2, 3], [0, 2, 1], [1, 65_535, 2]),
        *([0, 2, 3, 5], [0, 2, 0, 1, 3], [2.0, 1.0, 2.0], ["x.Y"], [0, 0, 0, 1]),
    )
    assert {name: list(value) for name, value in vars(made).items()} == vars(expected)
    some = made.renumber_files(np.array([1, -1, 0, 2], dtype=np.int32))
    assert (some.files.tolist(), some.file_starts.tolist()) == ([0, 1, 1, 2], [0, 2, 3, 4])
    assert (some.sizes.tolist(), some.by_name["x.Y"]) == ([2.0, 1.0, 2.0], [2])


def test_similarities_are_cosines_over_what_is_known():
    """d0 aab, d1 bc, d2 ac, not known: df a 1, b 2, c 1 of n = 2. Query a (1), b (2.5), unheard."""
    view = DocumentsView(documents_of(["aab", "bc", "ac"]), bools(True, True, False))
    rare, common = math.log(1 + 1.5 / 1.5), math.log(1 + 0.5 / 2.5)
    a, b, c, tf = rare, 2.5 * common, 0.0, 1 + math.log(2)
    length = math.hypot(a, b, c)
    first = (tf * rare * a + common * b) / (math.hypot(tf * rare, common) * length)
    second = common * b / (math.hypot(common, rare) * length)
    assert view.similarities({"a": 1.0, "b": 2.5, "zzz": 3.0}) == pytest.approx(
        [first, second, 0.0]
    )
    assert view.similarities({}).tolist() == [0.0, 0.0, 0.0]


def test_nearest_first_and_of_equals_the_latest():
    view = DocumentsView(documents_of(["a"] * 4), bools(True, True, True, True))
    for similarities, number, expected in (
        ([0.1, 0.9, 0.5], 9, [1, 2, 0]),
        ([0.5, 0.5, 0.9, 0.5], 3, [2, 3, 1]),
        ([0.0, 0.3, 0.0], 2, [1]),
    ):
        assert view.nearest(np.array(similarities), number).tolist() == expected
