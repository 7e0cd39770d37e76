"""The query, the texts of a version, and rVSM, with numbers worked out by hand."""

import math

import numpy as np
import pytest

from tosloc.core.reports import BugReport
from tosloc.core.versions import Snapshot
from tosloc.retrieval.paths.path_index import PathTable
from tosloc.retrieval.query import Query
from tosloc.retrieval.texts.bm25 import RevisedVectors
from tosloc.retrieval.texts.corpus import ALL_TEXT, CODE, VersionTexts

# rVSM


@pytest.fixture
def vectors(make_corpus):
    """Return the vectors of three files, aab, bc and cccd; code is no part of them."""
    files = {
        "1.c": {"comment": "a", "method": "a", "type": "b", "code": "hidden"},
        "2.c": {"comment": "b c"},
        "3.c": {"comment": "c c", "field": "c d"},
    }
    snapshot = Snapshot.of("v", 0, {path: path for path in files})
    view = VersionTexts(make_corpus(files), snapshot)
    return RevisedVectors.of(view, PathTable.of(list(files)))


def test_revised_idf_is_the_logarithm_of_the_inverse_frequency(vectors):
    """Of three files 1 has a, 2 have b, 2 have c, 1 has d, and none has hidden."""
    assert vectors.idf == pytest.approx([1.098612, 0.405465, 0.405465, 1.098612, 0.0], abs=1e-6)


def test_revised_similarity_is_the_cosine_by_the_length_score(vectors):
    """The report is abb with a word of no file: a 1 x ln 3 = 1.098612, b (1 + ln 2) ln 1.5.

    The latter is .686512. The first file has a (1 + ln 2) ln 3 = 1.860113 and b .405465:
    cos = (1.098612 x 1.860113 + .686512 x .405465) / (1.295465 x 1.903791) = .941447. The lengths
    are 3, 2 and 4 terms, so that the length scores are 1 / (1 + exp(-5)), 1/2 and more.
    """
    similarity = vectors.similarity({"a": 1.0, "b": 1.0 + math.log(2), "x": 1.0})
    expected = [0.941447 / (1 + math.exp(-5)), 0.374719 / 2, 0.0]
    assert similarity == pytest.approx(expected, abs=1e-6)


# A version as a selection of blobs


@pytest.fixture
def selection(make_corpus):
    """Return a version of four files; two share a blob, and one blob could not be read."""
    corpus = make_corpus(
        {
            "one": {"code": "a a b", "comment": "b", "method": "a"},
            "two": {"code": "b", "string": "c c", "type": "c"},
            "other": {"code": "c / c / d d"},
        }
    )
    blobs = {"p": "one", "q": "two", "r": "one", "s": "lost"}
    return VersionTexts(corpus, Snapshot.of("v", 0, blobs))


def test_files_have_the_rows_of_their_blobs(selection):
    assert selection.files == 4
    assert selection.rows.tolist() == [0, 1, 0, -1]
    assert selection.multiplicity.tolist() == [2, 1, 0]


def test_statistics_are_those_of_the_files(selection):
    """A blob counts as often as files have it, and the file without a blob has no words."""
    assert selection.frequency.tolist() == [2, 3, 1, 0]
    assert selection.averages[[CODE, ALL_TEXT]] == pytest.approx([7 / 4, 11 / 4])
    expected = [math.log(1 + 2.5 / 2.5), math.log(1 + 4.5 / 0.5)]
    assert selection.idf(np.array([0, 3])) == pytest.approx(expected)


def test_files_have_the_values_of_their_blobs(selection):
    assert selection.to_files(np.array([1.0, 2.0, 3.0])).tolist() == [1.0, 2.0, 1.0, 0.0]


# Reports that distinguish files


@pytest.mark.parametrize(("files", "distinguishes"), [(3, True), (4, False)])
def test_a_word_of_few_file_names_distinguishes_files(make_context, files, distinguishes):
    paths = [f"{number}/tree.c" for number in range(files)]
    assert make_context(paths, "tree").distinguishes_files is distinguishes


@pytest.mark.parametrize(
    ("words", "distinguish"), [("leaf stem", True), ("leaf", False), ("leaf root", False)]
)
def test_two_words_that_half_of_the_files_lack_distinguish_files(make_context, words, distinguish):
    files = {}
    for number in range(10):
        files[str(number)] = {"code": "leaf stem root" if number < 5 else "root"}
    assert make_context(files, words).distinguishes_files == distinguish


@pytest.mark.parametrize(
    ("report", "distinguishes"),
    [
        pytest.param("Das leaf fehlt", False, id="a word"),
        pytest.param("Die Funktion `leaf` fehlt", True, id="quoted"),
        pytest.param("leaf() geht nicht", True, id="called"),
        pytest.param("Das Feld self.leaf fehlt", True, id="dotted"),
        pytest.param("`root` geht nicht", False, id="nearly all files have it"),
        pytest.param("`error` beim Klick", False, id="an everyday word"),
    ],
)
def test_a_name_as_code_distinguishes_files_in_any_language(make_context, report, distinguishes):
    files = {}
    for number in range(20):
        files[str(number)] = {"code": "leaf error" if number < 3 else "root"}
    assert make_context(files, report).distinguishes_files == distinguishes


# The query

FRAMES = "at org.x.Tree.grow(Tree.java:3) at org.x.Leaf$Cell.fall(Leaf.java:9)"
FRAME_TERMS = {"tree", "grow", "leaf", "fall"}


def make_query(summary, description=""):
    return Query(BugReport("r", summary, description, None))


@pytest.fixture
def with_frames():
    """Return the query of a report with two stack frames."""
    return make_query("crash of StandardContext", f"node {FRAMES} max_size, then Display")


def test_words_of_stack_frames_have_no_weight(with_frames):
    assert FRAME_TERMS.isdisjoint(with_frames.weights)


def test_words_of_stack_frames_have_a_weight_for_the_papers_text_feature(with_frames):
    assert set(with_frames.plain_weights) >= FRAME_TERMS


def test_frames_name_their_outermost_classes(with_frames):
    assert [frame.type for frame in with_frames.text.frames] == ["org.x.Tree", "org.x.Leaf"]
    assert list(with_frames.places.qualified_names) == ["org.x.Tree", "org.x.Leaf"]


def test_compounds_are_identifiers_of_several_words(with_frames):
    assert with_frames.names.compounds == {"standardcontext", "maxsize"}


def test_mentions_are_words_outside_stack_frames(with_frames):
    words = ("crash", "of", "StandardContext", "node", "max_size", "then", "Display")
    assert with_frames.names.mentions == words


def test_an_empty_report_is_an_empty_query():
    query = make_query("", "")
    assert query.weights == {}
    assert query.plain_weights == {}
    assert query.text.frames == ()
    assert query.names.compounds == frozenset()


def test_text_weights_count_the_title_by_its_weight():
    weights = make_query("Node fails").text_weights("tree tree leaf node", title_weight=3.0)
    assert weights["tree"] == pytest.approx(1 + math.log(2))
    assert weights["leaf"] == pytest.approx(1)
    assert weights["node"] == pytest.approx(1 + math.log(1 + 3))


def test_lead_weights_count_the_summary_twice():
    weights = make_query("Node fails", "tree tree node").lead_weights
    assert weights["tree"] == pytest.approx(1 + math.log(2))
    assert weights["node"] == pytest.approx(1 + math.log(1 + 2))
