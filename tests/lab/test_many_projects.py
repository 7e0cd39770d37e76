"""``tosloc lab`` of many projects: ``data``, ``rank``, ``train`` of a list, ``evaluate`` and ``compare`` of results."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests import toy
from tests.cli.test_judging import GOOD, WORSE, refused, rows, said, write_split


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
    assert err == "tosloc: 1 project has no finished run: dan+four\n"
    values = json.loads(said(capsys, "lab", "evaluate", results / "worse", "--json")[0])
    assert [one["project"] for one in values["projects"]] == ["ann+one", "bob+two", "cid+three"]
    assert values["macro"]["mrr"]["mean"] == pytest.approx(((1 / 2 + 1 + 1 / 3) / 3 + 1 / 2 + 1) / 3)
    assert (
        "| macro mean of 3 projects |  | .704 [" in said(capsys, "lab", "evaluate", results / "worse", "--markdown")[0]
    )
    without = rows(said(capsys, "lab", "evaluate", results / "worse", "--no-tests")[0])
    assert without[3][:4] == ["ann+one", "3", ".611", ".611"]  # but for tests one fixed file each
    lines = results / "lines.jsonl"
    said(capsys, "lab", "evaluate", results / "worse", "--per-report", lines)
    assert [json.loads(line)["run"] for line in lines.read_text().splitlines()] == ["ann+one"] * 3 + [
        "bob+two",
        "cid+three",
    ]


def test_runs_that_are_named(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    named = [results / "worse/ann+one", results / "good/ann+one", results / "good/cid+three"]
    out = json.loads(said(capsys, "lab", "evaluate", *named, "--json")[0])
    assert [one["project"] for one in out["projects"]] == [str(named[0]), str(named[1]), "cid+three"]
    assert "named twice" in refused(capsys, "lab", "evaluate", named[0], named[0])


def test_a_folder_of_one_project_is_for_the_other_command(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "mean reciprocal rank" in said(capsys, "evaluate", results / "good/ann+one")[0]
    shutil.rmtree(results / "good/cid+three")
    assert "many projects see tosloc lab evaluate" in refused(capsys, "evaluate", results / "good")
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
    assert with_tests == "--no-tests: is not for --level function; leave it out"


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


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two small projects, one whose fixes are not in its repository, and one without a repository."""
    folder = tmp_path_factory.mktemp("many")
    (folder / "reports").mkdir()
    for number, name in enumerate(("ann+one", "bob+two", "cid+broken")):
        project = toy.grow(folder / "repos" / name, bugs=10, themes=6, seed=number)
        broken = [record | {"fix_commit": "f" * 40} for record in project.records]
        project.reports(records=broken if "broken" in name else None)
        (project.folder / "reports.jsonl").rename(folder / f"reports/{name}.jsonl")
    shutil.copy(folder / "reports/ann+one.jsonl", folder / "reports/dan+gone.jsonl")
    (folder / "projects.toml").write_text(
        '[tests]\nreports = "reports"\nrepos = "repos"\nwithout = ["bob+two"]\n'
        '[two]\nrepo = "repos/bob+two/repo"\nreports = "reports/bob+two.jsonl"\njudged = "test"\nsuffixes = [".java"]\n'
    )
    (folder / "small.toml").write_text(toy.SETTINGS)
    return folder


@pytest.mark.slow
def test_data_of_many(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, err = said(
        capsys, "lab", "data", "--projects", world / "reports", "--repos", world / "repos", "--json", code=1
    )
    assert [(row["project"], row["reports"]) for row in json.loads(out)] == [("ann+one", 10), ("bob+two", 10)]
    lines = err.splitlines()
    assert lines[0] == "tosloc: 2 of 3 projects made"
    assert lines[1] == "tosloc: 1 project has no repository and is left out: dan+gone"
    assert lines[2].startswith("tosloc: cid+broken failed: ")
    assert "no fix of its 10 reports is in" in lines[2]
    out, _ = said(capsys, "lab", "data", "--projects", world / "projects.toml", code=1)
    assert [row[:2] for row in rows(out)[3:5]] == [["ann+one", "10"], ["two", "10"]]
    assert rows(out)[5][:3] == ["all", "2", "20"]


@pytest.mark.slow
def test_rank_many_again_and_again(
    world: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    places = ["--projects", world / "projects.toml", "--out", world / "ranked"]
    command = ["lab", "rank", *places, "--config", world / "small.toml"]
    out, err = said(capsys, *command, code=1)
    assert (out, err.splitlines()[0]) == ("", "tosloc: 2 of 3 projects made")
    values = json.loads(said(capsys, "lab", "evaluate", world / "ranked", "--json")[0])
    assert [(one["project"], one["reports"]) for one in values["projects"]] == [("ann+one", 10), ("two", 2)]
    assert not (world / "ranked/cid+broken").exists()
    files = {path: path.stat().st_mtime_ns for path in (world / "ranked").rglob("*") if path.is_file()}
    assert "0 of 3 projects made, 2 were finished before" in said(capsys, *command, code=1)[1]
    assert {path: path.stat().st_mtime_ns for path in (world / "ranked").rglob("*") if path.is_file()} == files
    # another part is other work
    assert "2 of 3 projects made" in said(capsys, *command, "--split", "validation", code=1)[1]
    assert "0 of 3 projects made" in said(capsys, *command, code=1)[1]
    monkeypatch.setattr("tosloc.checkpoint.shipped_projects", lambda: frozenset({"two", "elsewhere"}))
    err = said(capsys, *command, code=1)[1]
    assert err.startswith("tosloc: 1 project taught the shipped weights, so these numbers flatter them")
    assert err.splitlines()[0].endswith(": two")


@pytest.mark.slow
def test_train_many(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    places = ["--projects", world / "projects.toml", "--out", world / "trained"]
    command = ["lab", "train", world / "small.toml", *places, "--no-carry"]
    assert "2 of 3 projects made" in said(capsys, *command, code=1)[1]
    assert (world / "trained/two/checkpoint/weights.json").is_file()
    assert "0 of 3 projects made, 2 were finished before" in said(capsys, *command, code=1)[1]
    values = json.loads(said(capsys, "lab", "evaluate", world / "trained", "--json")[0])
    assert [(one["project"], one["reports"]) for one in values["projects"]] == [("ann+one", 2), ("two", 2)]


def test_a_fault_in_one_project_leaves_the_others(tmp_path: Path) -> None:
    from tosloc.lab.many_projects import for_each
    from tosloc.lab.projects import Project

    (tmp_path / "reports").write_text("")
    projects = [Project(name, tmp_path, tmp_path / "reports") for name in ("good", "bad", "full")]

    def work(project: Project) -> tuple[bool, str]:
        if project.name == "bad":
            raise KeyError("x")
        if project.name == "full":
            raise OSError(28, "No space left on device", "/far/file")
        return True, "done"

    seen: list[int] = []
    found = for_each(projects, work, jobs=1, progress=lambda what, done, total: seen.append(done))
    assert [(one.project, one.state, one.value) for one in found] == [
        ("good", "made", "done"),
        ("bad", "failed", None),
        ("full", "failed", None),
    ]
    assert found[1].why == "a fault of TosLoc's own, KeyError: 'x'"
    assert found[2].why == "/far/file: No space left on device"
    assert seen == [0, 1, 2, 3]
