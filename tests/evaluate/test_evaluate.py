"""Runs against their judgements: means by hand, refusals, strata, and a judged run in a part of its search space."""

from dataclasses import replace

import numpy as np
import pytest

from tests.toy import run_of
from tosloc.core.errors import RunError
from tosloc.core.records import Ranking, ReportAttributes
from tosloc.evaluate.judgements import Judgement, to_qrels
from tosloc.evaluate.measures import evaluate
from tosloc.evaluate.run_paths import ScoredRun, drop_test_files
from tosloc.evaluate.runs import Order
from tosloc.evaluate.tables import Results, report_strata

FILES = tuple(f"F{i:03}" for i in range(1, 401))


def ranked(report, files=FILES):
    return Ranking(report, files, -np.arange(len(files), dtype=np.float64))


def judged(report, *fixed, gone=0, **more):
    return Judgement(report, fixed, (*fixed, *(f"Gone{n}" for n in range(gone))), **more)


RUN = run_of([ranked(report) for report in ("1", "2", "3", "4")], where="test run")
JUDGEMENTS = (
    judged("1", "F001", "F002", "F005", "F012", "F015", searched=400),
    judged("2", "F004", "F060", gone=1, searched=400),
    judged("3", "F120", "F350", searched=400),
    judged("4", gone=2, searched=400),
)


def test_summary_is_worked_by_hand():
    ap = [(1 + 1 + 3 / 5 + 4 / 12 + 5 / 15) / 5, (1 / 4 + 2 / 60) / 2, (1 / 120 + 2 / 350) / 2, 0]
    results = Results(ScoredRun("run", RUN, to_qrels(JUDGEMENTS)))
    assert results.evaluation.counts | {
        one.name: one.mean for one in results.means
    } == pytest.approx(
        {
            **{"reports": 4, "relevant": 9, "dropped": 3, "empty": 1, "length": 1.0},
            "mrr": (1 + 1 / 4 + 1 / 120 + 0) / 4,
            "map": sum(ap) / 4,
            **{"top1": 1 / 4, "top5": 2 / 4, "top10": 2 / 4},
            **{"coverage50": 6 / 9, "coverage100": 7 / 9, "coverage300": 8 / 9},
            **{"any50": 2 / 4, "any100": 2 / 4, "any300": 3 / 4},
        }
    )


def test_a_fixed_file_that_is_not_ranked_counts_as_not_found():
    run = run_of([ranked("1", FILES[:10])])
    result = evaluate(run, to_qrels(JUDGEMENTS[:1]))
    assert (result.map, result.length) == (pytest.approx(0.52), 10 / 400)
    assert evaluate(run, to_qrels([judged("1", "F001")])).length is None


@pytest.mark.parametrize(
    ("judgements", "sentence"),
    [
        ((), "nothing to evaluate, no report is judged"),
        ((*JUDGEMENTS, judged("5")), "no ranking for 1 of 5 reports, first 5"),
        (JUDGEMENTS[:2], "no judgement for 2 of 4 reports, first 3"),
        (
            (*JUDGEMENTS[:3], judged("4", "Z", searched=400)),
            "report 4 ranks 400 files and lacks 1 of the fixed, but its version has 400 files",
        ),
    ],
)
def test_what_cannot_be_evaluated_is_one_sentence(judgements, sentence):
    with pytest.raises(RunError) as caught:
        evaluate(RUN, to_qrels(judgements))
    assert str(caught.value) == f"test run: {sentence}"


def test_strata_by_hand():
    plain = ReportAttributes(True, False, 0)
    judgements = [
        judged("a", "src/A.java", attributes=ReportAttributes(True, True, 1)),
        judged("b", "src/A.java", "test/TestA.java", attributes=plain),
        judged(
            "c", "test/TestA.java", "test/TestB.java", attributes=ReportAttributes(False, False, 2)
        ),
        judged("d", gone=2, attributes=ReportAttributes(False, True, 0)),
        judged("e", *(f"src/{n}.java" for n in range(6)), attributes=plain),
        judged("f", *(f"src/{n}.java" for n in range(5)), gone=1, attributes=plain),
    ]
    members = {}
    for one in judgements:
        for name, holds in report_strata(one).items():
            members[name] = members.get(name, "") + one.report * holds
    assert members == {
        "reachable only": "abcef",
        "left empty": "d",
        "1 fixed file": "a",
        "2 to 5 fixed files": "bcf",
        "6 or more fixed files": "e",
        "with a description": "abef",
        "without a description": "cd",
        "with a stack trace": "ad",
        "without a stack trace": "bcef",
        "names a fixed file": "ac",
        "names no fixed file": "bdef",
        "only test files fixed": "c",
    }
    run = run_of([ranked(one.report) for one in judgements])
    rows = Results(ScoredRun("run", run, to_qrels(judgements))).strata
    assert {row.name: row.reports for row in rows} == {
        name: len(held) for name, held in members.items()
    }
    unknown = [*judgements[:5], judged("f", "src/A.java")]
    names = [row.name for row in Results(ScoredRun("run", run, to_qrels(unknown))).strata]
    assert names == [*list(members)[:5], "only test files fixed"]


def of_four(fixed, files=4):
    """Of four files two are tests, and the last may not be ranked."""
    run = run_of(
        [ranked("1", ("test/T.java", "a.java", "test/U.java", "b.java")[:files])],
        {"seed": 7},
        "a run",
    )
    return ScoredRun(
        "run",
        run,
        to_qrels([Judgement("1", tuple(fixed), (*fixed, "test/Gone.java", "gone.java"), 4)]),
    )


def test_without_tests_ranks_and_truth_are_those_of_the_rest():
    made = drop_test_files(of_four(["b.java", "test/T.java"]))
    [one] = made.evaluation().per_report
    assert (one.ranks, one.relevant, one.searched, one.judgement.dropped) == ((2,), 1, 2, 1)
    assert made.run.header == {"seed": 7, "search space": "all source files but tests"}
    assert made.run.ranking("1").paths == ("a.java", "b.java")
    assert one.judgement.listed == ("b.java", "gone.java")
    [none] = drop_test_files(of_four(["test/T.java"])).evaluation().per_report
    assert (none.ranks, none.relevant) == ((), 0)
    # of a cut ranking it is not known how many files are left
    [cut] = drop_test_files(of_four(["b.java"], files=3)).evaluation().per_report
    assert (cut.searched, cut.ranks) == (None, ())
    known = of_four(["b.java"])
    order = Order(np.array([3], dtype=np.int32), np.zeros(0), np.array([4], dtype=np.int32))
    with pytest.raises(RunError, match=r"a run: only the ranks of some files are known"):
        drop_test_files(replace(known, run=replace(known.run, orders={"1": order})))
