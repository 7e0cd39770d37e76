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
from tosloc.evaluate.run_paths import ScoredRun
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
    """Return a project with a training in the folder ``out``."""
    project = toy.make_project(tmp_path_factory.mktemp("toy"), bugs=40)
    training.train(
        toy.small_config(0.6, 0.2),
        project.git.path,
        project.write_reports(),
        project.folder / "out",
        keep_features=True,
        embed_version=False,
    )
    return project


@pytest.fixture(scope="module")
def make_pack(project):
    """Return a function that writes a pack and returns the exit code and the file."""

    def make(name, *options):
        pack = project.folder / name
        arguments = ["lab", "pack", str(project.folder / "out")]
        arguments += ["--repo", str(project.git.path), "--reports", str(project.write_reports())]
        arguments += ["--candidates", "8", *options, "--out", str(pack)]
        return main(arguments), pack

    return make


@pytest.fixture(scope="module")
def pack(make_pack):
    code, pack = make_pack("toy.pack")
    assert code == 0
    return pack


@pytest.fixture
def training_command(pack, tmp_path):
    """Return a function that returns the command of a training and the folder that it writes.

    The encoder has no dropout, whose masks two processes draw in another order than one.
    """
    encoder = write_encoder(tmp_path / "encoder", words=WORDS)
    config_file = encoder / "config.json"
    without_dropout = config_file.read_text().replace('_dropout_prob": 0.1', '_dropout_prob": 0.0')
    config_file.write_text(without_dropout)

    def make(name, settings):
        config = tmp_path / f"{name}.toml"
        config.write_text(SETTINGS.format(encoder) + settings)
        out = tmp_path / name
        return ["lab", "train-encoder", str(pack), str(config), "--out", str(out)], out

    return make


def test_pack_has_the_reports_of_each_part(pack):
    parts = read_bundle(pack).parts
    numbers = {part: len(candidates) for part, candidates in parts.items()}
    assert numbers == {"train": 24, "validation": 8, "test": 8}


def test_pack_has_sorted_candidates_and_all_fixed_files_of_training(pack):
    for part, part_candidates in read_bundle(pack).parts.items():
        for candidates in part_candidates:
            assert (np.diff(candidates.scores[:8]) <= 0).all()
            assert candidates.fixed.sum() + len(candidates.missed_ranks) == candidates.relevant
            assert part != "train" or not candidates.missed_ranks


def test_pack_has_the_texts_of_its_candidates(pack):
    bundle = read_bundle(pack)
    blob = bundle.parts["test"][0].blobs[0]
    [(read_blob, text), unknown] = bundle.for_reranking(pack).texts([blob, "gone"])
    assert read_blob == blob
    assert "class" in text
    assert unknown == ("gone", None)


def test_pack_can_have_only_the_newest_training_reports(pack, make_pack, capsys):
    code, small_pack = make_pack("few.pack", "--train-reports", "5")
    assert code == 0
    assert "5 train, 8 validation, 8 test reports" in capsys.readouterr().out
    newest = [candidates.report for candidates in read_bundle(pack).parts["train"][-5:]]
    packed = [candidates.report for candidates in read_bundle(small_pack).parts["train"]]
    assert packed == newest


def test_negative_number_of_training_reports_is_refused(make_pack):
    assert make_pack("none.pack", "--train-reports", "-1")[0] == 2


def test_training_from_a_pack_keeps_stage_one_and_improves_validation(
    project, training_command, capsys
):
    command, out = training_command("two", "learning_rate = 0.02\n")
    assert main(command) == 0
    printed = json.loads(capsys.readouterr().out)
    stage_one = ScoredRun.read(project.folder / "out", "test").evaluation()
    expected = {"mrr": stage_one.mrr, "map": stage_one.map}
    assert printed["test"]["stage one"] == pytest.approx(expected, abs=1e-4)
    validation = printed["validation"]
    assert sum(validation["fused"].values()) >= sum(validation["stage one"].values())
    gain = printed["gains over stage one"]["validation"]["fused"]["mrr"]
    fused_gain = validation["fused"]["mrr"] - validation["stage one"]["mrr"]
    assert gain["difference"] == pytest.approx(fused_gain, abs=2e-4)
    assert gain["interval"][0] <= gain["difference"] <= gain["interval"][1]
    assert len(json.loads((out / "result.json").read_text())["curve"]) == 1 + 2
    assert len(json.loads((out / "deep.json").read_text())["test"]) == 8
    assert EncoderReranker.load(out / "encoder").weight == printed["mix"]


@pytest.mark.parametrize("learns", ["head", "both"])
def test_two_processes_learn_what_one_does(training_command, learns):
    settings = f'learning_rate = 0.002\nlearns = "{learns}"\n'
    one_process, one_out = training_command("one", settings)
    two_processes, two_out = training_command("both", settings)
    assert main(one_process) == 0
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    launcher += ["--nproc_per_node", "2", "-m", "tosloc"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    completed = subprocess.run(
        [*launcher, *two_processes], capture_output=True, text=True, env=environment
    )
    assert completed.returncode == 0, completed.stderr
    first, second = (json.loads((out / "result.json").read_text()) for out in (one_out, two_out))
    assert first["processes"] == 1
    assert second["processes"] == 2
    first_losses = [entry["loss"] for entry in first["curve"][1:]]
    second_losses = [entry["loss"] for entry in second["curve"][1:]]
    assert first_losses == pytest.approx(second_losses, abs=1e-3)
    assert first["mix"] == second["mix"]
    assert first["validation"] == second["validation"]
    assert first["test"] == second["test"]


def test_random_encoders_are_made_from_a_pack(pack, tmp_path, capsys):
    config = RobertaConfig(
        vocab_size=400,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=66,
        type_vocab_size=1,
    )
    random_encoders.write_encoders(pack, tmp_path / "random", config)
    assert "random/report: " in capsys.readouterr().out
    encoder = Encoder.load(str(tmp_path / "random/code"), "first")
    assert encoder.max_tokens == 64
    assert encoder.pieces([""], 9) == [[[0, 2]]]
    assert encoder.tokenizer.pad_token_id == 1


@pytest.mark.parametrize("kept_share", [0, 0.5], ids=["empty", "half"])
def test_damaged_pack_is_refused(kept_share, tmp_path, pack):
    content = pack.read_bytes()
    (tmp_path / "pack").write_bytes(content[: int(len(content) * kept_share)])
    with pytest.raises(ToslocError, match="damaged"):
        read_bundle(tmp_path / "pack")


def test_file_that_is_no_pack_is_refused(tmp_path):
    (tmp_path / "pack").write_bytes(b"text")
    with pytest.raises(ToslocError, match="damaged"):
        read_bundle(tmp_path / "pack")


def test_missing_pack_is_refused(tmp_path):
    with pytest.raises(ToslocError, match="cannot read the pack"):
        read_bundle(tmp_path / "none")
