"""DNNLOC: its features by hand, and what it learns."""

from math import exp, log, sqrt

import numpy as np
import pytest

from tests.lab.baselines.by_hand import Bug, ask, context, scores
from tests.lab.baselines.leaks import project
from tests.lab.baselines.techniques import fitted
from tosloc.lab.baselines import dnnloc
from tosloc.lab.baselines.dnnloc_features import ClassNames, DnnlocFeatures, TermWeighting
from tosloc.lab.baselines.texts import parse_source
from tosloc.lab.baselines.vsm import count

A, B, C = "src/Apple.java", "src/Banana.java", "src/Cherry.java"
FILES = {
    A: "class Apple { int seed; }",
    B: "class BananaPeel { Apple seed; int peel; }",
    C: "class Cherry { }",
}


def test_features_by_hand():
    # opened in March, April and June 2011; bug 2 before the first was fixed, and fixed after it
    bugs = [
        Bug("1", "Bug 1 seed rots", opened=1, fixed_at=40, paths=[A, B]),
        Bug("2", "Bug 2 seed grows", opened=31, fixed_at=45, paths=[B]),
        Bug("3", "Bug 3 BananaPeel seed", opened=80, fixed_at=90, paths=[C], description="rots"),
    ]
    made = context(FILES, bugs)
    text, reports, names, recency, often = DnnlocFeatures(made).of(ask(made, "3")).T
    seed, alone = (
        log(3 / 2),
        log(3),
    )  # idf of seed, and of the terms of BananaPeel; the stem of "rots" is in no file
    # files: Apple = apple seed; Banana = bananapeel banana peel apple seed peel; Cherry = cherry
    asked = sqrt(3 * alone**2 + seed**2)
    first = seed**2 / sqrt(2 * seed**2) / asked
    twice = (1 + log(2)) * alone
    second = (
        (2 * alone**2 + twice * alone + seed**2)
        / asked
        / sqrt(2 * alone**2 + twice**2 + 2 * seed**2)
    )
    assert text == pytest.approx(
        [first / (1 + exp(-(2 - 1) / (6 - 1))), second / (1 + exp(-1)), 0.0]
    )
    # reports: A = seed rot; B = seed rot seed grow; idf over both reports: seed 0, rot and grow ln 2
    assert reports == pytest.approx([0.5, 1 / sqrt(2) / (1 + exp(-1)), 0.0])
    assert names == pytest.approx(
        [0.0, 1.0, 0.0]
    )  # BananaPeel is mentioned: bananapeel, banana, peel
    assert recency == pytest.approx(
        [1 / 4, 1 / 3, 0.0]
    )  # months since the report fixed last was opened
    assert often == pytest.approx([log(2), log(3), 0.0])


def test_class_names_count_only_where_the_version_has_them():
    names = ClassNames(
        [parse_source("class TreeViewer { } class Tree { }"), parse_source("class ItemViewer { }")]
    )
    # said: treeviewer tree viewer; declared: the same three, and itemviewer item viewer
    assert names.cosine("Tree and TreeViewer", np.array([1, 1])) == pytest.approx([1.0, 1 / 3])
    assert names.cosine("Tree and TreeViewer", np.array([0, 1])).tolist() == [0.0, 0.0]
    assert names.cosine("treeviewer", np.array([1, 1])).tolist() == [0.0, 0.0]


def test_weights_take_frequent_terms_and_give_vectors_of_one_length():
    counts = count([["a", "b", "b"], ["a", "b", "c"], ["a", "c"], ["d"]])
    weights = TermWeighting.of(counts, np.arange(4), 2, 0.5)
    assert [list(counts.vocabulary)[column] for column in weights.columns] == [
        "b",
        "c",
    ]  # a is in more, d in one
    matrix = weights.vectors(counts).toarray()
    assert (matrix**2).sum(axis=1) == pytest.approx([2, 2, 2, 0])
    assert matrix[1] == pytest.approx([1, 1])


def test_validation_chooses_wrong_files_and_calibration(monkeypatch):
    technique = fitted("dnnloc", project(), negatives=1)
    values = technique.choice["MAP"]
    assert list(values) == [
        "hardest, pairs",
        "hardest, versions",
        "random, pairs",
        "random, versions",
    ]
    wrong, calibration = max(values, key=values.__getitem__).split(", ")  # the first of equal ones
    assert technique.choice == {"wrong files": wrong, "calibration": calibration, "MAP": values}
    monkeypatch.setattr(dnnloc, "CALIBRATIONS", (calibration,))
    found = scores(technique, "3")
    for alone in ("hardest", "random"):
        monkeypatch.setattr(dnnloc, "WRONG_FILES", (alone,))
        assert (scores(fitted("dnnloc", project(), negatives=1), "3") == found) == (alone == wrong)
