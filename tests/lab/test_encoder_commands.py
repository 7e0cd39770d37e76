"""An encoder reranker trained from a pack, without the repository."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from transformers import RobertaConfig

from scripts import random_encoders
from tests import toy
from tests.rerank.encoder.tiny import write_encoder
from tests.toy import WORDS
from tosloc.cli import main
from tosloc.core.errors import ToslocError
from tosloc.evaluate.run_paths import read_scored_run
from tosloc.lab.bundle import read_bundle
from tosloc.rerank.encoder.encoders import Encoder
from tosloc.rerank.encoder.reranker import EncoderReranker
from tosloc.train import training

pytestmark = pytest.mark.slow

torch.set_num_threads(1)
SETTINGS = """
[stage_two]
code_encoder = "{}"
chunks = 2
chunk_tokens = 16
report_tokens = 16
[stage_two.training]
epochs = 2
pairs = 16
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    project = toy.make_project(tmp_path_factory.mktemp("toy"), bugs=40)
    where = project.git.path, project.write_reports(), project.folder / "out"
    training.train(toy.small_config(0.6, 0.2), *where, keep_features=True, embed_version=False)
    return project


@pytest.fixture(scope="module")
def pack(project):
    """Function (name, *options) -> exit code and file of a pack."""

    def make(name, *options):
        where = [
            "--repo",
            str(project.git.path),
            "--reports",
            str(project.write_reports()),
            "--candidates",
            "8",
            *options,
        ]
        place = project.folder / name
        return main(
            ["lab", "pack", str(project.folder / "out"), *where, "--out", str(place)]
        ), place

    return make


@pytest.fixture(scope="module")
def packed(pack):
    code, place = pack("toy.pack")
    assert code == 0
    return place


@pytest.fixture
def train(packed, tmp_path):
    """Function (name, learning) -> arguments of a training, and the folder that it writes; without dropout, whose masks
    two processes draw in another order than one.
    """
    encoder = write_encoder(tmp_path / "encoder", words=WORDS)
    record = (encoder / "config.json").read_text()
    (encoder / "config.json").write_text(
        record.replace('_dropout_prob": 0.1', '_dropout_prob": 0.0')
    )

    def arguments(name, learning):
        config = tmp_path / f"{name}.toml"
        config.write_text(SETTINGS.format(encoder) + learning)
        return [
            "lab",
            "train-encoder",
            str(packed),
            str(config),
            "--out",
            str(tmp_path / name),
        ], tmp_path / name

    return arguments


def test_a_pack_holds_what_training_needs_of_all_or_the_newest_reports(packed, pack, capsys):
    whole = read_bundle(packed)
    assert {part: len(reports) for part, reports in whole.parts.items()} == {
        "train": 24,
        "validation": 8,
        "test": 8,
    }
    for part, reports in whole.parts.items():
        for one in reports:
            assert (np.diff(one.scores[:8]) <= 0).all()
            assert one.fixed.sum() + len(one.missed_ranks) == one.relevant
            assert part != "train" or not one.missed_ranks
    blob = whole.parts["test"][0].blobs[0]
    [(same, text), gone] = whole.for_reranking(packed).texts([blob, "gone"])
    assert (same, "class" in text, gone) == (blob, True, ("gone", None))
    code, few = pack("few.pack", "--train-reports", "5")
    assert (code, "5 train, 8 validation, 8 test reports" in capsys.readouterr().out) == (0, True)
    newest = [one.report for one in whole.parts["train"][-5:]]
    assert [one.report for one in read_bundle(few).parts["train"]] == newest
    assert pack("none.pack", "--train-reports", "-1")[0] == 2


def test_training_from_a_pack(project, train, capsys):
    command, out = train("two", "learning_rate = 0.02\n")
    assert main(command) == 0
    said = json.loads(capsys.readouterr().out)
    first = read_scored_run(project.folder / "out", "test").evaluation()
    assert said["test"]["stage one"] == pytest.approx(
        {"mrr": first.mrr, "map": first.map}, abs=1e-4
    )
    assert sum(said["validation"]["fused"].values()) >= sum(
        said["validation"]["stage one"].values()
    )
    assert len(json.loads((out / "result.json").read_text())["curve"]) == 1 + 2
    assert len(json.loads((out / "deep.json").read_text())["test"]) == 8
    assert EncoderReranker.load(out / "encoder").weight == said["mix"]


@pytest.mark.parametrize("learns", ["head", "both"])
def test_two_processes_learn_what_one_does(train, learns):
    learning = f'learning_rate = 0.002\nlearns = "{learns}"\n'
    (alone, one), (together, both) = (train(name, learning) for name in ("one", "both"))
    assert main(alone) == 0
    command = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc_per_node",
        "2",
        "-m",
        "tosloc",
    ]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([*command, *together], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    results = [json.loads((out / "result.json").read_text()) for out in (one, both)]
    assert [result["processes"] for result in results] == [1, 2]
    losses = [[entry["loss"] for entry in result["curve"][1:]] for result in results]
    assert losses[0] == pytest.approx(losses[1], abs=1e-3)
    assert [results[0][key] == results[1][key] for key in ("mix", "validation", "test")] == [
        True
    ] * 3


def test_random_encoders_are_made_of_a_pack(packed, tmp_path, capsys):
    small = RobertaConfig(
        vocab_size=400, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=66, type_vocab_size=1,
    )  # fmt: skip
    random_encoders.write_encoders(packed, tmp_path / "random", small)
    assert "random/report: " in capsys.readouterr().out
    encoder = Encoder.load(str(tmp_path / "random/code"), "first")
    assert (encoder.max_tokens, encoder.pieces([""], 9), encoder.tokenizer.pad_token_id) == (
        64,
        [[[0, 2]]],
        1,
    )


def test_what_is_no_pack_is_one_sentence(tmp_path, packed):
    whole = packed.read_bytes()
    for content in (b"", b"text", whole[: len(whole) // 2]):
        (tmp_path / "pack").write_bytes(content)
        with pytest.raises(ToslocError, match="damaged"):
            read_bundle(tmp_path / "pack")
    with pytest.raises(ToslocError, match="cannot read the pack"):
        read_bundle(tmp_path / "none")
