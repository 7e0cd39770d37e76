"""From a repository and its reports to a checkpoint, runs, measures and answers, on a project with forty bugs."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from tests import toy
from tosloc import experiment, training
from tosloc.cli import main
from tosloc.errors import CheckpointError, ToslocError
from tosloc.evaluate import evaluate_folder, read_run
from tosloc.evaluate.runs import TAUGHT
from tosloc.git.repository import Repository
from tosloc.localizer import Localizer
from tosloc.rank import extract as extraction_module
from tosloc.rank import features
from tosloc.rank.feature_tables import StoredFeatureTables
from tosloc.rank.stage_one import StageOne
from tosloc.records import BugReport

CONFIG = toy.config(0.6, 0.2, ranker=True)
LATER = datetime.fromtimestamp(toy.START + 100 * toy.DAY, UTC)
REPORT = BugReport("new", "Violin screen wrong", "openViolin loses a click, see ViolinService", LATER)


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> toy.Toy:
    return toy.grow(tmp_path_factory.mktemp("toy"), bugs=40)


@pytest.fixture(scope="module")
def out(project) -> Path:
    train(project, "out")
    return project.folder / "out"


def train(project: toy.Toy, name: str, config=CONFIG, **options) -> Localizer:
    return training.train(config, project.git.path, project.reports(), project.folder / name, project.store, **options)


def test_training_learns(out):
    test, validation = evaluate_folder(out, "test").summary(), evaluate_folder(out, "validation").summary()
    assert (test["reports"], validation["reports"]) == (8, 8)
    assert (test["relevant"], test["dropped"], test["empty"], test["length"]) == (8, 0, 0, 1.0)
    assert test["mrr"] > 0.6  # random: .14
    assert test["map"] == test["mrr"]  # one fixed file a report
    tried = json.loads((out / "checkpoint/weights.json").read_text())["validation"]
    # what validation decided on is what evaluation measures
    assert tried["tried"][tried["taken"]] == pytest.approx([validation["mrr"], validation["map"]])
    assert not (out / ".tosloc-work").exists()
    record = json.loads((out / "provenance.json").read_text())
    assert record["splits"] == {"train": 24, "validation": 8, "test": 8}


@pytest.mark.slow
def test_stage_one_learns_from_the_newest_reports_without_the_shipped_weights(project, out):
    few = toy.config(0.6, 0.2, ranker=True, train_reports=9)
    train(project, "few", few, keep_features=True)
    stored = StoredFeatureTables.read(project.folder / "few")
    assert [table.report for table in stored.tables("train")] == [record["id"] for record in project.records[15:24]]
    tried = json.loads((project.folder / "few/checkpoint/weights.json").read_text())["validation"]["tried"]
    assert not any("default" in name for name in tried)
    train(project, "leaning", toy.config(0.6, 0.2, ranker=True, shipped=True))
    tried = json.loads((project.folder / "leaning/checkpoint/weights.json").read_text())["validation"]["tried"]
    assert any("default" in name for name in tried)


def test_every_ranking_holds_every_file(out, project):
    run = read_run(out / "test/run.jsonl.gz")
    paths = set(project.git.git("ls-tree", "-r", "--name-only", "main").split("\n"))
    assert len(run.orders) == 8
    for ranking in run.rankings():
        assert set(ranking.paths) == paths
        assert len(ranking.paths) == len(paths)


def test_the_same_command_gives_the_same_bytes(out, project):
    train(project, "again")
    for name in ("test/run.jsonl.gz", "validation/run.jsonl.gz", "test/qrels.jsonl", "provenance.json"):
        assert (project.folder / "again" / name).read_bytes() == (out / name).read_bytes(), name
    for path in sorted((out / "checkpoint").iterdir()):
        assert (project.folder / "again/checkpoint" / path.name).read_bytes() == path.read_bytes(), path.name


def test_ranking_with_the_checkpoint_repeats_the_run(out, project):
    folder = project.folder / "ranked"
    experiment.rank_reports(out / "checkpoint", project.git.path, project.reports(), folder, "test", project.store)
    expected, got = read_run(out / "test/run.jsonl.gz"), read_run(folder / "test/run.jsonl.gz")
    assert list(got.rankings()) == list(expected.rankings())
    assert evaluate_folder(folder, "test").summary() == evaluate_folder(out, "test").summary()
    assert TAUGHT not in got.header


def test_a_run_of_all_reports_says_how_many_taught_the_checkpoint(out, project, tmp_path, capsys):
    ranked = partial(experiment.rank_reports, repo_path=project.git.path, store_path=project.store)
    ranked(out / "checkpoint", reports_path=project.reports(), out=tmp_path / "all", split="all")
    splits = json.loads((out / "provenance.json").read_text())["splits"]
    assert read_run(tmp_path / "all/all/run.jsonl.gz").header[TAUGHT] == splits["train"]
    assert main(["evaluate", str(tmp_path / "all"), "--split", "all", "--json"]) == 0
    assert f"the checkpoint learned from {splits['train']} reports of these" in capsys.readouterr().err
    ranked(out / "checkpoint", reports_path=project.reports(), out=tmp_path / "validation", split="validation")
    ranked(None, reports_path=project.reports(), out=tmp_path / "shipped", split="all")
    for run in ("validation/validation", "shipped/all"):
        assert TAUGHT not in read_run(tmp_path / run / "run.jsonl.gz").header


def test_localizing_with_and_without_the_repository(out, project):
    carried = Localizer.load(out).localization(REPORT)
    assert carried.ranking.paths[0] == toy.path_of("Violin")
    newest = project.git.made[-2]  # before the last fix
    with Repository(project.git.path) as repo:
        asked = toy.ask(Localizer.load(out / "checkpoint"), REPORT, repo, newest, project.store)
        assert asked.ranking == carried.ranking
        # what a commit says of itself is read from the repository
        assert [toy.pointers(hit) for hit in asked.top(5)] == [toy.pointers(hit) for hit in carried.top(5)]
        head = toy.ask(Localizer.load(out), REPORT, repo, store=project.store)
        assert head.ranking.paths[0] == toy.path_of("Violin")
    top = carried.top(3)
    assert [hit.rank for hit in top] == [1, 2, 3]
    assert [hit.path for hit in top] == list(carried.ranking.paths[:3])
    assert "Violin" in " ".join(reason.text for reason in top[0].why)


def test_saving_and_loading_change_nothing(out, project, tmp_path):
    first = Localizer.load(out)
    first.save(tmp_path / "copy")
    for path in sorted((out / "checkpoint").iterdir()):
        if path.name != "weights.json":  # they say, besides, what was tried on validation
            assert (tmp_path / "copy" / path.name).read_bytes() == path.read_bytes(), path.name
    second = Localizer.load(tmp_path / "copy")
    assert second.stage_one.weights.tolist() == first.stage_one.weights.tolist()
    assert second.localization(REPORT).ranking == first.localization(REPORT).ranking


def test_weights_alone_serve_any_repository(project):
    """Without a checkpoint the repository's own history counts: commits whose message says that they fix."""
    localizer = Localizer(CONFIG)
    localizer.stage_one_ = StageOne(features.NAMES, np.ones(len(features.NAMES)))
    with Repository(project.git.path) as repo:
        answer = toy.ask(localizer, REPORT, repo, store=project.store)
    assert answer.ranking.paths[0] == toy.path_of("Violin")
    assert len(answer.stage_one.context.history.reports.documents) == 40
    assert answer.notes == ()


