"""Both stages from a repository to answers: with term vectors, and with a random encoder."""

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache

import pytest
import torch

from tests import toy
from tests.rerank.encoder.tiny import Epochs, write_encoder
from tosloc.core.config import Config
from tosloc.core.progress import ignore_progress
from tosloc.core.reports import BugReport
from tosloc.evaluate.run_paths import ScoredRun
from tosloc.evaluate.runs.run import read_run
from tosloc.git.repository import Repository
from tosloc.localize.localizer import Localizer
from tosloc.localize.model import Model
from tosloc.localize.question import Question
from tosloc.rerank.terms import reranker
from tosloc.rerank.terms import training as terms_training
from tosloc.train import experiment, training

torch.set_num_threads(1)  # as in the tests of stage two
LATER = datetime.fromtimestamp(toy.START + 100 * toy.DAY, UTC)
REPORT = BugReport(
    "new", "Violin screen wrong", "openViolin loses a click, see ViolinService", LATER
)
HEAD_SIZE = 12
WEIGHT_FILES = {"terms": "vectors.safetensors", "encoder": "head.safetensors"}
"""Name of a reranker -> name of the file with what it learned."""
SPLITS = ("validation", "test")


@pytest.fixture(autouse=True, scope="module")
def small_reranker():
    """Let term vectors rerank fewer files than the project has, and learn in few steps."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reranker.TermReranker, "depth", HEAD_SIZE)
        patch.setattr(terms_training, "_REPORTS_PER_STEP", 4)
        yield


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    """Return the folder of a tiny encoder of random weights."""
    return write_encoder(tmp_path_factory.mktemp("tiny") / "encoder", words=toy.WORDS)


def make_settings(kind, encoder):
    """Return small settings whose stage one reads few words, so that a reranker can help."""
    stage_two: dict[str, object]
    if kind == "terms":
        stage_two = {"reranker": "terms"}
    else:
        stage_two = {
            "code_encoder": str(encoder),
            "chunks": 2,
            "chunk_tokens": 16,
            "report_tokens": 16,
            "candidates": HEAD_SIZE,
            "training": {"epochs": 3, "pairs": 16},
        }
    values = toy.small_config(0.6, 0.2, features=["popularity", "near_reports"]).as_dict()
    return Config.of(values | {"stage_two": stage_two}, "toy")


def train(project, name, settings, records=None, progress=ignore_progress):
    """Train with some records of a project, by default all; return the folder of the results."""
    out = project.folder / name
    reports = project.write_reports(records=records)
    training.train(settings, project.git.path, reports, out, progress)
    return out


@pytest.fixture(scope="module")
def train_once(project, encoder):
    """Return a function (reranker) -> folder of its training on all reports."""
    return cache(lambda kind: train(project, f"out {kind}", make_settings(kind, encoder)))


@pytest.fixture(scope="module", params=WEIGHT_FILES)
def kind(request):
    """Return the name of each reranker."""
    return str(request.param)


terms_only = pytest.mark.parametrize("kind", ["terms"], indirect=True)
encoder_only = pytest.mark.parametrize("kind", ["encoder"], indirect=True)


@pytest.fixture(scope="module")
def out(train_once, kind):
    """Return the folder of the training with each reranker."""
    return train_once(kind)


# Runs of a training


def read_rankings(out, split):
    """Return the paths in order of rank for each report of a run."""
    run = read_run(out / split / "run.jsonl.gz")
    return {ranking.report: ranking.paths for ranking in run.rankings()}


def evaluate(out, split):
    return ScoredRun.read(out, split).evaluation()


def read_record(folder, kind):
    """Return the record of a reranker in the checkpoint of a folder."""
    return json.loads((folder / f"checkpoint/{kind}/{kind}.json").read_text())


@pytest.mark.parametrize("split", SPLITS)
def test_only_the_head_moves(out, split):
    rankings = read_rankings(out, split)
    first_rankings = read_rankings(out / "stage_one", split)
    assert rankings.keys() == first_rankings.keys()
    for report, paths in rankings.items():
        assert sorted(paths) == sorted(first_rankings[report])
        assert paths[HEAD_SIZE:] == first_rankings[report][HEAD_SIZE:]


@terms_only
def test_terms_move_files_of_most_reports(out):
    moved = 0
    for split in SPLITS:
        first_rankings = read_rankings(out / "stage_one", split)
        for report, paths in read_rankings(out, split).items():
            moved += paths != first_rankings[report]
    assert moved > 8


@terms_only
def test_terms_help_a_stage_one_that_reads_few_words(out):
    assert evaluate(out, "test").map > evaluate(out / "stage_one", "test").map


def name_of_choice(record):
    """Return the name, in a reranker's record, of the weight that was chosen on validation."""
    if not record["weight"]:
        return "stage one"
    return f"weight {record['weight']:g}"


