"""Both stages from a repository to answers: by term vectors, and by an encoder of random weights."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch

from tests import toy
from tests.rerank.encoder.tiny import Epochs, write_encoder
from tosloc import experiment, training
from tosloc.config import Config
from tosloc.evaluate.run_paths import read_scored
from tosloc.evaluate.runs import read_run
from tosloc.git.repository import Repository
from tosloc.localizer import Localizer
from tosloc.records import BugReport, Progress, silent
from tosloc.rerank.terms import reranker
from tosloc.rerank.terms import training as terms_training

torch.set_num_threads(1)  # as in the tests of stage two
LATER = datetime.fromtimestamp(toy.START + 100 * toy.DAY, UTC)
REPORT = BugReport("new", "Violin screen wrong", "openViolin loses a click, see ViolinService", LATER)
HEAD = 12
LEARNED = {"terms": "vectors.safetensors", "encoder": "head.safetensors"}


@pytest.fixture(autouse=True, scope="module")
def small() -> Iterator[None]:
    """Few candidates, so that there are files beyond, and as many steps as a small project needs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reranker.TermReranker, "depth", HEAD)
        patch.setattr(terms_training, "_REPORTS", 4)
        yield


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_encoder(tmp_path_factory.mktemp("tiny") / "encoder", words=toy.WORDS)


def config(two: Mapping[str, Any], **stage_one: Any) -> Config:
    # a first stage that hears few words, so that there is something to add
    values = toy.config(0.6, 0.2, **{"features": ["popularity", "near_reports"], **stage_one}).as_dict()
    return Config.of(values | {"stage_two": two}, "toy")


def by_encoder(encoder: Path, **learning: Any) -> dict[str, Any]:
    sizes = {"chunks": 2, "chunk_tokens": 16, "report_tokens": 16, "candidates": HEAD}
    return {"code_encoder": str(encoder), **sizes, "training": {"epochs": 3, "pairs": 16, **learning}}


def settings_of(kind: str, encoder: Path) -> Config:
    return config({"reranker": "terms"} if kind == "terms" else by_encoder(encoder))


def train(
    project: toy.Toy,
    name: str,
    settings: Config,
    records: Sequence[Mapping[str, Any]] | None = None,
    progress: Progress = silent,
    **options: Any,
) -> Path:
    out = project.folder / name
    reports = project.reports(f"{name}.jsonl" if records else "reports.jsonl", records)
    training.train(settings, project.git.path, reports, out, progress, **options)
    return out


@pytest.fixture(scope="module")
def trained(project: toy.Toy, encoder: Path) -> Callable[[str], Path]:
    """Function (reranker) -> where it was trained."""
    return cache(lambda kind: train(project, f"out {kind}", settings_of(kind, encoder)))


@pytest.fixture(scope="module", params=LEARNED)
def kind(request: pytest.FixtureRequest) -> str:
    """Each reranker."""
    return str(request.param)


@pytest.fixture(scope="module")
def out(trained: Callable[[str], Path], kind: str) -> Path:
    return trained(kind)


def record_of(out: Path, kind: str) -> dict[str, Any]:
    record: dict[str, Any] = json.loads((out / f"checkpoint/{kind}/{kind}.json").read_text())
    return record


def changed(folder: Path, out: Path, kind: str, **changes: Any) -> Path:
    """A copy of a training's checkpoint with other values in its reranker's record, such as another ``weight``."""
    shutil.copytree(out / "checkpoint", folder / "checkpoint")
    record = record_of(folder, kind) | changes
    (folder / f"checkpoint/{kind}/{kind}.json").write_text(json.dumps(record))
    return folder / "checkpoint"


def alone(checkpoint: Path) -> Localizer:
    """The same with stage one alone."""
    made = Localizer.load(checkpoint)
    assert made.version_ is not None
    made.version_.reranking = None
    return made


