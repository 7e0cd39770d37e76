"""Both stages from a repository to answers: by term vectors, and by an encoder of random weights."""

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
from tosloc.core.records import BugReport, ignore_progress
from tosloc.evaluate.run_paths import read_scored_run
from tosloc.evaluate.runs import read_run
from tosloc.git.repository import Repository
from tosloc.localize.localizer import Localizer
from tosloc.localize.model import Model
from tosloc.rerank.terms import reranker
from tosloc.rerank.terms import training as terms_training
from tosloc.train import experiment, training

torch.set_num_threads(1)  # as in the tests of stage two
LATER = datetime.fromtimestamp(toy.START + 100 * toy.DAY, UTC)
REPORT = BugReport(
    "new", "Violin screen wrong", "openViolin loses a click, see ViolinService", LATER
)
HEAD = 12
LEARNED = {"terms": "vectors.safetensors", "encoder": "head.safetensors"}


@pytest.fixture(autouse=True, scope="module")
def small():
    """Few candidates, so that there are files beyond, and as many steps as a small project needs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reranker.TermReranker, "depth", HEAD)
        patch.setattr(terms_training, "_REPORTS_PER_STEP", 4)
        yield


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return write_encoder(tmp_path_factory.mktemp("tiny") / "encoder", words=toy.WORDS)


def settings_of(kind, encoder):
    """Small settings, with a first stage that hears few words, so that there is something to add."""
    two = {"reranker": "terms"}
    if kind == "encoder":
        two = {
            "code_encoder": str(encoder),
            "chunks": 2,
            "chunk_tokens": 16,
            "report_tokens": 16,
            "candidates": HEAD,
        }
        two["training"] = {"epochs": 3, "pairs": 16}
    values = toy.small_config(0.6, 0.2, features=["popularity", "near_reports"]).as_dict()
    return Config.of(values | {"stage_two": two}, "toy")


def train(project, name, settings, records=None, progress=ignore_progress):
    out = project.folder / name
    training.train(
        settings, project.git.path, project.write_reports(records=records), out, progress
    )
    return out


@pytest.fixture(scope="module")
def trained(project, encoder):
    """Function (reranker) -> where it was trained."""
    return cache(lambda kind: train(project, f"out {kind}", settings_of(kind, encoder)))


@pytest.fixture(scope="module", params=LEARNED)
def kind(request):
    """Each reranker."""
    return str(request.param)


@pytest.fixture(scope="module")
def out(trained, kind):
    return trained(kind)


def record_of(out, kind):
    record = json.loads((out / f"checkpoint/{kind}/{kind}.json").read_text())
    return record


def changed(folder, out, kind, **changes):
    """A copy of a training's checkpoint with other values in its reranker's record, such as another ``weight``."""
    shutil.copytree(out / "checkpoint", folder / "checkpoint")
    record = record_of(folder, kind) | changes
    (folder / f"checkpoint/{kind}/{kind}.json").write_text(json.dumps(record))
    return folder / "checkpoint"


def alone(checkpoint):
    """The answer of its stage one alone."""
    model = replace(Model.load(checkpoint), reranker=None)
    return Localizer(model).localization(REPORT)


def asked(project, checkpoint):
    """The answer of a checkpoint to whom the repository is given, in the version that it carries."""
    with Repository(project.git.path) as repo:
        return toy.rank_at_revision(
            Localizer.load(checkpoint), REPORT, repo, project.git.commits[-2]
        )


def test_validation_says_what_its_ranking_gives_and_only_the_head_moves(out, kind):
    record, moved = record_of(out, kind), 0
    for split in ("validation", "test"):
        both, first = (
            read_run(folder / split / "run.jsonl.gz") for folder in (out, out / "stage_one")
        )
        assert both.orders.keys() == first.orders.keys()
        for report in both.orders:
            new, old = both.ranking(report).paths, first.ranking(report).paths
            assert (sorted(new), new[HEAD:]) == (sorted(old), old[HEAD:])
            moved += new != old
    name = (
        f"{'weight' if kind == 'terms' else 'encoder x'} {record['weight']:g}"
        if record["weight"]
        else "stage one"
    )
    values = []
    for place, tried in ((out, name), (out / "stage_one", "stage one")):
        judged = read_scored_run(place, "validation").evaluation()
        assert record["validation"][tried] == pytest.approx([judged.mrr, judged.map])
        values.append(judged.mrr + judged.map)
    assert values[0] >= values[1] - 1e-9
    if kind == "terms":  # words help a stage that hears none
        assert moved > 8
        assert (
            read_scored_run(out, "test").evaluation().map
            > read_scored_run(out / "stage_one", "test").evaluation().map
        )


def relabelled(project, first, last):
    """The project's records, some of them with other labels, and all but the first of these with other texts."""
    other = (
        {"fixed": [toy.class_path("Falcon")]},
        {"fixed": [toy.class_path("Falcon")], "summary": "Falcon harbor"},
    )
    return [
        record | other[number > first] if first <= number < last else record
        for number, record in enumerate(project.records)
    ]


