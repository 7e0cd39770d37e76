"""Inverted lists over blobs; a version as a selection of their rows."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tosloc.index.corpus import ALL_TEXT, CODE, Corpus, VersionView
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
