"""Both stages from a repository to answers, with an encoder of random weights that learns what it can."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests import toy
from tests.rerank.encoder.epochs import Epochs
from tests.rerank.encoder.tiny import write_encoder
from tosloc import experiment, training
from tosloc.config import Config
from tosloc.evaluate import evaluate_folder, read_run
from tosloc.git.repository import Repository
from tosloc.localizer import Localizer
from tosloc.records import BugReport, Progress, silent
from tosloc.reports.labelled import load_dataset
from tosloc.rerank.encoder.scoring import RerankingModel

torch.set_num_threads(1)  # as in the tests of stage two
LATER = datetime.fromtimestamp(toy.START + 100 * toy.DAY, UTC)
REPORT = BugReport("new", "Violin screen wrong", "openViolin loses a click, see ViolinService", LATER)
RECORD = "encoder/encoder.json"
WORDS = [word for theme in toy.THEMES for word in (theme, theme.lower(), f"open{theme}", f"{theme}Service")]


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> toy.Toy:
    return toy.grow(tmp_path_factory.mktemp("toy"), bugs=40)


@pytest.fixture(scope="module")
def encoder(tmp_path_factory) -> Path:
    return write_encoder(tmp_path_factory.mktemp("tiny") / "encoder", words=WORDS)


def config(encoder: Path, training: Mapping[str, Any] | None = None, **second: Any) -> Config:
    two = {
        "code_encoder": str(encoder),
        "chunks": 2,
        "chunk_tokens": 16,
        "report_tokens": 16,
        "candidates": 8,
        **second,
        "training": {"epochs": 3, "pairs": 16, **(training or {})},
    }
    return Config.of(toy.config(0.6, 0.2).as_dict() | {"stage_two": two}, "toy")


def train(project: toy.Toy, name: str, settings: Config, progress: Progress = silent) -> Localizer:
    return training.train(settings, project.git.path, project.reports(), project.folder / name, project.store, progress)


@pytest.fixture(scope="module")
def out(project, encoder) -> Path:
    train(project, "out", config(encoder))
    return project.folder / "out"


HEAD = "checkpoint/encoder/head.safetensors"


def weighing(checkpoint: Path, out: Path, **changes: Any) -> Path:
    """A copy of a training's checkpoint with other values in its record, such as another ``weight``."""
    shutil.copytree(out / "checkpoint", checkpoint)
    record = json.loads((checkpoint / RECORD).read_text())
    (checkpoint / RECORD).write_text(json.dumps(record | changes))
    return checkpoint


def test_validation_never_loses_and_is_what_was_chosen_by(out):
    record = json.loads((out / "checkpoint/encoder/encoder.json").read_text())
    both, first = evaluate_folder(out, "validation"), evaluate_folder(out / "stage_one", "validation")
    chosen = "stage one" if record["weight"] == 0 else f"encoder x {record['weight']:g}"
    assert record["validation"][chosen] == pytest.approx([both.mrr, both.map])
    assert record["validation"]["stage one"] == pytest.approx([first.mrr, first.map])
    assert both.mrr + both.map >= first.mrr + first.map - 1e-9


def test_what_is_tested_teaches_nothing(out, project, encoder):
    """Other texts and other fixed files of the test reports leave what was learned, and the choice, as they are."""
    other = [
        record if number < 32 else record | {"summary": "Falcon harbor", "fixed": [toy.path_of("Falcon")]}
        for number, record in enumerate(project.records)
    ]
    folder = project.folder / "other"
    training.train(config(encoder), project.git.path, project.reports("other.jsonl", other), folder, project.store)
    assert (folder / "test/qrels.jsonl").read_bytes() != (out / "test/qrels.jsonl").read_bytes()
    for name in (HEAD, "checkpoint/encoder/encoder.json"):
        assert (folder / name).read_bytes() == (out / name).read_bytes()


def test_a_file_that_moved_says_nothing_that_nobody_can_check(out, tmp_path):
    both = Localizer.load(weighing(tmp_path / "c", out, weight=math.inf))
    moved = {hit.path: hit for hit in both.localization(REPORT).top(8)}
    both.version_.reranking = None
    places = {hit.path: hit.rank for hit in both.localization(REPORT).top(8)}
    assert places.keys() == moved.keys()
    assert any(hit.rank != places[path] for path, hit in moved.items())
    assert not any(reason.kind == "terms" for hit in moved.values() for reason in hit.why)


