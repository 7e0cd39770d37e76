"""``tosloc lab evaluate`` and ``compare``: results of many projects."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.test_judging import GOOD, WORSE, rows, write_split
from tosloc.cli import main


def said(capsys, *arguments, code=0):
    assert main([str(argument) for argument in arguments]) == code
    return capsys.readouterr()


def refused(capsys, *arguments):
    """The one sentence of a command that must end with 2."""
    out, err = said(capsys, *arguments, code=2)
    assert (out, err[:8], err.count("\n")) == ("", "tosloc: ", 1)
    return err.removeprefix("tosloc: ").rstrip("\n")


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Results of three projects: with splits, with a single other one, and a run without any."""
    write_split(tmp_path / "good/ann+one/test", GOOD)
    write_split(tmp_path / "good/ann+one/validation", WORSE)
    write_split(tmp_path / "good/bob+two/all", {"1": "ABC"})
    write_split(tmp_path / "good/cid+three", {"3": "CBA"})
    shutil.copytree(tmp_path / "good", tmp_path / "worse")
    write_split(tmp_path / "worse/ann+one/test", WORSE)
    write_split(tmp_path / "worse/bob+two/all", {"1": "BAC"})
    return tmp_path


def test_evaluate_of_many_projects(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (results / "worse/dan+four/work").mkdir(parents=True)
    out, err = said(capsys, "lab", "evaluate", results / "worse", "--measures", "P@1")
    table = rows(out)
    assert table[1] == ["project", "reports", "mrr", "map", "top1", "top5", "top10", "P@1"]
    assert table[3][:3] == ["ann+one", "3", ".611"]  # (1/2 + 1 + 1/3) / 3
    assert table[4][:3] == ["bob+two", "1", ".500"]
    assert table[6][:7] == ["macro", "mean", "of", "3", "projects", ".704", "[.500,"]
    assert table[7][:7] == ["micro", "mean", "of", "all", "reports", "5", ".667"]
    assert err == "tosloc: 1 project without a finished run: dan+four\n"
    values = json.loads(said(capsys, "lab", "evaluate", results / "worse", "--json")[0])
    assert [one["project"] for one in values["projects"]] == ["ann+one", "bob+two", "cid+three"]
    assert values["macro"]["mrr"]["mean"] == pytest.approx(((1 / 2 + 1 + 1 / 3) / 3 + 1 / 2 + 1) / 3)
    assert (
        "| macro mean of 3 projects |  | .704 [" in said(capsys, "lab", "evaluate", results / "worse", "--markdown")[0]
    )
    without = rows(said(capsys, "lab", "evaluate", results / "worse", "--no-tests")[0])
    assert without[3][:4] == ["ann+one", "3", ".611", ".611"]  # but for tests one fixed file each


def test_runs_that_are_named(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    named = [results / "worse/ann+one", results / "good/ann+one", results / "good/cid+three"]
    out = json.loads(said(capsys, "lab", "evaluate", *named, "--json")[0])
    assert [one["project"] for one in out["projects"]] == [str(named[0]), str(named[1]), "cid+three"]
    assert "named twice" in refused(capsys, "lab", "evaluate", named[0], named[0])


def test_a_folder_of_one_project_is_for_the_other_command(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "mean reciprocal rank" in said(capsys, "evaluate", results / "good/ann+one")[0]
    shutil.rmtree(results / "good/cid+three")
    assert "runs of many projects are for tosloc lab evaluate" in refused(capsys, "evaluate", results / "good")
    (results / "empty").mkdir()
    for folder in ("empty", "good/ann+one"):
        assert "no folder of runs, one a project" in refused(capsys, "lab", "evaluate", results / folder)


def test_the_function_level_of_many_projects(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for project, of_ours in (("ann+one/test", GOOD), ("bob+two/all", {"1": "BAC"})):
        for level, orders in (("functions", of_ours), ("functions-bm25", WORSE)):
            write_split(results / "good" / project / level, {report: orders[report] for report in of_ours})
    shutil.rmtree(results / "good/cid+three")
    found = json.loads(said(capsys, "lab", "evaluate", results / "good", "--level", "function", "--json")[0])
    ours, bm25 = found["functions"], found["BM25 over functions"]
    assert [one["mrr"] for one in ours["projects"]] == [1, 0.5]
    assert bm25["projects"][1]["mrr"] == 0.5
    assert ours["micro"]["mrr"] == pytest.approx((3 + 1 / 2) / 4)
    assert ours["macro"]["mrr"] == {"mean": 0.75, "interval": [0.5, 1.0]}
    assert bm25["macro"]["mrr"]["mean"] == pytest.approx((11 / 18 + 1 / 2) / 2)
    with_tests = refused(capsys, "lab", "evaluate", results / "good", "--level", "function", "--no-tests")
    assert "not for --level function" in with_tests


def test_two_folders_are_compared_by_project_language_and_number_of_files(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ("lab", "compare", results / "worse", results / "good", "--json")
    found = json.loads(said(capsys, *command)[0])
    assert (found["a"], found["b"], list(found["rows"])) == ("worse", "good", ["ann+one", "bob+two", "cid+three"])
    assert found["all"]["reports"] == 5
    assert found["all"]["measures"]["RR"]["b"] == 1
    assert found["projects"]["number"] == 3
    over_projects = found["projects"]["measures"]["RR"]
    assert (over_projects["b"], over_projects["wins"], over_projects["ties"]) == (1, 2, 1)
    assert over_projects["a"] == pytest.approx((11 / 18 + 1 / 2 + 1) / 3)
    assert found["projects"]["gains"] == {}
    for by, numbers in (("language", {"java": 5}), ("fixed", {"1 fixed file": 4, "2 to 5 fixed files": 1})):
        rows_by = json.loads(said(capsys, *command, "--by", by)[0])["rows"]
        assert {name: row["reports"] for name, row in rows_by.items()} == numbers
    out = said(capsys, *command[:-1], "--markdown", "--by", "language")[0]
    assert "| all | 5 | " in out


def test_the_mean_gain_of_pairs(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pairs = [results / side / name for name in ("ann+one", "cid+three") for side in ("worse", "good")]
    found = json.loads(said(capsys, "lab", "compare", *pairs, "--json")[0])["projects"]["gains"]
    assert found["MRR"]["mean"] == pytest.approx((1 / 2 + 0 + 2 / 3) / 6)
    low, high = found["MRR"]["interval"]
    assert 0 <= low < found["MRR"]["mean"] < high
    assert "| MRR | +0.1944 | [" in said(capsys, "lab", "compare", *pairs, "--markdown")[0]
    assert "3 folders are not pairs" in refused(capsys, "lab", "compare", *pairs[:3])


def test_what_cannot_be_compared(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    worse, good = results / "worse", results / "good"
    assert "no folder of runs, one a project" in refused(capsys, "lab", "compare", worse, good / "ann+one")
    for place in (good / "bob+two", good / "ann+one", worse / "cid+three"):
        shutil.rmtree(place)
    assert "no project has a finished run" in refused(capsys, "lab", "compare", worse, good)
