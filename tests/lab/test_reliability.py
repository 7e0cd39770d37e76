"""Reliability: bins and calibration error worked by hand, and the command ``calibration``."""

import json
import math

import numpy as np
import pytest

from tosloc.cli import main
from tosloc.core.errors import RunError
from tosloc.core.rankings import Ranking
from tosloc.evaluate.run_paths import ScoredRun
from tosloc.evaluate.runs.judgements import Judgement, write_judgements
from tosloc.evaluate.runs.run import write_known_ranks, write_run
from tosloc.lab.reliability import Reliability, judged_answers

FILES = ("A.java", "B.java", "C.java")


@pytest.fixture
def folder(tmp_path):
    """Return a run of four answers with first shares of .75, three of which are right."""
    fixed_by_report = {"1": FILES[:1], "2": FILES[:2], "3": FILES[1:], "4": FILES[:1]}
    scores = np.array([math.log(3), 0.0])
    rankings = [Ranking(report, FILES[:2], scores) for report in fixed_by_report]
    judgements = [Judgement(report, fixed, fixed) for report, fixed in fixed_by_report.items()]
    write_run(tmp_path / "run/test/run.jsonl.gz", {"temperature": 1.0}, rankings)
    write_judgements(tmp_path / "run/test/qrels.jsonl", judgements)
    return tmp_path / "run"


@pytest.fixture
def reliability():
    """Return the reliability of five answers."""
    first_shares = np.array([0.1, 0.14, 0.95, 1.0, 0.55])
    return Reliability.of_shares(first_shares, np.array([True, False, True, True, False]))


def test_bins_have_the_means_of_their_answers(reliability):
    bins = [(row.answers, row.share, row.right) for row in reliability.bins if row.answers]
    assert bins == [(2, pytest.approx(0.12), 0.5), (1, 0.55, 0.0), (2, pytest.approx(0.975), 1.0)]


def test_calibration_error_is_the_mean_distance_of_bins(reliability):
    assert reliability.error == pytest.approx((2 * 0.38 + 0.55 + 2 * 0.025) / 5)


def test_means_are_over_all_answers(reliability):
    assert reliability.right == 0.6
    assert reliability.share == pytest.approx(0.548)


@pytest.mark.parametrize("number", [10, 1000])
def test_error_by_chance_shrinks_with_the_number_of_answers(number):
    reliability = Reliability.of_shares(np.full(number, 0.35), np.ones(number, dtype=np.bool_))
    # The mean |X/n - p| of a binomial X is about sqrt(2 p (1 - p) / (pi n)).
    expected = math.sqrt(2 * 0.35 * 0.65 / (math.pi * number))
    assert reliability.error_by_chance == pytest.approx(expected, rel=0.1)


@pytest.mark.slow
def test_command_prints_the_reliability_as_json(folder, capsys):
    assert main(["lab", "calibration", str(folder), "--json"]) == 0
    [values] = json.loads(capsys.readouterr().out)
    assert values["right"] == pytest.approx(0.75, abs=1e-5)
    assert values["share"] == pytest.approx(0.75, abs=1e-5)
    assert values["error"] == pytest.approx(0.0, abs=1e-5)
    assert values["bins"][7] == {
        "low": 0.7,
        "high": 0.8,
        "answers": 4,
        "share": pytest.approx(0.75),
        "right": 0.75,
    }


def test_several_runs_are_also_counted_together(folder, capsys):
    assert main(["lab", "calibration", *[str(folder)] * 2, "--json"]) == 0
    single, _, together = json.loads(capsys.readouterr().out)
    assert together["run"] == "all runs together"
    assert together["temperature"] is None
    assert together["answers"] == 2 * single["answers"]
    assert together["bins"][7]["answers"] == 2 * single["bins"][7]["answers"]


def test_bins_of_many_runs_are_shown_together_only(folder, capsys):
    assert main(["lab", "calibration", *[str(folder)] * 7, "--markdown"]) == 0
    printed = capsys.readouterr().out
    heads = [line for line in printed.splitlines() if line.startswith("| confidence")]
    assert heads == ["| confidence | all runs together: answers, mean confidence, right |"]


@pytest.mark.slow
def test_command_uses_another_temperature_and_draws_a_figure(folder, tmp_path, capsys):
    options = ["--temperature", "0.5", "--markdown", "--figure", str(tmp_path / "shares")]
    assert main(["lab", "calibration", str(folder), *options]) == 0
    assert "| run | 4 | 0.5 | .750 | .900 | .150 |" in capsys.readouterr().out
    assert (tmp_path / "shares.svg").stat().st_size > 1000
    assert (tmp_path / "shares.png").stat().st_size > 1000


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "does not contain a temperature; name one with --temperature"),
        (["--temperature", "0"], "--temperature must be from 0.01 to 100, not 0"),
        (["--temperature", "1"], "no ranking of report 2"),
    ],
    ids=["no temperature", "wrong temperature", "missing ranking"],
)
def test_incomplete_run_is_refused(options, message, folder, capsys):
    ranking = Ranking("1", FILES, np.array([1.0, 0.5, 0.0]))
    write_run(folder / "test/run.jsonl.gz", {}, [ranking])
    assert main(["lab", "calibration", str(folder), *options]) == 2
    assert message in capsys.readouterr().err


def test_run_without_scores_has_no_answers(folder):
    known_ranks = [(report, {"A.java": 1}) for report in "1234"]
    write_known_ranks(folder / "test/run.jsonl.gz", {}, known_ranks)
    scored = ScoredRun.read(folder)
    with pytest.raises(RunError, match="report 1 has no scores, from which confidence is computed"):
        judged_answers(scored.run, scored.qrels)
