"""From a repository and its reports to a checkpoint, runs, measures and answers, on a project with forty bugs."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime

import numpy as np
import pytest

from tests import toy
from tests.conftest import open_files, with_proc
from tests.local_cluster import differing_files
from tosloc.cli import main
from tosloc.core.errors import ToslocError
from tosloc.core.records import BugReport, Case
from tosloc.evaluate.run_paths import read_scored_run
from tosloc.evaluate.runs import TRAINED_ON, read_run
from tosloc.git.repository import Repository
from tosloc.lab.reliability import judged_answers
from tosloc.localize.answer import Weights
from tosloc.localize.checkpoint import shipped
from tosloc.localize.localizer import Localizer
from tosloc.localize.model import Model
from tosloc.rank.calibration import fit_temperature, shares
from tosloc.rank.tables import list_blocks, read_blocks
from tosloc.storage.cache import default_store
from tosloc.train import experiment, training
from tosloc.train.experiment import ExperimentContext

CONFIG = toy.small_config(0.6, 0.2, ranker=True)
LATER = datetime.fromtimestamp(toy.START + 100 * toy.DAY, UTC)


@pytest.fixture(scope="module")
def out(project):
    train(project, "out")
    return project.folder / "out"


def train(project, name, config=CONFIG, **options):
    return training.train(
        config, project.git.path, project.write_reports(), project.folder / name, **options
    )


def learned(out):
    """What training says of stage one."""
    return json.loads((out / "checkpoint/weights.json").read_text())


def test_training_learns(out):
    test, validation = (
        read_scored_run(out, split).evaluation() for split in ("test", "validation")
    )
    assert test.counts == {"reports": 8, "relevant": 8, "dropped": 0, "empty": 0, "length": 1.0}
    assert test.mrr > 0.6  # random: .14
    assert test.map == test.mrr  # one fixed file a report
    # what validation decided on is what evaluation measures
    tried = learned(out)["choice"]
    assert tried["tried"][tried["taken"]] == pytest.approx([validation.mrr, validation.map])
    assert not any("shipped" in name for name in tried["tried"])  # as its settings say
    assert not (out / ".tosloc-work").exists()
    assert json.loads((out / "provenance.json").read_text())["splits"] == {
        "train": 24,
        "validation": 8,
        "test": 8,
    }


@with_proc
def test_reports_that_cannot_be_used_leave_no_open_file(project, monkeypatch):
    def fail(*arguments):
        raise ToslocError("the history cannot be read")

    monkeypatch.setattr("tosloc.train.experiment.read_history", fail)
    with Repository(project.git.path) as repo:
        folder = default_store(repo).parent
        before = open_files(
            folder
        )  # of a training in this process, which keeps its last extraction open
        with pytest.raises(ToslocError, match="the history cannot be read") as error:
            ExperimentContext(CONFIG, repo, project.write_reports())
        assert open_files(folder) == before
    assert error.traceback


def test_the_temperature_is_fitted_on_validation_and_said(out):
    validation, temperature = read_scored_run(out, "validation"), learned(out)["temperature"]
    fitted = fit_temperature(judged_answers(validation.run, validation.qrels))
    assert temperature == pytest.approx(fitted, rel=1e-3)
    assert read_scored_run(out, "test").run.header["temperature"] == temperature
    answer = Localizer.load(out).localize(BugReport("1", "openParser", "", None), tests=True)
    expected = shares(np.array([hit.score for hit in answer.hits]), temperature)
    assert [hit.share for hit in answer.hits] == pytest.approx(expected.tolist(), abs=1e-5)


def first_shares(folder, split):
    """First shares of a run's answers, at the temperature that its header names."""
    scored = read_scored_run(folder, split)
    judged = judged_answers(scored.run, scored.qrels)
    return [shares(answer.scores, scored.run.header["temperature"])[0] for answer in judged]


@pytest.fixture(scope="module")
def weak(project):
    """A training on the same reports, as if they were commit messages."""
    records = [record | {"weak": True} for record in project.records]
    reports = project.write_reports("weak.jsonl", records)
    training.train(CONFIG, project.git.path, reports, project.folder / "weak")
    return project.folder / "weak"


def test_weak_reports_make_answers_no_surer_than_the_shipped_weights(weak, out, project, tmp_path):
    ranked = tmp_path / "shipped"
    experiment.rank_reports(
        Model(configuration=CONFIG), project.git.path, project.write_reports(), ranked, "validation"
    )
    temperature = learned(weak)["temperature"]
    scored = read_scored_run(weak, "validation")
    judged = judged_answers(scored.run, scored.qrels)
    trained = [shares(answer.scores, temperature)[0] for answer in judged]
    assert np.mean(trained) == pytest.approx(np.mean(first_shares(ranked, "validation")), abs=0.002)
    assert temperature != pytest.approx(learned(out)["temperature"], rel=0.05)


