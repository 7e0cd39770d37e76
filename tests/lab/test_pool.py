"""What many projects teach together: weights that count each project the same, projects left out, what is kept."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests import toy
from tosloc.calibration import fit_temperature
from tosloc.checkpoint import read_record, read_stage_one
from tosloc.cli import main
from tosloc.config import Config, load_config
from tosloc.errors import ToslocError
from tosloc.evaluate.run_paths import read_scored
from tosloc.lab import feature_ablation
from tosloc.lab import pool as module
from tosloc.lab.pool import Pool, Tables, fit_pool, folds_of, report_weight
from tosloc.lab.projects import Project, read_projects
from tosloc.rank.feature_tables import RankingLists
from tosloc.rank.fitting import judge
from tosloc.rank.stage_one import StageOne
from tosloc.records import silent

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


def fitted(weight: float) -> list[float]:
    """Weights of two projects that say contrary things, the second of which has ten times as many reports."""
    small, large = lists(3, 0), lists(30, 1)
    project = Project(name="small", repo=Path("small"), reports=Path("small"), weight=weight)
    counted = replace(small, report_weights=report_weight(project, 3))
    large = replace(large, report_weights=report_weight(project.model_copy(update={"weight": 1.0}), 30))
    stage = fit_pool(LINEAR, NAMES, [counted, large])
    assert stage.ranker is None
    return stage.weights.tolist()


def test_a_large_project_does_not_outvote_a_small_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LEAST_REPORTS", 1)
    assert fitted(1.0) == pytest.approx(fitted(1.0)[::-1], abs=1e-3)
    assert fitted(0.5)[1] > fitted(0.5)[0] + 0.5  # the small one's reports count half
    monkeypatch.setattr(module, "LEAST_REPORTS", 30)
    assert fitted(1.0)[1] > fitted(1.0)[0] + 1
    with pytest.raises(ToslocError, match="no project is left to learn from"):
        fit_pool(LINEAR, NAMES, [RankingLists.of([])])


def test_projects_are_dealt_by_size_and_some_stand_alone() -> None:
    def tables(name: str, learned: int) -> Tables:
        project = Project(name=name, repo=Path(name), reports=Path(name), alone=name == "c")
        return Tables(project, Path(name), NAMES, learned, ())

    some = [tables("a", 5), tables("b", 50), tables("c", 9), tables("d", 20), tables("e", 5)]
    assert [[one.project.name for one in fold] for fold in folds_of(some, 2)] == [["c"], ["b", "a"], ["d", "e"]]
    assert [[one.project.name for one in fold] for fold in folds_of(some, 9)] == [["c"], ["b"], ["d"], ["a"], ["e"]]
    with pytest.raises(ToslocError, match="nothing is left to learn from"):
        folds_of(some[:2], 1)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three small projects, one of them with a part for learning and another to be judged; a fourth has no fix."""
    folder = tmp_path_factory.mktemp("pool")
    entries = []
    for number, name in enumerate(("one", "two", "three", "four")):
        project = toy.grow(folder / name, bugs=12, themes=6, seed=number)
        if name == "four":
            project.reports(records=[record | {"fix_commit": "f" * 40} for record in project.records])
        entries.append(f'[{name}]\nrepo = "{name}/repo"\nreports = "{name}/reports.jsonl"\n')
    entries[0] += 'part = "train"\njudged = "test"\nat_most = 6\nalone = true\n'
    (folder / "projects.toml").write_text("".join(entries))
    (folder / "small.toml").write_text('[stage_one]\nfeatures = ["bm25f", "path", "test"]\n[run]\njobs = 1\n')
    return folder


def words(world: Path, command: str, *more: str, listed: bool = True) -> list[str]:
    places = ["--work", str(world / "work"), "--config", str(world / "small.toml"), "--leave-projects-out", "2"]
    places += ["--projects", str(world / "projects.toml")] if listed else []
    return ["lab", command, *places, *more]


