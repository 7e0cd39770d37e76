"""The library leaves its caller's process as it was, except for what it is asked to do."""

import importlib
import json
import subprocess
import sys
from datetime import UTC, datetime

import pytest
from joblib import delayed

from tests import toy
from tests.caller_state import caller_state, changed
from tests.rerank.encoder.tiny import write_encoder
from tosloc.core import cluster, processes
from tosloc.core.config import Config
from tosloc.core.records import BugReport
from tosloc.localize.localizer import Localizer
from tosloc.train import training

LATER = datetime.fromtimestamp(toy.START + 100 * toy.DAY, UTC)
REPORT = BugReport(
    "new", "Violin screen wrong", "openViolin loses a click, see ViolinService", LATER
)


@pytest.fixture(autouse=True, scope="module")
def libraries():
    """Import what sets environment variables when it is imported: they are not set by us."""
    for name in ("joblib", "threadpoolctl", "torch._dynamo"):
        importlib.import_module(name)


def unchanged(run):
    """Call a function, and check that the caller's state is what it was."""
    before = caller_state()
    run()
    assert changed(before, caller_state()) == []


def settings(**stage_two):
    values = toy.small_config(0.6, 0.2, features=["popularity", "near_reports"]).as_dict()
    return Config.of(values | {"stage_two": stage_two, "run": values["run"] | {"jobs": 2}}, "toy")


@pytest.fixture
def encoder_settings(tmp_path):
    encoder = write_encoder(tmp_path / "encoder", words=toy.WORDS)
    sizes = {"chunks": 2, "chunk_tokens": 16, "report_tokens": 16, "candidates": 12}
    return settings(code_encoder=str(encoder), training={"epochs": 2, "pairs": 16}, **sizes)


def imports(*libraries):
    command = [sys.executable, "-m", "tests.caller_state", *libraries]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@pytest.mark.slow
def test_importing_every_module_changes_nothing():
    _, libraries = imports()
    changes, _ = imports(*libraries)
    assert changes == []


def test_indexing_and_localizing_change_nothing(project, tmp_path, monkeypatch):
    monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path / "cache"))

    def localize():
        with Localizer.open(project.git.path) as localizer:
            assert localizer.localize(REPORT).hits

    unchanged(localize)


def test_worker_processes_change_nothing():
    def call():
        with processes.run_in_parallel(
            [delayed(abs)(number) for number in range(4)], 2, ordered=True
        ) as results:
            assert list(results) == [0, 1, 2, 3]

    unchanged(call)


def test_workers_that_are_killed_change_nothing():
    def kill():
        worker = processes.Worker()
        assert worker.call(abs, -1) == 1
        worker.close()

    unchanged(kill)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["terms", "encoder"])
def test_training_and_reranking_change_nothing(kind, project, tmp_path, encoder_settings):
    chosen = encoder_settings if kind == "encoder" else settings(reranker="terms")

    def train_and_rerank():
        training.train(chosen, project.git.path, project.write_reports(), tmp_path / "out")
        with Localizer.open(project.git.path, tmp_path / "out" / "checkpoint") as localizer:
            assert localizer.localize(REPORT).hits

    unchanged(train_and_rerank)


def test_a_silenced_logger_gets_its_handlers_back():
    def silence():
        with cluster._silenced("asyncio", "distributed"):
            pass

    unchanged(silence)


def test_torch_goes_on_with_its_random_numbers():
    torch = pytest.importorskip("torch")
    from tosloc.rerank.encoder.scoring import temporary_seed

    torch.manual_seed(3)
    expected = torch.rand(2).tolist()
    torch.manual_seed(3)
    with temporary_seed(5):
        first = torch.rand(2).tolist()
    assert torch.rand(2).tolist() == expected
    with temporary_seed(5):
        assert torch.rand(2).tolist() == first
