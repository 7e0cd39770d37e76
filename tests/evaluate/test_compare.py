"""Two runs on the same reports, worked by hand."""

import numpy as np
import pytest

from tests.toy import run_of
from tosloc.core.records import Ranking
from tosloc.evaluate.compare import compare, compare_all
from tosloc.evaluate.judgements import Judgement, to_qrels
from tosloc.evaluate.measures import AP, RR, Measure, evaluate

TRUTH = {"1": ("A",), "2": ("A", "B"), "3": ("D",), "4": ()}
ACC = Measure("Acc", 1)


def judged(orders):
    rankings = [Ranking(report, tuple(files), -np.arange(4.0)) for report, files in orders.items()]
    return evaluate(
        run_of(rankings), to_qrels(Judgement(one, fixed, fixed, 4) for one, fixed in TRUTH.items())
    )


BASE = judged({"1": "BACD", "2": "ABCD", "3": "ABCD", "4": "ABCD"})
BETTER = judged({"1": "ABCD", "2": "ACBD", "3": "DABC", "4": "DCBA"})


def test_a_comparison_by_hand():
    """AP 1/2, 1, 1/4, 0 against 1, 5/6, 1, 0; RR 1/2, 1, 1/4, 0 against 1, 1, 1, 0; Acc@1 (all fixed files at rank 1)
    of 1 and 3 no and yes: two against none, p 1/2.
    """
    one = compare(("base", BASE), ("better", BETTER), measures=(AP, ACC))
    ap, rr, acc = one.differences.values()
    assert list(one.differences) == [AP, RR, ACC]
    assert [(of.wins, of.ties, of.losses) for of in (ap, rr, acc)] == [
        (2, 1, 1),
        (2, 2, 0),
        (2, 2, 0),
    ]
    assert (ap.a, ap.b, ap.difference) == pytest.approx(
        (1.75 / 4, (2 + 5 / 6) / 4, (1 / 2 - 1 / 6 + 3 / 4) / 4)
    )
    assert (rr.a, rr.b, rr.difference) == pytest.approx((1.75 / 4, 3 / 4, 1.25 / 4))
    assert (acc.a, acc.b, acc.p_mcnemar, ap.p_mcnemar) == (0.0, 0.5, 0.5, None)
    moved = {
        how: [(move.report, move.a.ranks, move.b.ranks) for move in moves]
        for how, moves in one.most_changed(9).items()
    }
    assert moved == {
        "risen": [("3", (4,), (1,)), ("1", (2,), (1,))],
        "fallen": [("2", (1, 2), (1, 3))],
    }
    assert [move.report for move in one.most_changed(1)["risen"]] == ["3"]


def test_p_values_are_adjusted_over_the_pairs():
    pair = compare_all({"a": BASE, "b": BETTER}, measures=[ACC])
    assert {of.p_t_holm for of in pair[0].differences.values()} == {None}
    first, second = compare_all({"a": BASE, "b": BETTER, "c": BASE}, measures=[ACC])
    ap, _, acc = first.differences.values()
    assert (ap.p_t_holm, ap.p_bootstrap_holm) == (2 * (ap.p_t or 0), 2 * (ap.p_bootstrap or 0))
    assert (ap.p_mcnemar_holm, acc.p_mcnemar_holm) == (None, 1.0)
    assert second.differences[AP].p_t_holm == 1.0
    named = [
        (one.a, one.b) for one in compare_all({"a": BASE, "b": BETTER, "c": BASE}, all_pairs=True)
    ]
    assert named == [("a", "b"), ("a", "c"), ("b", "c")]
