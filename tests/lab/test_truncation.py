"""Truncated rankings: worked numbers of the paper, cases by hand, invariants, and the command."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tosloc.cli import main
from tosloc.core.rankings import Ranking
from tosloc.evaluate.measures import Evaluation, ReportScores
from tosloc.evaluate.runs.judgements import Judgement, write_judgements
from tosloc.evaluate.runs.run import write_known_ranks, write_run
from tosloc.lab.truncation import TRUTHS, truncation


def report_scores(report, ranks, unranked=0, missing=0, searched=15):
    """Return the scores of a report whose fixed files have these ranks.

    It has further fixed files that are not ranked, and listed ones that the version lacks.
    """
    fixed = tuple([f"F{number}.java" for number in range(len(ranks) + unranked)])
    listed = (*fixed, *[f"New{number}.java" for number in range(missing)])
    return ReportScores(Judgement(report, fixed, listed, searched), ranks, searched)


@pytest.mark.parametrize(
    ("ranks", "textbook", "seen"),
    [((1, 2, 5, 12, 15), 0.52, 0.867), ((1, 4), 0.75, 0.75), ((1, 12), 0.5, 1.0)],
    ids=["five fixed files", "all above the cut", "one below the cut"],
)
def test_means_at_ten_are_those_of_the_papers_examples(ranks, textbook, seen):
    evaluation = Evaluation((report_scores("1", ranks),))
    at_ten = truncation(evaluation).of("cleaned")[-1]
    assert at_ten.cut == "k = 10"
    assert at_ten.textbook == pytest.approx(textbook, abs=5e-4)
    assert at_ten.seen == pytest.approx(seen, abs=5e-4)
    assert at_ten.over == pytest.approx(100 * (seen / textbook - 1), abs=0.1)


@pytest.fixture
def three_reports():
    """Return the truncation of three reports, the last of which has no fixed file.

    Only the first has a fixed file among the first ten.
    """
    scores = (
        report_scores("1", (1, 12)),
        report_scores("2", (11,), missing=1),
        report_scores("3", (), missing=2),
    )
    return truncation(Evaluation(scores))


def test_cleaned_means_of_three_reports_by_hand(three_reports):
    at_ten = three_reports.of("cleaned")[-1]
    assert at_ten.cut == "k = 10"
    assert at_ten.files == 10
    assert at_ten.textbook == pytest.approx(0.5 / 3)
    assert at_ten.textbook_dropped == pytest.approx(0.5 / 2)
    assert at_ten.seen == pytest.approx(1 / 3)
    assert at_ten.seen_dropped == pytest.approx(1)
    assert at_ten.over == pytest.approx(100)
    assert at_ten.over_dropped == pytest.approx(500)


def test_bloated_means_drop_no_report_with_listed_files(three_reports):
    at_ten = three_reports.of("bloated")[-1]
    assert at_ten.textbook == pytest.approx(0.5 / 3)
    assert at_ten.textbook_dropped == pytest.approx(0.5 / 3)


def test_baseline_is_the_textbook_map_of_whole_rankings(three_reports):
    first = (1 + 2 / 12) / 2
    second = 1 / 11
    assert three_reports.baseline["cleaned"] == pytest.approx((first + second) / 3)
    assert three_reports.baseline["bloated"] == pytest.approx((first + second / 2) / 3)


@st.composite
def evaluations(draw):
    reports = []
    for number in range(draw(st.integers(1, 6))):
        searched = draw(st.integers(1, 40))
        ranks = draw(st.sets(st.integers(1, searched), max_size=6))
        unranked = draw(st.integers(0, min(2, searched - len(ranks))))
        missing = draw(st.integers(0, 3))
        sorted_ranks = tuple(sorted(ranks))
        reports.append(report_scores(str(number), sorted_ranks, unranked, missing, searched))
    return Evaluation(tuple(reports))


@given(evaluations())
def test_textbook_map_grows_with_the_cut_up_to_the_baseline(evaluation):
    result = truncation(evaluation)
    for truth in TRUTHS:
        *fractions, at_ten = result.of(truth)
        assert at_ten.textbook <= result.baseline[truth]
        assert fractions[-1].textbook <= result.baseline[truth]
        textbook = [row.textbook for row in fractions]
        assert textbook == sorted(textbook)


@given(evaluations())
def test_dropping_reports_or_unseen_files_never_lowers_the_mean(evaluation):
    for row in truncation(evaluation).rows:
        assert row.textbook <= row.textbook_dropped
        assert row.textbook <= row.seen
        if row.cut != "k = 10":
            assert row.seen <= row.seen_dropped


@given(evaluations())
def test_listing_missing_files_never_raises_textbook_and_keeps_seen(evaluation):
    result = truncation(evaluation)
    for cleaned, bloated in zip(result.of("cleaned"), result.of("bloated"), strict=True):
        assert bloated.textbook <= cleaned.textbook
        assert bloated.seen == cleaned.seen


@given(evaluations())
def test_cut_that_keeps_all_files_gives_the_map(evaluation):
    result = truncation(evaluation)
    uncut = result.of("cleaned")[-2]
    assert uncut.textbook == evaluation.map
    assert uncut.textbook == result.baseline["cleaned"]
    has_unranked_files = any(
        len(scores.ranks) < scores.relevant for scores in evaluation.per_report
    )
    assert has_unranked_files or uncut.seen == uncut.textbook


@pytest.fixture
def folder(tmp_path):
    """Return a run of two reports over 20 files; the fixed file of the second is missing."""
    files = tuple([f"F{number:02}.java" for number in range(1, 21)])
    fixed = ("F01.java", "F12.java")
    rankings = [Ranking(report, files, -np.arange(20.0)) for report in ("1", "2")]
    judgements = [Judgement("1", fixed, fixed, 20), Judgement("2", (), ("New.java",), 20)]
    write_run(tmp_path / "run" / "test" / "run.jsonl.gz", {}, rankings)
    write_judgements(tmp_path / "run" / "test" / "qrels.jsonl", judgements)
    return tmp_path / "run"


@pytest.fixture
def print_truncation(capsys):
    """Return a function that runs the command and returns its output."""

    def run(*arguments):
        assert main(["lab", "truncation", *map(str, arguments)]) == 0
        return capsys.readouterr().out

    return run


def test_command_prints_a_table_that_fits_80_columns(folder, print_truncation):
    out = print_truncation(folder)
    assert "cleaned truth (the listed files that exist); uncut textbook MAP 0.2917" in out
    lengths = [len(line) for line in out.splitlines() if line.strip().startswith("k = 10")]
    assert max(lengths) <= 80


def test_command_prints_markdown(folder, print_truncation):
    expected = "| k = 10 | 10 | 0.2500 | 0.5000 | +100.00 | 0.5000 | 1.0000 | +300.00 |"
    assert expected in print_truncation(folder, "--markdown")


def test_command_prints_all_cuts_as_json(folder, print_truncation):
    values = json.loads(print_truncation(folder, "--json"))
    tenths = [f"{number / 10}" for number in range(1, 11)]
    assert [row["cut"] for row in values["rows"][:11]] == [*tenths, "k = 10"]
    assert values["baseline"] == dict.fromkeys(TRUTHS, pytest.approx((1 + 2 / 12) / 4))


@pytest.fixture
def known_ranks_run(tmp_path):
    """Return the file of a run with the same ranks of the fixed files, and no others."""
    run = tmp_path / "known.jsonl.gz"
    write_known_ranks(run, {}, [("1", {"F01.java": 1, "F12.java": 12}), ("2", {})])
    return run


def test_known_ranks_give_the_same_means(folder, known_ranks_run, print_truncation):
    qrels = folder / "test" / "qrels.jsonl"
    values = json.loads(print_truncation(known_ranks_run, "--qrels", qrels, "--json"))
    assert values["rows"] == json.loads(print_truncation(folder, "--json"))["rows"]


def test_known_ranks_without_the_files_searched_are_refused(folder, known_ranks_run, capsys):
    qrels = folder / "test" / "qrels.jsonl"
    qrels.write_text(qrels.read_text().replace('"searched":20', '"searched":null'))
    assert main(["lab", "truncation", str(known_ranks_run), "--qrels", str(qrels)]) == 2
    message = "tosloc: report 1: neither its ranking's length nor the number of files searched"
    assert capsys.readouterr().err.startswith(message)
