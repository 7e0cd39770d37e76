"""BM25 over fields and chunks; golden numbers worked by hand."""

from __future__ import annotations

import math

import pytest

from tosloc.index import bm25
from tosloc.index.bm25 import Hits
from tosloc.index.postings import known_terms

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
