"""Runs against their judgements: means by hand, refusals, strata, and runs without test files."""

from dataclasses import replace

import numpy as np
import pytest

from tests.toy import make_run
from tosloc.core.errors import RunError
from tosloc.core.rankings import Ranking
from tosloc.core.reports import ReportAttributes
from tosloc.evaluate.measures import evaluate
from tosloc.evaluate.run_paths import ScoredRun, drop_test_files
from tosloc.evaluate.runs import RunFolder
from tosloc.evaluate.runs.judgements import Judgement, to_qrels
from tosloc.evaluate.runs.run import Order
from tosloc.evaluate.tables import Results, report_strata

FILES = tuple(f"F{i:03}" for i in range(1, 401))


def make_ranking(report, files=FILES):
    """Return a ranking of the files in this order."""
    return Ranking(report, files, -np.arange(len(files), dtype=np.float64))


def make_judgement(report, *fixed, gone=0, **fields):
    """Return a judgement that also lists ``gone`` files that the version lacks."""
    missing = [f"Gone{number}" for number in range(gone)]
    return Judgement(report, fixed, (*fixed, *missing), **fields)


RUN = make_run([make_ranking(report) for report in ("1", "2", "3", "4")], where="test run")
JUDGEMENTS = (
    make_judgement("1", "F001", "F002", "F005", "F012", "F015", searched=400),
    make_judgement("2", "F004", "F060", gone=1, searched=400),
    make_judgement("3", "F120", "F350", searched=400),
    make_judgement("4", gone=2, searched=400),
)


@pytest.fixture(scope="module")
def results():
    return Results(ScoredRun("run", RUN, to_qrels(JUDGEMENTS)))


def test_counts_are_worked_by_hand(results):
    counts = {"reports": 4, "relevant": 9, "dropped": 3, "empty": 1, "length": 1.0, "weak": 0}
    assert results.evaluation.counts == pytest.approx(counts)


def test_headline_is_worked_by_hand(results):
    ap = [(1 + 1 + 3 / 5 + 4 / 12 + 5 / 15) / 5, (1 / 4 + 2 / 60) / 2, (1 / 120 + 2 / 350) / 2, 0]
    expected = {
        "mrr": (1 + 1 / 4 + 1 / 120 + 0) / 4,
        "map": sum(ap) / 4,
        "top1": 1 / 4,
        "top5": 2 / 4,
        "top10": 2 / 4,
        "coverage50": 6 / 9,
        "coverage100": 7 / 9,
        "coverage300": 8 / 9,
        "any50": 2 / 4,
        "any100": 2 / 4,
        "any300": 3 / 4,
    }
    assert {row.name: row.mean for row in results.means} == pytest.approx(expected)


def test_a_fixed_file_that_is_not_ranked_counts_as_not_found():
    evaluation = evaluate(make_run([make_ranking("1", FILES[:10])]), to_qrels(JUDGEMENTS[:1]))
    assert evaluation.map == pytest.approx(0.52)
    assert evaluation.length == 10 / 400


def test_length_is_unknown_without_the_number_of_searched_files():
    run = make_run([make_ranking("1", FILES[:10])])
    assert evaluate(run, to_qrels([make_judgement("1", "F001")])).length is None


@pytest.mark.parametrize(
    ("judgements", "sentence"),
    [
        ((), "no report is judged, so there is nothing to evaluate"),
        (
            (*JUDGEMENTS, make_judgement("5")),
            "no ranking for 1 of 5 reports, such as 5; rank them, or leave them out of the"
            " judgements",
        ),
        (
            JUDGEMENTS[:2],
            "no judgement for 2 of 4 reports, such as 3; judge them, or leave them out of the run",
        ),
        (
            (*JUDGEMENTS[:3], make_judgement("4", "Z", searched=400)),
            "report 4 ranks 400 files and lacks 1 of the fixed, but its version has 400 files;"
            " leave files that are not searched, such as Z, out of the judgements",
        ),
    ],
    ids=["no judgements", "no ranking", "no judgement", "ranking too long"],
)
def test_refusal_to_evaluate_is_one_sentence(judgements, sentence):
    with pytest.raises(RunError) as caught:
        evaluate(RUN, to_qrels(judgements))
    assert str(caught.value) == f"test run: {sentence}"


