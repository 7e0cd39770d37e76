"""Random runs have the same values here as in trec_eval (by pytrec_eval) and in ir-measures."""

import ir_measures
import numpy as np
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st
from ir_measures import AP, RR, P, R, nDCG

from tests.toy import make_run
from tosloc.core.rankings import Ranking
from tosloc.evaluate.measures import Measure, evaluate
from tosloc.evaluate.runs.judgements import Judgement, to_qrels
from tosloc.evaluate.runs.trec import (
    read_trec_qrels,
    read_trec_run,
    write_trec_qrels,
    write_trec_run,
)

FILES = [f"src/org/x/F{number:02}.java" for number in range(24)]
TREC_EVAL_NAMES = {
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
TREC_EVAL_REQUEST = {
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


def write_random_run(folder, seed, reports, complete):
    """Return a random run and its judgements, also written to a folder in TREC's format.

    Many scores are equal, and some reports have no fixed file. Rankings are cut off unless
    ``complete``.
    """
    rng = np.random.default_rng(seed)
    rankings = []
    judgements = []
    for number in range(reports):
        files = FILES
        if not complete:
            files = sorted(rng.permutation(FILES)[: rng.integers(1, len(FILES))].tolist())
        rankings.append(Ranking.from_scores(str(number), files, rng.integers(0, 4, len(files))))
        fixed = tuple(sorted(rng.permutation(FILES).tolist()[: rng.integers(0, 7)]))
        judgements.append(Judgement(str(number), fixed, fixed, len(FILES)))
    run = make_run(rankings)
    qrels = to_qrels(judgements)
    write_trec_run(folder / "run.trec", run)
    zeros = [0] * len(FILES)
    all_files = make_run([Ranking.from_scores(str(n), FILES, zeros) for n in range(reports)])
    write_trec_qrels(folder / "qrels.trec", qrels, all_files)
    return run, qrels


def read_columns(path, key, value, number=float):
    """Return what pytrec_eval takes: report -> path -> number, from two columns of a file."""
    table = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        cells = line.split()
        table.setdefault(cells[0], {})[cells[key]] = number(cells[value])
    return table


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_trec_eval_agrees(tmp_path_factory, seed, complete):
    folder = tmp_path_factory.mktemp("oracle")
    run, qrels = write_random_run(folder, seed, 5, complete)
    judged = read_columns(folder / "qrels.trec", 2, 3, int)
    ranked = read_columns(folder / "run.trec", 2, 4)
    assert judged.keys() == ranked.keys()
    assert ranked.keys() == run.orders.keys()
    expected = pytrec_eval.RelevanceEvaluator(judged, TREC_EVAL_REQUEST).evaluate(ranked)
    from_disk = evaluate(read_trec_run(folder / "run.trec"), read_trec_qrels(folder / "qrels.trec"))
    for evaluation in (evaluate(run, qrels), from_disk):
        for our_name, name in TREC_EVAL_NAMES.items():
            if name == "bpref" and evaluation.length is None and not complete:
                continue  # a cut ranking alone does not tell how many files there are
            measure = Measure.parse(our_name)
            for scores in evaluation.per_report:
                value = expected[scores.report][name]
                assert measure(scores) == pytest.approx(value, abs=1e-6), (our_name, scores)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_ir_measures_agrees_on_reciprocal_rank_at_k(tmp_path_factory, seed):
    folder = tmp_path_factory.mktemp("oracle")
    evaluation = evaluate(*write_random_run(folder, seed, 8, complete=True))
    scores_by_report = {scores.report: scores for scores in evaluation.per_report}
    # parse_measure uses a module that Python 3.14 has removed
    measures = [RR @ 1, RR @ 2, RR @ 3, RR @ 5, RR @ 10]
    metrics = ir_measures.iter_calc(
        measures,
        list(ir_measures.read_trec_qrels(str(folder / "qrels.trec"))),
        ir_measures.read_trec_run(str(folder / "run.trec")),
    )
    compared = 0
    for metric in metrics:
        value = Measure.parse(str(metric.measure))(scores_by_report[metric.query_id])
        assert value == pytest.approx(metric.value, abs=1e-9), metric
        compared += 1
    assert compared == 5 * 8


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_ir_measures_agrees_on_means(tmp_path_factory, seed):
    folder = tmp_path_factory.mktemp("oracle")
    evaluation = evaluate(*write_random_run(folder, seed, 8, complete=True))
    measures = [AP, RR, nDCG, P @ 5, R @ 10, nDCG @ 10]
    expected = ir_measures.calc_aggregate(
        measures,
        list(ir_measures.read_trec_qrels(str(folder / "qrels.trec"))),
        ir_measures.read_trec_run(str(folder / "run.trec")),
    )
    for measure, value in expected.items():
        assert evaluation.mean(Measure.parse(str(measure))) == pytest.approx(value, abs=1e-9)
