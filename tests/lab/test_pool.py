"""What many projects teach together: weights that count each project the same, projects left out, what is kept."""

from __future__ import annotations

import json
import shutil
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from tests import toy
from tosloc.calibration import fit_temperature
from tosloc.checkpoint import read_record, read_stage_one, shipped_projects
from tosloc.cli import main
from tosloc.config import Config
from tosloc.errors import ToslocError
from tosloc.evaluate.run_paths import read_scored
from tosloc.lab import pool as module
from tosloc.lab.pool import Tables, fit_pool, folds_of
from tosloc.lab.projects import Project
from tosloc.rank.feature_tables import RankingLists

NAMES = ("one", "two")
LINEAR = Config.of({"stage_one": {"ranker": False}}, "test")


def lists(reports: int, column: int, files: int = 4) -> RankingLists:
    """Reports whose fixed file is the one with this feature."""
    made = []
    for number in range(reports):
        rows = np.zeros((files, 2), dtype=np.float32)
        rows[number % files, column] = 1.0
        rows[(number + 1) % files, 1 - column] = 1.0
        made.append((rows, np.arange(files) == number % files))
    return RankingLists.of(made)


def tables(name: str, learned: int, alone: bool = False) -> Tables:
    project = Project(name, Path(name), Path(name), alone=alone)
    return Tables(project, Path(name), name, NAMES, learned, learned, ())


def test_a_large_project_does_not_outvote_a_small_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LEAST_REPORTS", 1)
    contrary = [lists(3, 0), lists(30, 1)]
    alike = fit_pool(LINEAR, NAMES, contrary)
    assert alike.ranker is None
    one, two = alike.weights.tolist()
    assert one == pytest.approx(two, abs=1e-3)
    monkeypatch.setattr(module, "LEAST_REPORTS", 30)
    unlike = fit_pool(LINEAR, NAMES, contrary)
    assert unlike.weights[1] > unlike.weights[0] + 1
    with pytest.raises(ToslocError, match="no project is left to learn from"):
        fit_pool(LINEAR, NAMES, [RankingLists.of([])])


