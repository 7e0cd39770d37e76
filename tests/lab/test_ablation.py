"""The encoder reranker's parts exchanged one at a time, each trained once."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import numpy as np
import pytest
import torch

from tests import toy
from tests.lab.test_encoder_commands import config, packed, project  # noqa: F401
from tosloc.config import load_config
from tosloc.lab.ablation import CONFIGURED, VARIANTS, AblationRunner, VariantScores, train_on_bundle
from tosloc.lab.bundle import read_bundle
from tosloc.rerank.encoder.training import Trainer

pytestmark = pytest.mark.slow

torch.set_num_threads(1)


@pytest.fixture(scope="module")
def runner(packed: Path, config: Path, project: toy.Toy) -> AblationRunner:  # noqa: F811
    folder = project.folder / "ablated"
    return AblationRunner(packed, load_config(config), folder, folder / "vectors.sqlite")


@pytest.fixture(scope="module")
def rows(runner):
    return runner.ablation()


def test_every_variant_is_trained_once(rows, runner, monkeypatch):
    begun = []
    whole = Trainer.fit
    monkeypatch.setattr(Trainer, "fit", lambda self, *args: begun.append(self.folder) or whole(self, *args))
    # a row that was lost is trained again and gives the same; the others are read
    path = runner.folder / "BCE-loss/found.json"
    stored = path.read_bytes()
    path.write_bytes(stored[:-40])
    again = runner.ablation()
    assert begun == [runner.folder / "BCE-loss/work"]
    assert json.loads(path.read_text())["deep"] == json.loads(stored)["deep"]
    assert [{**row, "seconds": 0} for row in again] == [{**row, "seconds": 0} for row in rows]
    assert [row["name"] for row in rows] == [variant.name for variant in VARIANTS]
    assert {row["epochs"] for row in rows} == {2}
    assert len({json.dumps(row["validation"]["stage one"]) for row in rows}) == 1
    for row in rows:
        assert sum(row["validation"]["fused"].values()) >= sum(row["validation"]["stage one"].values())
    scores = [runner.stored(variant) for variant in VARIANTS]
    told = {json.dumps([row.tolist() for row in one.scores["test"]]) for one in scores}
    assert len(told) >= len(rows) - 2  # a loss without gain on validation leaves the head as it began


def test_the_configured_row_is_what_training_gives(rows, packed, config, tmp_path):  # noqa: F811
    trained = train_on_bundle(packed, load_config(config), tmp_path)
    for name in ("mix", "epochs", "validation", "test"):
        assert rows[0][name] == trained[name], name


def test_another_configuration_is_trained_anew(rows, runner, packed, config, tmp_path):  # noqa: F811
    other = tmp_path / "other.toml"
    other.write_text(config.read_text().replace("epochs = 2", "epochs = 1"))
    again = AblationRunner(packed, load_config(other), tmp_path, runner.vectors)
    assert again.key(CONFIGURED) != runner.key(CONFIGURED)
    stored = runner.folder_of(CONFIGURED) / "found.json"
    assert VariantScores.read(stored, again.key(CONFIGURED)) is None
    assert again.scores(CONFIGURED).epochs == 1


def test_a_sweep_cuts_the_candidates(rows, runner):
    swept = runner.sweep((1, 3, 8))
    assert [row["candidates"] for row in swept] == [1, 3, 8]
    for part in ("validation", "test"):
        # one file cannot be reordered
        assert swept[0][part]["deep"] == swept[0][part]["fused"] == swept[0][part]["stage one"]
        assert swept[-1][part] == rows[0][part]


def test_only_what_training_uses_is_encoded(packed, config, tmp_path):  # noqa: F811
    few = tmp_path / "few.toml"
    few.write_text(
        config.read_text().replace("epochs = 2", "epochs = 1").replace("[stage_two]", "[stage_two]\ncandidates = 2")
    )
    AblationRunner(packed, load_config(few), tmp_path, tmp_path / "vectors.sqlite").sweep((8,))
    with sqlite3.connect(tmp_path / "vectors.sqlite") as database:
        kept = {blob for (blob,) in database.execute("SELECT blob FROM chunk_vectors")}
    database.close()
    bundle = read_bundle(packed)
    train = [one for one in bundle.parts["train"] if one.fixed.any()]
    scored = {blob for part in ("validation", "test") for one in bundle.parts[part] for blob in one.blobs}
    right = {blob for one in train for blob, fixed in zip(one.blobs, one.fixed, strict=True) if fixed}
    wrong = {one.blobs[int(np.flatnonzero(~one.fixed)[0])] for one in train}
    assert kept == scored | right | wrong
    assert kept < {blob for reports in bundle.parts.values() for one in reports for blob in one.blobs}