@pytest.mark.slow
@pytest.mark.parametrize("learns", ["report", "both"])
def test_encoders_learn_too(project, encoder, learns):
    settings = config(encoder, {"learns": learns, "epochs": 2, "chunks_at_once": 5, "learning_rate": 0.01})
    learned = train(project, learns, settings)
    curve = json.loads((project.folder / learns / "checkpoint/encoder/encoder.json").read_text())["validation"]
    assert all(math.isfinite(value) for pair in curve.values() for value in pair)
    loaded = Localizer.load(project.folder / learns)
    # the encoder that learned lies in the checkpoint; the one it began from may go
    own = "report" if learns == "report" else "code"
    assert (project.folder / learns / "checkpoint/encoder" / own / "model.safetensors").is_file()
    assert loaded.localization(REPORT).ranking.paths == learned.localization(REPORT).ranking.paths


def test_a_killed_training_goes_on_to_the_same_end(out, project, encoder):
    with pytest.raises(KeyboardInterrupt):
        train(project, "killed", config(encoder), Epochs(interrupted=1))
    rest = Epochs()
    train(project, "killed", config(encoder), rest)
    assert rest.begun == [1, 2]
    for name in ("test/run.jsonl.gz", HEAD):
        assert (project.folder / "killed" / name).read_bytes() == (out / name).read_bytes(), name


def test_a_perfect_encoder_is_believed(project, encoder, monkeypatch):
    fixes = {record["id"]: set(record["fixed"]) for record in project.records}  # candidates to score do not tell

    def knowing(model, questions, chunks, trained_until):
        known = [[path in fixes[one.candidates.report.id] for path in one.candidates.paths] for one in questions]
        return (np.where(np.array(fixed), 1.0, -1.0) for fixed in known)

    monkeypatch.setattr(RerankingModel, "scores", knowing)
    # a first stage that knows only when a file changed last, and a head that holds every file
    weak = config(encoder, {"epochs": 0}, candidates=50).as_dict()
    weak["stage_one"]["features"] = ["recency"]
    train(project, "knowing", Config.of(weak, "weak"))
    assert evaluate_folder(project.folder / "knowing", "test").mrr == 1
    assert evaluate_folder(project.folder / "knowing" / "stage_one", "test").mrr < 0.5


def test_a_report_opened_before_what_was_learned_is_left_to_stage_one(out, project, tmp_path):
    """What learned from a later fix must not rank the report, which keeps stage one's order."""
    record = json.loads((out / "checkpoint" / RECORD).read_text())
    with Repository(project.git.path) as repo:
        cases = load_dataset(repo, project.reports(), zone="UTC", suffixes=frozenset({".java"})).cases
    learned = [case for case in cases if case.fixed][:24]
    assert record["trained_until"] == max(int(case.fixed_at) for case in learned)
    tested = read_run(out / "test/run.jsonl.gz").orders
    later = [case for case in cases if case.report.id in tested]
    middle = int(later[len(later) // 2].report.opened_seconds)
    # the encoder's order alone, so that it is seen whom it ranks
    whole = weighing(tmp_path / "whole/checkpoint", out, weight=math.inf)
    checkpoint = weighing(tmp_path / "c", out, weight=math.inf, trained_until=middle)
    for folder, name in ((whole, "both"), (checkpoint, "ranked")):
        experiment.rank_reports(folder, project.git.path, project.reports(), tmp_path / name, "test", project.store)
    shutil.copytree(out / "stage_one", tmp_path / "both/stage_one")
    toy.early_ones_keep_stage_ones_order(tmp_path / "ranked", tmp_path / "both", later, middle)
    early = replace(REPORT, opened=datetime.fromtimestamp(middle - 1, UTC))
    localizer = Localizer.load(checkpoint)
    answer = localizer.localization(early)
    assert answer.reranked is None
    localizer.version_.reranking = None
    assert answer.ranking == localizer.localization(early).ranking


def test_what_has_no_weight_reads_nothing(out, project, tmp_path):
    """Validation wants nothing of it: no file is encoded, and stage one's order stands."""
    checkpoint = weighing(tmp_path / "c", out, weight=0.0)
    (checkpoint / "encoder/vectors.safetensors").unlink()
    localizer = Localizer.load(checkpoint)
    store = tmp_path / "facts.sqlite"
    with Repository(project.git.path) as repo:
        answer = toy.ask(localizer, REPORT, repo, project.git.made[-2], store)
    assert answer.reranked is None
    assert not store.with_name(f"{store.stem}.vectors.sqlite").exists()
    localizer.version_.reranking = None
    assert answer.ranking == localizer.localization(REPORT).ranking


def test_without_its_vectors_stage_one_alone_answers(out, tmp_path):
    shutil.copytree(out / "checkpoint", tmp_path / "c")
    (tmp_path / "c/encoder/vectors.safetensors").unlink()
    whole = Localizer.load(out)
    whole.version_.reranking = None
    assert Localizer.load(tmp_path / "c").localization(REPORT).ranking == whole.localization(REPORT).ranking