def test_weak_reports_too_few_to_learn_from_keep_the_shipped_weights_and_percentages(project):
    records = [record | {"weak": True} for record in project.records]
    config = toy.small_config(0.6, 0.2, ranker=True, train_reports=9, shipped=True)
    folder = project.folder / "kept"
    model = training.train(
        config, project.git.path, project.write_reports("kept.jsonl", records), folder
    )
    _, temperature = shipped()
    assert model.temperature == temperature
    kept = Weights("shipped", datetime.now(UTC).date(), 9, weak=True)
    assert model.weights == kept
    assert Model.load(folder).weights == kept


def test_one_real_report_in_validation_fits_the_temperature_alone(project, out):
    records = [record | {"weak": True} for record in project.records]
    [*_, last] = read_scored_run(out, "validation").qrels
    [place] = [number for number, record in enumerate(records) if record["id"] == last]
    records[place] = project.records[place]
    reports = project.write_reports("mixed.jsonl", records)
    training.train(CONFIG, project.git.path, reports, project.folder / "mixed")
    validation = read_scored_run(out, "validation")
    fitted = fit_temperature(judged_answers(validation.run, {last: validation.qrels[last]}))
    assert learned(project.folder / "mixed")["temperature"] == pytest.approx(fitted, rel=1e-3)


def test_weak_reports_change_no_ranking(weak, out):
    for split in ("validation", "test"):
        orders = [read_scored_run(folder, split).run.orders for folder in (weak, out)]
        assert [list(order.files) for order in orders[0].values()] == [
            list(order.files) for order in orders[1].values()
        ]


def test_a_checkpoint_says_what_it_learned_from(weak, out, project):
    today = datetime.now(UTC).date()
    assert Model.load(out).weights == Weights("trained", today, 24, weak=False)
    assert Model.load(weak).weights == Weights("trained", today, 24, weak=True)
    answer = Localizer.load(weak).localize(BugReport("1", "openParser", "", None))
    assert answer.weights.sentence == f"weights: trained {today} on 24 commit messages"


def test_training_keeps_the_shipped_ranking_of_the_test_reports(out, project, tmp_path):
    ranked = tmp_path / "shipped"
    experiment.rank_reports(
        Model(configuration=CONFIG), project.git.path, project.write_reports(), ranked, "test"
    )
    alone, beside = read_scored_run(ranked, "test"), read_scored_run(out, "test").shipped
    assert beside.run.names == alone.run.names
    for report, order in alone.run.orders.items():
        assert beside.run.orders[report].files.tolist() == order.files.tolist()
        assert beside.run.orders[report].scores.tolist() == order.scores.tolist()
    assert beside.run.header["temperature"] == alone.run.header["temperature"]


def test_evaluate_says_whether_training_helped(weak, out, capsys):
    assert main(["evaluate", str(out), "--json"]) == 0
    printed, notes = capsys.readouterr()
    difference = json.loads(printed)["against_shipped"]["RR"]
    trained, by_shipped = read_scored_run(out, "test"), read_scored_run(out / "shipped", "test")
    assert difference["b"] == pytest.approx(trained.evaluation().mrr)
    assert difference["a"] == pytest.approx(by_shipped.evaluation().mrr)
    [line] = notes.splitlines()
    assert line.startswith("tosloc: did training help? ")
    assert (
        f"MRR {difference['b']:.3f} with the trained weights, {difference['a']:.3f} with the shipped ones"
        in line
    )
    assert "on the same 8 held-out reports" in line
    assert main(["evaluate", str(weak), "--json"]) == 0
    assert "weak: 8 of 8 reports are commit messages, which differ" in capsys.readouterr().err
    assert main(["evaluate", str(out), "--split", "validation"]) == 0
    assert (
        "did training help" not in capsys.readouterr().err
    )  # weights were chosen by these reports


@pytest.mark.parametrize(
    ("fit", "most", "ids"),
    [("differential_evolution", 0, "568"), ("listwise", 0, "01234568"), ("listwise", 2, "68")],
)
def test_what_a_fit_looks_at(fit, most, ids, monkeypatch):
    """Evolution at the newest reports with a fixed file, and all their files; the other at a sample of wrong ones."""
    monkeypatch.setattr(training, "MAX_EVOLUTION_REPORTS", 3)
    reports = [BugReport(str(number), "a", "b", LATER) for number in range(9)]
    cases = [
        Case(one, "", "v", 0, ("A.java",), () if one.id == "7" else ("A.java",)) for one in reports
    ]
    chosen, sampled = training.training_cases(
        toy.small_config(fit=fit, train_reports=most), {"train": cases}
    )
    assert [one.report.id for one in chosen] == list(ids)
    assert sampled == (training.SAMPLED_FILES if fit == "listwise" else 0)


@pytest.mark.slow
def test_stage_one_learns_from_the_newest_reports_and_leans_on_the_shipped_weights(project):
    leaning = toy.small_config(0.6, 0.2, ranker=True, train_reports=9, shipped=True)
    train(project, "few", leaning, keep_features=True)
    stored = list_blocks(project.folder / "few")
    counts = {part: len(list(read_blocks(stored[part]))) for part in stored}
    assert counts == {"train": 9, "validation": 8, "test": 8}
    newest = [record["id"] for record in project.records[15:24]]
    assert [table.report for table in read_blocks(stored["train"])] == newest
    assert any("shipped" in name for name in learned(project.folder / "few")["choice"]["tried"])


