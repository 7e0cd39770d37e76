"""Table 6 and figure 6 from a project that grows here to the finished table, with a tiny encoder."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from tests import toy
from tests.lab.test_reproduce import Run, refuse, runner, values_of
from tests.rankers import WORDS
from tests.rerank.encoder.tiny import write_encoder
from tosloc import training
from tosloc.cli import main
from tosloc.config import load_config
from tosloc.lab import ablation
from tosloc.lab.ablation import train_on_bundle
from tosloc.lab.paper import reranking
from tosloc.rerank.encoder.reranker import Trainer

pytestmark = pytest.mark.slow  # every variant is trained
torch.set_num_threads(1)
TWO = """
[stage_two]
chunks = 2
chunk_tokens = 16
report_tokens = 16
candidates = 8
[stage_two.training]
epochs = 2
pairs = 16
"""
PUBLISHED = """title = "toys"
source = "nobody's paper"
[paper.elm]
word2vec = { MRR = 0.34, MAP = 0.26 }
"""
NAMES = [variant.name for variant in ablation.VARIANTS]


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> toy.Toy:
    grown = toy.grow(tmp_path_factory.mktemp("grown") / "elm", bugs=20, themes=8)
    folder = grown.folder.parent
    (folder / "terms.toml").write_text(toy.SETTINGS + '[stage_two]\nreranker = "terms"\n')
    (folder / "two.toml").write_text(TWO)
    (folder / "published").mkdir()
    for table in ("table-6", "figure-6"):
        (folder / "published" / f"{table}.toml").write_text(PUBLISHED)
    (folder / "projects.toml").write_text(
        '[elm]\nrepo = "elm/repo"\nreports = "elm/reports.jsonl"\nconfig = "terms.toml"\n'
    )
    write_encoder(folder / "encoder", words=WORDS)
    return grown


@pytest.fixture(scope="module")
def place(grown: toy.Toy) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tosloc.lab.paper.workspace.FOLDER", grown.folder.parent / "published")
        for name, value in (
            ("CONFIG", grown.folder.parent / "two.toml"),
            ("TRAIN_REPORTS", 10),
            ("CANDIDATES", (2, 5)),
        ):
            patch.setattr(reranking, name, value)
        yield grown.folder.parent


@pytest.fixture
def bare(place: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(place, capsys)


@pytest.fixture
def reproduce(place: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """With the tiny encoder."""
    return runner(place, capsys, "--encoder", str(place / "encoder"))


@pytest.fixture(scope="module")
def made(place: Path) -> Path:
    """Table 6 and figure 6, made once: the training too."""
    for table in ("table-6", "figure-6"):
        base = ["--projects", str(place / "projects.toml")]
        base += ["--out", str(place / "out"), "--encoder", str(place / "encoder"), "--json"]
        assert main(["lab", "reproduce", table, *base]) == 0
    return place / "out"


def numbers_of(printed: str) -> dict[tuple[str, ...], float]:
    """(table, row, column) -> our number."""
    return {place: cell["ours"] for place, cell in values_of(printed).items()}


def test_table_6_is_what_the_variants_say(made, reproduce, place, tmp_path):
    code, out, _ = reproduce("table-6", "--json")
    assert code == 0
    numbers = numbers_of(out)
    # the same from the pack, step by step
    two = tmp_path / "two.toml"
    two.write_text(TWO.replace("[stage_two]", f'[stage_two]\ncode_encoder = "{place / "encoder"}"'))
    where = ["--repo", str(place / "elm/repo"), "--reports", str(place / "elm/reports.jsonl")]
    options = ["--candidates", "8", "--train-reports", "10", "--out", str(tmp_path / "pack")]
    assert main(["lab", "pack", str(made / "elm"), *where, *options]) == 0
    assert (tmp_path / "pack").read_bytes() == (made / "second" / "elm.pack").read_bytes()
    rows = json.loads((made / "second" / "ablate-elm.json").read_text())
    assert [row["name"] for row in rows] == NAMES
    trained = train_on_bundle(tmp_path / "pack", load_config(two), tmp_path / "alone")
    for name in ("mix", "epochs", "validation", "test"):
        assert rows[0][name] == trained[name], name
    for row in rows:
        for order, said in reranking.ORDERS.items():
            for measure, short in reranking.MEASURES.items():
                assert numbers[f"elm, {said}", row["name"], measure] == row["test"][order][short]
    assert numbers["elm, both stages", "stage one", "MRR"] == rows[0]["test"]["stage one"]["mrr"]
    assert len(numbers) == 2 * (2 * len(NAMES) + 1)
    assert "elm: encoder encoder, trained on the 10 newest training reports" in json.loads(out)["notes"]
    lines = [line.split() for line in reproduce("table-6")[1].splitlines() if "word2vec" in line]
    assert [(line[2], line[4]) for line in lines] == [("(.34)", "(.26)")] * 2


def test_a_second_call_trains_nothing_again(made, reproduce, bare, monkeypatch, place, tmp_path):
    tables = {table: reproduce(table, "--json") for table in ("table-6", "figure-6")}
    monkeypatch.setattr(training, "train", refuse)
    monkeypatch.setattr(Trainer, "fit", refuse)
    monkeypatch.setattr(reranking, "bundle_training", refuse)
    for table, before in tables.items():
        assert reproduce(table, "--json") == before
    # the folder of an encoder is the same from wherever it is named, and wherever a copy of it lies
    monkeypatch.chdir(place)
    assert bare("table-6", "--json", "--encoder", "encoder") == tables["table-6"]
    shutil.copytree(place / "encoder", tmp_path / "copy")
    # what was made is read without an encoder
    numbers = numbers_of(tables["table-6"][1])
    for options in (["--encoder", str(tmp_path / "copy")], ["--finished"], []):
        assert numbers_of(bare("table-6", "--json", *options)[1]) == numbers


def test_an_interrupted_training_goes_on(made, reproduce, tmp_path, monkeypatch):
    whole = numbers_of(reproduce("table-6", "--json")[1])
    options = ["--runs", str(made), "--out", str(tmp_path / "new"), "--json"]
    real, epochs = Trainer._epoch, list[int]()

    def killed(self, optimizer, train, epoch, progress):
        epochs.append(epoch)
        if len(epochs) == 4:  # the second epoch of the second variant
            raise KeyboardInterrupt
        return real(self, optimizer, train, epoch, progress)

    monkeypatch.setattr(Trainer, "_epoch", killed)
    code, out, err = reproduce("table-6", *options)
    assert (code, out) == (130, "")
    assert "go on" in err
    code, out, _ = reproduce("table-6", *options)
    assert code == 0
    assert numbers_of(out) == whole
    assert epochs == [0, 1, 0, 1, 1] + [0, 1] * 5


def test_figure_6_reads_more_and_more_files_of_one_training(made, reproduce, tmp_path):
    code, out, _ = reproduce("figure-6", "--json", "--figures", str(tmp_path))
    assert code == 0
    numbers = numbers_of(out)
    assert {key[1] for key in numbers} == {"2", "5"}
    assert len(numbers) == 2 * 2 * 2
    rows = json.loads((made / "second" / "sweep-elm.json").read_text())
    assert [row["candidates"] for row in rows] == [2, 5]
    assert numbers["files read again", "5", "elm: MAP, deep order alone"] == rows[1]["test"]["deep"]["map"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["figure-6.png", "figure-6.svg"]
    # as many candidates as the pack of another number holds
    packs = {path.name for path in (made / "second").glob("*.pack")}
    assert packs == {"elm.pack", "elm-5.pack"}


def test_candidates_are_drawn_over_a_logarithmic_axis():
    series = {"MRR": [0.4, 0.5, 0.6], "MAP": [0.3, 0.35, 0.4]}
    figure = reranking.candidates_figure({"elm": ([10, 40, 50], series), "oak": ([10, 40, 50], series)}, "mean")
    assert [panel.get_title() for panel in figure.axes] == ["elm", "oak"]
    assert {line.get_label(): list(line.get_ydata()) for line in figure.axes[1].lines} == series
    assert [tick.get_text() for tick in figure.axes[0].get_xticklabels()] == ["10", "50"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == list(series)
    assert figure.axes[0].get_ylim() == figure.axes[1].get_ylim()
