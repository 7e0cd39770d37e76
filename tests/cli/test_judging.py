"""What ``evaluate`` and ``compare`` print and refuse."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from tosloc.cli.printing import ranks_cell
from tosloc.core.records import Ranking, ReportAttributes
from tosloc.evaluate.judgements import Judgement, write_judgements
from tosloc.evaluate.measures import ReportScores
from tosloc.evaluate.runs import write_run

TRUTH = {"1": ("A.java",), "2": ("B.java", "test/T.java"), "3": ("C.java",)}
GOOD = {"1": "ABC", "2": "BAC", "3": "CBA"}
WORSE = {"1": "BAC", "2": "BAC", "3": "ABC"}


def write_split(folder, orders, truth=TRUTH, searched=4):
    """A run over A.java, B.java, C.java and test/T.java, which comes last."""
    rankings, judgements = [], []
    for report, order in orders.items():
        paths = (*(f"{one}.java" for one in order), "test/T.java")
        rankings.append(Ranking(report, paths, -np.arange(len(paths), dtype=np.float64)))
        fixed = tuple(truth[report])
        kind = ReportAttributes(True, False, 0)
        judgements.append(Judgement(report, fixed, (*fixed, "Gone.java"), searched, None, kind))
    write_run(Path(folder, "run.jsonl.gz"), {}, rankings)
    write_judgements(Path(folder, "qrels.jsonl"), judgements)


@pytest.fixture
def ask(tmp_path, monkeypatch, tosloc):
    """What a command says on either stream, in a folder with the runs good and worse."""
    monkeypatch.chdir(tmp_path)
    write_split("good/test", GOOD)
    write_split("worse/test", WORSE)
    shutil.copy("good/test/run.jsonl.gz", "alone.jsonl.gz")
    return lambda words: tosloc(*words.split())


def rows(text):
    return [line.split() for line in text.splitlines()]


def values(ask, words):
    return json.loads(ask(f"{words} --json")[0])


def test_evaluate_prints_one_object(ask):
    printed = values(ask, "evaluate good --measures P@1,nDCG@10 --measures mrr")
    wanted = {
        "reports": 3,
        "relevant": 4,
        "dropped": 3,
        "empty": 0,
        "mrr": 1.0,
        "map": pytest.approx(2.75 / 3),
    }
    assert printed | wanted == printed
    assert printed["intervals"]["map"] == [pytest.approx(0.75), 1.0]
    assert list(printed["measures"]) == ["P@1", "nDCG@10", "RR"]
    assert printed["measures"]["P@1"] == {"mean": 1.0, "interval": [1.0, 1.0]}
    assert [row["reports"] for row in printed["strata"] if row["stratum"] == "1 fixed file"] == [2]
    assert [one["run"] for one in values(ask, "evaluate good/test worse/test")] == [
        "good/test",
        "worse/test",
    ]
    write_judgements(
        "other.jsonl", [Judgement(report, ("B.java",), ("B.java",), 4) for report in GOOD]
    )
    assert values(ask, "evaluate alone.jsonl.gz --qrels other.jsonl")["mrr"] == pytest.approx(
        (1 / 2 + 1 + 1 / 2) / 3
    )


def test_without_tests_neither_ranking_nor_truth_has_them(ask):
    """Of report 2 one fixed file is a test: it is last of four, and gone without tests."""
    fewer = values(ask, "evaluate good --measures Acc@2 --no-tests")
    assert (fewer["relevant"], fewer["dropped"], fewer["measures"]["Acc@2"]["mean"]) == (3, 3, 1.0)
    assert (fewer["map"], fewer["length"]) == (1.0, 1.0)
    [pair] = values(ask, "compare worse good --no-tests --measures Acc@1")["pairs"]
    assert (
        pair["measures"]["Acc@1"] | {"a": 1 / 3, "b": 1.0, "wins": 2, "p_mcnemar": 0.5}
        == pair["measures"]["Acc@1"]
    )


def test_tables_of_runs_and_of_their_strata(ask, monkeypatch):
    table = rows(ask("evaluate good")[0])
    assert table[1] == ["all", "reports", "good", "[95", "%]"]
    assert [
        "top1",
        "1.00",
        "[1.00,",
        "1.00]",
        "reports",
        "with",
        "a",
        "fixed",
        "file",
        "up",
        "to",
        "rank",
        "1",
    ] in table
    assert ["2", "to", "5", "fixed", "files", "1*", "2", "1.00", ".750"] in table
    text = ask("evaluate good worse --markdown")[0]
    assert text.splitlines()[:2] == [
        "| all reports | good [95 %] | worse [95 %] |  |",
        "|---|---|---|---|",
    ]
    assert (
        "| map | .917 [.750, 1.00] | .528 [.333, .750] | mean average precision, whole ranking |\n"
        in text
    )
    assert "strata of good\n\n| stratum | reports | relevant | MRR [95 %] | MAP [95 %] |\n" in text
    assert "\n\n* fewer than 30 reports" in text
    monkeypatch.setenv("TTY_COMPATIBLE", "1")  # a terminal of 60 columns
    monkeypatch.setenv("COLUMNS", "60")
    narrow = re.sub(r"\x1b\[[\d;]*m", "", ask("evaluate good")[0])
    assert max(map(len, narrow.splitlines())) <= 60
    assert " .917 [.750, 1.00]  mean average" in narrow


def names(text):
    """What stands first in each row of the tables."""
    return {line.strip().split("  ")[0] for line in text.splitlines()}


@pytest.mark.parametrize(
    ("searched", "kept", "left_out"),
    [
        (5, {"top1"}, {"top5", "top10", "coverage50", "any50", "any300"}),
        (101, {"top10", "coverage50", "coverage100", "any100"}, {"coverage300", "any300"}),
        (None, {"top10", "any300", "coverage300"}, set()),
    ],
)
def test_means_over_more_files_than_there_are_have_no_row(ask, searched, kept, left_out):
    write_split("sized/test", GOOD, searched=searched)
    shown = names(ask("evaluate sized")[0])
    assert kept <= shown
    assert not left_out & shown
    assert "any300" in values(ask, "evaluate sized")  # for programs nothing is left out


def test_a_mean_that_says_something_about_one_of_two_runs_has_a_row(ask):
    write_split("larger/test", GOOD, searched=90)
    shown = names(ask("evaluate good larger")[0])
    assert "any50" in shown
    assert "any100" not in shown


def test_strata_of_no_report_and_of_all_reports_have_no_row(ask):
    shown = names(ask("evaluate good")[0])
    assert {"1 fixed file", "2 to 5 fixed files"} <= shown
    assert not shown & {
        "with a stack trace",
        "without a stack trace",
        "with a description",
        "left empty",
    }
    listed = [row["stratum"] for row in values(ask, "evaluate good")["strata"]]
    assert "with a stack trace" in listed


@pytest.mark.parametrize(
    ("shipped", "trained", "answer"),
    [
        (WORSE, GOOD, "that is not certain"),
        (GOOD, WORSE, "that is not certain"),
        (GOOD, GOOD, "no, both rank alike"),
        ({"1": "BCA", "2": "ACB", "3": "ABC"}, GOOD, "yes"),
        (GOOD, {"1": "BCA", "2": "ACB", "3": "ABC"}, "no, it made the ranking worse"),
    ],
)
def test_evaluate_says_whether_training_helped(ask, shipped, trained, answer):
    write_split("out/test", trained)
    write_split("out/shipped/test", shipped)
    _, said = ask("evaluate out")
    assert f"tosloc: did training help? {answer.capitalize()}: MRR" in said
    assert ask("evaluate out/test")[1] == said
    assert ask("evaluate out --no-tests")[1].startswith("tosloc: did training help?")


def test_the_difference_that_training_made_has_its_interval(ask):
    write_split("out/test", GOOD)
    write_split("out/shipped/test", WORSE)
    _, said = ask("evaluate out")
    means = "MRR 1.000 with the trained weights, 0.611 with the shipped ones, on the same 3 held-out reports"
    assert f"{means} (difference +0.389, 95 % interval +0.000 to +0.667)" in said
    difference = values(ask, "evaluate out")["against_shipped"]["RR"]
    assert difference["difference"] == pytest.approx(0.3889, abs=1e-4)
    assert difference["interval"] == [0.0, pytest.approx(2 / 3)]
    assert values(ask, "evaluate good")["against_shipped"] is None


def test_one_report_does_not_say_whether_training_helped(ask):
    write_split("out/test", {"1": "ABC"})
    write_split("out/shipped/test", {"1": "BAC"})
    _, said = ask("evaluate out")
    assert (
        "did training help? One report cannot tell: MRR 1.000 with the trained weights, 0.500 with"
        in said
    )


@pytest.mark.parametrize(
    ("ranks", "relevant", "cell"),
    [
        ((1, 5), 2, "1, 5"),
        ((1, 5), 4, "1, 5, 2 not ranked"),
        (tuple(range(1, 9)), 8, "1, 2, 3, 4, 5, 6, 7, 8"),
        (tuple(range(1, 11)), 11, "1, 2, 3, 4, 5, 6, 7, 8, 2 more, 1 not ranked"),
        ((), 1, "1 not ranked"),
    ],
)
def test_the_first_eight_ranks_of_a_report_are_listed_and_the_others_counted(ranks, relevant, cell):
    fixed = tuple(f"{number}.java" for number in range(relevant))
    assert ranks_cell(ReportScores(Judgement("1", fixed, fixed, 20), ranks, 20)) == cell


@pytest.mark.parametrize(
    ("searched", "length", "says"),
    [
        (
            8,
            ".500",
            "rankings hold 50.0% of the files searched, 3 of 3 are cut off; a fixed file that is not ranked",
        ),
        (None, "-", "it is not known how many files were searched, so rankings may be cut off"),
        (4, "1.00", ""),
    ],
)
def test_rankings_that_lack_files_are_told(ask, searched, length, says):
    write_split("cut", GOOD, searched=searched)
    out, err = ask("evaluate cut")
    assert ["length", length] in [row[:2] for row in rows(out)]
    assert err.startswith(f"tosloc: cut: {says}" if says else "")
    assert bool(err) is bool(says)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            "evaluate empty",
            "empty: no finished run of the split 'test'; make one with: tosloc train, or tosloc rank",
        ),
        (
            "evaluate good --split validation",
            "no finished run of the split 'validation'; it holds test",
        ),
        ("evaluate good good", "good: named twice"),
        ("evaluate good --json --markdown", "choose one"),
        ("evaluate good --measures AP,MAPP", "no measure MAPP"),
        ("evaluate good --qrels nowhere.jsonl", "nowhere.jsonl: cannot read it"),
        ("evaluate good --level function --no-tests", "not for --level function"),
        ("evaluate alone.jsonl.gz", "no judgements beside the run; name them with --qrels"),
        ("evaluate unjudged", "unjudged/qrels.jsonl: empty"),
        (
            "evaluate good worse --html x",
            "--html: a page shows one run, not 2; compare runs with",
        ),
        ("compare good short", "--common compares those that both judge, here 2"),
        ("compare good other", "report 3: A.java is a fixed file for only one of good and other"),
        ("compare good", "name two runs or more"),
        ("compare good nowhere", "nowhere: no such file or folder"),
    ],
)
def test_refusals(ask, fails, words, says):
    write_split("short", {report: WORSE[report] for report in "12"})
    write_split("other", WORSE, TRUTH | {"3": ("A.java",)})
    write_split("unjudged", GOOD)
    Path("unjudged/qrels.jsonl").write_text("")
    Path("empty").mkdir()
    assert says in fails(*words.split())


def test_compare_prints_tests_and_moves(ask):
    out, err = ask("compare worse good --measures Acc@1")
    assert err == ""
    for row in (
        "good against worse",
        "mean of worse .528 .611 .000",
        "difference +.389 +.389 +.667",
        "p, McNemar - - .500",
        "better in good 2 2 2",
        "equal 1 1 1",
        "3 .333 1.00 +.667 3 1",
    ):
        assert row.split() in rows(out)
    assert not re.search("fallen|Holm", out)
    out = ask("compare good worse --top 1")[0]
    assert ["3", "1.00", ".333", "-.667", "1", "3"] in rows(out)
    assert not re.search("McNemar|1.00 +.500", out)
    write_split("third", GOOD)
    assert ask("compare worse good third")[0].count("p, t-test, Holm") == 2


def test_compare_as_values_and_what_is_left_out_or_differs(ask):
    [pair] = values(ask, "compare worse good")["pairs"]
    assert (pair["a"], pair["b"], pair["reports"]) == ("worse", "good", 3)
    rr = pair["measures"]["RR"]
    assert (rr["wins"], rr["ties"], rr["losses"], rr["p_t_holm"]) == (2, 1, 0, None)
    assert rr["difference"] == pytest.approx((1 / 2 + 0 + 2 / 3) / 3)
    move = {"report": "3", "difference": 1 - 1 / 3, "relevant": 1, "AP_a": 1 / 3, "AP_b": 1.0}
    assert pair["risen"][0] == move | {"ranks_a": [3], "ranks_b": [1]}
    write_split("short", {report: WORSE[report] for report in "12"})
    assert (
        ask("compare good short --common")[1]
        == "tosloc: left out: 1 report only of good, 0 only of short\n"
    )
    write_split("large", GOOD, searched=9)
    err = ask("compare good large")[1]
    assert "good and large searched different numbers of files for 3 reports, first 1" in err
