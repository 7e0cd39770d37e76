"""An encoder reranker trained from a pack, without the repository."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import RobertaConfig

from scripts import random_encoders
from tests import toy
from tests.rankers import WORDS
from tests.rerank.encoder.tiny import write_encoder
from tosloc import training
from tosloc.cli import main
from tosloc.errors import ToslocError
from tosloc.evaluate.run_paths import read_scored
from tosloc.lab.bundle import read_bundle
from tosloc.rerank.encoder.encoders import Encoder
from tosloc.rerank.encoder.reranker import EncoderReranker

pytestmark = pytest.mark.slow

torch.set_num_threads(1)


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> toy.Toy:
    project = toy.grow(tmp_path_factory.mktemp("toy"), bugs=40)
    training.train(
        toy.config(0.6, 0.2), project.git.path, project.reports(), project.folder / "out",
        keep_features=True, carry=False,
    )  # fmt: skip
    return project


@pytest.fixture(scope="module")
def packed(project) -> Path:
    place = project.folder / "toy.pack"
    where = ["--repo", str(project.git.path), "--reports", str(project.reports()), "--out", str(place)]
    assert main(["lab", "pack", str(project.folder / "out"), *where, "--candidates", "8"]) == 0
    return place


@pytest.fixture(scope="module")
def config(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("two")
    encoder = write_encoder(folder / "encoder", words=WORDS)
    (folder / "two.toml").write_text(
        f'[stage_two]\ncode_encoder = "{encoder}"\nchunks = 2\nchunk_tokens = 16\nreport_tokens = 16\n'
        "[stage_two.training]\nlearning_rate = 0.02\nepochs = 2\npairs = 16\n"
    )
    return folder / "two.toml"


def test_a_pack_holds_what_training_needs_of_all_or_the_newest_reports(packed, project, tmp_path, capsys):
    pack = read_bundle(packed)
    assert {part: len(reports) for part, reports in pack.parts.items()} == {"train": 24, "validation": 8, "test": 8}
    for part, reports in pack.parts.items():
        for one in reports:
            assert (np.diff(one.scores[:8]) <= 0).all()
            assert one.fixed.sum() + len(one.missed_ranks) == one.relevant
            assert part != "train" or not one.missed_ranks
    [(blob, text)] = pack.read([pack.parts["test"][0].blobs[0]])
    assert blob == pack.parts["test"][0].blobs[0]
    assert "class" in text
    assert list(pack.read(["gone"])) == [("gone", None)]
    where = ["--repo", str(project.git.path), "--reports", str(project.folder / "reports.jsonl")]
    few = ["--train-reports", "5", "--judged-reports", "2", "--candidates", "8", "--out", str(tmp_path / "few.pack")]
    assert main(["lab", "pack", str(project.folder / "out"), *where, *few]) == 0
    assert "5 train, 2 validation, 2 test reports" in capsys.readouterr().out
    for part, reports in read_bundle(tmp_path / "few.pack").parts.items():
        assert [one.report for one in reports] == [one.report for one in pack.parts[part][-len(reports) :]]
    assert main(["lab", "pack", str(project.folder / "out"), *where, *few, "--judged-reports", "-1"]) == 2


def test_training_from_a_pack(packed, config, project, capsys):
    out = project.folder / "two"
    capsys.readouterr()
    assert main(["lab", "train-encoder", str(packed), str(config), "--out", str(out)]) == 0
    said = json.loads(capsys.readouterr().out)
    first = read_scored(project.folder / "out", "test").evaluation()
    assert said["test"]["stage one"] == pytest.approx({"mrr": first.mrr, "map": first.map}, abs=1e-4)
    assert said["validation"]["fused"]["mrr"] + said["validation"]["fused"]["map"] >= (
        said["validation"]["stage one"]["mrr"] + said["validation"]["stage one"]["map"]
    )
    assert len(json.loads((out / "result.json").read_text())["curve"]) == 1 + 2
    assert len(json.loads((out / "deep.json").read_text())["test"]) == 8
    assert EncoderReranker.load(out / "encoder").weight == said["mix"]


@pytest.mark.parametrize("learns", ["head", "both"])
def test_two_processes_learn_what_one_does(packed, config, learns, tmp_path):
    encoder = write_encoder(tmp_path / "encoder", words=WORDS)
    place = encoder / "config.json"  # without dropout, whose masks two processes draw in another order than one
    place.write_text(place.read_text().replace('_dropout_prob": 0.1', '_dropout_prob": 0.0'))
    lines = [line for line in config.read_text().splitlines(keepends=True) if "code_encoder" not in line]
    two = tmp_path / "two.toml"
    two.write_text("".join(lines).replace("[stage_two]\n", f'[stage_two]\ncode_encoder = "{encoder}"\n', 1))
    gentle = two.read_text().replace("learning_rate = 0.02", "learning_rate = 0.002")
    two.write_text(f'{gentle}learns = "{learns}"\n')
    assert main(["lab", "train-encoder", str(packed), str(two), "--out", str(tmp_path / "one")]) == 0
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", "-m", "tosloc"]
    command += ["lab", "train-encoder", str(packed), str(two), "--out", str(tmp_path / "both")]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    one, both = (json.loads((tmp_path / name / "result.json").read_text()) for name in ("one", "both"))
    assert (said["processes"], one["processes"]) == (2, 1)
    losses = [[entry["loss"] for entry in result["curve"][1:]] for result in (both, one)]
    assert losses[0] == pytest.approx(losses[1], abs=1e-3)
    assert both["mix"] == one["mix"]
    scores = [json.loads((tmp_path / name / "deep.json").read_text()) for name in ("one", "both")]
    for part in ("validation", "test"):
        assert scores[0][part].keys() == scores[1][part].keys()
        for report, row in scores[0][part].items():
            assert row == pytest.approx(scores[1][part][report], abs=1e-3)
        assert both[part] == one[part]


def test_random_encoders_learn_from_a_pack(packed, config, tmp_path, capsys):
    small = RobertaConfig(
        vocab_size=400, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=66, type_vocab_size=1,
    )  # fmt: skip
    random_encoders.write_encoders(packed, tmp_path / "random", small)
    assert "random/report: " in capsys.readouterr().out
    encoder = Encoder.load(str(tmp_path / "random/code"), "first")
    assert (encoder.longest, encoder.pieces([""], 9), encoder.tokenizer.pad_token_id) == (64, [[[0, 2]]], 1)
    named = f'code_encoder = "{tmp_path}/random/code"\nreport_encoder = "{tmp_path}/random/report"\n'
    lines = [line for line in config.read_text().splitlines(keepends=True) if "code_encoder" not in line]
    both = tmp_path / "both.toml"
    both.write_text("".join(lines).replace("[stage_two]\n", f"[stage_two]\n{named}", 1) + 'learns = "both"\n')
    assert main(["lab", "train-encoder", str(packed), str(both), "--out", str(tmp_path / "out")]) == 0
    curve = json.loads((tmp_path / "out/result.json").read_text())["curve"]
    assert curve[2]["loss"] < curve[1]["loss"]


def test_what_is_no_pack_is_one_sentence(tmp_path, packed):
    whole = packed.read_bytes()
    for content in (b"", b"text", whole[: len(whole) // 2]):
        (tmp_path / "pack").write_bytes(content)
        with pytest.raises(ToslocError, match="damaged"):
            read_bundle(tmp_path / "pack")
    with pytest.raises(ToslocError, match="cannot read the pack"):
        read_bundle(tmp_path / "none")
