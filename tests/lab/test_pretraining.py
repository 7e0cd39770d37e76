"""Learning from many projects: the weights of projects, those left out, and what is kept."""

import json
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from tests import toy
from tosloc.cli import main
from tosloc.core.config import Config
from tosloc.core.errors import MissingExtra, ToslocError
from tosloc.core.progress import ignore_progress
from tosloc.evaluate.run_paths import ScoredRun
from tosloc.lab import feature_ablation
from tosloc.lab import pretraining as module
from tosloc.lab.pretraining import (
    Pretraining,
    ProjectTables,
    fit_projects,
    report_weights,
    split_folds,
)
from tosloc.lab.projects import Project
from tosloc.localize.checkpoint import read_record, read_stage_one
from tosloc.localize.model import Model
from tosloc.rank.model.calibration import fit_temperature
from tosloc.rank.model.fitting import fit_listwise, judge
from tosloc.rank.model.ranking_lists import RankingLists

NAMES = ("one", "two")
LINEAR = Config.of({"stage_one": {"ranker": False}}, "test")


def make_listed_project(name, **values):
    return Project(name=name, repo=Path(name), reports=Path(name), **values)


def make_lists(reports, column, weight):
    """Return reports whose fixed file is the one with this feature."""
    lists = []
    for number in range(reports):
        rows = np.zeros((4, 2), dtype=np.float32)
        rows[number % 4, column] = 1.0
        rows[(number + 1) % 4, 1 - column] = 1.0
        lists.append((rows, np.arange(4) == number % 4, np.ones(4, dtype=np.float32)))
    weights = report_weights(make_listed_project("some", weight=weight), reports)
    return replace(RankingLists.of(lists), report_weights=weights)


def fit_contrary_projects(weight):
    """Return the weights learned from two projects that contradict each other.

    The first has ``weight``, and only a tenth of the second's reports.
    """
    lists = [make_lists(3, 0, weight), make_lists(30, 1, 1.0)]
    return fit_projects(LINEAR, NAMES, lists).weights.tolist()


def test_large_project_does_not_outvote_a_small_one(monkeypatch):
    monkeypatch.setattr(module, "MIN_REPORTS_FULL_WEIGHT", 1)
    weights = fit_contrary_projects(1.0)
    assert weights == pytest.approx(weights[::-1], abs=1e-3)


def test_project_with_half_the_weight_counts_less(monkeypatch):
    monkeypatch.setattr(module, "MIN_REPORTS_FULL_WEIGHT", 1)
    first, second = fit_contrary_projects(0.5)
    assert second > first + 0.5


def test_project_with_few_reports_counts_less(monkeypatch):
    monkeypatch.setattr(module, "MIN_REPORTS_FULL_WEIGHT", 30)
    first, second = fit_contrary_projects(1.0)
    assert second > first + 1


def test_projects_without_reports_are_refused():
    with pytest.raises(ToslocError, match="no project is left to learn from"):
        fit_projects(LINEAR, NAMES, [RankingLists.of([])])


@pytest.fixture
def tables_of_five():
    """Return tables of five projects; the third is left out alone."""
    sizes = {"a": 5, "b": 50, "c": 9, "d": 20, "e": 5}
    return [
        ProjectTables(make_listed_project(name, alone=name == "c"), Path(name), NAMES, size, ())
        for name, size in sizes.items()
    ]


@pytest.mark.parametrize(
    ("number", "expected"), [(2, ["c", "ba", "de"]), (9, ["c", "b", "d", "a", "e"])]
)
def test_folds_deal_projects_by_size_and_some_are_alone(number, expected, tables_of_five):
    folds = split_folds(tables_of_five, number)
    assert ["".join(tables.project.name for tables in fold) for fold in folds] == expected


