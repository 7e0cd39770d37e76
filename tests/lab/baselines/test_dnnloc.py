"""DNNLOC: its features by hand, and what it learns."""

from math import exp, log, sqrt

import numpy as np
import pytest

from tests.lab.baselines.by_hand import Bug, make_context, make_query, score_files
from tests.lab.baselines.leaks import make_project
from tests.lab.baselines.techniques import fit_technique
from tosloc.code.parsed_source import parse_source
from tosloc.lab.baselines import dnnloc
from tosloc.lab.baselines.dnnloc_features import ClassNames, DnnlocFeatures, TermWeighting
from tosloc.lab.baselines.vsm import count_terms

A, B, C = "src/Apple.java", "src/Banana.java", "src/Cherry.java"
FILES = {
    A: "class Apple { int seed; }",
    B: "class BananaPeel { Apple seed; int peel; }",
    C: "class Cherry { }",
}


@pytest.fixture(scope="module")
def features():
    """Return phi2 to phi6 of the three files for bug 3."""
    # The bugs are opened in March, April and June 2011, bug 2 before bug 1 was fixed.
    bugs = [
        Bug("1", "Bug 1 seed rots", opened=1, fixed_at=40, paths=[A, B]),
        Bug("2", "Bug 2 seed grows", opened=31, fixed_at=45, paths=[B]),
        Bug("3", "Bug 3 BananaPeel seed", opened=80, fixed_at=90, paths=[C], description="rots"),
    ]
    context = make_context(FILES, bugs)
    return DnnlocFeatures(context).compute(make_query(context, "3")).T


def test_phi2_is_the_rvsm_of_the_text(features):
    # The files' terms are apple seed; bananapeel banana peel apple seed peel; cherry. The stem of
    # "rots" is in no file.
    idf_seed = log(3 / 2)
    idf_one = log(3)
    query_norm = sqrt(3 * idf_one**2 + idf_seed**2)
    first = idf_seed**2 / sqrt(2 * idf_seed**2) / query_norm
    twice_peel = (1 + log(2)) * idf_one
    product = 2 * idf_one**2 + twice_peel * idf_one + idf_seed**2
    second_norm = sqrt(2 * idf_one**2 + twice_peel**2 + 2 * idf_seed**2)
    second = product / query_norm / second_norm
    expected = [first / (1 + exp(-(2 - 1) / (6 - 1))), second / (1 + exp(-1)), 0.0]
    assert features[0] == pytest.approx(expected)


def test_phi3_is_the_rvsm_of_joined_fixed_reports(features):
    # The reports of A are seed rot, those of B seed rot seed grow. Over both reports the IDF of
    # seed is 0, that of rot and grow ln 2.
    assert features[1] == pytest.approx([0.5, 1 / sqrt(2) / (1 + exp(-1)), 0.0])


def test_phi4_is_the_cosine_of_class_names(features):
    # BananaPeel is mentioned: bananapeel, banana, peel.
    assert features[2] == pytest.approx([0.0, 1.0, 0.0])


def test_phi5_counts_months_since_the_last_fixed_report_was_opened(features):
    assert features[3] == pytest.approx([1 / 4, 1 / 3, 0.0])


def test_phi6_is_the_logarithm_of_fixes(features):
    assert features[4] == pytest.approx([log(2), log(3), 0.0])


@pytest.mark.parametrize(
    ("text", "multiplicity", "expected"),
    [
        ("Tree and TreeViewer", [1, 1], [1.0, 1 / 3]),
        ("Tree and TreeViewer", [0, 1], [0.0, 0.0]),
        ("treeviewer", [1, 1], [0.0, 0.0]),
    ],
    ids=["terms of names", "no name of the version", "another spelling"],
)
def test_class_names_count_only_where_the_version_has_them(text, multiplicity, expected):
    # The text names treeviewer tree viewer; the files declare the same three terms, and itemviewer
    # item viewer.
    sources = [
        parse_source("class TreeViewer { } class Tree { }"),
        parse_source("class ItemViewer { }"),
    ]
    cosine = ClassNames(sources).cosine(text, np.array(multiplicity))
    assert cosine == pytest.approx(expected)


def test_weighting_selects_frequent_terms_and_gives_vectors_of_one_norm():
    counts = count_terms([["a", "b", "b"], ["a", "b", "c"], ["a", "c"], ["d"]])
    weighting = TermWeighting.select(counts, np.arange(4), 2, 0.5)
    # The term a is in more than half of the texts, d in only one.
    names = list(counts.vocabulary)
    assert [names[column] for column in weighting.columns] == ["b", "c"]
    vectors = weighting.vectors(counts).toarray()
    assert (vectors**2).sum(axis=1) == pytest.approx([2, 2, 2, 0])
    assert vectors[1] == pytest.approx([1, 1])


def test_best_map_selects_wrong_files_and_calibration():
    technique = fit_technique("dnnloc", make_project(), negatives=1)
    map_by_name = technique.choice["MAP"]
    assert list(map_by_name) == [
        "hardest, pairs",
        "hardest, versions",
        "random, pairs",
        "random, versions",
    ]
    best = max(map_by_name, key=map_by_name.__getitem__)  # the first of several best ones
    kind, calibration = best.split(", ")
    assert technique.choice["wrong files"] == kind
    assert technique.choice["calibration"] == calibration
    assert set(technique.choice) == {"wrong files", "calibration", "MAP"}


def test_scores_are_those_of_the_selected_combination(monkeypatch):
    technique = fit_technique("dnnloc", make_project(), negatives=1)
    selected_scores = score_files(technique, "3")
    monkeypatch.setattr(dnnloc, "CALIBRATIONS", (technique.choice["calibration"],))
    for kind in ("hardest", "random"):
        monkeypatch.setattr(dnnloc, "WRONG_FILE_KINDS", (kind,))
        scores = score_files(fit_technique("dnnloc", make_project(), negatives=1), "3")
        is_selected = kind == technique.choice["wrong files"]
        assert (scores == selected_scores) is is_selected