PLAIN = ReportAttributes(True, False, 0)
STRATA_JUDGEMENTS = [
    make_judgement("a", "src/A.java", attributes=ReportAttributes(True, True, 1)),
    make_judgement("b", "src/A.java", "test/TestA.java", attributes=PLAIN),
    make_judgement(
        "c",
        "test/TestA.java",
        "test/TestB.java",
        attributes=ReportAttributes(False, False, 2),
    ),
    make_judgement("d", gone=2, attributes=ReportAttributes(False, True, 0)),
    make_judgement("e", *(f"src/{n}.java" for n in range(6)), attributes=PLAIN),
    make_judgement("f", *(f"src/{n}.java" for n in range(5)), gone=1, attributes=PLAIN),
]
STRATA_MEMBERS = {
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


def make_strata(judgements):
    """Return the strata of a run that ranks all files for the reports a to f."""
    run = make_run([make_ranking(report) for report in "abcdef"])
    return Results(ScoredRun("run", run, to_qrels(judgements))).strata


def test_strata_of_each_report_by_hand():
    members = dict.fromkeys(STRATA_MEMBERS, "")
    for judgement in STRATA_JUDGEMENTS:
        for name, is_member in report_strata(judgement).items():
            if is_member:
                members[name] += judgement.report
    assert members == STRATA_MEMBERS


def test_strata_are_in_the_order_of_a_table():
    assert list(report_strata(STRATA_JUDGEMENTS[0])) == list(STRATA_MEMBERS)


def test_strata_of_a_run_contain_their_reports():
    sizes = {name: len(members) for name, members in STRATA_MEMBERS.items()}
    assert {row.name: row.reports for row in make_strata(STRATA_JUDGEMENTS)} == sizes


def test_strata_that_one_report_does_not_know_are_left_out():
    strata = make_strata([*STRATA_JUDGEMENTS[:5], make_judgement("f", "src/A.java")])
    names = list(STRATA_MEMBERS)
    assert [row.name for row in strata] == [*names[:5], "only test files fixed"]


def make_scored_run(fixed, ranked=4):
    """Return a run of one report that ranks the first of four files, two of which are tests."""
    files = ("test/T.java", "a.java", "test/U.java", "b.java")
    run = make_run([make_ranking("1", files[:ranked])], {"seed": 7}, "a run")
    judgement = Judgement("1", tuple(fixed), (*fixed, "test/Gone.java", "gone.java"), 4)
    return ScoredRun("run", run, to_qrels([judgement]))


def test_means_of_one_report_have_no_interval():
    means = Results(make_scored_run(["b.java"])).means
    assert len(means) > 5
    assert {mean.interval for mean in means} == {None}


def test_files_left_without_tests_move_up():
    scored = drop_test_files(make_scored_run(["b.java", "test/T.java"]))
    assert scored.run.ranking("1").paths == ("a.java", "b.java")
    [scores] = scored.evaluation().per_report
    assert scores.ranks == (2,)


def test_judgements_without_tests_count_the_files_left():
    scored = drop_test_files(make_scored_run(["b.java", "test/T.java"]))
    [scores] = scored.evaluation().per_report
    assert scores.relevant == 1
    assert scores.searched == 2
    assert scores.judgement.dropped == 1
    assert scores.judgement.listed == ("b.java", "gone.java")


def test_header_names_the_search_space_without_tests():
    scored = drop_test_files(make_scored_run(["b.java", "test/T.java"]))
    assert scored.run.header == {"seed": 7, "search space": "all source files but tests"}


def test_a_report_that_fixes_only_tests_keeps_no_fixed_file():
    [scores] = drop_test_files(make_scored_run(["test/T.java"])).evaluation().per_report
    assert scores.ranks == ()
    assert scores.relevant == 0


def test_a_cut_ranking_does_not_tell_how_many_files_are_left():
    [scores] = drop_test_files(make_scored_run(["b.java"], ranked=3)).evaluation().per_report
    assert scores.searched is None
    assert scores.ranks == ()


def test_tests_cannot_be_dropped_where_only_some_ranks_are_known():
    scored = make_scored_run(["b.java"])
    order = Order(np.array([3], dtype=np.int32), np.zeros(0), np.array([4], dtype=np.int32))
    partial = replace(scored, run=replace(scored.run, orders={"1": order}))
    with pytest.raises(RunError, match=r"a run: only the ranks of some files are known"):
        drop_test_files(partial)


# Names of runs


def write_headed_run(folder, header):
    """Write a run of one report with a header, and return its folder."""
    RunFolder(folder).write(header, [make_ranking("1")], [make_judgement("1", "F001")])
    return folder


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ({}, "run"),
        ({"reranker": {"class": "Own", "name": "own.py"}}, "run (Own)"),
        ({"language model": "qwen"}, "run (language model qwen)"),
        ({"reranker": {"class": "Own"}, "language model": "q"}, "run (Own, language model q)"),
    ],
)
def test_name_of_a_run_contains_what_ordered_its_first_files(tmp_path, header, name):
    folder = write_headed_run(tmp_path / "run", header)
    assert ScoredRun.read(folder).name == name


def test_runs_that_are_named_by_their_paths_keep_what_ordered_them(tmp_path):
    header = {"reranker": {"class": "Own"}}
    folders = [write_headed_run(tmp_path / name / "run", header) for name in "ab"]
    names = [scored.name for scored in ScoredRun.read_all(folders, "test")]
    assert names == [f"{tmp_path}/a/run (Own)", f"{tmp_path}/b/run (Own)"]
