"""Inverted lists over blobs; a version as a selection of their rows."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tosloc.index.corpus import ALL_TEXT, CODE, COMMENT, METHOD, STRING, TYPE, Corpus, FactTable, VersionView
from tosloc.records import Snapshot

BLOBS = {
    "one": {"code": "a a b", "comment": "b", "method": "a"},
    "two": {"code": "b", "string": "c c", "type": "c"},
    "three": {},
    "four": {"code": "c / c / d d", "field": "d"},
}


@pytest.fixture(scope="module")
def corpus(make_table):
    return Corpus(make_table(BLOBS))


def version(**files):
    return Snapshot.of("v", 0, files)


def test_lists_of_terms(corpus):
    assert len(corpus) == 4
    assert corpus.term_ids == {"a": 0, "b": 1, "c": 2, "d": 3}
    assert corpus.postings.rows.tolist() == [0, 0, 1, 1, 3, 3]
    assert corpus.postings.values[:, CODE].tolist() == [2, 1, 1, 0, 2, 2]
    assert corpus.postings.values[:, COMMENT].tolist() == [0, 1, 0, 0, 0, 0]
    assert corpus.postings.values[:, STRING].tolist() == [0, 0, 0, 2, 0, 0]
    # chunks 0: a a b b; 1: b c c; 2: nothing; 3: c; 4: c; 5: d d
    assert corpus.chunk_postings.rows.tolist() == [0, 0, 1, 1, 3, 4, 5]
    assert corpus.chunk_postings.values.tolist() == [2, 2, 1, 2, 1, 1, 2]


def test_lengths(corpus):
    assert corpus.lengths[:, CODE].tolist() == [3, 1, 0, 4]
    assert corpus.lengths[:, METHOD].tolist() == [1, 0, 0, 0]
    assert corpus.lengths[:, TYPE].tolist() == [0, 1, 0, 0]
    # declared names are part of the code: they do not count twice
    assert corpus.lengths[:, ALL_TEXT].tolist() == [4, 3, 0, 4]


def test_the_same_blob_under_two_paths_counts_twice(corpus):
    view = VersionView(corpus, version(p="one", q="two", r="one"))
    assert view.rows.tolist() == [0, 1, 0]
    assert view.multiplicity.tolist() == [2, 1, 0, 0]
    assert view.frequency.tolist() == [2, 3, 1, 0]
    assert view.averages[CODE] == pytest.approx(7 / 3)
    assert view.averages[ALL_TEXT] == pytest.approx(11 / 3)
    # F = 3: df 2, 3, 1, 0
    expected = [math.log(1 + 1.5 / 2.5), math.log(1 + 0.5 / 3.5), math.log(1 + 2.5 / 1.5), math.log(1 + 3.5 / 0.5)]
    assert view.idf(np.arange(4)) == pytest.approx(expected)
    assert view.to_files(np.array([1.0, 2.0, 3.0, 4.0])).tolist() == [1.0, 2.0, 1.0]


def test_a_blob_that_could_not_be_read_is_a_file_without_words(corpus):
    view = VersionView(corpus, version(p="one", q="lost"))
    assert view.rows.tolist() == [0, -1]
    assert view.files == 2
    assert view.frequency.tolist() == [1, 1, 0, 0]
    assert view.averages[CODE] == pytest.approx(1.5)
    assert view.to_files(np.array([1.0, 2.0, 3.0, 4.0])).tolist() == [1.0, 0.0]


def test_no_blobs_at_all():
    view = VersionView(Corpus(FactTable.from_rows([], [])), version(p="lost"))
    assert view.rows.tolist() == [-1]
    assert view.to_files(np.zeros(0)).tolist() == [0.0]
