"""Comparison of runs on the same reports, worked by hand."""

import numpy as np
import pytest

from tests.toy import make_run
from tosloc.core.rankings import Ranking
from tosloc.evaluate.compare import Comparison, compare_all
from tosloc.evaluate.measures import AP, RR, Measure, evaluate
from tosloc.evaluate.runs.judgements import Judgement, to_qrels

FIXED = {"1": ("A",), "2": ("A", "B"), "3": ("D",), "4": ()}
ACC = Measure("Acc", 1)


def evaluate_orders(orders):
    """Return the evaluation of rankings of the files A to D, each written as one word."""
    rankings = [Ranking(report, tuple(files), -np.arange(4.0)) for report, files in orders.items()]
    judgements = [Judgement(report, fixed, fixed, 4) for report, fixed in FIXED.items()]
    return evaluate(make_run(rankings), to_qrels(judgements))


BASE = evaluate_orders({"1": "BACD", "2": "ABCD", "3": "ABCD", "4": "ABCD"})
BETTER = evaluate_orders({"1": "ABCD", "2": "ACBD", "3": "DABC", "4": "DCBA"})


@pytest.fixture(scope="module")
def comparison():
    """Return better against base.

    AP is 1/2, 1, 1/4, 0 against 1, 5/6, 1, 0. RR is 1/2, 1, 1/4, 0 against 1, 1, 1, 0. Acc@1 (all
    fixed files at rank 1) is 0 against 1 for the reports 1 and 3: none against two, so p is 1/2.
    """
    return Comparison.of(("base", BASE), ("better", BETTER), measures=(AP, ACC))


def test_ap_and_rr_are_compared_first_and_each_measure_once(comparison):
    assert list(comparison.differences) == [AP, RR, ACC]


@pytest.mark.parametrize(
    ("measure", "wins", "ties", "losses"), [(AP, 2, 1, 1), (RR, 2, 2, 0), (ACC, 2, 2, 0)]
)
def test_wins_ties_and_losses_are_counted(comparison, measure, wins, ties, losses):
    difference = comparison.differences[measure]
    assert difference.wins == wins
    assert difference.ties == ties
    assert difference.losses == losses


@pytest.mark.parametrize(
    ("measure", "base", "better", "difference"),
    [
        (AP, 1.75 / 4, (2 + 5 / 6) / 4, (1 / 2 - 1 / 6 + 3 / 4) / 4),
        (RR, 1.75 / 4, 3 / 4, 1.25 / 4),
        (ACC, 0.0, 0.5, 0.5),
    ],
    ids=["AP", "RR", "Acc@1"],
)
def test_means_and_their_difference_by_hand(comparison, measure, base, better, difference):
    result = comparison.differences[measure]
    assert result.a == pytest.approx(base)
    assert result.b == pytest.approx(better)
    assert result.difference == pytest.approx(difference)


def test_mcnemar_is_only_for_measures_that_are_yes_or_no(comparison):
    assert comparison.differences[ACC].p_mcnemar == 0.5
    assert comparison.differences[AP].p_mcnemar is None


def test_largest_changes_come_first(comparison):
    changes = {}
    for direction, pairs in comparison.largest_changes(9).items():
        changes[direction] = [(pair.report, pair.a.ranks, pair.b.ranks) for pair in pairs]
    assert changes == {
        "risen": [("3", (4,), (1,)), ("1", (2,), (1,))],
        "fallen": [("2", (1, 2), (1, 3))],
    }


def test_number_of_largest_changes_is_limited(comparison):
    assert [pair.report for pair in comparison.largest_changes(1)["risen"]] == ["3"]


def test_p_values_of_one_pair_are_not_adjusted():
    [comparison] = compare_all({"a": BASE, "b": BETTER}, measures=[ACC])
    assert {difference.p_t_holm for difference in comparison.differences.values()} == {None}


def test_p_values_are_adjusted_over_the_pairs():
    first, second = compare_all({"a": BASE, "b": BETTER, "c": BASE}, measures=[ACC])
    ap = first.differences[AP]
    assert ap.p_t_holm == 2 * ap.p_t
    assert ap.p_bootstrap_holm == 2 * ap.p_bootstrap
    assert ap.p_mcnemar_holm is None
    assert first.differences[ACC].p_mcnemar_holm == 1.0
    assert second.differences[AP].p_t_holm == 1.0


def test_all_pairs_are_compared_in_order():
    comparisons = compare_all({"a": BASE, "b": BETTER, "c": BASE}, all_pairs=True)
    names = [(comparison.a, comparison.b) for comparison in comparisons]
    assert names == [("a", "b"), ("a", "c"), ("b", "c")]
