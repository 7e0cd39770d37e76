"""From a repository and its reports to a checkpoint, runs, measures and answers, on a project with forty bugs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from tests import toy
from tests.local_cluster import differing
from tosloc import experiment, training
from tosloc.calibration import fit_temperature, shares
from tosloc.cli import main
from tosloc.errors import ToslocError
from tosloc.evaluate.run_paths import read_scored
from tosloc.evaluate.runs import TRAINED_ON, read_run
from tosloc.lab.reliability import judged_answers
from tosloc.localizer import Localizer
from tosloc.rank.feature_tables import kept_blocks, read_blocks
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
    test, validation = (read_scored(out, split).evaluation().summary() for split in ("test", "validation"))
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


def test_the_temperature_is_fitted_on_validation_and_said(out):
    validation = read_scored(out, "validation")
    record = json.loads((out / "checkpoint/weights.json").read_text())
    fitted = fit_temperature(judged_answers(validation.run, validation.qrels))
    assert record["temperature"] == pytest.approx(fitted, rel=1e-3)
    assert read_scored(out, "test").run.header["temperature"] == record["temperature"]
    answer = Localizer.load(out).localize(BugReport("1", "openParser", "", None), tests=True)
    expected = shares(np.array([hit.score for hit in answer.hits]), record["temperature"])
    assert [hit.share for hit in answer.hits] == pytest.approx(expected.tolist(), abs=1e-5)


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
    stored = kept_blocks(project.folder / "few")
    assert [table.report for table in read_blocks(stored["train"])] == [
        record["id"] for record in project.records[15:24]
    ]
    tried = json.loads((project.folder / "few/checkpoint/weights.json").read_text())["validation"]["tried"]
    assert not any("shipped" in name for name in tried)
    train(project, "leaning", toy.config(0.6, 0.2, ranker=True, shipped=True))
    tried = json.loads((project.folder / "leaning/checkpoint/weights.json").read_text())["validation"]["tried"]
    assert any("shipped" in name for name in tried)


@pytest.mark.slow
def test_a_run_of_all_reports_says_how_many_taught_the_checkpoint(out, project, tmp_path, capsys):
    ranked = partial(experiment.rank_reports, repo_path=project.git.path)
    ranked(out / "checkpoint", reports_path=project.reports(), out=tmp_path / "all", split="all")
    splits = json.loads((out / "provenance.json").read_text())["splits"]
    assert read_run(tmp_path / "all/all/run.jsonl.gz").header[TRAINED_ON] == splits["train"]
    assert main(["evaluate", str(tmp_path / "all"), "--split", "all", "--json"]) == 0
    assert f"the checkpoint learned from {splits['train']} reports of these" in capsys.readouterr().err
    ranked(out / "checkpoint", reports_path=project.reports(), out=tmp_path / "validation", split="validation")
    ranked(None, reports_path=project.reports(), out=tmp_path / "shipped", split="all")
    for run in ("validation/validation", "shipped/all"):
        assert TRAINED_ON not in read_run(tmp_path / run / "run.jsonl.gz").header


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
def test_the_paper_s_configuration(project):
    config = toy.config(0.6, 0.2, method="paper", fit="differential_evolution")
    localizer = train(project, "paper", config, embed_version=False, keep_features=True)
    assert localizer.stage_one.features == ("text", "trace", "history", "complexity")
    assert ((localizer.stage_one.weights >= 0) & (localizer.stage_one.weights <= 1)).all()
    assert read_scored(project.folder / "paper", "test").evaluation().mrr > 0.4
    with pytest.raises(ToslocError, match="carries no version"):
        Localizer.load(project.folder / "paper").localization(REPORT)
    kept = kept_blocks(project.folder / "paper")
    assert {part: len(list(read_blocks(kept[part]))) for part in kept} == {"train": 24, "validation": 8, "test": 8}


def test_no_training_report_has_a_fixed_file(project, tmp_path):
    records = [record | {"fixed": ["gone.java"]} for record in project.records]
    reports = project.reports("gone.jsonl", records)
    with pytest.raises(ToslocError, match="none of 24 training reports has a fixed file"):
        training.train(CONFIG, project.git.path, reports, tmp_path / "out")


@pytest.mark.slow
def test_the_same_bytes_with_one_thread_and_two_of_linear_algebra(tmp_path):
    made = toy.grow(tmp_path, bugs=120, themes=24)  # large enough that the libraries would split the products
    (tmp_path / "own.toml").write_text(toy.SETTINGS.replace("ranker = false", "") + '[stage_two]\nreranker = "terms"\n')
    given = ["train", tmp_path / "own.toml", "--repo", made.git.path, "--reports", made.reports(), "--keep-features"]
    written = []
    for threads in ("1", "2"):
        out = tmp_path / f"threads-{threads}"
        environment = os.environ | dict.fromkeys(
            ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), threads
        )
        environment.pop("OMP_THREAD_LIMIT", None)
        command = [sys.executable, "-m", "tosloc", *map(str, given), "--out", str(out)]
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
        written.append(out)
    assert differing(*written) == []
