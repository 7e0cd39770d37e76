"""What many projects teach together: weights that count each project the same, projects left out, what is kept."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests import toy
from tosloc.cli import main
from tosloc.core.config import Config
from tosloc.core.errors import MissingExtra, ToslocError
from tosloc.core.records import ignore_progress
from tosloc.evaluate.run_paths import read_scored_run
from tosloc.lab import feature_ablation
from tosloc.lab import pretraining as module
from tosloc.lab.pretraining import Pretraining, Tables, fit_projects, folds_of, report_weight
from tosloc.lab.projects import Project
from tosloc.localize.checkpoint import read_record, read_stage_one
from tosloc.rank.calibration import fit_temperature
from tosloc.rank.fitting import fit_listwise, judge
from tosloc.rank.ranking_lists import RankingLists

NAMES = ("one", "two")
LINEAR = Config.of({"stage_one": {"ranker": False}}, "test")


def project(name, **values):
    return Project(name=name, repo=Path(name), reports=Path(name), **values)


def lists(reports, column, weight):
    """Reports whose fixed file is the one with this feature."""
    made = []
    for number in range(reports):
        rows = np.zeros((4, 2), dtype=np.float32)
        rows[number % 4, column] = rows[(number + 1) % 4, 1 - column] = 1.0
        made.append((rows, np.arange(4) == number % 4, np.ones(4, dtype=np.float32)))
    return replace(
        RankingLists.of(made), report_weights=report_weight(project("some", weight=weight), reports)
    )


def fitted(weight):
    """Weights of two projects that say contrary things, the second of which has ten times as many reports."""
    return fit_projects(LINEAR, NAMES, [lists(3, 0, weight), lists(30, 1, 1.0)]).weights.tolist()


def test_a_large_project_does_not_outvote_a_small_one(monkeypatch):
    monkeypatch.setattr(module, "LEAST_REPORTS", 1)
    assert fitted(1.0) == pytest.approx(fitted(1.0)[::-1], abs=1e-3)
    assert fitted(0.5)[1] > fitted(0.5)[0] + 0.5  # the small one's reports count half
    monkeypatch.setattr(module, "LEAST_REPORTS", 30)
    assert fitted(1.0)[1] > fitted(1.0)[0] + 1
    with pytest.raises(ToslocError, match="no project is left to learn from"):
        fit_projects(LINEAR, NAMES, [RankingLists.of([])])


def test_projects_are_dealt_by_size_and_some_stand_alone():
    sizes = {"a": 5, "b": 50, "c": 9, "d": 20, "e": 5}
    some = [
        Tables(project(name, alone=name == "c"), Path(name), NAMES, size, ())
        for name, size in sizes.items()
    ]

    def dealt(number):
        return ["".join(one.project.name for one in fold) for fold in folds_of(some, number)]

    assert (dealt(2), dealt(9)) == (["c", "ba", "de"], ["c", "b", "d", "a", "e"])
    with pytest.raises(ToslocError, match="nothing is left to learn from"):
        folds_of(some[:2], 1)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Three small projects, one of them with a part for learning and another to be judged; a fourth has no fix."""
    folder = tmp_path_factory.mktemp("pretraining")
    entries = []
    for number, name in enumerate(("one", "two", "three", "four")):
        grown = toy.make_project(folder / name, bugs=12, themes=6, seed=number)
        if name == "four":
            grown.write_reports(
                records=[record | {"fix_commit": "f" * 40} for record in grown.records]
            )
        entries.append(f'[{name}]\nrepo = "{name}/repo"\nreports = "{name}/reports.jsonl"\n')
    entries[0] += 'part = "train"\njudged = "test"\nat_most = 6\nalone = true\n'
    (folder / "projects.toml").write_text("".join(entries))
    (folder / "small.toml").write_text(
        '[stage_one]\nfeatures = ["bm25f", "path", "test"]\n[run]\njobs = 1\n'
    )
    return folder


@pytest.fixture
def call(world, capsys):
    """Function (command, *options) -> exit code, output and errors."""

    def run(command, *more, listed=True):
        places = [
            "--work",
            world / "work",
            "--config",
            world / "small.toml",
            "--leave-projects-out",
            "2",
        ]
        places += ["--projects", world / "projects.toml"] if listed else []
        return main(["lab", command, *map(str, (*places, *more))]), *capsys.readouterr()

    return run