def test_no_known_word_is_said_and_still_ranked(out, project):
    answer = Localizer.load(out).localization(BugReport("r", "xyzzy", "", LATER))
    assert any("no word of the report" in note for note in answer.notes)
    assert len(answer.ranking) == len(project.git.git("ls-tree", "-r", "--name-only", "main").split("\n"))


def test_interrupted_training_goes_on(out, project, monkeypatch):
    monkeypatch.setattr(extraction_module, "BLOCK_REPORTS", 8)
    real, made = extraction_module.written_whole, []

    def killed(path):
        if len(made) == 2:
            raise RuntimeError("killed")
        made.append(path)
        return real(path)

    monkeypatch.setattr(extraction_module, "written_whole", killed)
    with pytest.raises(RuntimeError, match="killed"):
        train(project, "stopped")
    folder = project.folder / "stopped"
    assert not (folder / "checkpoint").exists()
    assert not (folder / "test").exists()
    assert sorted((folder / ".tosloc-work").glob("block-*")) == sorted(made)
    kept = set(made)
    monkeypatch.setattr(extraction_module, "written_whole", lambda path: made.append(path) or real(path))
    train(project, "stopped")
    assert len(made) == len(set(made)) == 5  # 24 + 8 + 8 reports
    assert kept < set(made)
    assert (folder / "test/run.jsonl.gz").read_bytes() == (out / "test/run.jsonl.gz").read_bytes()


