"""DNNLOC: its features by hand, and what it learns."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.lab.baselines.by_hand import Bug, ask, case, context, scores
from tests.lab.baselines.techniques import fitted, project
from tosloc.lab.baselines import dnnloc
from tosloc.lab.baselines.dnnloc_features import ClassNames, DnnlocFeatures, TermWeighting, months
from tosloc.lab.baselines.texts import parse_source
from tosloc.lab.baselines.vsm import count

A, B, C = "src/Apple.java", "src/Banana.java", "src/Cherry.java"
FILES = {
    A: "class Apple { int seed; }",
    B: "class BananaPeel { Apple seed; int peel; }",
    C: "class Cherry { }",
}


def test_features_by_hand() -> None:
    # 31 days apart, hence in different months; bug 2 is opened before the first and fixed after it
    bugs = [
        Bug("1", "Bug 1 seed rots", opened=1, fixed_at=40, paths=[A, B]),
        Bug("2", "Bug 2 seed grows", opened=5, fixed_at=45, paths=[B]),
        Bug("3", "Bug 3 BananaPeel seed", opened=80, fixed_at=90, paths=[C], description="rots"),
    ]
    made = context(FILES, bugs)
    features = DnnlocFeatures(made).of(ask(made, "3"))
    idf = math.log(3 / 2)  # of seed; the terms of BananaPeel: ln 3, the stem of "rots" stands in no file
    # files: Apple = apple seed; Banana = bananapeel banana peel apple seed peel; Cherry = cherry
    first = idf**2 / math.sqrt(2 * idf**2) / math.sqrt(3 * math.log(3) ** 2 + idf**2)
    twice = (1 + math.log(2)) * math.log(3)
    dot = 2 * math.log(3) ** 2 + twice * math.log(3) + idf**2
    second = dot / math.sqrt(3 * math.log(3) ** 2 + idf**2)
    second /= math.sqrt(2 * math.log(3) ** 2 + twice**2 + 2 * idf**2)
    length = [1 / (1 + math.exp(-x)) for x in ((2 - 1) / (6 - 1), 1.0, 0.0)]
    assert features[:, 0] == pytest.approx([first * length[0], second * length[1], 0.0])
    # reports: A = seed rot; B = seed rot seed grow; idf over both reports: seed 0, rot and grow ln 2
    assert features[:, 1] == pytest.approx([0.5, 1 / math.sqrt(2) / (1 + math.exp(-1)), 0.0])
    # BananaPeel is mentioned: bananapeel, banana, peel
    assert features[:, 2] == pytest.approx([0.0, 1.0, 0.0])
    opened = [months(np.array([case(made, bug.id).report.opened_seconds]))[0] for bug in bugs]
    gaps = [1 / (opened[2] - opened[0] + 1), 1 / (opened[2] - opened[1] + 1)]
    assert opened[2] > opened[1]
    assert features[:, 3] == pytest.approx([*gaps, 0.0])
    assert features[:, 4] == pytest.approx([math.log(2), math.log(3), 0.0])


def test_class_names_count_only_where_the_version_has_them() -> None:
    names = ClassNames([parse_source("class TreeViewer { } class Tree { }"), parse_source("class ItemViewer { }")])
    both = names.cosine("Tree and TreeViewer", np.array([1, 1]))
    # said: treeviewer version viewer; declared: the same three, and itemviewer item viewer
    assert both == pytest.approx([1.0, 1 / 3])
    assert names.cosine("Tree and TreeViewer", np.array([0, 1])).tolist() == [0.0, 0.0]
    assert names.cosine("treeviewer", np.array([1, 1])).tolist() == [0.0, 0.0]


def test_weights_take_frequent_terms_and_give_vectors_of_one_length() -> None:
    counts = count([["a", "b", "b"], ["a", "b", "c"], ["a", "c"], ["d"]])
    weights = TermWeighting.of(counts, np.arange(4), 2, 0.5)
    assert [list(counts.vocabulary)[column] for column in weights.columns] == ["b", "c"]  # a is in more, d in one
    matrix = weights.vectors(counts).toarray()
    assert (matrix**2).sum(axis=1) == pytest.approx([2, 2, 2, 0])
    assert matrix[1] == pytest.approx([1, 1])


def test_validation_chooses_wrong_files_and_calibration(monkeypatch: pytest.MonkeyPatch) -> None:
    technique = fitted("dnnloc", project(), negatives=1)
    values = technique.choice["MAP"]
    pairs = [(wrong, calibration) for wrong in ("hardest", "random") for calibration in ("pairs", "versions")]
    assert list(values) == [", ".join(pair) for pair in pairs]
    wrong, calibration = max(pairs, key=lambda pair: values[", ".join(pair)])  # the first of equal ones
    assert technique.choice == {"wrong files": wrong, "calibration": calibration, "MAP": values}
    monkeypatch.setattr(dnnloc, "CALIBRATIONS", (calibration,))
    found = scores(technique, "3")
    for alone in ("hardest", "random"):
        monkeypatch.setattr(dnnloc, "WRONG_FILES", (alone,))
        assert (scores(fitted("dnnloc", project(), negatives=1), "3") == found) == (alone == wrong)