def test_validation_says_what_its_ranking_gives_and_only_the_head_moves(out: Path, kind: str) -> None:
    record, moved = record_of(out, kind), 0
    for split in ("validation", "test"):
        both, first = (read_run(folder / split / "run.jsonl.gz") for folder in (out, out / "stage_one"))
        assert both.orders.keys() == first.orders.keys()
        for report in both.orders:
            new, old = both.ranking(report).paths, first.ranking(report).paths
            assert sorted(new) == sorted(old)
            assert new[HEAD:] == old[HEAD:]
            moved += new != old
    judged, before = (read_scored(place, "validation").evaluation() for place in (out, out / "stage_one"))
    name = f"{'weight' if kind == 'terms' else 'encoder x'} {record['weight']:g}" if record["weight"] else "stage one"
    assert record["validation"][name] == pytest.approx([judged.mrr, judged.map])
    assert record["validation"]["stage one"] == pytest.approx([before.mrr, before.map])
    assert judged.mrr + judged.map >= before.mrr + before.map - 1e-9
    if kind == "terms":  # words help a stage that hears none
        assert moved > 8
        tested, before = read_scored(out, "test").evaluation(), read_scored(out / "stage_one", "test").evaluation()
        assert tested.mrr + tested.map > before.mrr + before.map


def relabelled(project: toy.Toy, first: int, last: int) -> list[dict[str, Any]]:
    """The project's records, some of them with other labels, and all but the first of these with other texts."""
    other = {"fixed": [toy.path_of("Falcon")]}
    return [
        record | other | ({"summary": "Falcon harbor"} if number > first else {}) if first <= number < last else record
        for number, record in enumerate(project.records)
    ]


def test_what_is_tested_teaches_nothing(out: Path, kind: str, encoder: Path, project: toy.Toy) -> None:
    other = train(project, f"other {kind}", settings_of(kind, encoder), relabelled(project, 32, 40))
    assert (other / "test/qrels.jsonl").read_bytes() != (out / "test/qrels.jsonl").read_bytes()
    for name in (f"checkpoint/{kind}/{LEARNED[kind]}", f"checkpoint/{kind}/{kind}.json"):
        assert (other / name).read_bytes() == (out / name).read_bytes()
    mine, theirs = (read_run(folder / "test/run.jsonl.gz") for folder in (out, other))
    # later ones know the earlier ones' fixes, which are the past by then
    first = next(iter(mine.orders))
    assert mine.ranking(first) == theirs.ranking(first)


@pytest.mark.slow
def test_the_labels_of_validation_change_no_vector(trained: Callable[[str], Path], project: toy.Toy) -> None:
    other = train(project, "labels", config({"reranker": "terms"}), relabelled(project, 24, 26), embed_version=False)
    one, two = ((out / "checkpoint/terms/vectors.safetensors").read_bytes() for out in (trained("terms"), other))
    assert one == two


def test_localizing_with_and_without_the_repository_and_what_is_said(
    out: Path, kind: str, project: toy.Toy, tmp_path: Path
) -> None:
    checkpoint = changed(tmp_path, out, kind, weight=9.0)
    carried, before = Localizer.load(checkpoint).localization(REPORT), alone(checkpoint).localization(REPORT)
    with Repository(project.git.path) as repo:
        asked = toy.ask(Localizer.load(checkpoint), REPORT, repo, project.git.made[-2])
        moved = {hit.path: hit for hit in toy.top(asked, HEAD)}
    # an encoder reads texts, which no checkpoint carries
    assert carried.ranking == (asked if kind == "terms" else before).ranking
    assert any("give --repo" in note for note in carried.notes) == (kind == "encoder")
    assert asked.ranking.paths[HEAD:] == before.ranking.paths[HEAD:]
    assert asked.ranking.paths[:HEAD] != before.ranking.paths[:HEAD]
    places = {hit.path: hit for hit in toy.top(before, HEAD)}
    assert places.keys() == moved.keys()
    said = {path: reason.text for path, hit in moved.items() for reason in hit.why if reason.kind == "terms"}
    assert bool(said) == (kind == "terms")  # an encoder says nothing that nobody can check
    for path, text in said.items():
        assert moved[path].rank < places[path].rank
        assert text.startswith("read again by its words: up from place ")
    assert kind == "encoder" or any("iolin" in text for text in said.values())


