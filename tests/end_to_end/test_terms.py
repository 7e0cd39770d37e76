"""Both stages by term vectors, from a repository to answers: nothing of the future, and the same each time."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import torch

from tests import toy
from tosloc import experiment, training
from tosloc.cli import main
from tosloc.config import Config
from tosloc.evaluate import evaluate_folder, read_run
from tosloc.evaluate.runs import TAUGHT
from tosloc.git.repository import Repository
from tosloc.localizer import Localizer
from tosloc.records import BugReport
from tosloc.reports.labelled import load_dataset
from tosloc.rerank.terms import reranker
from tosloc.rerank.terms import training as terms_training

torch.set_num_threads(1)
LATER = datetime.fromtimestamp(toy.START + 100 * toy.DAY, UTC)
REPORT = BugReport("new", "Violin screen wrong", "openViolin loses a click, see ViolinService", LATER)
HEAD = 12
RUNS = ("validation/run.jsonl.gz", "test/run.jsonl.gz", "stage_one/test/run.jsonl.gz")


@pytest.fixture(autouse=True, scope="module")
def small() -> Iterator[None]:
    """Few candidates, so that there are files beyond, and as many steps as a small project needs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reranker.TermReranker, "depth", HEAD)
        patch.setattr(terms_training, "_REPORTS", 4)
        yield


def config() -> Config:
    # a first stage that hears few words, so that there is something to add
    values = toy.config(0.6, 0.2, features=["popularity", "near_reports"]).as_dict()
    values["stage_two"] = {"reranker": "terms"}
    return Config.of(values, "toy")


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> toy.Toy:
    return toy.grow(tmp_path_factory.mktemp("toy"), bugs=40)


def train(
    project: toy.Toy, name: str, settings: Config, records: Sequence[Mapping[str, Any]] | None = None, **options: Any
) -> Path:
    out = project.folder / name
    reports = project.reports(f"{name}.jsonl", records)
    training.train(settings, project.git.path, reports, out, project.store, **options)
    return out


@pytest.fixture(scope="module")
def out(project) -> Path:
    return train(project, "out", config(), keep_features=True)


def record_of(out: Path) -> dict[str, Any]:
    record: dict[str, Any] = json.loads((out / "checkpoint/terms/terms.json").read_text())
    return record


def vectors_of(out: Path) -> bytes:
    return (out / "checkpoint/terms/vectors.safetensors").read_bytes()


def test_rankings_are_whole_and_only_the_head_moves(out):
    assert toy.only_the_head_moves(out, HEAD) > 8


def test_words_help_a_stage_that_hears_none(out):
    record = record_of(out)
    assert record["weight"] > 0
    both, first = evaluate_folder(out, "test"), evaluate_folder(out / "stage_one", "test")
    assert both.mrr + both.map > first.mrr + first.map


def test_what_validation_said_is_what_its_ranking_gives(out):
    both, first = evaluate_folder(out, "validation"), evaluate_folder(out / "stage_one", "validation")
    assert record_of(out)["validation"][f"weight {record_of(out)['weight']:g}"] == pytest.approx([both.mrr, both.map])
    assert record_of(out)["validation"]["stage one"] == pytest.approx([first.mrr, first.map])


def relabelled(project: toy.Toy, first: int, last: int) -> list[dict[str, Any]]:
    """The project's records with other labels, and the texts of the later ones changed, of some of them."""
    return [
        record | {"fixed": [toy.path_of("Falcon")]} if first <= number < last else record
        for number, record in enumerate(project.records)
    ]


@pytest.mark.slow
def test_the_labels_of_test_change_neither_what_is_learned_nor_the_first_test_ranking(out, project):
    other = train(project, "other", config(), relabelled(project, 32, 40))
    assert (other / "test/qrels.jsonl").read_bytes() != (out / "test/qrels.jsonl").read_bytes()
    assert record_of(other) == record_of(out)
    mine, theirs = (read_run(folder / "test/run.jsonl.gz") for folder in (out, other))
    # later ones know the earlier ones' fixes, which are the past by then
    first = next(iter(mine.orders))
    assert mine.ranking(first) == theirs.ranking(first)
    judged = [read_run(folder / "validation/run.jsonl.gz") for folder in (out, other)]
    assert list(judged[0].rankings()) == list(judged[1].rankings())


@pytest.mark.slow
def test_the_labels_of_validation_change_no_vector(out, project):
    other = train(project, "other labels", config(), relabelled(project, 24, 26), carry=False)
    assert vectors_of(other) == vectors_of(out)


@pytest.mark.parametrize("kind", ["future commit", "side branch"])
def test_what_is_planted_later_changes_no_score(out, tmp_path, kind):
    """A commit after the report's opening, or outside of its version, whatever it says of a file."""
    made = toy.grow(tmp_path, bugs=40)
    asked = BugReport("new", "Violin screen", "openViolin loses a click", datetime.fromtimestamp(_opened(made), UTC))
    scores = []
    for planted in (False, True):
        if planted:
            when = _opened(made) + (9 if kind == "future commit" else -5 * toy.DAY)
            parents = [made.git.made[-1] if kind == "future commit" else made.git.made[2]]
            path = toy.path_of("Falcon")
            commit = made.git.commit(
                {path: toy.source("Falcon", ["int v;"])}, "violin click", when=when, parents=parents
            )
            made.git.git("update-ref", "refs/heads/planted", commit)
        with Repository(made.git.path) as repo:
            found = toy.ask(Localizer.load(out), asked, repo, made.git.made[38], made.store).ranking
            scores.append(dict(zip(found.paths, found.scores.tolist(), strict=True)))
            early = replace(asked, opened=datetime.fromtimestamp(toy.START + 9 * toy.DAY, UTC))
            assert toy.ask(Localizer.load(out), early, repo, made.git.made[38], made.store).ranking != found
    assert scores[0] == scores[1]