def test_single_fold_is_refused(tables_of_five):
    with pytest.raises(ToslocError, match="nothing is left to learn from"):
        split_folds(tables_of_five[:2], 1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return the folder of five small projects, of which ``unseen.toml`` lists the last.

    The first learns from its training reports and is judged by its test reports; the fourth has no
    fix.
    """
    folder = tmp_path_factory.mktemp("pretraining")
    sections = []
    for number, name in enumerate(("one", "two", "three", "four", "five")):
        project = toy.make_project(folder / name, bugs=12, themes=6, seed=number)
        if name == "four":
            records = [record | {"fix_commit": "f" * 40} for record in project.records]
            project.write_reports(records=records)
        sections.append(f'[{name}]\nrepo = "{name}/repo"\nreports = "{name}/reports.jsonl"\n')
    sections[0] += 'part = "train"\njudged = "test"\nat_most = 6\nalone = true\n'
    (folder / "projects.toml").write_text("".join(sections[:4]))
    (folder / "unseen.toml").write_text(sections[4])
    (folder / "small.toml").write_text(
        '[stage_one]\nfeatures = ["bm25f", "path", "test"]\n[run]\njobs = 1\n'
    )
    return folder


@pytest.fixture
def run_command(folder, capsys):
    """Return a function that runs a command and returns its exit code, output and errors."""

    def run(command, *options, with_projects=True):
        arguments = ["--work", folder / "work", "--config", folder / "small.toml"]
        arguments += ["--leave-projects-out", "2"]
        if with_projects:
            arguments += ["--projects", folder / "projects.toml"]
        return main(["lab", command, *map(str, (*arguments, *options))]), *capsys.readouterr()

    return run


def test_missing_library_is_reported_before_any_work(run_command, monkeypatch):
    def fail():
        raise MissingExtra("install libgomp1")

    monkeypatch.setattr("tosloc.lab.pretraining.load_lightgbm", fail)
    monkeypatch.setattr("tosloc.lab.pretraining.Pretraining.tables", None)
    code, _, error = run_command("pretrain")
    assert code == 2
    assert error == "tosloc: install libgomp1\n"


class PretrainCall(NamedTuple):
    """A finished call of ``pretrain`` that wrote weights."""

    code: int
    values: Any
    """What it printed as JSON."""
    err: str
    fit_sizes: list[int]
    """Number of projects that each fit learned from."""


@pytest.fixture(scope="module")
def pretrained(folder):
    """Call ``pretrain`` once, and return the call; its output folder is ``out``."""
    fit_sizes = []

    def count_projects(config, names, projects):
        project_lists = list(projects)
        fit_sizes.append(len(project_lists))
        return fit_projects(config, names, project_lists)

    arguments = ["--work", folder / "work", "--config", folder / "small.toml"]
    arguments += ["--leave-projects-out", "2", "--projects", folder / "projects.toml"]
    arguments += ["--unseen", folder / "unseen.toml", "--out", folder / "out", "--json"]
    out, err = StringIO(), StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(module, "fit_projects", count_projects)
        code = main(["lab", "pretrain", *map(str, arguments)])
    return PretrainCall(code, json.loads(out.getvalue()), err.getvalue(), fit_sizes)


@pytest.mark.slow
def test_each_fold_learns_from_the_others_and_the_weights_from_all(pretrained):
    assert pretrained.fit_sizes == [2, 2, 2, 3]


@pytest.mark.slow
def test_project_without_a_fix_fails_and_the_others_are_learned_from(pretrained):
    assert pretrained.code == 1
    assert "four failed: " in pretrained.err
    assert "none of its 12 reports has a fix in" in pretrained.err


@pytest.mark.slow
def test_judged_reports_are_those_of_the_part(pretrained):
    reports = {row["project"]: row["reports"] for row in pretrained.values["projects"]}
    # Of 12 reports 9 are for training, 1 for validation and 2 for tests.
    assert reports == {"one": 2, "two": 12, "three": 12, "five": 12}


@pytest.mark.slow
def test_weights_record_the_projects_and_the_temperature(folder, pretrained):
    record = read_record(folder / "out" / "weights.json")
    assert record["learned on"]["projects"] == {
        "one": {"reports": 6, "part": "train"},
        "two": {"reports": 12, "part": "all"},
        "three": {"reports": 12, "part": "all"},
    }
    assert record["temperature"] == pretrained.values["temperature"]
    assert record["temperature"] != fit_temperature([])
    stage_one, *_ = read_stage_one(folder / "out")
    assert stage_one.ranker.features == ("bm25f", "path", "test")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("project", "others"),
    [
        ("one", ["two", "three"]),
        ("two", ["one", "three"]),
        ("three", ["one", "two"]),
        ("five", ["one", "two", "three"]),
    ],
    ids=["one", "two", "three", "unseen"],
)
def test_run_of_a_project_is_learned_from_the_others(project, others, folder, pretrained):
    scored = ScoredRun.read(folder / "work/left-out" / project)
    assert scored.run.header["learned on"] == others
    assert scored.run.header["search space"] == ".java files of the before-fix version"
    assert scored.evaluation().length == 1


@pytest.mark.slow
def test_unseen_project_is_ranked_by_the_weights_that_are_written(folder, pretrained):
    stage_one, *_ = read_stage_one(folder / "out")
    table = next(ProjectTables.read(folder / "work/unseen/tables/five").tables())
    run = ScoredRun.read(folder / "work/left-out/five").run
    scores = np.sort(stage_one.scores(table.rows, table.asserted))[::-1]
    assert run.ranking(table.report).scores == pytest.approx(scores, rel=1e-5)


@pytest.mark.slow
def test_weights_of_a_left_out_project_are_kept_beside_its_run(folder, pretrained):
    model = Model.load(folder / "work/left-out/one")
    stage_one, temperature = model.stage_one_for(())
    table = next(ProjectTables.read(folder / "work/tables/one").tables())
    run = ScoredRun.read(folder / "work/left-out/one").run
    scores = np.sort(stage_one.scores(table.rows, table.asserted))[::-1]
    assert run.ranking(table.report).scores == pytest.approx(scores, rel=1e-5)
    assert model.provenance["learned on"] == run.header["learned on"]
    assert temperature == run.header["temperature"]


@pytest.mark.slow
def test_project_to_learn_from_is_not_unseen(folder, pretrained, run_command):
    (folder / "both.toml").write_text((folder / "projects.toml").read_text())
    code, _, err = run_command("pretrain", "--unseen", folder / "both.toml")
    assert code == 2
    assert err.endswith("one is among the projects to learn from, so it is not unseen\n")


def modification_times(folder):
    """Return when each file of the tables was written."""
    return {path: path.stat().st_mtime_ns for path in (folder / "work/tables").glob("*/*")}


@pytest.mark.slow
def test_finished_tables_are_reused(folder, pretrained, run_command):
    before = modification_times(folder)
    code, out, _ = run_command("pretrain")
    assert code == 1
    assert "macro mean of 3 projects" in out
    assert modification_times(folder) == before


@pytest.mark.slow
def test_finished_tables_give_the_same_weights_without_projects(folder, pretrained, run_command):
    again = folder / "again"
    assert run_command("pretrain", "--out", again, with_projects=False)[0] == 0
    weights = read_record(folder / "out/weights.json")["weights"]
    assert read_record(again / "weights.json")["weights"] == pytest.approx(weights, abs=1e-3)


@pytest.mark.slow
def test_changed_reports_are_read_again(folder, pretrained, run_command):
    before = modification_times(folder)
    reports = folder / "three/reports.jsonl"
    content = reports.read_text()
    without_last = content.splitlines(keepends=True)[:-1]
    reports.write_text("".join(without_last))
    try:
        assert run_command("pretrain")[0] == 1
        after = modification_times(folder)
        changed = {path.parent.name for path, time in after.items() if before.get(path) != time}
        assert changed == {"three"}
    finally:
        reports.write_text(content)


class AblationCall(NamedTuple):
    """A finished call of ``feature-ablation``."""

    code: int
    rows: list[Any]
    """What it printed as JSON."""
    columns: list[int]
    """Number of features of each fit."""


@pytest.fixture
def ablated(run_command, monkeypatch):
    """Call ``feature-ablation``, and return the call."""
    columns = []

    def count_columns(lists, **start):
        columns.append(lists.rows.shape[1])
        return fit_listwise(lists, **start)

    monkeypatch.setattr(feature_ablation, "fit_listwise", count_columns)
    code, out, _ = run_command("feature-ablation", "--json")
    return AblationCall(code, json.loads(out), columns)


@pytest.mark.slow
def test_feature_ablation_fits_each_fold_with_and_without_each_feature(ablated):
    assert ablated.code == 1  # because the fourth project fails
    assert [row["left out"] for row in ablated.rows] == ["all", "bm25f", "path", "test"]
    assert ablated.columns == [3, 2, 2, 2] * 3


@pytest.mark.slow
def test_feature_ablation_shows_changes_from_all_features(ablated):
    all_features, *others = ablated.rows
    for row in others:
        change = row["mrr"] - all_features["mrr"]
        assert row["mrr change"]["mean"] == pytest.approx(change)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("row_index", "kept"), [(0, [1, 1, 1]), (1, [0, 1, 1])], ids=["all", "without the first"]
)
def test_feature_ablation_judges_projects_by_weights_of_the_others(
    row_index, kept, folder, ablated
):
    tables, _ = Pretraining(folder / "work", LINEAR).tables(None, ignore_progress)
    expected = []
    for left_out in tables:  # each is a fold of its own
        other_lists = [other.lists() for other in tables if other is not left_out]
        zeroed = [replace(lists, rows=lists.rows * np.float32(kept)) for lists in other_lists]
        stage_one = fit_projects(LINEAR, left_out.features, zeroed)
        expected.append(judge({"": stage_one}, left_out.tables())[""])
    row = ablated.rows[row_index]
    means = np.mean(expected, axis=0).tolist()
    assert [row["mrr"], row["map"]] == pytest.approx(means, abs=1e-6)


@pytest.mark.slow
def test_feature_ablation_leaves_out_only_the_given_features(run_command):
    lines = run_command("feature-ablation", "--features", "path")[1].splitlines()
    assert lines[0] == "| left out | MRR | 95 % | MAP | 95 % |"
    assert [line.split(" | ")[0] for line in lines[2:]] == ["| all", "| path"]


@pytest.mark.slow
def test_feature_ablation_refuses_an_unknown_feature(run_command):
    code, _, err = run_command("feature-ablation", "--features", "chunk")
    assert code == 2
    assert "the tables have no feature 'chunk'; choose from bm25f, path, test" in err
