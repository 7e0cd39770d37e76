"""What ``evaluate`` and ``compare`` print and refuse."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tosloc.cli.tables import ranks_cell
from tosloc.core.rankings import Ranking
from tosloc.core.reports import ReportAttributes
from tosloc.evaluate.measures import ReportScores
from tosloc.evaluate.runs.judgements import Judgement, read_judgements, write_judgements
from tosloc.evaluate.runs.run import read_run, write_run

TRUTH = {"1": ("A.java",), "2": ("B.java", "test/T.java"), "3": ("C.java",)}
GOOD = {"1": "ABC", "2": "BAC", "3": "CBA"}
WORSE = {"1": "BAC", "2": "BAC", "3": "ABC"}


def write_split(folder, orders, truth=TRUTH, searched=4):
    """Write a run over A.java, B.java, C.java and test/T.java, which comes last."""
    rankings = []
    judgements = []
    for report, order in orders.items():
        paths = (*(f"{letter}.java" for letter in order), "test/T.java")
        rankings.append(Ranking(report, paths, -np.arange(len(paths), dtype=np.float64)))
        fixed = tuple(truth[report])
        attributes = ReportAttributes(True, False, 0)
        listed = (*fixed, "Gone.java")
        judgements.append(Judgement(report, fixed, listed, searched, None, attributes))
    write_run(Path(folder, "run.jsonl.gz"), {}, rankings)
    write_judgements(Path(folder, "qrels.jsonl"), judgements)


@pytest.fixture
def ask(tmp_path, monkeypatch, tosloc):
    """Return a function (words) -> (out, err) of a command beside the runs good and worse."""
    monkeypatch.chdir(tmp_path)
    write_split("good/test", GOOD)
    write_split("worse/test", WORSE)
    shutil.copy("good/test/run.jsonl.gz", "alone.jsonl.gz")
    return lambda words: tosloc(*words.split())


def rows(text):
    """Return the words of each line."""
    return [line.split() for line in text.splitlines()]


def values(ask, words):
    """Return what a command prints as JSON."""
    return json.loads(ask(f"{words} --json")[0])


def first_cells(text):
    """Return the first cell of each row of the tables."""
    return {line.strip().split("  ")[0] for line in text.splitlines()}


# evaluate


def test_evaluate_prints_means_and_counts(ask):
    printed = values(ask, "evaluate good")
    assert printed["reports"] == 3
    assert printed["relevant"] == 4
    assert printed["dropped"] == 3
    assert printed["empty"] == 0
    assert printed["mrr"] == 1.0
    assert printed["map"] == pytest.approx(2.75 / 3)
    assert printed["intervals"]["map"] == [pytest.approx(0.75), 1.0]


def test_evaluate_prints_more_measures(ask):
    measures = values(ask, "evaluate good --measures P@1,nDCG@10 --measures mrr")["measures"]
    assert list(measures) == ["P@1", "nDCG@10", "RR"]
    assert measures["P@1"] == {"mean": 1.0, "interval": [1.0, 1.0]}


def test_evaluate_prints_strata(ask):
    strata = values(ask, "evaluate good")["strata"]
    reports = {stratum["stratum"]: stratum["reports"] for stratum in strata}
    assert reports["1 fixed file"] == 2


def test_evaluate_prints_a_list_for_several_runs(ask):
    runs = values(ask, "evaluate good/test worse/test")
    assert [run["run"] for run in runs] == ["good/test", "worse/test"]


def test_evaluate_reads_other_judgements(ask):
    judgements = [Judgement(report, ("B.java",), ("B.java",), 4) for report in GOOD]
    write_judgements("other.jsonl", judgements)
    mrr = values(ask, "evaluate alone.jsonl.gz --qrels other.jsonl")["mrr"]
    assert mrr == pytest.approx((1 / 2 + 1 + 1 / 2) / 3)


def test_other_judgements_keep_the_numbers_of_searched_files(ask):
    judgements = [Judgement(report, ("B.java",), ("B.java",)) for report in GOOD]
    write_judgements("other.jsonl", judgements)
    assert values(ask, "evaluate good --qrels other.jsonl")["length"] == 1.0
    assert values(ask, "evaluate alone.jsonl.gz --qrels other.jsonl")["length"] is None


def test_without_tests_evaluate_has_no_test_files(ask):
    """Report 2 has two fixed files; one is a test, which is last of four."""
    printed = values(ask, "evaluate good --measures Acc@2 --no-tests")
    assert printed["relevant"] == 3
    assert printed["dropped"] == 3
    assert printed["measures"]["Acc@2"]["mean"] == 1.0
    assert printed["map"] == 1.0
    assert printed["length"] == 1.0


def test_without_tests_compare_has_no_test_files(ask):
    [pair] = values(ask, "compare worse good --no-tests --measures Acc@1")["pairs"]
    accuracy = pair["measures"]["Acc@1"]
    assert accuracy["a"] == 1 / 3
    assert accuracy["b"] == 1.0
    assert accuracy["wins"] == 2
    assert accuracy["p_mcnemar"] == 0.5


def test_evaluate_prints_tables(ask):
    table = rows(ask("evaluate good")[0])
    assert table[1] == "all reports good [95 %]".split()
    assert "top1 1.00 [1.00, 1.00] reports with a fixed file up to rank 1".split() in table
    assert "2 to 5 fixed files 1* 2 1.00 .750".split() in table


def test_evaluate_prints_markdown(ask):
    text = ask("evaluate good worse --markdown")[0]
    assert text.splitlines()[:2] == [
        "| all reports | good [95 %] | worse [95 %] |  |",
        "|---|---|---|---|",
    ]
    map_row = (
        "| map | .917 [.750, 1.00] | .528 [.333, .750] | mean average precision, whole ranking |"
    )
    assert f"{map_row}\n" in text
    heading = "| kind of report | reports | fixed files | MRR [95 %] | MAP [95 %] |"
    assert f"Kinds of reports in good\n\n{heading}\n" in text
    assert "\n\n* Fewer than 30 reports" in text


def test_tables_fit_a_terminal(ask, monkeypatch):
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("COLUMNS", "60")
    text = re.sub(r"\x1b\[[\d;]*m", "", ask("evaluate good")[0])
    assert max(map(len, text.splitlines())) <= 60
    assert " .917 [.750, 1.00]  mean average" in text


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
    names = first_cells(ask("evaluate sized")[0])
    assert kept <= names
    assert not left_out & names


def test_json_contains_means_over_more_files_than_there_are(ask):
    write_split("sized/test", GOOD, searched=5)
    assert "any300" in values(ask, "evaluate sized")


def test_a_mean_that_is_informative_for_one_of_two_runs_has_a_row(ask):
    write_split("larger/test", GOOD, searched=90)
    names = first_cells(ask("evaluate good larger")[0])
    assert "any50" in names
    assert "any100" not in names


def test_strata_of_no_report_and_of_all_reports_have_no_row(ask):
    names = first_cells(ask("evaluate good")[0])
    assert names >= {"1 fixed file", "2 to 5 fixed files"}
    assert "with a stack trace" not in names
    assert "without a stack trace" not in names
    assert "with a description" not in names
    assert "left empty" not in names


def test_json_contains_strata_of_no_report(ask):
    strata = values(ask, "evaluate good")["strata"]
    assert "with a stack trace" in [stratum["stratum"] for stratum in strata]


BEST_FOR_ONE = {"1": "BCA", "2": "ACB", "3": "ABC"}


@pytest.mark.parametrize(
    ("shipped", "trained", "answer"),
    [
        (WORSE, GOOD, "That is not certain"),
        (GOOD, WORSE, "That is not certain"),
        (GOOD, GOOD, "No, both rankings are equally good"),
        (BEST_FOR_ONE, GOOD, "Yes"),
        (GOOD, BEST_FOR_ONE, "No, it made the ranking worse"),
    ],
    ids=["a little better", "a little worse", "equal", "better", "worse"],
)
def test_evaluate_says_whether_training_helped(ask, shipped, trained, answer):
    write_split("out/test", trained)
    write_split("out/shipped/test", shipped)
    _, err = ask("evaluate out")
    assert f"tosloc: did training help? {answer}: MRR" in err
    assert ask("evaluate out/test")[1] == err
    assert ask("evaluate out --no-tests")[1].startswith("tosloc: did training help?")


def test_the_difference_that_training_made_has_its_interval(ask):
    write_split("out/test", GOOD)
    write_split("out/shipped/test", WORSE)
    assert (
        "MRR 1.000 with the trained weights, 0.611 with the shipped ones, on the same 3 held-out"
        " reports (difference +0.389, 95 % interval +0.000 to +0.667)"
    ) in ask("evaluate out")[1]
    difference = values(ask, "evaluate out")["against_shipped"]["RR"]
    assert difference["difference"] == pytest.approx(0.3889, abs=1e-4)
    assert difference["interval"] == [0.0, pytest.approx(2 / 3)]


def test_a_run_without_a_training_has_no_difference(ask):
    assert values(ask, "evaluate good")["against_shipped"] is None


def test_one_report_does_not_say_whether_training_helped(ask):
    write_split("out/test", {"1": "ABC"})
    write_split("out/shipped/test", {"1": "BAC"})
    assert (
        "did training help? One report cannot show this: MRR 1.000 with the trained weights, 0.500"
    ) in ask("evaluate out")[1]


@pytest.mark.parametrize(
    ("ranks", "relevant", "cell"),
    [
        ((1, 5), 2, "1, 5"),
        ((1, 5), 4, "1, 5, 2 not ranked"),
        (tuple(range(1, 9)), 8, "1, 2, 3, 4, 5, 6, 7, 8"),
        (tuple(range(1, 11)), 11, "1, 2, 3, 4, 5, 6, 7, 8, 2 more, 1 not ranked"),
        ((), 1, "1 not ranked"),
    ],
    ids=["all", "not ranked", "eight", "more than eight", "none"],
)
def test_a_cell_has_the_first_eight_ranks_of_a_report(ranks, relevant, cell):
    fixed = tuple(f"{number}.java" for number in range(relevant))
    assert ranks_cell(ReportScores(Judgement("1", fixed, fixed, 20), ranks, 20)) == cell


def evaluate_cut_run(ask, searched):
    """Evaluate rankings of four files; return the printed length and the notes."""
    write_split("cut", GOOD, searched=searched)
    out, err = ask("evaluate cut")
    [length] = [row[1] for row in rows(out) if row[:1] == ["length"]]
    return length, err


def test_rankings_that_lack_files_have_a_note(ask):
    length, err = evaluate_cut_run(ask, searched=8)
    assert length == ".500"
    assert err.startswith(
        "tosloc: cut: rankings contain 50.0% of the searched files, and 3 of 3 are cut off;"
        " a fixed file that is not ranked"
    )


def test_rankings_of_an_unknown_number_of_files_have_a_note(ask):
    length, err = evaluate_cut_run(ask, searched=None)
    assert length == "-"
    assert err.startswith(
        "tosloc: cut: the number of searched files is unknown, so rankings may be cut off"
    )


def test_rankings_of_all_files_have_no_note(ask):
    assert evaluate_cut_run(ask, searched=4) == ("1.00", "")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            "evaluate empty",
            "empty: there is no finished run; create one with tosloc train or tosloc rank",
        ),
        (
            "evaluate good --split validation",
            "no finished run of the split validation, but of test; read one with --split test",
        ),
        (
            "evaluate both",
            "no finished run of the split test, but of all, validation; read one with --split all",
        ),
        ("evaluate good good", "good is given twice"),
        ("evaluate good --json --markdown", "choose one"),
        ("evaluate good --measures AP,MAPP", "no measure MAPP"),
        ("evaluate good --qrels nowhere.jsonl", "nowhere.jsonl: cannot read it"),
        (
            "evaluate good --level function --no-tests",
            "apply only to files; leave out --level function",
        ),
        (
            "evaluate alone.jsonl.gz",
            "no judgements beside the run; name them with --qrels, such as qrels.jsonl of another",
        ),
        ("evaluate unjudged", "unjudged/qrels.jsonl: the file is empty"),
        (
            "evaluate good worse --html x",
            "--html shows one run, but there are 2; compare runs with",
        ),
        ("compare good short", "--common compares those that both judge, here 2"),
        ("compare good other", "report 3: A.java is a fixed file for only one of good and other"),
        ("compare good", "no second run to compare it with"),
        ("compare good nowhere", "nowhere: no such file or folder"),
    ],
)
@pytest.mark.usefixtures("ask")
def test_wrong_arguments_are_one_sentence(fails, words, message):
    write_split("short", {report: WORSE[report] for report in "12"})
    write_split("other", WORSE, TRUTH | {"3": ("A.java",)})
    write_split("unjudged", GOOD)
    Path("unjudged/qrels.jsonl").write_text("")
    write_split("both/all", GOOD)
    write_split("both/validation", GOOD)
    Path("empty").mkdir()
    assert message in fails(*words.split())


@pytest.mark.parametrize("part", ["all", "validation"])
def test_only_part_in_a_folder_needs_no_option(ask, part):
    write_split(f"one/{part}", GOOD)
    assert values(ask, "evaluate one")["reports"] == 3
    assert values(ask, "compare one good")["pairs"][0]["a"] == "one"


def test_part_test_is_read_if_there_are_several(ask):
    write_split("several/test", {"1": "ABC"})
    write_split("several/all", GOOD)
    assert values(ask, "evaluate several")["reports"] == 1


# compare


@pytest.mark.parametrize(
    "row",
    [
        "good compared with worse",
        "mean of worse .528 .611 .000",
        "difference +.389 +.389 +.667",
        "p, McNemar - - .500",
        "reports better in good 2 2 2",
        "reports equal in both 1 1 1",
        "3 .333 1.00 +.667 3 1",
    ],
)
def test_compare_prints_differences_tests_and_risen_reports(ask, row):
    out, err = ask("compare worse good --measures Acc@1")
    assert row.split() in rows(out)
    assert err == ""


def test_compare_leaves_out_what_there_is_not(ask):
    out = ask("compare worse good --measures Acc@1")[0]
    assert "fallen" not in out
    assert "Holm" not in out


def test_compare_prints_as_many_fallen_reports_as_asked_for(ask):
    out = ask("compare good worse --top 1")[0]
    assert ["3", "1.00", ".333", "-.667", "1", "3"] in rows(out)
    assert "McNemar" not in out
    assert not re.search("1.00 +.500", out)


def test_compare_corrects_for_several_runs(ask):
    write_split("third", GOOD)
    assert ask("compare worse good third")[0].count("p, t-test, Holm") == 2


def test_compare_prints_values_as_json(ask):
    [pair] = values(ask, "compare worse good")["pairs"]
    assert pair["a"] == "worse"
    assert pair["b"] == "good"
    assert pair["reports"] == 3
    reciprocal_rank = pair["measures"]["RR"]
    assert reciprocal_rank["wins"] == 2
    assert reciprocal_rank["ties"] == 1
    assert reciprocal_rank["losses"] == 0
    assert reciprocal_rank["p_t_holm"] is None
    assert reciprocal_rank["difference"] == pytest.approx((1 / 2 + 0 + 2 / 3) / 3)
    assert pair["risen"][0] == {
        "report": "3",
        "difference": 1 - 1 / 3,
        "relevant": 1,
        "AP_a": 1 / 3,
        "AP_b": 1.0,
        "ranks_a": [3],
        "ranks_b": [1],
    }


def test_compare_counts_reports_that_only_one_run_judges(ask):
    write_split("short", {report: WORSE[report] for report in "12"})
    err = ask("compare good short --common")[1]
    assert err == "tosloc: left out reports that only one run judges: 1 of good, 0 of short\n"


def test_compare_notes_searches_of_different_sizes(ask):
    write_split("large", GOOD, searched=9)
    err = ask("compare good large")[1]
    assert "good and large searched different numbers of files for 3 reports, such as 1" in err


@pytest.mark.parametrize("paths", [("good", "imported"), ("imported", "good")])
def test_compare_takes_no_unknown_number_of_files_for_a_different_one(ask, paths):
    write_split("imported", GOOD, searched=None)
    err = ask(f"compare {' '.join(paths)}")[1]
    assert "searched different numbers of files" not in err
    assert values(ask, f"compare {' '.join(paths)}")["pairs"][0]["other_searched"] == 0


def test_compare_notes_rankings_that_may_be_cut_off(ask):
    write_split("imported", GOOD, searched=None)
    assert ask("compare good imported")[1] == (
        "tosloc: imported: the number of searched files is unknown, so rankings may be cut off; a"
        " fixed file that is not ranked counts as not found\n"
    )


def test_report_without_a_ranking_is_refused_with_the_line_to_write(ask, fails):
    Path("run.txt").write_text("1 Q0 A.java 1 2 grep\n2 Q0 B.java 1 2 grep\n")
    message = fails("evaluate", "run.txt", "--qrels", "good/test/qrels.jsonl")
    assert message.endswith(
        "if no file was found for a report, write a line such as: 3 Q0 - 1 0 grep"
    )
    with open("run.txt", "a") as file:
        file.write("3 Q0 - 1 0 grep\n")
    assert values(ask, "evaluate run.txt --qrels good/test/qrels.jsonl")["mrr"] == pytest.approx(
        2 / 3
    )


def test_without_tests_a_run_of_an_unknown_number_of_files_stays_unknown(ask):
    Path("run.txt").write_text("1 Q0 A.java 1 2 grep\n2 Q0 - 1 2 grep\n3 Q0 - 1 2 grep\n")
    Path("truth.txt").write_text("1 0 A.java 1\n2 0 B.java 1\n3 0 C.java 1\n")
    printed = values(ask, "evaluate run.txt --qrels truth.txt --no-tests")
    assert printed["length"] is None
    assert printed["mrr"] == pytest.approx(1 / 3)


# The search space


def write_space(folder, space, orders=GOOD):
    """Write a run whose header names its search space."""
    write_split(folder, orders)
    run = read_run(Path(folder, "run.jsonl.gz"))
    write_run(Path(folder, "run.jsonl.gz"), {"search space": space}, run.rankings())


def test_evaluate_and_compare_name_the_search_space_once(ask):
    write_space("a", ".java files of the before-fix version")
    write_space("b", ".java files of the before-fix version")
    line = "Searched: .java files of the before-fix version"
    assert ask("evaluate a b")[0].count("Searched") == 1
    assert line in ask("evaluate a")[0].splitlines()
    assert line in ask("compare a b")[0].splitlines()


def test_different_search_spaces_are_named_with_their_runs(ask):
    write_space("a", ".java files")
    write_space("b", "all source files")
    line = "a searched .java files; b searched all source files"
    assert line in ask("compare a b")[0].splitlines()
    assert "a searched .java files" in ask("compare good a")[0].splitlines()
    assert "earched" not in ask("compare good worse")[0]


def test_search_space_is_in_json(ask):
    write_space("a", ".java files")
    assert values(ask, "evaluate a")["search_space"] == ".java files"
    [pair] = values(ask, "compare good a")["pairs"]
    assert pair["search_space_a"] is None
    assert pair["search_space_b"] == ".java files"


# Weak truth


def write_weak(folder, number, fixed=TRUTH):
    """Write a run of which the first ``number`` reports are commit messages."""
    write_split(folder, GOOD, fixed, searched=9)
    file = Path(folder, "qrels.jsonl")
    judgements = []
    for position, judgement in enumerate(read_judgements(file).values()):
        attributes = ReportAttributes(True, False, 0, weak=position < number)
        judgements.append(replace(judgement, attributes=attributes))
    write_judgements(file, judgements)


WEAK = (
    "2 of 3 reports are commit messages; their authors knew the fix, so the numbers are higher"
    " than for reports that users write\n"
)


def test_evaluate_says_how_many_reports_are_commit_messages(ask):
    write_weak("weak", 2)
    out, err = ask("evaluate weak")
    assert f"tosloc: weak: {WEAK}" in err
    assert ["weak", "2", "commit", "messages", "in"] in [row[:5] for row in rows(out)]
    assert values(ask, "evaluate weak")["weak"] == 2


def test_evaluate_says_nothing_of_commit_messages_without_any(ask):
    out, err = ask("evaluate good")
    assert "commit messages" not in out + err
    assert values(ask, "evaluate good")["weak"] == 0


def test_compare_says_once_how_many_reports_are_commit_messages(ask):
    write_weak("weak", 2)
    write_weak("other", 2)
    write_weak("third", 2)
    assert ask("compare weak other third")[1].count(f"tosloc: {WEAK}") == 1
    assert values(ask, "compare weak other")["pairs"][0]["weak"] == 2


def test_judgements_of_another_format_keep_what_the_run_knows_of_its_reports(ask):
    write_weak("weak", 2)
    lines = [f"{report} 0 {path} 1\n" for report, paths in TRUTH.items() for path in paths]
    Path("truth.txt").write_text("".join(lines))
    shutil.copy("weak/run.jsonl.gz", "alone.jsonl.gz")
    assert values(ask, "evaluate weak --qrels truth.txt")["weak"] == 2
    assert values(ask, "compare alone.jsonl.gz weak --qrels truth.txt")["pairs"][0]["weak"] == 2


def test_fixes_of_many_files_have_a_note(ask):
    many = ("A.java", *(f"{number}.java" for number in range(5)))
    write_split("broad", GOOD, TRUTH | {"1": many}, searched=9)
    note = (
        "the fixes of 1 of 3 reports changed 6 files or more; such commits often contain other"
        " changes, so not all of these files belong to the bug\n"
    )
    assert f"tosloc: broad: {note}" in ask("evaluate broad")[1]
    write_split("same", GOOD, TRUTH | {"1": many}, searched=9)
    assert f"tosloc: {note}" in ask("compare broad same")[1]


def test_weakness_of_a_report_is_written_only_if_it_is_weak(ask):
    write_weak("weak", 1)
    first, second, _ = Path("weak/qrels.jsonl").read_text().splitlines()
    assert json.loads(first)["traits"]["weak"] is True
    assert "weak" not in json.loads(second)["traits"]


@pytest.mark.parametrize(("reports", "is_noted"), [(29, True), (30, False)])
def test_few_reports_have_a_note_on_intervals(ask, reports, is_noted):
    truth = {str(number): ("A.java",) for number in range(reports)}
    for name in "ab":
        write_split(name, dict.fromkeys(truth, "ABC"), truth)
    assert ("Fewer than 30 reports: the intervals" in ask("evaluate a")[0]) == is_noted
    assert ("29 reports: fewer than 30, so intervals" in ask("compare a b")[0]) == is_noted


def test_scores_that_rise_with_the_rank_have_a_note(ask, tosloc):
    Path("run.txt").write_text(
        "1 Q0 A.java 1 0.2 t\n1 Q0 B.java 2 0.7 t\n2 Q0 - 1 0 t\n3 Q0 - 1 0 t\n"
    )
    note = "ranks contradict scores in 1 report; files are ordered by score, the highest first\n"
    assert note in ask("evaluate run.txt --qrels good/test/qrels.jsonl")[1]
    assert note in tosloc("import-run", "run.txt", "--out", "imported")[1]


def test_rankings_without_any_fixed_file_have_a_note(ask):
    lines = [f"{report} Q0 src/{path} 1 1 t\n" for report, [path, *_] in TRUTH.items()]
    Path("run.txt").write_text("".join(lines))
    assert (
        "tosloc: run: no ranking contains a fixed file; check that its paths are written like those"
        " of the judgements, such as A.java\n"
    ) in ask("evaluate run.txt --qrels good/test/qrels.jsonl")[1]
