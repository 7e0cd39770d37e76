"""The query, texts of a version, and rVSM: numbers worked by hand."""

import math

import numpy as np
import pytest

from tosloc.core.records import BugReport, Snapshot
from tosloc.retrieval.bm25 import RevisedVectors
from tosloc.retrieval.corpus import ALL_TEXT, CODE, VersionView
from tosloc.retrieval.paths import PathTable
from tosloc.retrieval.query import Query


def test_similarity_golden(make_corpus):
    """Files aab, bc, cccd; report abb and an unknown word. df: a 1, b 2, c 2, d 1; N = 3.

    Report: a 1 ln 3 = 1.098612, b (1 + ln 2) ln 1.5 = .686512. File 1: a (1 + ln 2) ln 3 = 1.860113, b .405465:
    cos = (1.098612 x 1.860113 + .686512 x .405465) / (1.295465 x 1.903791) = .941447. Lengths 3, 2, 4.
    """
    first = {
        "comment": "a",
        "method": "a",
        "type": "b",
        "code": "hidden",
    }  # of which code is no part
    files = {"1.c": first, "2.c": {"comment": "b c"}, "3.c": {"comment": "c c", "field": "c d"}}
    version = VersionView(make_corpus(files), Snapshot.of("v", 0, {path: path for path in files}))
    vectors = RevisedVectors.of(version, PathTable.of(list(files)))
    assert vectors.idf == pytest.approx([1.098612, 0.405465, 0.405465, 1.098612, 0.0], abs=1e-6)
    got = vectors.similarity({"a": 1.0, "b": 1.0 + math.log(2), "x": 1.0})
    assert got == pytest.approx([0.941447 / (1 + math.exp(-5)), 0.374719 / 2, 0.0], abs=1e-6)


def test_a_version_is_a_selection_of_blobs(make_corpus):
    """One blob stands under two paths, one could not be read: it has no words. F = 4; df 2, 3, 1, 0."""
    one, two = (
        {"code": "a a b", "comment": "b", "method": "a"},
        {"code": "b", "string": "c c", "type": "c"},
    )
    corpus = make_corpus({"one": one, "two": two, "other": {"code": "c / c / d d"}})
    view = VersionView(
        corpus, Snapshot.of("v", 0, {"p": "one", "q": "two", "r": "one", "s": "lost"})
    )
    assert (view.files, view.rows.tolist(), view.multiplicity.tolist()) == (
        4,
        [0, 1, 0, -1],
        [2, 1, 0],
    )
    assert view.frequency.tolist() == [2, 3, 1, 0]
    assert view.averages[[CODE, ALL_TEXT]] == pytest.approx([7 / 4, 11 / 4])
    assert view.idf(np.array([0, 3])) == pytest.approx(
        [math.log(1 + 2.5 / 2.5), math.log(1 + 4.5 / 0.5)]
    )
    assert view.to_files(np.array([1.0, 2.0, 3.0])).tolist() == [1.0, 2.0, 1.0, 0.0]


def test_a_word_of_three_file_names_tells_files_apart_and_one_of_four_does_not(make_context):
    paths = [f"{n}/tree.c" for n in range(4)]
    assert [make_context(some, "tree").distinguishes_files for some in (paths[1:], paths)] == [
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("words", "tells"), [("leaf stem", True), ("leaf", False), ("leaf root", False)]
)
def test_two_words_that_half_of_the_files_lack_tell_files_apart(make_context, words, tells):
    files = {str(n): {"code": "leaf stem root" if n < 5 else "root"} for n in range(10)}
    assert make_context(files, words).distinguishes_files == tells


@pytest.mark.parametrize(
    ("words", "tells"),
    [
        ("Das leaf fehlt", False),
        ("Die Funktion `leaf` fehlt", True),
        ("leaf() geht nicht", True),
        ("Das Feld self.leaf fehlt", True),
        ("`root` geht nicht", False),  # nearly all files have it
        ("`error` beim Klick", False),  # an everyday word
    ],
)
def test_a_name_written_as_code_tells_files_apart_in_a_text_of_any_language(
    make_context, words, tells
):
    files = {str(n): {"code": "leaf error" if n < 3 else "root"} for n in range(20)}
    assert make_context(files, words).distinguishes_files == tells


TRACE = "at org.x.Tree.grow(Tree.java:3) at org.x.Leaf$Cell.fall(Leaf.java:9)"


def query(summary, description=""):
    return Query(BugReport("r", summary, description, None))


def test_stack_frames_are_no_prose_except_for_the_paper():
    asked = query("crash of StandardContext", f"node {TRACE} max_size, then Display")
    assert not {"tree", "grow", "leaf", "fall"} & set(asked.weights)
    assert {"tree", "grow", "leaf", "fall"} <= set(asked.plain_weights)
    assert (
        [frame.type for frame in asked.frames]
        == list(asked.qualified_names)
        == ["org.x.Tree", "org.x.Leaf"]
    )
    assert asked.compounds == {"standardcontext", "maxsize"}
    assert asked.mentions == (
        "crash",
        "of",
        "StandardContext",
        "node",
        "max_size",
        "then",
        "Display",
    )
    asked = query("", "")
    assert (asked.weights, asked.plain_weights, asked.frames, asked.compounds) == (
        {},
        {},
        (),
        frozenset(),
    )


def test_words_of_a_text_count_once_and_those_of_the_title_by_its_weight():
    weights = query("Node fails", "").text_weights("tree tree leaf node", title_weight=3.0)
    assert weights["tree"] == pytest.approx(1 + math.log(2))
    assert weights["leaf"] == pytest.approx(1)
    assert weights["node"] == pytest.approx(1 + math.log(1 + 3))


def test_words_of_the_lead_count_once_and_those_of_the_summary_twice():
    weights = query("Node fails", "tree tree node").lead_weights
    assert weights["tree"] == pytest.approx(1 + math.log(2))
    assert weights["node"] == pytest.approx(1 + math.log(1 + 2))
