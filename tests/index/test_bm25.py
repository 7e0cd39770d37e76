"""BM25 over fields and chunks, and rVSM; golden numbers worked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse

from tosloc.index.bm25 import RevisedVectors, StructuredText
from tosloc.index.corpus import Corpus, VersionView
from tosloc.index.paths import PathTable
from tosloc.records import Snapshot


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
