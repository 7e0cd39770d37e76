"""Random runs, exported, have the same values in trec_eval (by pytrec_eval and ir-measures) as here."""

import ir_measures
import numpy as np
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st
from ir_measures import AP, RR, P, R, nDCG

from tests.toy import run_of
from tosloc.core.records import Ranking
from tosloc.evaluate.judgements import Judgement, to_qrels
from tosloc.evaluate.measures import Measure, evaluate
from tosloc.evaluate.trec import read_trec_qrels, read_trec_run, write_trec_qrels, write_trec_run

FILES = [f"src/org/x/F{number:02}.java" for number in range(24)]
THEIRS = {
    "AP": "map",
    "RR": "recip_rank",
    "nDCG": "ndcg",
    "bpref": "bpref",
    "AP@10": "map_cut_10",
    "P@5": "P_5",
    "P@10": "P_10",
    "R@5": "recall_5",
    "R@10": "recall_10",
    "nDCG@5": "ndcg_cut_5",
    "nDCG@10": "ndcg_cut_10",
    "Hit@5": "success_5",
}
ASKED = {
    "map",
    "recip_rank",
    "ndcg",
    "bpref",
    "map_cut.10",
    "P.5,10",
    "recall.5,10",
    "ndcg_cut.5,10",
    "success.5",
}


def random_run(folder, seed, reports, complete):
    """A run with many equal scores and its judgements, some without a fixed file; both in TREC's form in a folder."""
    rng, rankings, judgements = np.random.default_rng(seed), [], []
    for number in range(reports):
        files = (
            FILES
            if complete
            else sorted(rng.permutation(FILES)[: rng.integers(1, len(FILES))].tolist())
        )
        rankings.append(Ranking.from_scores(str(number), files, rng.integers(0, 4, len(files))))
        fixed = tuple(sorted(rng.permutation(FILES).tolist()[: rng.integers(0, 7)]))
        judgements.append(Judgement(str(number), fixed, fixed, len(FILES)))
    run, qrels = run_of(rankings), to_qrels(judgements)
    write_trec_run(folder / "run.trec", run)
    every = run_of(
        [Ranking.from_scores(str(number), FILES, [0] * len(FILES)) for number in range(reports)]
    )
    write_trec_qrels(folder / "qrels.trec", qrels, every)
    return run, qrels


def columns(path, key, value, number=float):
    """What pytrec_eval takes: report -> path -> number."""
    table = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        cells = line.split()
        table.setdefault(cells[0], {})[cells[key]] = number(cells[value])
    return table


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_trec_eval_agrees(tmp_path_factory, seed, complete):
    folder = tmp_path_factory.mktemp("oracle")
    run, qrels = random_run(folder, seed, 5, complete)
    truth, ranked = columns(folder / "qrels.trec", 2, 3, int), columns(folder / "run.trec", 2, 4)
    assert truth.keys() == ranked.keys() == run.orders.keys()
    theirs = pytrec_eval.RelevanceEvaluator(truth, ASKED).evaluate(ranked)
    read = read_trec_run(folder / "run.trec"), read_trec_qrels(folder / "qrels.trec")
    for evaluation in (evaluate(run, qrels), evaluate(*read)):
        for ours, name in THEIRS.items():
            if name == "bpref" and evaluation.length is None and not complete:
                continue  # of a cut ranking alone it is not known how many files there are
            measure = Measure.parse(ours)
            for one in evaluation.per_report:
                assert measure(one) == pytest.approx(theirs[one.report][name], abs=1e-6), (
                    ours,
                    one,
                )


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_ir_measures_agrees_on_reciprocal_rank_at_k(tmp_path_factory, seed):
    folder = tmp_path_factory.mktemp("oracle")
    evaluation = evaluate(*random_run(folder, seed, 8, complete=True))
    scores = {one.report: one for one in evaluation.per_report}
    theirs = ir_measures.iter_calc(
        [ir_measures.parse_measure(name) for name in ("RR@1", "RR@2", "RR@3", "RR@5", "RR@10")],
        list(ir_measures.read_trec_qrels(str(folder / "qrels.trec"))),
        ir_measures.read_trec_run(str(folder / "run.trec")),
    )
    compared = 0
    for metric in theirs:
        ours = Measure.parse(str(metric.measure))(scores[metric.query_id])
        assert ours == pytest.approx(metric.value, abs=1e-9), metric
        compared += 1
    assert compared == 5 * 8


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_ir_measures_agrees_on_means(tmp_path_factory, seed):
    folder = tmp_path_factory.mktemp("oracle")
    evaluation = evaluate(*random_run(folder, seed, 8, complete=True))
    # not by parse_measure, which uses what Python 3.14 has removed
    measures = [AP, RR, nDCG, P @ 5, R @ 10, nDCG @ 10]
    theirs = ir_measures.calc_aggregate(
        measures,
        list(ir_measures.read_trec_qrels(str(folder / "qrels.trec"))),
        ir_measures.read_trec_run(str(folder / "run.trec")),
    )
    for measure, value in theirs.items():
        assert evaluation.mean(Measure.parse(str(measure))) == pytest.approx(value, abs=1e-9)
