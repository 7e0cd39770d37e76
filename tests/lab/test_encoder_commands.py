"""A second stage trained from a pack, without the repository."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import numpy as np
import pytest
import torch
from tosloc.reranking.encoder.checkpoint import EncoderModels

from tests.end_to_end import toy
from tests.reranking.encoder.tiny import write_encoder
from tosloc import training
from tosloc.cli.lab import encoder as second
from tosloc.errors import ToslocError
from tosloc.evaluation import evaluate_folder
from tosloc.lab import ablation
from tosloc.lab.bundle import read_bundle
from tosloc.reranking.encoder.training import Trainer

torch.set_num_threads(1)
WORDS = [word for theme in toy.THEMES for word in (theme, theme.lower(), f"open{theme}", f"{theme}Service")]


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> toy.Toy:
    project = toy.grow(tmp_path_factory.mktemp("toy"), bugs=40)
    training.train(
        toy.config(0.6, 0.2), project.git.path, project.reports(), project.folder / "out", project.store,
        default=None, keep_features=True, carry=False,
    )  # fmt: skip
    return project


@pytest.fixture(scope="module")
def packed(project) -> Path:
    place = project.folder / "toy.pack"
    where = ["--repo", str(project.git.path), "--reports", str(project.reports()), "--out", str(place)]
    assert second.main(["pack", str(project.folder / "out"), *where, "--candidates", "8"]) == 0
    return place


@pytest.fixture(scope="module")
def config(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("two")
    encoder = write_encoder(folder / "encoder", words=WORDS)
    (folder / "two.toml").write_text(
        f'[stage_two]\ncode_encoder = "{encoder}"\nchunks = 2\nchunk_tokens = 16\nreport_tokens = 16\nside_rank = 4\n'
        'precision = "float32"\nstage_one_features = true\n[stage_two.training]\nepochs = 2\npairs = 16\n'
        'pairs_at_once = 16\ndevice = "cpu"\n'
    )
    return folder / "two.toml"


def test_a_pack_holds_what_training_needs(packed):
    pack = read_bundle(packed)
    assert {part: len(reports) for part, reports in pack.parts.items()} == {"train": 24, "validation": 8, "test": 8}
    for part, reports in pack.parts.items():
        for one in reports:
            assert one.features.shape == (len(one.blobs), one.features.shape[1])
            assert (np.diff(one.scores[:8]) <= 0).all()
            assert one.fixed.sum() + len(one.missed_ranks) == one.relevant
            assert part != "train" or not one.missed_ranks
    [(blob, text)] = pack.read([pack.parts["test"][0].blobs[0]])
    assert blob == pack.parts["test"][0].blobs[0]
    assert "class" in text
    assert list(pack.read(["gone"])) == [("gone", None)]


def test_a_pack_of_the_newest_reports(packed, project, tmp_path, capsys):
    where = ["--repo", str(project.git.path), "--reports", str(project.folder / "reports.jsonl")]
    few = ["--train-reports", "5", "--judged-reports", "2", "--candidates", "8", "--out", str(tmp_path / "few.pack")]
    assert second.main(["pack", str(project.folder / "out"), *where, *few]) == 0
    assert "5 train, 2 validation, 2 test reports" in capsys.readouterr().out
    whole, made = read_bundle(packed), read_bundle(tmp_path / "few.pack")
    for part, reports in made.parts.items():
        assert [one.report for one in reports] == [one.report for one in whole.parts[part][-len(reports) :]]
    with pytest.raises(SystemExit):
        second.main(["pack", str(project.folder / "out"), *where, *few, "--judged-reports", "-1"])


def test_training_from_a_pack(packed, config, project, capsys):
    out = project.folder / "two"
    capsys.readouterr()
    assert second.main(["train", str(packed), str(config), "--out", str(out)]) == 0
    said = json.loads(capsys.readouterr().out)
    first = evaluate_folder(project.folder / "out", "test")
    assert said["test"]["stage one"] == pytest.approx({"mrr": first.mrr, "map": first.map}, abs=1e-4)
    assert said["validation"]["fused"]["mrr"] + said["validation"]["fused"]["map"] >= (
        said["validation"]["stage one"]["mrr"] + said["validation"]["stage one"]["map"]
    )
    assert len(json.loads((out / "result.json").read_text())["curve"]) == 2
    assert len(json.loads((out / "deep.json").read_text())["test"]) == 8
    assert EncoderModels.load(out / "second").head.last is not None


def test_what_is_no_pack_is_one_sentence(tmp_path, packed):
    whole = packed.read_bytes()
    for content, words in (
        (b"", "damaged"),
        (b"text", "damaged"),
        (whole[: len(whole) // 2], "damaged"),
    ):
        (tmp_path / "pack").write_bytes(content)
        with pytest.raises(ToslocError, match=words):
            read_bundle(tmp_path / "pack")
    with pytest.raises(ToslocError, match="cannot read the pack"):
        read_bundle(tmp_path / "none")


@pytest.fixture(scope="module")
def ablated(packed, config, project) -> Path:
    out = project.folder / "ablated"
    assert second.main(["ablate", str(packed), str(config), "--out", str(out), "--json"]) == 0
    return out


def test_every_row_of_the_ablation_is_trained_once(ablated, packed, config, capsys, monkeypatch):
    where = [str(packed), str(config), "--out", str(ablated)]
    begun = []
    whole = Trainer.fit
    monkeypatch.setattr(Trainer, "fit", lambda self, *args: begun.append(self.folder) or whole(self, *args))
    # a row that was lost is trained again and gives the same; the others are read
    kept = (ablated / "BCE-loss/found.json").read_bytes()
    (ablated / "BCE-loss/found.json").write_bytes(kept[:-40])
    assert second.main(["ablate", *where, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert begun == [ablated / "BCE-loss/work"]
    assert json.loads((ablated / "BCE-loss/found.json").read_text())["deep"] == json.loads(kept)["deep"]
    assert [row["name"] for row in rows] == [variant.name for variant in ablation.VARIANTS]
    assert {row["epochs"] for row in rows} == {2}
    assert rows[0]["paper"] == {"mrr": 0.46, "map": 0.39}
    assert len({json.dumps(row["validation"]["stage one"]) for row in rows}) == 1
    for row in rows:
        assert sum(row["validation"]["fused"].values()) >= sum(row["validation"]["stage one"].values())
    scores = {
        variant.name: ablation.Found.read(_found(ablated, variant.name), _key(ablated, variant.name))
        for variant in ablation.VARIANTS
    }
    told = {json.dumps([s.tolist() for s in found.deep["test"]]) for found in scores.values()}
    assert len(told) == len(rows)  # each exchanged part changes something


def _found(folder: Path, name: str) -> Path:
    return folder / name.replace(" ", "-") / "found.json"


def _key(folder: Path, name: str) -> str:
    return json.loads(_found(folder, name).read_text())["key"]


def test_the_configured_row_is_what_training_gives(ablated, packed, config, project, capsys):
    capsys.readouterr()
    out = project.folder / "two-again"
    assert second.main(["train", str(packed), str(config), "--out", str(out)]) == 0
    said = json.loads(capsys.readouterr().out)
    assert second.main(["ablate", str(packed), str(config), "--out", str(ablated), "--json"]) == 0
    row = json.loads(capsys.readouterr().out)[0]
    for name in ("mix", "epochs", "validation", "test"):
        assert row[name] == said[name], name


def test_another_configuration_is_trained_anew(ablated, packed, config, project, tmp_path, capsys, monkeypatch):
    other = tmp_path / "other.toml"
    other.write_text(config.read_text().replace("epochs = 2", "epochs = 1"))
    assert second.main(["sweep", str(packed), str(other), "--out", str(ablated), "--candidates", "8"]) == 0
    assert json.loads(_found(ablated, "TosLoc").read_text())["epochs"] == 1


def test_the_table_of_the_ablation_has_the_papers_numbers(ablated, packed, config, capsys):
    assert second.main(["ablate", str(packed), str(config), "--out", str(ablated), "--markdown"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("| MRR / MAP | validation, deep | validation, fused | test, deep |")
    assert said[2].startswith("| stage one |  |")
    assert [line.split(" | ")[-1].rstrip(" |") for line in said[3:]] == [
        ".46 / .39", ".34 / .26", ".24 / .12", ".39 / .32", ".37 / .29", ".44 / .35", ".35 / .29",
    ]  # fmt: skip
    assert second.main(["ablate", str(packed), str(config), "--out", str(ablated)]) == 0
    assert "word2vec" in capsys.readouterr().out


def test_sweep_cuts_the_head_and_draws(ablated, packed, config, tmp_path, capsys):
    where = [str(packed), str(config), "--out", str(ablated)]
    figure = tmp_path / "sweep.svg"
    assert second.main(["sweep", *where, "--candidates", "1,3,8", "--json", "--figure", str(figure)]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["candidates"] for row in rows] == [1, 3, 8]
    pack = read_bundle(packed)
    for part in ("validation", "test"):
        reports = pack.parts[part]
        for row in rows:
            hits = [int(one.fixed[: row["candidates"]].sum()) for one in reports]
            assert row[part]["coverage"] == pytest.approx(sum(hits) / sum(one.relevant for one in reports), abs=1e-4)
            assert row[part]["any"] == pytest.approx(sum(map(bool, hits)) / len(hits), abs=1e-4)
        # one file cannot be reordered
        assert rows[0][part]["deep"] == rows[0][part]["fused"] == rows[0][part]["stage one"]
    assert second.main(["ablate", *where, "--json"]) == 0
    whole = json.loads(capsys.readouterr().out)[0]
    assert {part: rows[-1][part]["deep"] for part in ("validation", "test")} == {
        part: whole[part]["deep"] for part in ("validation", "test")
    }
    drawn = {ending: figure.with_suffix(ending).read_bytes() for ending in (".svg", ".png")}
    assert b"<svg" in drawn[".svg"]
    assert drawn[".png"].startswith(b"\x89PNG")
    assert second.main(["sweep", *where, "--candidates", "3", "--markdown"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("| 3 | ")


def test_only_what_training_uses_is_encoded(packed, config, project, tmp_path, capsys):
    few = tmp_path / "few.toml"
    few.write_text(config.read_text().replace("epochs = 2", "epochs = 1\nnegatives = 1"))
    drawn = tmp_path / "drawn.toml"
    drawn.write_text(few.read_text() + "negatives_by_rank = true\n")
    kept = {}
    for place in (few, drawn):
        out = tmp_path / place.stem
        assert second.main(["sweep", str(packed), str(place), "--out", str(out), "--candidates", "8"]) == 0
        with sqlite3.connect(out / "vectors.sqlite") as database:
            kept[place.stem] = {blob for (blob,) in database.execute("SELECT blob FROM vectors")}
        database.close()
    pack = read_bundle(packed)
    train = [one for one in pack.parts["train"] if one.fixed.any()]
    judged = {blob for part in ("validation", "test") for one in pack.parts[part] for blob in one.blobs}
    right = {blob for one in train for blob, fixed in zip(one.blobs, one.fixed, strict=True) if fixed}
    wrong = {one.blobs[int(np.flatnonzero(~one.fixed)[0])] for one in train}
    assert kept["few"] == judged | right | wrong
    # what is drawn anew each epoch may be any of them
    assert kept["drawn"] == {blob for reports in pack.parts.values() for one in reports for blob in one.blobs}
    assert kept["few"] < kept["drawn"]


def test_more_files_than_the_pack_holds_is_one_sentence(packed, config, tmp_path):
    with pytest.raises(ToslocError, match="holds 8 files a report, not 9; pack again with --candidates 9"):
        second.main(["sweep", str(packed), str(config), "--out", str(tmp_path), "--candidates", "3,9"])
    none = tmp_path / "none.toml"
    none.write_text("")
    with pytest.raises(ToslocError, match="names no encoder"):
        second.main(["ablate", str(packed), str(none), "--out", str(tmp_path)])
    for wrong in ("0", "a", ""):
        with pytest.raises(SystemExit):
            second.main(["sweep", str(packed), str(config), "--out", str(tmp_path), "--candidates", wrong])
