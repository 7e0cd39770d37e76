"""Dated texts as documents: their order, statistics of what is known, cosines and neighbours."""

import math
from collections import Counter

import numpy as np
import pytest

from tosloc.retrieval.texts.documents import Document, Documents, DocumentsView


def make_documents(texts):
    """Return documents d0, d1 ... at times 0, 10 ...; the letters of a text are its terms."""
    documents = []
    for number, text in enumerate(texts):
        document = Document(
            f"d{number}", 10 * number, number, f"c{number}", Counter(text), (number,)
        )
        documents.append(document)
    return Documents.collect(documents)


@pytest.fixture
def unordered():
    """Return documents collected out of order; one of four touches no file."""
    return Documents.collect(
        [
            Document("late", 5, 3, "c3", Counter(b=2), (3, 1, 3), ("x.Y",)),
            Document("z", 5, 2, "c2", Counter(), (0,)),
            Document("x", 5, 2, "c2", Counter(c=70_000, a=1), (2, 0)),
            Document("touches nothing", 1, 1, "c1", Counter(q=1), ()),
        ]
    )


def test_documents_are_in_order_of_time_then_commit_then_id(unordered):
    """Counts are at most 65,535, and a file that a document lists twice counts once."""
    expected = {
        "ids": ["x", "z", "late"],
        "times": [5, 5, 5],
        "commits": [2, 2, 3],
        "commit_ids": ["c2", "c2", "c3"],
        "vocabulary": ["a", "b", "c"],
        "starts": [0, 2, 2, 3],
        "terms": [0, 2, 1],
        "counts": [1, 65_535, 2],
        "file_starts": [0, 2, 3, 5],
        "files": [0, 2, 0, 1, 3],
        "sizes": [2.0, 1.0, 2.0],
        "classes": ["x.Y"],
        "class_starts": [0, 0, 0, 1],
    }
    assert {name: list(value) for name, value in vars(unordered).items()} == expected


def test_renumbered_files_are_in_order_and_may_be_left_out(unordered):
    """File 0 is called 1, 1 is left out, 2 is called 0 and 3 is called 2."""
    renumbered = unordered.renumber_files(np.array([1, -1, 0, 2], dtype=np.int32))
    assert renumbered.files.tolist() == [0, 1, 1, 2]
    assert renumbered.file_starts.tolist() == [0, 2, 3, 4]
    assert renumbered.sizes.tolist() == [2.0, 1.0, 2.0]
    assert renumbered.by_name["x.Y"] == [2]


def test_similarities_are_cosines_over_known_documents():
    """Documents aab and bc are known, ac is not: of n = 2 documents 1 has a, 2 have b, 1 has c.

    The query has a (weight 1), b (2.5), and a term of no document, which does not count.
    """
    documents = make_documents(["aab", "bc", "ac"])
    view = DocumentsView(documents, np.array([True, True, False]))
    rare = math.log(1 + 1.5 / 1.5)
    common = math.log(1 + 0.5 / 2.5)
    query_length = math.hypot(rare, 2.5 * common)
    twice = 1 + math.log(2)
    first_dot = twice * rare * rare + common * 2.5 * common
    first = first_dot / (math.hypot(twice * rare, common) * query_length)
    second = common * 2.5 * common / (math.hypot(common, rare) * query_length)
    similarities = view.similarities({"a": 1.0, "b": 2.5, "zzz": 3.0})
    assert similarities == pytest.approx([first, second, 0.0])


def test_similarities_to_an_empty_query_are_0():
    view = DocumentsView(make_documents(["aab", "bc"]), np.array([True, True]))
    assert view.similarities({}).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("similarities", "number", "nearest"),
    [
        ([0.1, 0.9, 0.5, 0.0], 9, [1, 2, 0]),
        ([0.5, 0.5, 0.9, 0.5], 3, [2, 3, 1]),
        ([0.0, 0.3, 0.0, 0.0], 2, [1]),
    ],
    ids=["nearest first", "of equals the latest first", "none with similarity 0"],
)
def test_nearest_documents(similarities, number, nearest):
    view = DocumentsView(make_documents(["a"] * 4), np.ones(4, dtype=bool))
    assert view.nearest(np.array(similarities), number).tolist() == nearest
