"""Table 6 and figure 6 of a small project, made with a tiny encoder."""

import json
import shutil

import numpy as np
import pytest
import torch

from tests import toy
from tests.lab.test_reproduce import cells_by_key, make_runner, our_numbers, refuse
from tests.rerank.encoder.tiny import write_encoder
from tests.toy import WORDS
from tosloc.cli import main
from tosloc.lab.ablation import VARIANTS
from tosloc.lab.paper import reranking
from tosloc.rerank.encoder.reranker import Trainer
from tosloc.train import training

pytestmark = pytest.mark.slow  # every variant is trained
torch.set_num_threads(1)
STAGE_TWO = """
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


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return the folder of a project, its configurations, the paper's numbers and an encoder."""
    folder = tmp_path_factory.mktemp("projects")
    toy.make_project(folder / "elm", bugs=20, themes=8)
    (folder / "terms.toml").write_text(toy.SETTINGS + '[stage_two]\nreranker = "terms"\n')
    (folder / "two.toml").write_text(STAGE_TWO)
    (folder / "published").mkdir()
    for table in ("table-6", "figure-6"):
        (folder / "published" / f"{table}.toml").write_text(PUBLISHED)
    (folder / "projects.toml").write_text(
        '[elm]\nrepo = "elm/repo"\nreports = "elm/reports.jsonl"\nconfig = "terms.toml"\n'
    )
    write_encoder(folder / "encoder", words=WORDS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tosloc.lab.paper.workspace.PUBLISHED_FOLDER", folder / "published")
        patch.setattr(reranking, "DEFAULT_CONFIG", folder / "two.toml")
        patch.setattr(reranking, "TRAIN_REPORTS", 10)
        patch.setattr(reranking, "CANDIDATES", (2, 5))
        yield folder


@pytest.fixture
def reproduce(folder, capsys):
    """Return a function that runs ``reproduce`` with the tiny encoder."""
    return make_runner(folder, capsys, "--encoder", str(folder / "encoder"))


@pytest.fixture(scope="module")
def results_folder(folder):
    """Return the folder of the results of table 6 and figure 6, made once with their training."""
    options = ["--projects", str(folder / "projects.toml"), "--out", str(folder / "out"), "--json"]
    for table in ("table-6", "figure-6"):
        encoder = str(folder / "encoder")
        assert main(["lab", "reproduce", table, *options, "--encoder", encoder]) == 0
    return folder / "out" / "second"


@pytest.fixture(scope="module")
def variant_rows(results_folder):
    """Return the results of the variants of table 6."""
    return json.loads((results_folder / "ablate-elm.json").read_text())


def test_every_variant_is_trained_and_learns_something_else(variant_rows):
    assert [row["name"] for row in variant_rows] == list(VARIANTS)
    losses = {row["curve"][-1]["loss"] for row in variant_rows}
    assert len(losses) == len(VARIANTS)


def test_table_6_shows_the_results_of_each_variant(variant_rows, reproduce):
    code, out, _ = reproduce("table-6", "--json")
    assert code == 0
    expected = {}
    stage_one = variant_rows[0]["test"]["stage one"]
    for measure, key in reranking.MEASURES:
        expected["elm, both stages", "stage one", measure] = stage_one[key]
        for row in variant_rows:
            for order, title in reranking.ORDERS.items():
                expected[f"elm, {title}", row["name"], measure] = row["test"][order][key]
    numbers = {key: cell["ours"] for key, cell in cells_by_key(out).items()}
    assert numbers == expected
    assert len(numbers) == 2 * (2 * len(VARIANTS) + 1)


def test_table_6_notes_the_encoder_and_shows_published_numbers(results_folder, reproduce):
    _, out, _ = reproduce("table-6", "--json")
    note = "elm: encoder encoder, trained on the 10 newest training reports"
    assert note in json.loads(out)["notes"]
    assert cells_by_key(out)["elm, both stages", "word2vec", "MAP"]["published"] == 0.26


@pytest.mark.parametrize("table", ["table-6", "figure-6"])
def test_second_call_trains_nothing(
    table, results_folder, reproduce, capsys, monkeypatch, folder, tmp_path
):
    cells = cells_by_key(reproduce(table, "--json")[1])
    monkeypatch.setattr(training, "train", refuse)
    monkeypatch.setattr(Trainer, "fit", refuse)
    monkeypatch.setattr(reranking, "bundle_training", refuse)
    run_without_encoder = make_runner(folder, capsys)
    # An encoder is identified by its weights, not by its path.
    shutil.copytree(folder / "encoder", tmp_path / "copy")
    monkeypatch.chdir(tmp_path)
    with_copy = run_without_encoder(table, "--json", "--encoder", "copy")[1]
    assert cells_by_key(with_copy) == cells
    # Finished results are read without an encoder.
    assert cells_by_key(run_without_encoder(table, "--json")[1]) == cells


def test_figure_6_reranks_more_files_by_one_trained_model(results_folder, reproduce, tmp_path):
    code, out, _ = reproduce("figure-6", "--json", "--figures", str(tmp_path))
    assert code == 0
    numbers = our_numbers(out)
    rows = json.loads((results_folder / "sweep-elm.json").read_text())
    assert {number for number, _ in numbers} == {"2", "5"}
    assert len(numbers) == 2 * 2 * 2
    assert [row["candidates"] for row in rows] == [2, 5]
    deep_map = rows[1]["test"]["deep"]["map"]
    assert numbers["5", "elm: MAP, second stage alone"] == deep_map
    assert sorted(path.name for path in tmp_path.iterdir()) == ["figure-6.png", "figure-6.svg"]


@pytest.fixture
def curves():
    return {"MRR": {10: 0.4, 40: 0.5, 50: 0.6}, "MAP": {10: 0.3, 40: 0.35, 50: 0.4}}


def test_candidates_figure_has_a_panel_for_each_project(curves):
    figure = reranking.candidates_figure({"elm": curves, "oak": curves}, "mean")
    assert [panel.get_title() for panel in figure.axes] == ["elm", "oak"]
    [_, second_line] = figure.axes[1].lines
    assert second_line.get_label() == "MAP"
    assert list(np.asarray(second_line.get_ydata())) == [0.3, 0.35, 0.4]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == list(curves)


def test_candidates_figure_labels_only_round_numbers(curves):
    figure = reranking.candidates_figure({"elm": curves}, "mean")
    assert [tick.get_text() for tick in figure.axes[0].get_xticklabels()] == ["10", "50"]