@pytest.mark.slow
def test_the_command(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = world / "out"
    assert main(words(world, "pool", "--out", str(out), "--json")) == 1  # four failed
    printed = capsys.readouterr()
    assert "four failed: " in printed.err
    assert "no fix of its 12 reports is in" in printed.err
    found = json.loads(printed.out)
    assert [(one["project"], one["reports"]) for one in found["projects"]] == [
        ("one", 2),  # 12 reports: 9 train, 1 validation, 2 test
        ("two", 12),
        ("three", 12),
    ]
    assert found["macro"]["mrr"]["mean"] == pytest.approx(np.mean([one["mrr"] for one in found["projects"]]))
    assert found["micro"]["reports"] == 26
    record = read_record(out / "weights.json")
    assert record["learned on"]["projects"] == {
        "one": {"reports": 6, "part": "train"},
        "two": {"reports": 12, "part": "all"},
        "three": {"reports": 12, "part": "all"},
    }
    assert record["temperature"] == found["temperature"] != fit_temperature([])
    assert record["ranker"] == {"weight": 16.0, "features": ["bm25f", "path", "test"]}
    assert list(record["weights"]) == ["bm25f", "path", "test"]
    assert read_stage_one(out)[0].ranker is not None

    runs = {name: read_scored(world / "work/left-out" / name) for name in ("one", "two", "three")}
    assert {name: run.run.header["learned on"] for name, run in runs.items()} == {
        "one": ["two", "three"],
        "two": ["one", "three"],
        "three": ["one", "two"],
    }
    assert {run.evaluation().length for run in runs.values()} == {1}

    def tables() -> dict[Path, int]:
        return {path: path.stat().st_mtime_ns for path in (world / "work/tables").glob("*/*")}

    before = tables()
    assert main(words(world, "pool")) == 1
    assert "macro mean of 3 projects" in capsys.readouterr().out
    assert tables() == before

    # from the kept tables alone the same is learned, without any repository
    assert main(words(world, "pool", "--out", str(world / "again"), listed=False)) == 0
    again = read_record(world / "again/weights.json")["weights"]
    assert again == pytest.approx(record["weights"], abs=1e-3)

    # a file of reports that changed is read again
    changed = world / "three/reports.jsonl"
    changed.write_text("".join(changed.read_text().splitlines(keepends=True)[:-1]))
    assert main(words(world, "pool")) == 1
    assert {path.parent.name for path, when in tables().items() if before.get(path) != when} == {"three"}


@pytest.mark.slow
def test_what_features_are_worth(
    world: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Values with every feature, and without one, are those of the others' linear weights."""
    monkeypatch.setattr(feature_ablation, "FEW_OF_A_LANGUAGE", 10)
    assert main(words(world, "feature-ablation", "--json")) == 1  # four failed
    whole, *others = json.loads(capsys.readouterr().out)
    assert [one["left out"] for one in (whole, *others)] == ["all", "bm25f", "path", "test"]
    assert whole["languages"] == {"java": {"mrr": whole["mrr"], "map": whole["map"]}}
    for one in others:
        assert one["mrr change"]["mean"] == pytest.approx(one["mrr"] - whole["mrr"])
    pool = Pool(world / "work", load_config(world / "small.toml"))
    tables, _ = pool.tables(read_projects(world / "projects.toml"), silent)
    for place, columns in ((0, [0, 1, 2]), (1, [0, 2])):
        expected = []
        for one in tables:  # each is a part of its own
            learned = [other.lists() for other in tables if other is not one]
            rest = [replace(of, rows=np.ascontiguousarray(of.rows[:, columns])) for of in learned]
            weights = np.zeros(3)
            weights[columns] = fit_pool(LINEAR, tuple(one.features[column] for column in columns), rest).weights
            expected.append(judge({"": StageOne(one.features, weights)}, one.tables())[""])
        row = (whole, others[1])[place]
        assert [row["mrr"], row["map"]] == pytest.approx(np.mean(expected, axis=0).tolist(), abs=1e-6)
    assert main(words(world, "feature-ablation", "--features", "path")) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "| left out | MRR | 95 % | MAP | 95 % | java MRR, MAP |"
    assert [line.split(" | ")[0] for line in lines[2:]] == ["| all", "| path"]
    assert main(words(world, "feature-ablation", "--features", "chunk")) == 2
    assert "no feature of the tables is called 'chunk'; they are bm25f, path, test" in capsys.readouterr().err