def test_what_is_tested_teaches_nothing(out, kind, encoder, project):
    other = train(project, f"other {kind}", settings_of(kind, encoder), relabelled(project, 32, 40))
    assert (other / "test/qrels.jsonl").read_bytes() != (out / "test/qrels.jsonl").read_bytes()
    for name in (f"checkpoint/{kind}/{LEARNED[kind]}", f"checkpoint/{kind}/{kind}.json"):
        assert (other / name).read_bytes() == (out / name).read_bytes()
    mine, theirs = (read_run(folder / "test/run.jsonl.gz") for folder in (out, other))
    # later ones know the earlier ones' fixes, which are the past by then
    first = next(iter(mine.orders))
    assert mine.ranking(first) == theirs.ranking(first)


@pytest.mark.slow
def test_the_labels_of_validation_change_no_vector(trained, project, encoder):
    other = train(project, "labels", settings_of("terms", encoder), relabelled(project, 24, 26))
    one, two = (
        (out / "checkpoint/terms/vectors.safetensors").read_bytes()
        for out in (trained("terms"), other)
    )
    assert one == two


def test_localizing_with_and_without_the_repository_and_what_is_said(out, kind, project, tmp_path):
    checkpoint = changed(tmp_path, out, kind, weight=9.0)
    carried, before = Localizer.load(checkpoint).localization(REPORT), alone(checkpoint)
    again = asked(project, checkpoint)
    # an encoder reads texts, which no checkpoint carries
    assert carried.ranking == (again if kind == "terms" else before).ranking
    assert any("open a repository" in note for note in carried.notes) == (kind == "encoder")
    assert again.ranking.paths[HEAD:] == before.ranking.paths[HEAD:]
    moved, places = (
        {hit.path: hit for hit in toy.top_hits(answer, HEAD)} for answer in (again, before)
    )
    assert places.keys() == moved.keys()
    assert [*places] != [*moved]
    said = {
        path: reason.text
        for path, hit in moved.items()
        for reason in hit.why
        if reason.kind == "terms"
    }
    assert (
        any("iolin" in text for text in said.values()) == bool(said) == (kind == "terms")
    )  # what can be checked
    for path, text in said.items():
        assert moved[path].rank < places[path].rank
        assert text.startswith("Moved up from rank ")
    late = changed(
        tmp_path / "late", out, kind, weight=9.0, trained_until=int(REPORT.opened_seconds) + 1
    )
    assert (
        Localizer.load(late).localization(REPORT).ranking == before.ranking
    )  # what learned from a later fix


def test_a_run_repeats_training_and_leaves_reports_older_than_what_was_learned_to_stage_one(
    out, kind, project, tmp_path
):
    late = changed(tmp_path / "late", out, kind, weight=9.0, trained_until=int(LATER.timestamp()))
    for checkpoint, expected in ((out / "checkpoint", out), (late, out / "stage_one")):
        ranked = tmp_path / expected.name
        experiment.rank_reports(
            Model.load(checkpoint), project.git.path, project.write_reports(), ranked, "test"
        )
        again, run = (read_run(folder / "test/run.jsonl.gz") for folder in (ranked, expected))
        assert list(again.rankings()) == list(run.rankings())


@pytest.mark.slow
def test_answering_by_terms_loads_no_torch(trained):
    code = (
        "import sys; from datetime import UTC, datetime; from tosloc.localize.localizer import Localizer;"
        "from tosloc.core.records import BugReport;"
        "report = BugReport('n', 'Violin', 'openViolin', datetime.now(UTC));"
        f"answer = Localizer.load({str(trained('terms'))!r}).localization(report);"
        "answer.answer(5, answer.version.choose());"
        "assert answer.reranked is not None; assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.slow
def test_a_killed_training_goes_on_to_the_same_end(trained, project, encoder):
    settings, rest = settings_of("encoder", encoder), Epochs()
    with pytest.raises(KeyboardInterrupt):
        train(project, "killed", settings, progress=Epochs(interrupted=1))
    killed = train(project, "killed", settings, progress=rest)
    assert rest.begun == [1, 2]
    for name in ("test/run.jsonl.gz", "checkpoint/encoder/head.safetensors"):
        assert (killed / name).read_bytes() == (trained("encoder") / name).read_bytes(), name


def test_without_weight_stage_one_alone_answers(trained, project, tmp_path, monkeypatch):
    """Where validation wants nothing of it no file is encoded."""
    monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path))
    expected = alone(trained("encoder")).ranking
    answer = asked(project, changed(tmp_path, trained("encoder"), "encoder", weight=0.0))
    assert (answer.reranked, answer.ranking) == (None, expected)
    assert not [*tmp_path.glob("*/*vectors*")]
