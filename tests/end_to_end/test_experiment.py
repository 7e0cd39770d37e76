"""From a repository and its reports to a checkpoint, runs, measures and answers, on a project with forty bugs."""

from __future__ import annotations

import json
import shutil
import subprocess
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from tests import toy
from tosloc import experiment, training
from tosloc.calibration import HIGHEST, LOWEST, UNFITTED, fit_temperature, shares
from tosloc.cli import main
from tosloc.errors import ToslocError
from tosloc.evaluate import evaluate_folder, read_run
from tosloc.evaluate.reliability import judged_answers
from tosloc.evaluate.run_paths import read_scored
from tosloc.evaluate.runs import TAUGHT
from tosloc.git.repository import Repository
from tosloc.localizer import Localizer
from tosloc.rank import features
from tosloc.rank.feature_tables import StoredFeatureTables
from tosloc.rank.stage_one import StageOne
from tosloc.records import BugReport, Case

CONFIG = toy.config(0.6, 0.2, ranker=True)
LATER = datetime.fromtimestamp(toy.START + 100 * toy.DAY, UTC)
REPORT = BugReport("new", "Violin screen wrong", "openViolin loses a click, see ViolinService", LATER)


@pytest.fixture(scope="module")
def out(project) -> Path:
    train(project, "out")
    return project.folder / "out"


def train(project: toy.Toy, name: str, config=CONFIG, **options) -> Localizer:
    return training.train(config, project.git.path, project.reports(), project.folder / name, **options)


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


def test_the_temperature_is_fitted_on_validation_and_said(out, tmp_path):
    validation = read_scored(out, "validation")
    record = json.loads((out / "checkpoint/weights.json").read_text())
    fitted = fit_temperature(judged_answers(validation.run, validation.qrels))
    assert record["temperature"] == pytest.approx(fitted, rel=1e-3)
    assert read_scored(out, "test").run.header["temperature"] == record["temperature"]
    answer = Localizer.load(out).localize(BugReport("1", "openParser", "", None), tests=True)
    expected = shares(np.array([hit.score for hit in answer.hits]), record["temperature"])
    assert [hit.share for hit in answer.hits] == pytest.approx(expected.tolist(), abs=1e-5)
    shutil.copytree(out / "checkpoint", tmp_path / "old")
    (tmp_path / "old/weights.json").write_text(json.dumps(record | {"temperature": None}))
    assert Localizer.load(tmp_path / "old").temperature == UNFITTED  # where none was fitted
    assert LOWEST < Localizer.default().temperature < HIGHEST


@pytest.mark.parametrize(("fit", "ids"), [("differential_evolution", "568"), ("listwise", "01234568")])
def test_what_a_fit_looks_at(fit, ids, monkeypatch):
    """Evolution at the newest reports with a fixed file, and all their files; the other at a sample of wrong ones."""
    monkeypatch.setattr(training, "EVOLUTION_REPORTS", 3)
    reports = [BugReport(str(number), "a", "b", LATER) for number in range(9)]
    fixed = [() if number == 7 else ("A.java",) for number in range(9)]
    cases = [Case(report, "", "v", n, ("A.java",), fixed[n]) for n, report in enumerate(reports)]
    chosen, sampled = training.training_cases(toy.config(fit=fit), cases)
    assert [one.report.id for one in chosen] == list(ids)
    assert sampled == (training.SAMPLED if fit == "listwise" else 0)


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


@pytest.mark.slow
def test_a_run_of_all_reports_says_how_many_taught_the_checkpoint(out, project, tmp_path, capsys):
    ranked = partial(experiment.rank_reports, repo_path=project.git.path)
    ranked(out / "checkpoint", reports_path=project.reports(), out=tmp_path / "all", split="all")
    splits = json.loads((out / "provenance.json").read_text())["splits"]
    assert read_run(tmp_path / "all/all/run.jsonl.gz").header[TAUGHT] == splits["train"]
    assert main(["evaluate", str(tmp_path / "all"), "--split", "all", "--json"]) == 0
    assert f"the checkpoint learned from {splits['train']} reports of these" in capsys.readouterr().err
    ranked(out / "checkpoint", reports_path=project.reports(), out=tmp_path / "validation", split="validation")
    ranked(None, reports_path=project.reports(), out=tmp_path / "shipped", split="all")
    for run in ("validation/validation", "shipped/all"):
        assert TAUGHT not in read_run(tmp_path / run / "run.jsonl.gz").header


