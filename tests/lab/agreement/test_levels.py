"""The five levels between pairs of runs: what applies when, and what is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import stats

from tosloc.errors import RunError
from tosloc.evaluate import Judgement, Qrels, Run, evaluate
from tosloc.evaluate.measures import AP, RR
from tosloc.evaluate.runs import Order
from tosloc.lab.agreement.levels import (
    Pair,
    ScoredReports,
    against_published,
    reproduction,
)
from tosloc.records import Ranking

FILES = tuple(f"src/F{number:02}.java" for number in range(20))
REPORTS = tuple(f"{number}" for number in range(12))


def judgements(reports=REPORTS, files=FILES, seed=0):
    rng = np.random.default_rng(seed)
    chosen = [tuple(files[place] for place in rng.choice(len(files), 2, replace=False)) for _ in reports]
    return Qrels.of(Judgement(report, fixed, fixed) for report, fixed in zip(reports, chosen, strict=True))


def scored(qrels, skill, seed, files=FILES):
    """A run whose scores are noise, plus ``skill`` for fixed files."""
    rng = np.random.default_rng(seed)
    rankings = [
        Ranking.from_scores(one.report, files, rng.random(len(files)) + skill * np.isin(files, one.fixed))
        for one in qrels.judgements.values()
    ]
    run = Run.of({}, rankings, f"run {seed}")
    return ScoredReports(run, evaluate(run, qrels))


def pair(qrels, seed=1, low=0.2, high=0.8, files=FILES):
    return Pair(scored(qrels, low, seed, files), scored(qrels, high, seed + 1, files))


QRELS = judgements()
ORIGINAL = pair(QRELS)


def test_the_levels_are_those_of_the_scores():
    ours = pair(QRELS, seed=7, high=0.4)
    result = reproduction(ORIGINAL, ours, [RR])
    b, a, our_b, our_a = (
        one.evaluation.values(RR) for one in (ORIGINAL.baseline, ORIGINAL.advanced, ours.baseline, ours.advanced)
    )
    assert result.advanced.rmse == {RR: pytest.approx(np.sqrt(((a - our_a) ** 2).mean()))}
    assert result.baseline.p == {RR: pytest.approx(stats.ttest_rel(b, our_b).pvalue)}
    assert result.advanced.means == {RR: (pytest.approx(a.mean()), pytest.approx(our_a.mean()))}
    assert result.effects[RR].ratio == pytest.approx((our_a - our_b).mean() / (a - b).mean())
    expected = (a - b).mean() / b.mean() - (our_a - our_b).mean() / our_b.mean()
    assert result.effects[RR].delta_ri == pytest.approx(expected)
    assert result.advanced.order.tau < 0.5


def known_ranks(one):
    """The same run with only the ranks of fixed files known."""
    orders = {}
    for score in one.evaluation.per_report:
        order = one.run.orders[score.report]
        files = order.files[np.array(score.ranks) - 1]
        orders[score.report] = Order(files, np.zeros(0), np.array(score.ranks, dtype=np.int32))
    run = Run({}, one.run.names, orders, "known ranks")
    return ScoredReports(run, evaluate(run, QRELS))


def test_other_reports_or_only_some_in_common_are_refused():
    with pytest.raises(RunError, match="share 5 of 12 and 5 judged reports"):
        reproduction(ORIGINAL, pair(QRELS.only(REPORTS[:5])))
    with pytest.raises(RunError, match="run 1 and run 2 are judged by different reports or fixed files"):
        Pair(scored(QRELS, 0.2, 1), scored(judgements(seed=9), 0.8, 2))


def test_no_effect_names_its_measure():
    same = Pair(ORIGINAL.baseline, ORIGINAL.baseline)
    with pytest.raises(RunError, match=r"^RR: the original's advanced run and its baseline have the same mean"):
        reproduction(same, ORIGINAL, [RR])


# Published means


def test_against_published_means():
    b, a = ORIGINAL.baseline.evaluation.mean(AP), ORIGINAL.advanced.evaluation.mean(AP)
    result = against_published(b, a, ORIGINAL, AP)
    assert (result.effect.ratio, result.effect.delta_ri, result.effect.region) == (pytest.approx(1.0), 0.0, 4)
    for one in result.differences.values():
        assert one.ours == pytest.approx(one.published, abs=1e-12)
        assert one.interval.low < 0 < one.interval.high
    assert against_published(b, a, ORIGINAL, AP) == result
    further = against_published(b - 0.05, a, ORIGINAL, AP)
    values = json.loads(json.dumps(further.as_dict()))
    assert values["baseline"]["difference"] == pytest.approx(0.05)
    assert values["improvement"]["difference"] == pytest.approx(-0.05)
    assert values["baseline"]["interval"][0] == pytest.approx(result.differences["baseline"].interval.low + 0.05)