def _opened(made: toy.Toy) -> int:
    return toy.START + 73 * toy.DAY


def test_localizing_with_and_without_the_repository(out, project):
    carried = Localizer.load(out).localization(REPORT)
    with Repository(project.git.path) as repo:
        asked = toy.ask(Localizer.load(out), REPORT, repo, project.git.made[-2], project.store)
    assert asked.ranking == carried.ranking
    alone = Localizer.load(out)
    alone.version_.reranking = None
    assert carried.ranking.paths[HEAD:] == alone.localization(REPORT).ranking.paths[HEAD:]
    assert carried.ranking.paths != alone.localization(REPORT).ranking.paths
    assert carried.ranking.paths[0] == toy.path_of("Violin")


def test_a_file_that_moved_says_from_where_and_by_which_words(out):
    both = Localizer.load(out)
    moved = {hit.path: hit for hit in both.localization(REPORT).top(HEAD)}
    both.version_.reranking = None
    places = {hit.path: hit.rank for hit in both.localization(REPORT).top(HEAD)}
    said = {path: [r.text for r in hit.why if r.kind == "terms"] for path, hit in moved.items()}
    told = {path: text for path, [text] in ((path, text) for path, text in said.items() if text)}
    assert all(moved[path].rank < places[path] for path in told)
    assert all(text.startswith("read again by its words: up from place ") and "(" in text for text in told.values())
    assert any("iolin" in text for text in told.values())


def test_ranking_with_the_checkpoint_repeats_the_run(out, project):
    folder = project.folder / "ranked"
    reports = project.reports()
    experiment.rank_reports(out / "checkpoint", project.git.path, reports, folder, "test", project.store)
    ranked = read_run(folder / "test/run.jsonl.gz")
    assert list(ranked.rankings()) == list(read_run(out / "test/run.jsonl.gz").rankings())
    experiment.rank_reports(out, project.git.path, reports, folder, "all", project.store)
    assert read_run(folder / "all/run.jsonl.gz").header[TAUGHT] == ranked.header["splits"]["train"]


@pytest.mark.slow
def test_learning_on_a_kept_run_is_what_training_does(out, project, capsys):
    base = config().model_copy(update={"stage_two": Config().stage_two})
    kept = train(project, "kept", base, keep_features=True)
    assert not (kept / "stage_one").exists()
    settings = project.folder / "terms.toml"
    settings.write_text('[run]\njobs = 1\n[stage_two]\nreranker = "terms"\n')
    added = project.folder / "added"
    where = ["--repo", str(project.git.path), "--store", str(project.store)]
    command = ["train", str(settings), *where, "--stage-one", str(kept), "--out", str(added), "--reports"]
    assert main([*command, str(project.folder / "kept.jsonl")]) == 0
    assert "validation" in capsys.readouterr().out
    for name in RUNS:
        assert list(read_run(added / name).rankings()) == list(read_run(out / name).rankings()), name
    mine, theirs = record_of(added), record_of(out)
    assert mine == theirs
    assert Localizer.load(added).config == config()
    # what is kept of stage one is left as it was
    assert not (kept / "work" / "reranker").exists()
    assert Localizer.load(kept).reranker_ is None
    fewer = project.reports("fewer.jsonl", project.records[:-1])
    assert main([*command, str(fewer)]) == 2
    assert "was trained on other reports" in capsys.readouterr().err
    settings.write_text("[run]\njobs = 1\n")
    assert main([*command, str(project.folder / "kept.jsonl")]) == 2
    assert "--stage-one: no second stage is configured" in capsys.readouterr().err


@pytest.mark.slow
def test_answering_loads_no_torch(out):
    code = (
        "import sys; from datetime import UTC, datetime; from tosloc.localizer import Localizer;"
        "from tosloc.records import BugReport; report = BugReport('n', 'Violin', 'openViolin', datetime.now(UTC));"
        f"answer = Localizer.load({str(out)!r}).localization(report); answer.top(5);"
        "assert answer.reranked is not None; assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_report_opened_before_what_was_learned_is_left_to_stage_one(out, project, tmp_path):
    """What learned from a later fix must not rank the report: it keeps stage one's order, and others do not."""
    with Repository(project.git.path) as repo:
        dataset = load_dataset(repo, project.reports(), zone="UTC", suffixes=frozenset({".java"}))
    tested = dataset.cases[-len(read_run(out / "test/run.jsonl.gz").orders) :]
    middle = int(tested[len(tested) // 2].report.opened_seconds)
    shutil.copytree(out / "checkpoint", tmp_path / "checkpoint")
    path = tmp_path / "checkpoint/terms/terms.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"trained_until": middle}))
    experiment.rank_reports(
        tmp_path / "checkpoint", project.git.path, project.reports(), tmp_path / "ranked", "test", project.store
    )
    toy.early_ones_keep_stage_ones_order(tmp_path / "ranked", out, tested, middle)
    early = replace(REPORT, opened=datetime.fromtimestamp(middle - 1, UTC))
    localizer = Localizer.load(tmp_path / "checkpoint")
    answer = localizer.localization(early)
    assert answer.reranked is None
    assert not any(reason.kind == "terms" for hit in answer.top(99) for reason in hit.why)
    localizer.version_.reranking = None
    assert answer.ranking == localizer.localization(early).ranking