def test_a_report_opened_before_what_was_learned_is_left_to_stage_one(
    out: Path, kind: str, project: toy.Toy, tmp_path: Path
) -> None:
    """What learned from a later fix must not rank the report: it keeps stage one's order, and others do not."""
    opened = {record["id"]: datetime.fromisoformat(record["opened"]).timestamp() for record in project.records}
    middle = int(opened[project.records[36]["id"]])
    whole = changed(tmp_path / "whole", out, kind, weight=9.0)
    late = changed(tmp_path / "late", out, kind, weight=9.0, trained_until=middle)
    runs = []
    for checkpoint, name in ((whole, "both"), (late, "ranked")):
        experiment.rank_reports(checkpoint, project.git.path, project.reports(), tmp_path / name, "test")
        runs.append(read_run(tmp_path / name / "test/run.jsonl.gz"))
    both, again, first, moved = *runs, read_run(out / "stage_one/test/run.jsonl.gz"), 0
    for report in again.orders:
        wanted = both if opened[report] >= middle else first
        assert again.ranking(report).paths == wanted.ranking(report).paths
        moved += both.ranking(report).paths != first.ranking(report).paths and wanted is first
    assert moved  # else the rule would not be seen
    early = replace(REPORT, opened=datetime.fromtimestamp(middle - 1, UTC))
    answer = Localizer.load(late).localization(early)
    assert answer.reranked is None
    assert not any(reason.kind == "terms" for hit in toy.top(answer, 99) for reason in hit.why)
    assert answer.ranking == alone(late).localization(early).ranking


def test_ranking_with_the_checkpoint_repeats_the_run(out: Path, project: toy.Toy, tmp_path: Path) -> None:
    experiment.rank_reports(out / "checkpoint", project.git.path, project.reports(), tmp_path, "test")
    again, run = (read_run(folder / "test/run.jsonl.gz") for folder in (tmp_path, out))
    assert list(again.rankings()) == list(run.rankings())


@pytest.mark.slow
def test_answering_by_terms_loads_no_torch(trained: Callable[[str], Path]) -> None:
    code = (
        "import sys; from datetime import UTC, datetime; from tosloc.localizer import Localizer;"
        "from tosloc.records import BugReport; from tosloc.reports.test_paths import PathFilter;"
        "report = BugReport('n', 'Violin', 'openViolin', datetime.now(UTC));"
        f"answer = Localizer.load({str(trained('terms'))!r}).localization(report);"
        "answer.answer(5, answer.version.choose(PathFilter()));"
        "assert answer.reranked is not None; assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# The encoder


@pytest.mark.slow
def test_encoders_learn_too(project: toy.Toy, encoder: Path) -> None:
    out = train(project, "both", config(by_encoder(encoder, learns="both", epochs=2, chunks_at_once=5)))
    assert all(math.isfinite(value) for pair in record_of(out, "encoder")["validation"].values() for value in pair)
    # the encoder that learned lies in the checkpoint; the one it began from may go
    assert (out / "checkpoint/encoder/code/model.safetensors").is_file()
    assert len(Localizer.load(out).localization(REPORT).ranking) == 28


@pytest.mark.slow
def test_a_killed_training_goes_on_to_the_same_end(
    trained: Callable[[str], Path], project: toy.Toy, encoder: Path
) -> None:
    settings = settings_of("encoder", encoder)
    with pytest.raises(KeyboardInterrupt):
        train(project, "killed", settings, progress=Epochs(interrupted=1))
    rest = Epochs()
    killed = train(project, "killed", settings, progress=rest)
    assert rest.begun == [1, 2]
    for name in ("test/run.jsonl.gz", "checkpoint/encoder/head.safetensors"):
        assert (killed / name).read_bytes() == (trained("encoder") / name).read_bytes(), name


def test_without_weight_stage_one_alone_answers(
    trained: Callable[[str], Path], project: toy.Toy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where validation wants nothing of it no file is encoded."""
    monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path))
    localizer = Localizer.load(changed(tmp_path, trained("encoder"), "encoder", weight=0.0))
    expected = alone(trained("encoder")).localization(REPORT).ranking
    with Repository(project.git.path) as repo:
        answer = toy.ask(localizer, REPORT, repo, project.git.made[-2])
    assert (answer.reranked, answer.ranking) == (None, expected)
    assert not [*tmp_path.glob("*/*vectors*")]