@pytest.mark.slow
def test_a_run_of_all_reports_says_how_many_taught_the_checkpoint(
    out, project, tmp_path, capsys, monkeypatch
):
    context, asked = experiment.ExperimentContext, []
    monkeypatch.setattr(
        context, "shipped", lambda _, case: asked.append(case.report.id) or experiment.shipped()
    )
    for checkpoint, split, taught in (
        (out / "checkpoint", "all", 24),
        (out, "validation", None),
        (None, "all", None),
    ):
        ranked = tmp_path / f"{taught}{split}"
        experiment.rank_reports(
            Model.load(checkpoint), project.git.path, project.write_reports(), ranked, split
        )
        assert read_run(ranked / split / "run.jsonl.gz").header.get(TRAINED_ON) == taught
    assert asked == ["1000"]  # the oldest
    assert main(["evaluate", str(tmp_path / "24all"), "--split", "all", "--json"]) == 0
    assert "the checkpoint learned from 24 reports of these" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["train", "rank"])
def test_a_folder_with_other_things_is_refused(command, project, tmp_path, capsys):
    (tmp_path / "thesis/draft").mkdir(parents=True)
    (tmp_path / "thesis/draft/chapter.tex").write_text("mine")
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked/.tosloc-work").symlink_to(tmp_path / "thesis")
    given = ["--repo", str(project.git.path), "--reports", str(project.write_reports())]
    for name, first in (("thesis", "draft"), ("linked", ".tosloc-work")):
        out = str(tmp_path / name)
        assert main([command, *given, "--out", out]) == 2
        said = f"tosloc: {out} holds other things, such as {first!r}; name a new folder for the results\n"
        assert capsys.readouterr().err == said
    assert [path.name for path in (tmp_path / "thesis").rglob("*")] == ["draft", "chapter.tex"]


@pytest.mark.parametrize("part", ["", "validation"])
def test_what_an_error_leaves_is_gone_on_with(tmp_path, part):
    folder = tmp_path / "results"

    def fails():
        with experiment.results_folder(folder, own=True):
            (folder / part).mkdir(exist_ok=True)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fails()
    assert folder.exists() == bool(part)
    with experiment.results_folder(folder, own=True) as work:
        assert (work.name, work.is_dir()) == (".tosloc-work", True)


def test_a_folder_below_a_file_cannot_be_made_for_results(tmp_path):
    (tmp_path / "file").write_text("mine")
    folder = tmp_path / "file/results"
    with (
        pytest.raises(
            ToslocError, match=r"results cannot be made \(.*\); name a folder that can be written$"
        ),
        experiment.results_folder(folder, own=True),
    ):
        pass


@pytest.mark.slow
def test_the_paper_s_configuration(project):
    config = toy.small_config(0.6, 0.2, method="paper", fit="differential_evolution")
    model = train(project, "paper", config, embed_version=False)
    assert model.stage_one.features == ("text", "trace", "history", "complexity")
    assert ((model.stage_one.weights >= 0) & (model.stage_one.weights <= 1)).all()
    assert read_scored_run(project.folder / "paper", "test").evaluation().mrr > 0.4
    with pytest.raises(ToslocError, match="contains no version"):
        Localizer.load(project.folder / "paper").localize("openViolin loses a click")


def test_no_training_report_has_a_fixed_file(project, tmp_path):
    reports = project.write_reports(
        "gone.jsonl", [record | {"fixed": ["gone.java"]} for record in project.records]
    )
    with pytest.raises(
        ToslocError,
        match=r"training needs 34 reports with a fixed file, .* oldest 60 % .*; 0 found",
    ):
        training.train(CONFIG, project.git.path, reports, tmp_path / "out")


@pytest.mark.slow
def test_the_same_bytes_with_one_thread_and_two_of_linear_algebra(tmp_path):
    made = toy.make_project(
        tmp_path, bugs=120, themes=24
    )  # large enough that the libraries would split the products
    (tmp_path / "own.toml").write_text(
        toy.SETTINGS.replace("ranker = false", "") + '[stage_two]\nreranker = "terms"\n'
    )
    command = [sys.executable, "-m", "tosloc", "train", tmp_path / "own.toml", "--keep-features"]
    for threads in ("1", "2"):
        own = dict.fromkeys(
            ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_THREAD_LIMIT"),
            threads,
        )
        given = [
            "--repo",
            made.git.path,
            "--reports",
            made.write_reports(),
            "--out",
            tmp_path / threads,
        ]
        subprocess.run(
            [*command, *given], env=os.environ | own, check=True, stdout=subprocess.DEVNULL
        )
    assert differing_files(tmp_path / "1", tmp_path / "2") == []
