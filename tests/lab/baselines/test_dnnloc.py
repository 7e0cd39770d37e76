"""DNNLOC: its features by hand, and what it learns."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from tests.lab.baselines.by_hand import Bug, ask, case, context, scores
from tests.lab.baselines.techniques import SMALL, parts, project
from tosloc.lab.baselines.dnnloc import Dnnloc
from tosloc.lab.baselines.dnnloc.features import (
    ClassNames,
    DnnlocFeatures,
    DnnlocTokenizer,
    TermWeighting,
    months,
)
from tosloc.lab.baselines.dnnloc.networks import DnnlocSettings
from tosloc.lab.baselines.parsed_source import parse_source
from tosloc.lab.baselines.vsm import count

A, B, C = "src/Apple.java", "src/Banana.java", "src/Cherry.java"
FILES = {
    A: "class Apple { int seed; }",
    B: "class BananaPeel { Apple seed; int peel; }",
    C: "class Cherry { }",
}


def settings(**values: object) -> DnnlocSettings:
    return DnnlocSettings.of({**SMALL["dnnloc"], **values}, "test")


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
    names = ClassNames(
        [parse_source("class TreeViewer { } class Tree { }"), parse_source("class ItemViewer { }")], DnnlocTokenizer()
    )
    both = names.cosine("Tree and TreeViewer", np.array([1, 1]))
    # said: treeviewer version viewer; declared: the same three, and itemviewer item viewer
    assert both == pytest.approx([1.0, 1 / 3])
    assert names.cosine("Tree and TreeViewer", np.array([0, 1])).tolist() == [0.0, 0.0]
    assert names.cosine("treeviewer", np.array([1, 1])).tolist() == [0.0, 0.0]


def test_weights_take_frequent_terms_and_give_vectors_of_one_length() -> None:
    counts = count([["a", "b", "b"], ["a", "b", "c"], ["a", "c"], ["d"]])
    weights = TermWeighting.of(counts, np.arange(4), 2, 0.5)
    assert weights.terms == ("b", "c")  # a stands in more than half of them, d in only one
    matrix = weights.matrix(counts).toarray()
    assert (matrix**2).sum(axis=1) == pytest.approx([2, 2, 2, 0])
    assert matrix[1] == pytest.approx(weights.vector(["a", "c", "b"]))
    assert matrix[1] == pytest.approx([1, 1])


def tried(folder: Path, **values: object) -> tuple[dict[str, float], Dnnloc]:
    """Scores of the asked report by a technique that has learned, and the technique."""
    made = project()
    technique = Dnnloc(settings(negatives=1, **values), made)
    technique.fit(*parts(made), folder)
    return scores(technique, "3"), technique


def test_validation_chooses_wrong_files_and_calibration(tmp_path: Path) -> None:
    found, technique = tried(tmp_path / "chosen")
    values = technique.choice["MAP"]
    pairs = [(wrong, calibration) for wrong in ("hardest", "random") for calibration in ("pairs", "versions")]
    assert list(values) == [", ".join(pair) for pair in pairs]
    wrong, calibration = max(pairs, key=lambda pair: values[", ".join(pair)])  # the first of equal ones
    assert technique.choice == {"wrong files": wrong, "calibration": calibration, "MAP": values}
    alone = tried(tmp_path / "alone", wrong_files=wrong, calibration=calibration)[0]
    other = tried(tmp_path / "other", wrong_files={"hardest": "random", "random": "hardest"}[wrong])[0]
    assert found == alone != other
    # a folder that is only read knows what was chosen
    again, read = tried(tmp_path / "chosen")
    assert (again, read.choice) == (found, technique.choice)


def test_training_learns_what_a_feature_tells(tmp_path: Path) -> None:
    # the class that a report names is the one that is fixed
    names = ["Apple", "Banana", "Cherry", "Damson", "Elder"]
    files = {f"src/{name}.java": f"class {name} {{ int x{name}; }}" for name in names}
    bugs = [
        Bug(str(n), f"{names[n % 5]} fails", opened=n + 0.1, fixed_at=n + 0.2, paths=[f"src/{names[n % 5]}.java"])
        for n in range(30)
    ]
    made = context(files, bugs)
    cases = [case(made, bug.id) for bug in bugs]
    alone = {"wrong_files": "hardest", "calibration": "pairs"}
    technique = Dnnloc(settings(combiner_epochs=40, negatives=4, learning_rate=0.03, **alone), made)
    technique.fit(cases[:20], cases[20:25], tmp_path)
    for one in cases[25:]:
        found = scores(technique, one.report.id)
        assert max(found, key=found.__getitem__) == one.fixed[0]
