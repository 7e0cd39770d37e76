"""The library leaves its caller's process as it was, except for what it is asked to do."""

import importlib
import json
import subprocess
import sys
from datetime import UTC, datetime
from functools import partial

import pytest

from tests import toy
from tests.caller_state import caller_state, changed_names
from tests.rerank.encoder.tiny import write_encoder
from tosloc.core import cluster, processes
from tosloc.core.config import Config
from tosloc.core.reports import BugReport
from tosloc.localize.localizer import Localizer
from tosloc.train import training

LATER = datetime.fromtimestamp(toy.START + 100 * toy.DAY, UTC)
REPORT = BugReport(
    "new", "Violin screen wrong", "openViolin loses a click, see ViolinService", LATER
)


@pytest.fixture(autouse=True, scope="module")
def libraries():
    """Import libraries that set environment variables at import: these changes are not ours."""
    for name in ("threadpoolctl", "torch._dynamo"):
        importlib.import_module(name)


def check_unchanged(function):
    """Call a function, and check that the caller's state is the same afterwards."""
    before = caller_state()
    function()
    assert changed_names(before, caller_state()) == []


def make_settings(**stage_two):
    values = toy.small_config(0.6, 0.2, features=["popularity", "near_reports"]).as_dict()
    run = values["run"] | {"jobs": 2}
    return Config.of(values | {"stage_two": stage_two, "run": run}, "toy")


@pytest.fixture
def encoder_settings(tmp_path):
    encoder = write_encoder(tmp_path / "encoder", words=toy.WORDS)
    return make_settings(
        code_encoder=str(encoder),
        training={"epochs": 2, "pairs": 16},
        chunks=2,
        chunk_tokens=16,
        report_tokens=16,
        candidates=12,
    )


def import_all_modules(*libraries):
    """Return the changes and loaded libraries after importing every module in a new process."""
    command = [sys.executable, "-m", "tests.caller_state", *libraries]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(result.stdout)


@pytest.mark.slow
def test_importing_every_module_changes_nothing():
    _, libraries = import_all_modules()
    changes, _ = import_all_modules(*libraries)
    assert changes == []


def test_indexing_and_localizing_change_nothing(project, tmp_path, monkeypatch):
    monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path / "cache"))

    def localize():
        with Localizer.open(project.git.path) as localizer:
            assert localizer.localize(REPORT).hits

    check_unchanged(localize)


def test_worker_processes_change_nothing():
    def run_in_workers():
        calls = [partial(abs, number) for number in range(4)]
        with processes.run_in_parallel(calls, 2, ordered=True) as results:
            assert list(results) == [0, 1, 2, 3]

    check_unchanged(run_in_workers)


def test_workers_that_are_killed_change_nothing():
    def start_and_kill():
        worker = processes.Worker()
        assert worker.call(abs, -1) == 1
        worker.close()

    check_unchanged(start_and_kill)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["terms", "encoder"])
def test_training_and_reranking_change_nothing(kind, project, tmp_path, encoder_settings):
    settings = encoder_settings if kind == "encoder" else make_settings(reranker="terms")

    def train_and_rerank():
        training.train(settings, project.git.path, project.write_reports(), tmp_path / "out")
        with Localizer.open(project.git.path, tmp_path / "out" / "checkpoint") as localizer:
            assert localizer.localize(REPORT).hits

    check_unchanged(train_and_rerank)


def test_a_silenced_logger_gets_its_handlers_back():
    def silence():
        with cluster._silence_loggers("asyncio", "distributed"):
            pass

    check_unchanged(silence)


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


def test_seeding_does_not_disturb_torch_random_numbers(torch):
    from tosloc.rerank.encoder.scoring import temporary_seed

    torch.manual_seed(3)
    expected = torch.rand(2).tolist()
    torch.manual_seed(3)
    with temporary_seed(5):
        torch.rand(2)
    assert torch.rand(2).tolist() == expected


def test_the_same_seed_gives_the_same_torch_random_numbers(torch):
    from tosloc.rerank.encoder.scoring import temporary_seed

    with temporary_seed(5):
        first = torch.rand(2).tolist()
    with temporary_seed(5):
        assert torch.rand(2).tolist() == first