def test_the_record_has_the_measures_of_validation(out, kind):
    record = read_record(out, kind)
    both = evaluate(out, "validation")
    alone = evaluate(out / "stage_one", "validation")
    chosen = record["validation"][name_of_choice(record)]
    assert chosen == pytest.approx([both.mrr, both.map])
    assert record["validation"]["stage one"] == pytest.approx([alone.mrr, alone.map])


def test_the_choice_is_no_worse_than_stage_one_on_validation(out):
    both = evaluate(out, "validation")
    alone = evaluate(out / "stage_one", "validation")
    assert both.mrr + both.map >= alone.mrr + alone.map - 1e-9


# What is tested teaches nothing


def relabel(project, first, last):
    """Return the project's records, with another label in those from ``first`` to ``last``.

    All of these but the first also have another summary.
    """
    records = list(project.records)
    for number in range(first, last):
        records[number] = records[number] | {"fixed": [toy.class_path("Falcon")]}
        if number > first:
            records[number]["summary"] = "Falcon harbor"
    return records


@pytest.fixture(scope="module")
def relabelled_out(kind, encoder, project):
    """Return the folder of a training with other labels and texts of the test reports."""
    settings = make_settings(kind, encoder)
    return train(project, f"relabelled {kind}", settings, relabel(project, 32, 40))


def test_other_labels_of_test_reports_are_other_judgements(out, relabelled_out):
    judgements = (out / "test/qrels.jsonl").read_bytes()
    assert (relabelled_out / "test/qrels.jsonl").read_bytes() != judgements


def test_nothing_is_learned_from_test_reports(out, relabelled_out, kind):
    for name in (WEIGHT_FILES[kind], f"{kind}.json"):
        learned = (out / "checkpoint" / kind / name).read_bytes()
        assert (relabelled_out / "checkpoint" / kind / name).read_bytes() == learned


def test_the_first_test_report_is_ranked_whatever_its_label(out, relabelled_out):
    """Later ones know the fixes of earlier ones, which are the past by then."""
    run = read_run(out / "test/run.jsonl.gz")
    first = next(iter(run.orders))
    assert read_run(relabelled_out / "test/run.jsonl.gz").ranking(first) == run.ranking(first)


@pytest.mark.slow
def test_the_labels_of_validation_change_no_vector(train_once, project, encoder):
    settings = make_settings("terms", encoder)
    relabelled_out = train(project, "labels", settings, relabel(project, 24, 26))
    vectors = (train_once("terms") / "checkpoint/terms/vectors.safetensors").read_bytes()
    assert (relabelled_out / "checkpoint/terms/vectors.safetensors").read_bytes() == vectors


# Localizing


def change_record(folder, out, kind, **changes):
    """Return a copy of a training's checkpoint with other values in its reranker's record."""
    shutil.copytree(out / "checkpoint", folder / "checkpoint")
    record = read_record(folder, kind) | changes
    (folder / f"checkpoint/{kind}/{kind}.json").write_text(json.dumps(record))
    return folder / "checkpoint"


def localize_by_stage_one(checkpoint):
    """Return the localization by stage one of a checkpoint alone."""
    model = replace(Model.load(checkpoint), reranker=None)
    return Localizer(model).rank(Question(REPORT))


def localize_in_repository(project, checkpoint):
    """Return the localization in the version that a checkpoint contains, with the repository."""
    localizer = Localizer.load(checkpoint)
    with Repository(project.git.path) as repo:
        return toy.rank_at_revision(localizer, REPORT, repo, project.git.commits[-2])


@pytest.fixture(scope="module")
def heavy_checkpoint(out, kind, tmp_path_factory):
    """Return a checkpoint of each reranker in which the reranker has a large weight."""
    return change_record(tmp_path_factory.mktemp("heavy"), out, kind, weight=9.0)


@pytest.fixture(scope="module")
def first_localization(heavy_checkpoint):
    """Return the localization by stage one alone."""
    return localize_by_stage_one(heavy_checkpoint)


@pytest.fixture(scope="module")
def localization(project, heavy_checkpoint):
    """Return the localization by both stages in the repository."""
    return localize_in_repository(project, heavy_checkpoint)


@pytest.fixture(scope="module")
def carried_localization(heavy_checkpoint):
    """Return the localization by both stages without the repository."""
    return Localizer.load(heavy_checkpoint).rank(Question(REPORT))


@terms_only
def test_terms_rerank_without_the_repository(carried_localization, localization):
    assert carried_localization.ranking == localization.ranking
    assert not any("open a repository" in note for note in carried_localization.notes)


