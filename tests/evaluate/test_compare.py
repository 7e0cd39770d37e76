"""Two runs on the same reports, worked by hand."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from tosloc.evaluate.compare import compare, compare_all, comparison_values
from tosloc.evaluate.evaluate import Evaluation, evaluate
from tosloc.evaluate.judgements import Judgement, Qrels
from tosloc.evaluate.measures import AP, RR, Measure
from tosloc.evaluate.runs import Run
from tosloc.records import Ranking

TRUTH = {"1": ("A",), "2": ("A", "B"), "3": ("D",), "4": ()}


def run_of(orders: Mapping[str, Sequence[str]]) -> Run:
    return Run.of(
        {},
        [Ranking(report, tuple(files), -np.arange(len(files), dtype=np.float64)) for report, files in orders.items()],
    )


def judged(
    orders: Mapping[str, Sequence[str]], truth: Mapping[str, tuple[str, ...]] = TRUTH, searched: int = 4
) -> Evaluation:
    qrels = Qrels.of(Judgement(report, truth[report], truth[report], searched) for report in orders)
    return evaluate(run_of(orders), qrels)


BASE = {"1": "BACD", "2": "ABCD", "3": "ABCD", "4": "ABCD"}
BETTER = {"1": "ABCD", "2": "ACBD", "3": "DABC", "4": "DCBA"}


def test_a_comparison_by_hand() -> None:
    """AP 1/2, 1, 1/4, 0 against 1, 5/6, 1, 0; RR 1/2, 1, 1/4, 0 against 1, 1, 1, 0."""
    one = compare(("base", judged(BASE)), ("better", judged(BETTER)))
    ap, rr = one.differences
    assert (ap.measure, ap.wins, ap.ties, ap.losses) == (AP, 2, 1, 1)
    assert (rr.measure, rr.wins, rr.ties, rr.losses) == (RR, 2, 2, 0)
    assert (ap.a, ap.b, ap.difference) == pytest.approx((1.75 / 4, (2 + 5 / 6) / 4, (1 / 2 - 1 / 6 + 3 / 4) / 4))
    assert (rr.a, rr.b, rr.difference) == pytest.approx((1.75 / 4, 3 / 4, 1.25 / 4))
    assert (ap.p_t_holm, ap.p_bootstrap_holm) == (None, None)
    moved = {
        how: [(move.report, move.a.ranks, move.b.ranks) for move in moves] for how, moves in one.most_moved(9).items()
    }
    assert moved == {"risen": [("3", (4,), (1,)), ("1", (2,), (1,))], "fallen": [("2", (1, 2), (1, 3))]}
    assert [move.report for move in one.most_moved(1)["risen"]] == ["3"]
    assert (one.only_a, one.only_b, one.other_searched) == (0, 0, [])


def test_yes_or_no_has_mcnemars_test() -> None:
    """Acc@1: report 1 no and yes, 2 no (two files), 3 no and yes, 4 none fixed: two against none of two, p 1/2."""
    ap, acc = compare(("base", judged(BASE)), ("better", judged(BETTER)), measures=(AP, Measure("Acc", 1))).differences
    assert (ap.p_mcnemar, acc.p_mcnemar) == (None, 0.5)
    assert (acc.a, acc.b, acc.wins, acc.losses) == (0.0, 0.5, 2, 0)
    runs = {"a": judged(BASE), "b": judged(BETTER), "c": judged(BASE)}
    for one in compare_all(runs, measures=(AP, Measure("Acc", 1))):
        values = comparison_values(one, 0)["measures"]
        assert values["Acc@1"]["p_mcnemar_holm"] == 1.0
        assert "p_mcnemar" not in values["AP"]