def test_a_folder_with_other_things_is_refused(project, tmp_path, monkeypatch, capsys):
    work = tmp_path / "thesis" / "work"
    work.mkdir(parents=True)
    (work / "chapter.tex").write_text("mine")
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked/.tosloc-work").symlink_to(tmp_path / "thesis")
    monkeypatch.chdir(tmp_path / "thesis")
    given = ["--repo", str(project.git.path), "--reports", str(project.reports()), "--store", str(project.store)]
    for command in ("train", "rank"):
        for out, first in ((".", "work"), ("../linked", ".tosloc-work")):
            assert main([command, *given, "--out", out]) == 2
            said = f"tosloc: {out} holds other things, such as {first!r}; name a new folder for the results\n"
            assert capsys.readouterr().err == said
    assert [path.name for path in (tmp_path / "thesis").rglob("*")] == ["work", "chapter.tex"]


def test_what_an_error_leaves_is_gone_on_with(tmp_path):
    def fails(folder, *parts):
        with experiment.results_folder(folder, own=True):
            for part in parts:
                (folder / part).mkdir()
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fails(tmp_path / "nothing")
    assert not (tmp_path / "nothing").exists()
    with pytest.raises(RuntimeError):
        fails(tmp_path / "results", "validation")
    with experiment.results_folder(tmp_path / "results", own=True) as work:
        assert (work.name, work.is_dir()) == (".tosloc-work", True)


def test_the_same_command_again_finds_its_own_folder(out, project, tmp_path):
    (out / "work").mkdir()
    (out / "work/chapter.tex").write_text("mine")  # it is the user's folder, too
    train(project, "out")
    experiment.rank_reports(out, project.git.path, project.reports(), out, store_path=project.store)
    assert (out / "work/chapter.tex").read_text() == "mine"
    shutil.rmtree(out / "work")


def test_the_paper_s_configuration(project):
    config = toy.config(0.6, 0.2, method="paper", fit="differential_evolution")
    localizer = train(project, "paper", config, carry=False)
    assert localizer.stage_one.features == ("text", "trace", "history", "complexity")
    assert ((localizer.stage_one.weights >= 0) & (localizer.stage_one.weights <= 1)).all()
    assert evaluate_folder(project.folder / "paper", "test").mrr > 0.4
    with pytest.raises(ToslocError, match="carries no version"):
        Localizer.load(project.folder / "paper").localization(REPORT)


def test_what_is_damaged_is_said(out, tmp_path):
    with pytest.raises(CheckpointError, match="no checkpoint"):
        Localizer.load(tmp_path)
    for name, content, words in (
        ("weights.json", b"{}", "no weights"),
        ("weights.json", b"{", "cannot be read"),
        ("weights.json", b'{"weights": {"magic": 1.0}}', "does not know"),
        ("version.npz", b"PK", "damaged"),
        ("reports.npz", b"", "damaged"),
        ("provenance.json", b"[]", "not a JSON object"),
    ):
        folder = tmp_path / f"broken {name} {len(content)}"
        shutil.copytree(out / "checkpoint", folder)
        (folder / name).write_bytes(content)
        with pytest.raises(CheckpointError, match=words):
            Localizer.load(folder).localization(REPORT)


def test_no_training_report_has_a_fixed_file(project, tmp_path):
    records = [record | {"fixed": ["gone.java"]} for record in project.records]
    reports = project.reports("gone.jsonl", records)
    with pytest.raises(ToslocError, match="no training report has a fixed file"):
        training.train(CONFIG, project.git.path, reports, tmp_path / "out", project.store)