def test_a_missing_library_is_named_before_any_work(call, monkeypatch):
    def fail():
        raise MissingExtra("install libgomp1")

    monkeypatch.setattr("tosloc.lab.pretraining.load_lightgbm", fail)
    monkeypatch.setattr("tosloc.lab.pretraining.Pretraining.tables", None)
    code, _, error = call("pretrain")
    assert code == 2
    assert error == "tosloc: install libgomp1\n"


@pytest.mark.slow
def test_the_command(world, call, monkeypatch):
    out, learned_from = world / "out", []

    def fit(config, names, projects):
        learned_from.append(len(some := list(projects)))
        return fit_projects(config, names, some)

    monkeypatch.setattr(module, "fit_projects", fit)
    code, printed, err = call("pretrain", "--out", out, "--json")
    assert learned_from == [2, 2, 2, 3]  # each part from the others, the shipped weights from all
    assert (code, "four failed: " in err, "no fix of its 12 reports is in" in err) == (
        1,
        True,
        True,
    )
    found = json.loads(printed)
    reports = {one["project"]: one["reports"] for one in found["projects"]}
    assert reports == {
        "one": 2,
        "two": 12,
        "three": 12,
    }  # of 12 reports 9 train, 1 validation, 2 test
    record = read_record(out / "weights.json")
    parts = {
        name: (one["reports"], one["part"])
        for name, one in record["learned on"]["projects"].items()
    }
    assert parts == {"one": (6, "train"), "two": (12, "all"), "three": (12, "all")}
    assert record["temperature"] == found["temperature"] != fit_temperature([])
    assert read_stage_one(out)[0].ranker.features == ("bm25f", "path", "test")

    runs = {name: read_scored_run(world / "work/left-out" / name) for name in reports}
    learned_on = {name: run.run.header["learned on"] for name, run in runs.items()}
    assert learned_on == {name: [other for other in reports if other != name] for name in reports}
    assert {run.evaluation().length for run in runs.values()} == {1}

    def tables():
        return {path: path.stat().st_mtime_ns for path in (world / "work/tables").glob("*/*")}

    before = tables()
    code, printed, _ = call("pretrain")
    assert (code, "macro mean of 3 projects" in printed, tables() == before) == (1, True, True)

    # from the kept tables alone the same is learned, without any repository
    assert call("pretrain", "--out", world / "again", listed=False)[0] == 0
    assert read_record(world / "again/weights.json")["weights"] == pytest.approx(
        record["weights"], abs=1e-3
    )

    # a file of reports that changed is read again
    changed = world / "three/reports.jsonl"
    changed.write_text("".join(changed.read_text().splitlines(keepends=True)[:-1]))
    assert call("pretrain")[0] == 1
    assert {path.parent.name for path, when in tables().items() if before.get(path) != when} == {
        "three"
    }


@pytest.mark.slow
def test_what_features_are_worth(world, call, monkeypatch):
    """Values with every feature, and without one, are those of the others' linear weights."""
    columns = []

    def fit(lists, **start):
        columns.append(lists.rows.shape[1])
        return fit_listwise(lists, **start)

    monkeypatch.setattr(feature_ablation, "fit_listwise", fit)
    code, out, _ = call("feature-ablation", "--json")
    whole, *others = json.loads(out)
    assert (code, [one["left out"] for one in (whole, *others)]) == (
        1,
        ["all", "bm25f", "path", "test"],
    )
    assert columns == [3, 2, 2, 2] * 3  # each left out is a fit of its own
    for one in others:
        assert one["mrr change"]["mean"] == pytest.approx(one["mrr"] - whole["mrr"])
    tables, _ = Pretraining(world / "work", LINEAR).tables(None, ignore_progress)
    for row, keeps in ((whole, [1, 1, 1]), (others[0], [0, 1, 1])):
        expected = []
        for one in tables:  # each is a part of its own
            rest = [other.lists() for other in tables if other is not one]
            zeroed = [replace(of, rows=of.rows * np.float32(keeps)) for of in rest]
            expected.append(
                judge({"": fit_projects(LINEAR, one.features, zeroed)}, one.tables())[""]
            )
        assert [row["mrr"], row["map"]] == pytest.approx(
            np.mean(expected, axis=0).tolist(), abs=1e-6
        )
    lines = call("feature-ablation", "--features", "path")[1].splitlines()
    assert lines[0] == "| left out | MRR | 95 % | MAP | 95 % |"
    assert [line.split(" | ")[0] for line in lines[2:]] == ["| all", "| path"]
    code, _, err = call("feature-ablation", "--features", "chunk")
    assert (
        code,
        "no feature of the tables is called 'chunk'; they are bm25f, path, test" in err,
    ) == (2, True)