def test_weights_alone_serve_any_repository(project):
    """Without a checkpoint the repository's own history counts: commits whose message says that they fix."""
    localizer = Localizer(CONFIG)
    localizer.stage_one_ = StageOne(features.NAMES, np.ones(len(features.NAMES)))
    with Repository(project.git.path) as repo:
        answer = toy.ask(localizer, REPORT, repo)
    assert answer.ranking.paths[0] == toy.path_of("Violin")
    assert len(answer.stage_one.context.history.reports.documents) == 40
    assert answer.notes == ()


def test_a_folder_with_other_things_is_refused(project, tmp_path, monkeypatch, capsys):
    work = tmp_path / "thesis" / "work"
    work.mkdir(parents=True)
    (work / "chapter.tex").write_text("mine")
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked/.tosloc-work").symlink_to(tmp_path / "thesis")
    monkeypatch.chdir(tmp_path / "thesis")
    given = ["--repo", str(project.git.path), "--reports", str(project.reports())]
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


@pytest.mark.slow
def test_the_same_command_again_finds_its_own_folder(out, project, tmp_path):
    (out / "work").mkdir()
    (out / "work/chapter.tex").write_text("mine")  # it is the user's folder, too
    train(project, "out")
    experiment.rank_reports(out, project.git.path, project.reports(), out)
    assert (out / "work/chapter.tex").read_text() == "mine"
    shutil.rmtree(out / "work")


@pytest.mark.slow
def test_the_paper_s_configuration(project):
    config = toy.config(0.6, 0.2, method="paper", fit="differential_evolution")
    localizer = train(project, "paper", config, carry=False, keep_features=True)
    assert localizer.stage_one.features == ("text", "trace", "history", "complexity")
    assert ((localizer.stage_one.weights >= 0) & (localizer.stage_one.weights <= 1)).all()
    assert evaluate_folder(project.folder / "paper", "test").mrr > 0.4
    with pytest.raises(ToslocError, match="carries no version"):
        Localizer.load(project.folder / "paper").localization(REPORT)
    kept = StoredFeatureTables.read(project.folder / "paper")
    assert kept.features == localizer.stage_one.features
    assert [len(list(kept.tables(part))) for part in ("train", "validation", "test")] == [24, 8, 8]


def test_no_training_report_has_a_fixed_file(project, tmp_path):
    records = [record | {"fixed": ["gone.java"]} for record in project.records]
    reports = project.reports("gone.jsonl", records)
    with pytest.raises(ToslocError, match="no training report has a fixed file"):
        training.train(CONFIG, project.git.path, reports, tmp_path / "out")


# Clones that lack something


Capture = pytest.CaptureFixture[str]


@pytest.fixture
def command(project: toy.Toy, tmp_path: Path) -> list[str]:
    """Localizing with hand-written weights; the repository is still to be named."""
    localizer = Localizer(toy.config())
    weights = [5.0 if name == "mention" else 1.0 for name in features.NAMES]  # a file without text has its name alone
    localizer.stage_one_ = StageOne(features.NAMES, np.array(weights))
    localizer.save(tmp_path / "checkpoint")
    (tmp_path / "bug.md").write_text("Cookie lost\n\nopenCookie loses a click, see CookieService\n")
    named = ["localize", "--checkpoint", str(tmp_path / "checkpoint"), str(tmp_path / "bug.md")]
    return [*named, "--opened", "2030-01-01", "--top", "99", "--json", "--repo"]


def answered(command: list[str], repo: Path, capsys: Capture) -> tuple[list[str], str]:
    assert main([*command, str(repo)]) == 0
    printed = capsys.readouterr()
    return [hit["path"] for hit in json.loads(printed.out)["hits"]], printed.err


def test_missing_blobs(project: toy.Toy, command: list[str], tmp_path: Path, capsys: Capture) -> None:
    clone = cloned(project, tmp_path, "--bare")
    pack = next((clone / "objects/pack").glob("*.pack")).rename(tmp_path / "all.pack")
    for left in (clone / "objects/pack").iterdir():
        left.unlink()
    subprocess.run(["git", "-C", str(clone), "unpack-objects", "-q"], input=pack.read_bytes(), check=True)
    whole, said = answered(command, project.git.path, capsys)
    assert said == ""
    for theme in ("Cookie", "Parser"):
        blob = project.git.git("rev-parse", f"main:{toy.path_of(theme)}")
        (clone / "objects" / blob[:2] / blob[2:]).unlink()
    paths, said = answered(command, clone, capsys)
    assert said == "tosloc: 2 files could not be read from the repository; they are ranked by their paths alone\n"
    assert (paths[0], sorted(paths)) == (toy.path_of("Cookie"), sorted(whole))


def cloned(project: toy.Toy, folder: Path, *options: str) -> Path:
    url = f"file://{project.git.path}"
    subprocess.run(["git", "clone", "-q", "--branch", "main", *options, url, str(folder / "clone")], check=True)
    return folder / "clone"
