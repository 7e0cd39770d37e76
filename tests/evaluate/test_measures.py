"""Worked numbers from the literature, and invariants that always hold."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tosloc.core.errors import RunError
from tosloc.core.metrics import average_precision
from tosloc.evaluate.measures import Measure, ReportScores
from tosloc.evaluate.runs.judgements import Judgement


def make_scores(ranks, relevant, ranked=20, searched=20):
    """Return the scores of a report with ``relevant`` fixed files, some of which have ``ranks``."""
    fixed = tuple(f"{number}.java" for number in range(relevant))
    return ReportScores(Judgement("1", fixed, fixed, searched), tuple(sorted(ranks)), ranked)


def ranks(pattern):
    """Return the ranks of the ones, such as [1, 3] for "101"."""
    return [rank for rank, mark in enumerate(pattern.replace(" ", ""), start=1) if mark == "1"]


# Hirsch and Hofer, table I; Manning et al.; and examples 1 and 2 of a popular explanation of AP@K
@pytest.mark.parametrize(
    ("found_ranks", "relevant", "k", "over", "expected"),
    [
        ([1, 2, 5, 12, 15], 5, None, "relevant", 0.653),
        ([1, 2, 5, 12, 15], 5, None, "found", 0.653),
        ([1, 2, 5, 12, 15], 5, 10, "relevant", 0.52),
        ([1, 2, 5, 12, 15], 5, 10, "found", 0.867),
        ([1, 4], 2, 10, "found", 0.75),
        ([1, 12], 2, 10, "relevant", 0.50),
        ([1, 12], 2, 10, "found", 1.0),
        (ranks("1101010000 0100"), 8, None, "relevant", 0.479),
        ([3, 5, 8], 3, None, "relevant", 0.369),
        (ranks("1100000000"), 6, 10, "found", 1.0),
        (ranks("1100000000"), 6, 10, "reachable", 0.333),
        (ranks("1111110000"), 6, 10, "reachable", 1.0),
        (ranks("10000"), 2, 5, "found", 1.0),
        (ranks("10000"), 2, 5, "reachable", 0.5),
        (ranks("10001"), 2, 5, "reachable", 0.7),
        ([1, 2], 6, 2, "reachable", 1.0),
        ([], 3, 10, "found", 0.0),
        ([], 0, 10, "reachable", 0.0),
    ],
)
def test_average_precision_by_its_denominator(found_ranks, relevant, k, over, expected):
    assert average_precision(found_ranks, relevant, k, over) == pytest.approx(expected, abs=5e-4)


@pytest.mark.parametrize(
    ("scores", "corrected", "faulty"),
    [
        # Retrieved are one file judged non-relevant, then 4 relevant ones; not retrieved 3 and 2.
        (make_scores((2, 3, 4, 5), relevant=6, ranked=5, searched=10), 0.5, 0.0),
        # Of the files that are not fixed only the 5 ranked ones are known.
        (make_scores((3,), relevant=4, ranked=6, searched=None), 1 / 8, 1 / 8),
        (make_scores((3,), relevant=1, ranked=None, searched=3), 0.0, 0.0),
        (make_scores((1, 2), relevant=2, ranked=2, searched=2), 1.0, 1.0),
        (make_scores((), 0), 0.0, 0.0),
    ],
    ids=[
        "Buckley's case",
        "searched files unknown",
        "length unknown",
        "only fixed files",
        "no fixed file",
    ],
)
def test_the_corrected_bpref_and_the_faulty_one(scores, corrected, faulty):
    assert Measure("bpref")(scores) == corrected
    assert Measure("old_bpref")(scores) == faulty


def test_bpref_is_refused_where_no_number_of_files_is_known():
    with pytest.raises(RunError, match="bpref needs the number of searched files"):
        Measure("bpref")(make_scores((3,), 1, ranked=None, searched=None))


@pytest.mark.parametrize(
    ("found_ranks", "relevant", "values"),
    [
        (
            [2, 7],
            2,
            {"RR": 0.5, "RR@1": 0, "Acc@1": 0, "Acc@6": 0, "Acc@7": 1, "Hit@1": 0, "Hit@2": 1},
        ),
        ([2, 5], 3, {"Acc@10": 0, "Hit@10": 1}),
        (
            [1, 3],
            4,
            {"P@1": 1, "P@2": 0.5, "P@3": 2 / 3, "P@10": 0.2, "R@1": 0.25, "R@3": 0.5, "R@10": 0.5},
        ),
        ([1, 2, 3], 3, {"nDCG": 1}),
        ([1, 2], 5, {"nDCG@2": 1}),
        ([3], 1, {"nDCG": 1 / math.log2(4), "nDCG@2": 0}),
        ([], 3, {"RR": 0, "nDCG": 0, "R@5": 0}),
        (
            [],
            0,
            dict.fromkeys(("AP", "RR", "nDCG", "AP_found", "Acc@10", "Hit@10", "P@1", "R@1"), 0),
        ),
    ],
    ids=[
        "Hit asks for any fixed file, accuracy for all",
        "one fixed file is not ranked",
        "precision and recall",
        "ideal ranking",
        "ideal ranking cut",
        "discount of rank 3",
        "nothing found",
        "no fixed file",
    ],
)
def test_other_measures_by_hand(found_ranks, relevant, values):
    scores = make_scores(found_ranks, relevant)
    assert {name: Measure.parse(name)(scores) for name in values} == pytest.approx(values)


@pytest.mark.parametrize(
    ("found_ranks", "k", "expected"),
    [
        ([1], 1, 1.0),
        ([2, 7], 1, 0.0),
        ([2, 7], 2, 1 / 2),
        ([2, 7], 7, 1 / 2),
        ([4, 9], 3, 0.0),
        ([4, 9], 4, 1 / 4),
        ([10], 10, 1 / 10),
        ([11], 10, 0.0),
        ([], 10, 0.0),
    ],
)
def test_reciprocal_rank_at_k_counts_rank_k_and_none_below_it(found_ranks, k, expected):
    scores = make_scores(found_ranks, max(len(found_ranks), 1))
    assert Measure("RR", k)(scores) == expected


@pytest.mark.parametrize("text", ["MAPS", "P", "bpref@5", "AP@0", "nDCG@", ""])
def test_an_unknown_measure_is_refused_with_all_names(text):
    with pytest.raises(RunError, match=rf"^there is no measure {text}; choose from AP\[@k\], RR"):
        Measure.parse(text)


@given(st.sets(st.integers(1, 60), min_size=1), st.integers(0, 5), st.integers(0, 20))
def test_the_faulty_bpref_is_never_above_the_corrected_one(found_ranks, more, unranked):
    ranked = max(found_ranks)
    scores = make_scores(found_ranks, len(found_ranks) + more, ranked, ranked + more + unranked)
    faulty = Measure("old_bpref")(scores)
    corrected = Measure("bpref")(scores)
    assert faulty >= 0
    assert faulty <= corrected + 1e-12
    assert corrected <= 1 + 1e-12