def test_projects_are_dealt_by_size_and_some_stand_alone() -> None:
    some = [tables("a", 5), tables("b", 50), tables("c", 9, alone=True), tables("d", 20), tables("e", 5)]
    assert [[one.project.name for one in fold] for fold in folds_of(some, 2)] == [["c"], ["b", "a"], ["d", "e"]]
    assert [[one.project.name for one in fold] for fold in folds_of(some, 9)] == [["c"], ["b"], ["d"], ["a"], ["e"]]
    with pytest.raises(ToslocError, match="nothing is left to learn from"):
        folds_of(some[:2], 1)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three small projects, one of them with a part for learning and another to be judged; a fourth has no fix."""
    folder = tmp_path_factory.mktemp("pool")
    for number, name in enumerate(("ann+one", "bob+two", "cid+three", "dan+four")):
        project = toy.grow(folder / name, bugs=12, themes=6, seed=number)
        if name == "dan+four":
            project.reports(records=[record | {"fix_commit": "f" * 40} for record in project.records])
        (folder / "reports").mkdir(exist_ok=True)
        shutil.copy(folder / name / "reports.jsonl", folder / f"reports/{name}.jsonl")
    (folder / "projects.toml").write_text(
        """
        [one]
        repo = "ann+one/repo"
        reports = "reports/ann+one.jsonl"
        suffixes = [".java"]
        part = "train"
        judged = "test"
        at_most = 6
        alone = true
        [others]
        reports = "reports"
        repos = "."
        without = ["ann+one"]
        """
    )
    (folder / "small.toml").write_text('[stage_one]\nfeatures = ["bm25f", "path", "test"]\n[run]\njobs = 1\n')
    return folder


def pool(world: Path, *more: str) -> list[str]:
    places = ["--projects", str(world / "projects.toml"), "--work", str(world / "work")]
    return ["lab", "pool", *places, "--config", str(world / "small.toml"), "--leave-projects-out", "2", *more]


@pytest.mark.slow
def test_the_command(world: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    out = world / "out"
    assert main(pool(world, "--out", str(out), "--json")) == 1  # dan+four failed
    printed = capsys.readouterr()
    assert "3 of 4 projects made" in printed.err
    assert "dan+four failed: " in printed.err
    assert "no fix of its 12 reports is in" in printed.err
    found = json.loads(printed.out)
    assert [(one["project"], one["reports"]) for one in found["projects"]] == [
        ("one", 2),  # 12 reports: 9 train, 1 validation, 2 test
        ("bob+two", 12),
        ("cid+three", 12),
    ]
    assert found["macro"]["mrr"]["mean"] == pytest.approx(np.mean([one["mrr"] for one in found["projects"]]))
    assert found["micro"]["reports"] == 26
    record = read_record(out / "weights.json")
    assert record["learned on"]["projects"] == {
        "one": {"reports": 6, "part": "train"},
        "bob+two": {"reports": 12, "part": "all"},
        "cid+three": {"reports": 12, "part": "all"},
    }
    monkeypatch.setattr("tosloc.checkpoint._SHIPPED", out.rename(world / "defaults"))
    assert shipped_projects() == {"one", "bob+two", "cid+three"}
    assert record["temperature"] == found["temperature"] != fit_temperature([])
    assert record["ranker"] == {"weight": 8.0, "features": ["bm25f", "path", "test"]}
    assert list(record["weights"]) == ["bm25f", "path", "test"]
    assert read_stage_one(world / "defaults")[0].ranker is not None

    runs = {name: read_scored(world / "work/left-out" / name) for name in ("one", "bob+two", "cid+three")}
    for name, run in runs.items():
        assert name not in run.run.header["learned on"]
        assert run.evaluation().length == 1
    assert runs["one"].run.header["learned on"] == ["bob+two", "cid+three"]
    assert runs["bob+two"].run.header["learned on"] == ["one", "cid+three"]

    before = {path: path.stat().st_mtime_ns for path in (world / "work").rglob("*") if path.is_file()}
    assert main(pool(world)) == 1
    printed = capsys.readouterr()
    assert "0 of 4 projects made, 3 were finished before" in printed.err
    assert "macro mean of 3 projects" in printed.out
    after = {path: path.stat().st_mtime_ns for path in (world / "work").rglob("*") if path.is_file()}
    assert after == before

    # from the kept tables alone the same is learned, without any repository
    args = ["lab", "pool", "--work", str(world / "work"), "--config", str(world / "small.toml")]
    assert main([*args, "--leave-projects-out", "2", "--out", str(world / "again")]) == 0
    again = read_record(world / "again/weights.json")["weights"]
    assert again == pytest.approx(record["weights"], abs=1e-3)
    capsys.readouterr()

    # a file of reports that changed is read again, and what it taught is learned again
    changed = world / "reports/cid+three.jsonl"
    changed.write_text("".join(changed.read_text().splitlines(keepends=True)[:-1]))
    assert main(pool(world)) == 1
    assert "1 of 4 projects made, 2 were finished before" in capsys.readouterr().err


@pytest.mark.slow
def test_what_features_are_worth(
    world: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Values with every feature, and without one, are those of the others' linear weights."""
    from tosloc.config import load_config
    from tosloc.lab.pool import Pool
    from tosloc.lab.pool_ablation import ablation
    from tosloc.lab.projects import read_projects
    from tosloc.rank.fitting import judge
    from tosloc.rank.stage_one import StageOne

    monkeypatch.setattr(import_module("tosloc.cli.lab.pool"), "FEW_OF_A_LANGUAGE", 10)
    places = ["--projects", str(world / "projects.toml"), "--work", str(world / "work")]
    words = ["lab", "feature-ablation", *places, "--config", str(world / "small.toml"), "--leave-projects-out", "2"]
    assert main([*words, "--json"]) == 1  # dan+four failed
    whole, *others = json.loads(capsys.readouterr().out)
    assert [one["left out"] for one in (whole, *others)] == ["all", "bm25f", "path", "test"]
    assert whole["languages"].keys() == {"java"}
    for one in others:
        assert one["mrr change"]["mean"] == pytest.approx(one["mrr"] - whole["mrr"])
    pool = Pool(world / "work", load_config(world / "small.toml"))
    projects = read_projects(world / "projects.toml").projects
    measured = ablation(pool, projects, 2)
    one, *rest = (outcome.value for outcome in measured.outcomes if outcome.state != "failed")
    assert one.project.alone
    for left_out, columns in (("all", [0, 1, 2]), ("path", [0, 2])):
        names = tuple(one.names[column] for column in columns)
        stage = fit_pool(LINEAR, names, [other.lists().columns(columns) for other in rest])
        whole_weights = np.zeros(3)
        whole_weights[columns] = stage.weights
        expected = judge({"": StageOne(one.names, whole_weights)}, one.tables())[""]
        assert measured.values[left_out]["one"].mean(axis=0).tolist() == pytest.approx(expected, abs=1e-6)
    assert main([*words, "--features", "path"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "| left out | MRR | 95 % | MAP | 95 % | java MRR, MAP |"
    assert [line.split(" | ")[0] for line in lines[2:]] == ["| all", "| path"]
    assert main([*words, "--features", "chunk"]) == 2
    assert "no feature of the tables is called 'chunk'; they are bm25f, path, test" in capsys.readouterr().err
