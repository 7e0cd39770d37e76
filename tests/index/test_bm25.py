"""BM25 over fields and chunks, and rVSM; golden numbers worked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse

from tosloc.index import bm25
from tosloc.index.bm25 import Hits, RevisedVectors, StructuredText
from tosloc.index.corpus import Corpus, VersionView
from tosloc.index.paths import PathTable
from tosloc.index.postings import known_terms
from tosloc.records import Snapshot

FILES = {
    "A": {"code": "parse parse xml node", "comment": "parse", "method": "parse", "type": "xml"},
    "B": {"code": "node", "string": "parse", "type": "node"},
    "C": {"code": "label"},
}
QUERY = {"parse": 2.0, "xml": 1.0, "unheard": 7.0}
FORMULAS = (bm25.CODE_FIELD, bm25.METHOD_FIELD, bm25.WHOLE, bm25.fielded)

COMMON = math.log(1 + 1.5 / 2.5)
"""IDF of parse: 2 of 3 files."""
RARE = math.log(1 + 2.5 / 1.5)
"""IDF of xml: 1 of 3 files."""


def scores(view, formula, query=QUERY):
    terms, weights = known_terms(view.corpus.term_ids, query)
    return view.to_files(Hits.of_text(view, terms).scores(formula, weights))


def bm(frequency, length, average, k1, b):
    return frequency * (k1 + 1) / (frequency + k1 * (1 - b + b * length / average))


def test_code_by_hand(make_view):
    # code lengths 4, 1, 1: mean 2; parse stands twice in A's code and never in B's
    expected = 2 * COMMON * bm(2, 4, 2, 1.2, 0.4) + RARE * bm(1, 4, 2, 1.2, 0.4)
    assert scores(make_view(FILES), bm25.CODE_FIELD) == pytest.approx([expected, 0, 0])


def test_whole_text_by_hand(make_view):
    # code, comments and strings: lengths 5, 2, 1, mean 8/3; parse 3 times in A, once in B
    first = 2 * COMMON * bm(3, 5, 8 / 3, 1.2, 0.3) + RARE * bm(1, 5, 8 / 3, 1.2, 0.3)
    second = 2 * COMMON * bm(1, 2, 8 / 3, 1.2, 0.3)
    assert scores(make_view(FILES), bm25.WHOLE) == pytest.approx([first, second, 0])


def test_fields_by_hand(make_view):
    """BM25F, k1 4, b .4: a field's frequency is divided by 1 - b + b length/mean, then weighted, then all saturate.

    Means: code 2, comments 1/3, strings 1/3, methods 1/3, types 2/3.
    """
    code, once, types = 0.6 + 0.4 * 4 / 2, 0.6 + 0.4 * 3, 0.6 + 0.4 * 1.5
    parse_a = 2 * 1.0 / code + 0.5 / once + 4.0 / once
    xml_a = 1.0 / code + 40.0 / types
    parse_b = 0.5 / once

    def saturated(x):
        return 5 * x / (x + 4)

    first = 2 * COMMON * saturated(parse_a) + RARE * saturated(xml_a)
    second = 2 * COMMON * saturated(parse_b)
    assert scores(make_view(FILES), bm25.fielded) == pytest.approx([first, second, 0])


@pytest.mark.parametrize("formula", FORMULAS)
def test_no_known_word(make_view, formula):
    assert scores(make_view(FILES), formula, {"unheard": 1.0}).tolist() == [0, 0, 0]


def test_counts_of_some_rows(make_view):
    view = make_view({"A": {"code": "x y y", "comment": "z"}, "B": {"code": "w"}, "C": {"code": "y"}})
    terms, _ = known_terms(view.corpus.term_ids, dict.fromkeys("zywx", 1.0))
    rows = [int(view.rows[file]) for file in (2, 0, 2, 1)]
    found = Hits.of_text(view, terms).positions_in(rows)
    assert [places.tolist() for places, _ in found] == [[1], [0, 1, 3], [1], [2]]
    assert view.corpus.postings.values[found[1][1]][:, :2].tolist() == [[0, 1], [2, 0], [1, 0]]
    assert Hits.of_text(view, terms[:0]).positions_in(rows[:1])[0][1].tolist() == []


def test_similarity_golden():
    """Files aab, bc, cccd; report abb and an unknown word. df: a 1, b 2, c 2, d 1; N = 3.

    Report: a 1 ln 3 = 1.098612, b (1 + ln 2) ln 1.5 = .686512. File 1: a (1 + ln 2) ln 3 = 1.860113, b .405465:
    cos = (1.098612 x 1.860113 + .686512 x .405465) / (1.295465 x 1.903791) = .941447. Lengths 3, 2, 4.
    """
    counts = sparse.csr_array(np.array([[2, 1, 0, 0], [0, 1, 1, 0], [0, 0, 3, 1]], dtype=np.float64))
    vectors = RevisedVectors.of(counts, {term: number for number, term in enumerate("abcd")})
    assert vectors.idf == pytest.approx([1.098612, 0.405465, 0.405465, 1.098612], abs=1e-6)
    got = vectors.similarity({"a": 1.0, "b": 1.0 + math.log(2), "x": 1.0})
    assert got == pytest.approx([0.941447 / (1 + math.exp(-5)), 0.374719 / 2, 0.0], abs=1e-6)


def test_words_that_are_everywhere_or_nowhere():
    vectors = RevisedVectors.of(sparse.csr_array(np.array([[2.0, 0, 0], [1.0, 1.0, 0]])), {"a": 0, "b": 1, "c": 2})
    # the first word stands in every file: ln 1 = 0; the third in none
    assert vectors.similarity({"a": 1.0, "c": 1.0}).tolist() == [0.0, 0.0]
    assert vectors.similarity({"a": 1.0, "b": 1.0}) == pytest.approx([0.0, 0.5])
    assert vectors.similarity({}).tolist() == [0.0, 0.0]


def structured(make_table, files, gone=()):
    """The paper's vectors of a version whose blobs are called as their paths."""
    snapshot = Snapshot.of("v", 0, {path: path for path in files})
    corpus = Corpus(make_table({path: fields for path, fields in files.items() if fields is not None}))
    return StructuredText(corpus, PathTable([*snapshot.paths, *gone])).version(VersionView(corpus, snapshot))