@encoder_only
def test_an_encoder_needs_the_repository(carried_localization, first_localization):
    """An encoder reads texts, which no checkpoint contains."""
    assert carried_localization.ranking == first_localization.ranking
    assert any("open a repository" in note for note in carried_localization.notes)


def test_localizing_moves_only_the_head(localization, first_localization):
    paths = localization.ranking.paths
    first_paths = first_localization.ranking.paths
    assert set(paths[:HEAD_SIZE]) == set(first_paths[:HEAD_SIZE])
    assert paths[:HEAD_SIZE] != first_paths[:HEAD_SIZE]
    assert paths[HEAD_SIZE:] == first_paths[HEAD_SIZE:]


def term_reasons(localization):
    """Return the texts of reasons of the kind "terms" in the head, by path."""
    texts = {}
    for hit in toy.top_hits(localization, HEAD_SIZE):
        for reason in hit.reasons:
            if reason.kind == "terms":
                texts[hit.path] = reason.text
    return texts


@terms_only
def test_reasons_name_terms_that_can_be_checked(localization):
    assert any("iolin" in text for text in term_reasons(localization).values())


@terms_only
def test_files_with_terms_as_a_reason_have_moved_up(localization, first_localization):
    paths = localization.ranking.paths
    first_paths = first_localization.ranking.paths
    for path, text in term_reasons(localization).items():
        assert paths.index(path) < first_paths.index(path)
        assert text.startswith("Moved up from rank ")


@encoder_only
def test_an_encoder_gives_no_reasons(localization):
    assert term_reasons(localization) == {}


def test_a_reranker_that_learned_from_later_fixes_is_not_asked(
    out, kind, first_localization, tmp_path
):
    until = int(REPORT.opened_seconds) + 1
    late = change_record(tmp_path, out, kind, weight=9.0, trained_until=until)
    assert Localizer.load(late).rank(Question(REPORT)).ranking == first_localization.ranking


def test_without_weight_stage_one_alone_answers(train_once, project, tmp_path, monkeypatch):
    """An encoder that validation gave no weight encodes no file."""
    monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path))
    out = train_once("encoder")
    checkpoint = change_record(tmp_path, out, "encoder", weight=0.0)
    localization = localize_in_repository(project, checkpoint)
    assert localization.reranked is None
    assert localization.ranking == localize_by_stage_one(out).ranking
    assert list(tmp_path.glob("*/*vectors*")) == []


# Ranking again


def rank_test_reports(project, checkpoint, ranked):
    """Return the rankings of the test reports without training, by their reports."""
    model = Model.load(checkpoint)
    reports = project.write_reports()
    experiment.rank_reports(Localizer(model), project.git.path, reports, ranked, "test")
    return list(read_run(ranked / "test/run.jsonl.gz").rankings())


def test_ranking_repeats_the_run_of_training(out, project, tmp_path):
    expected = list(read_run(out / "test/run.jsonl.gz").rankings())
    assert rank_test_reports(project, out / "checkpoint", tmp_path / "ranked") == expected


def test_ranking_leaves_reports_older_than_the_training_to_stage_one(out, kind, project, tmp_path):
    until = int(LATER.timestamp())
    late = change_record(tmp_path / "late", out, kind, weight=9.0, trained_until=until)
    expected = list(read_run(out / "stage_one/test/run.jsonl.gz").rankings())
    assert rank_test_reports(project, late, tmp_path / "ranked") == expected


# Processes

ANSWER_BY_TERMS = """
import sys
from datetime import UTC, datetime
from tosloc.core.reports import BugReport
from tosloc.localize.compose import compose
from tosloc.localize.localizer import Localizer
from tosloc.localize.question import Question

report = BugReport("n", "Violin", "openViolin", datetime.now(UTC))
localization = Localizer.load(sys.argv[1]).rank(Question(report))
compose(localization, Question(report, top=5))
assert localization.reranked is not None
assert "torch" not in sys.modules
"""


@pytest.mark.slow
def test_answering_by_terms_loads_no_torch(train_once):
    command = [sys.executable, "-c", ANSWER_BY_TERMS, str(train_once("terms"))]
    subprocess.run(command, check=True)


@pytest.mark.slow
def test_a_killed_training_continues_to_the_same_result(train_once, project, encoder):
    settings = make_settings("encoder", encoder)
    with pytest.raises(KeyboardInterrupt):
        train(project, "killed", settings, progress=Epochs(interrupted=1))
    remaining = Epochs()
    killed_out = train(project, "killed", settings, progress=remaining)
    assert remaining.begun == [1, 2]
    for name in ("test/run.jsonl.gz", "checkpoint/encoder/head.safetensors"):
        expected = (train_once("encoder") / name).read_bytes()
        assert (killed_out / name).read_bytes() == expected, name
