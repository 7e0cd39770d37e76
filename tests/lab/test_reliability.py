"""Reliability: bins and calibration error worked by hand, and the command that shows them."""

import json
import math

import numpy as np
import pytest

from tosloc.cli import main
from tosloc.core.errors import RunError
from tosloc.core.records import Ranking
from tosloc.evaluate.judgements import Judgement, write_judgements
from tosloc.evaluate.run_paths import read_scored_run
from tosloc.evaluate.runs import write_known_ranks, write_run
from tosloc.lab.reliability import Reliability, judged_answers

FILES = ("A.java", "B.java", "C.java")


@pytest.fixture
def folder(tmp_path):
    """Four answers with first shares .75, of which three are right."""
    fixed = {"1": FILES[:1], "2": FILES[:2], "3": FILES[1:], "4": FILES[:1]}
    rankings = [Ranking(report, FILES[:2], np.array([math.log(3), 0.0])) for report in fixed]
    write_run(tmp_path / "run/test/run.jsonl.gz", {"temperature": 1.0}, rankings)
    write_judgements(
        tmp_path / "run/test/qrels.jsonl", [Judgement(r, f, f) for r, f in fixed.items()]
    )
    return tmp_path / "run"


def test_by_hand():
    found = Reliability.of_shares(
        np.array([0.1, 0.14, 0.95, 1.0, 0.55]), np.array([True, False, True, True, False])
    )
    bins = [(row.answers, row.share, row.right) for row in found.bins if row.answers]
    assert bins == [(2, pytest.approx(0.12), 0.5), (1, 0.55, 0.0), (2, pytest.approx(0.975), 1.0)]
    assert found.error == pytest.approx((2 * 0.38 + 0.55 + 2 * 0.025) / 5)
    assert (found.right, found.share) == (0.6, pytest.approx(0.548))


@pytest.mark.parametrize("number", [10, 1000])
def test_chance_alone_gives_some_error_that_more_answers_make_smaller(number):
    found = Reliability.of_shares(np.full(number, 0.35), np.ones(number, dtype=np.bool_))
    # mean |X/n - p| of a binomial X is about sqrt(2 p (1 - p) / (pi n))
    assert found.error_by_chance == pytest.approx(
        math.sqrt(2 * 0.35 * 0.65 / (math.pi * number)), rel=0.1
    )


@pytest.mark.slow
def test_the_command(folder, tmp_path, capsys):
    assert main(["lab", "calibration", str(folder), "--json"]) == 0
    [found] = json.loads(capsys.readouterr().out)
    assert (found["right"], found["share"], found["error"]) == pytest.approx(
        (0.75, 0.75, 0.0), abs=1e-5
    )
    assert found["bins"][7] == {
        "low": 0.7,
        "high": 0.8,
        "answers": 4,
        "share": pytest.approx(0.75),
        "right": 0.75,
    }
    given = ["--temperature", "0.5", "--markdown", "--figure", str(tmp_path / "shares")]
    assert main(["lab", "calibration", str(folder), *given]) == 0
    printed = capsys.readouterr().out
    assert "| run | 4 | 0.5 | .750 | .900 | .150 |" in printed
    assert min((tmp_path / f"shares.{end}").stat().st_size for end in ("svg", "png")) > 1000


def test_runs_without_what_shares_are_made_of(folder, capsys):
    path = folder / "test/run.jsonl.gz"
    write_run(path, {}, [Ranking("1", FILES, np.array([1.0, 0.5, 0.0]))])
    for options, said in (
        ([], "says no temperature of its shares; name one with --temperature"),
        (["--temperature", "0"], "--temperature: a number from 0.01 to 100, not 0"),
        (["--temperature", "1"], "no ranking of report 2"),
    ):
        assert main(["lab", "calibration", str(folder), *options]) == 2
        assert said in capsys.readouterr().err
    write_known_ranks(path, {}, [(report, {"A.java": 1}) for report in "1234"])
    scored = read_scored_run(folder)
    with pytest.raises(RunError, match="report 1 has no scores, which shares are made of"):
        judged_answers(scored.run, scored.qrels)