def test_text_is_file_name_declared_names_and_comments(make_table):
    """Code and strings do not count; the file name does. a/Tree.java: tree, node x2 | b/Node.java: node, size, tree."""
    revised = structured(
        make_table,
        {
            "a/Tree.java": {"code": "hidden tree", "comment": "node", "type": "node", "string": "hidden"},
            "b/Node.java": {"method": "size", "field": "tree", "code": "hidden"},
            "c/Leaf.java": {},
        },
        gone=("d/Tree.java",),
    )
    files = [{"tree": 1, "node": 2}, {"node": 1, "size": 1, "tree": 1}, {"leaf": 1}]
    idf = {"tree": math.log(1.5), "node": math.log(1.5), "size": math.log(3), "leaf": math.log(3)}
    report = {"tree": 1.0, "size": 1.0, "hidden": 5.0}
    query = {term: report[term] * idf[term] for term in ("tree", "size")}
    # sizes 3, 3, 1: norm 1, 1, 0
    lengths = [1 / (1 + math.exp(-10)), 1 / (1 + math.exp(-10)), 0.5]
    expected = []
    for counts, factor in zip(files, lengths, strict=True):
        vector = {term: (1 + math.log(count)) * idf[term] for term, count in counts.items()}
        dot = sum(query.get(term, 0.0) * value for term, value in vector.items())
        expected.append(factor * dot / math.hypot(*vector.values()) / math.hypot(*query.values()))
    assert revised.length_scores == pytest.approx(lengths)
    assert revised.similarity(report) == pytest.approx(expected)


def test_a_file_that_could_not_be_read_keeps_its_name(make_table):
    revised = structured(make_table, {"a/Tree.java": {"comment": "node"}, "b/Leaf.java": None})
    assert revised.similarity({"leaf": 1.0}) == pytest.approx([0.0, 0.5])
