"""Table 6 and figure 6 from a project that grows here to the finished table, with a tiny encoder."""

import json
import shutil

import pytest
import torch

from tests import toy
from tests.lab.test_reproduce import ours, refuse, runner, values_of
from tests.rerank.encoder.tiny import write_encoder
from tests.toy import WORDS
from tosloc.cli import main
from tosloc.lab.ablation import VARIANTS
from tosloc.lab.paper import reranking
from tosloc.rerank.encoder.reranker import Trainer
from tosloc.train import training

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


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("grown")
    toy.make_project(folder / "elm", bugs=20, themes=8)
    (folder / "terms.toml").write_text(toy.SETTINGS + '[stage_two]\nreranker = "terms"\n')
    (folder / "two.toml").write_text(TWO)
    (folder / "published").mkdir()
    for table in ("table-6", "figure-6"):
        (folder / "published" / f"{table}.toml").write_text(PUBLISHED)
    listed = '[elm]\nrepo = "elm/repo"\nreports = "elm/reports.jsonl"\nconfig = "terms.toml"\n'
    (folder / "projects.toml").write_text(listed)
    write_encoder(folder / "encoder", words=WORDS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tosloc.lab.paper.workspace.FOLDER", folder / "published")
        for name, value in (
            ("CONFIG", folder / "two.toml"),
            ("TRAIN_REPORTS", 10),
            ("CANDIDATES", (2, 5)),
        ):
            patch.setattr(reranking, name, value)
        yield folder


@pytest.fixture
def reproduce(place, capsys):
    """With the tiny encoder."""
    return runner(place, capsys, "--encoder", str(place / "encoder"))


@pytest.fixture(scope="module")
def made(place):
    """Table 6 and figure 6, made once: the training too."""
    base = ["--projects", str(place / "projects.toml"), "--out", str(place / "out"), "--json"]
    for table in ("table-6", "figure-6"):
        assert main(["lab", "reproduce", table, *base, "--encoder", str(place / "encoder")]) == 0
    return place / "out"


def test_table_6_is_what_the_variants_say(made, reproduce):
    code, out, _ = reproduce("table-6", "--json")
    numbers = values_of(out)
    rows = json.loads((made / "second" / "ablate-elm.json").read_text())
    assert (code, [row["name"] for row in rows]) == (0, list(VARIANTS))
    assert len({row["curve"][-1]["loss"] for row in rows}) == len(
        VARIANTS
    )  # each learns something else
    for row in rows:
        for order, said in reranking.ORDERS.items():
            for measure, short in reranking.MEASURES:
                assert (
                    numbers[f"elm, {said}", row["name"], measure]["ours"]
                    == row["test"][order][short]
                )
    assert (
        numbers["elm, both stages", "stage one", "MRR"]["ours"]
        == rows[0]["test"]["stage one"]["mrr"]
    )
    assert len(numbers) == 2 * (2 * len(VARIANTS) + 1)
    assert (
        "elm: encoder encoder, trained on the 10 newest training reports"
        in json.loads(out)["notes"]
    )
    assert numbers["elm, both stages", "word2vec", "MAP"]["published"] == 0.26


def test_a_second_call_trains_nothing_again(made, reproduce, capsys, monkeypatch, place):
    tables = {table: reproduce(table, "--json") for table in ("table-6", "figure-6")}
    monkeypatch.setattr(training, "train", refuse)
    monkeypatch.setattr(Trainer, "fit", refuse)
    monkeypatch.setattr(reranking, "bundle_training", refuse)
    # an encoder is what its weights are, from wherever it is named
    shutil.copytree(place / "encoder", place / "copy")
    monkeypatch.chdir(place)
    bare = runner(place, capsys)
    for table, before in tables.items():
        assert values_of(bare(table, "--json", "--encoder", "copy")[1]) == values_of(before[1])
        assert values_of(bare(table, "--json")[1]) == values_of(
            before[1]
        )  # what was made is read without an encoder


def test_figure_6_reads_more_and_more_files_of_one_training(made, reproduce, tmp_path):
    code, out, _ = reproduce("figure-6", "--json", "--figures", str(tmp_path))
    numbers, rows = ours(out), json.loads((made / "second" / "sweep-elm.json").read_text())
    assert (code, {number for number, _ in numbers}, len(numbers)) == (0, {"2", "5"}, 2 * 2 * 2)
    assert [row["candidates"] for row in rows] == [2, 5]
    assert numbers["5", "elm: MAP, deep order alone"] == rows[1]["test"]["deep"]["map"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["figure-6.png", "figure-6.svg"]


def test_candidates_are_drawn_over_a_logarithmic_axis():
    series = {"MRR": {10: 0.4, 40: 0.5, 50: 0.6}, "MAP": {10: 0.3, 40: 0.35, 50: 0.4}}
    figure = reranking.candidates_figure({"elm": series, "oak": series}, "mean")
    assert [panel.get_title() for panel in figure.axes] == ["elm", "oak"]
    [_, second] = figure.axes[1].lines
    assert (second.get_label(), [*second.get_ydata()]) == ("MAP", [0.3, 0.35, 0.4])
    assert [tick.get_text() for tick in figure.axes[0].get_xticklabels()] == ["10", "50"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == list(series)
