"""Processes that this one starts end with it, or when their call is abandoned."""

import gc
import os
import signal
import subprocess
import sys
import time
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from functools import partial

import pytest

from tests import stand_ins, toy
from tests.local_cluster import differing_files
from tests.waiting import has_ended, wait_until
from tosloc.core import children, processes
from tosloc.core.errors import Interrupted

PROGRAM = """
import calls, sys
from functools import partial
from tosloc.core import processes

if sys.argv[1] == "worker":
    processes.Worker().call(calls.start_child, 1)
else:
    queue = [partial(calls.start_child, number) for number in range(3)]
    with processes.run_in_parallel(queue, 2, ordered=True) as results:
        list(results)
"""
CALLS = """
import os, time
from tosloc.core import children

def start_child(number):
    if number < 2:  # the third call, one more than there are workers, never begins
        child = children.start_child(["cat"], dict(os.environ))
        print(child.pid, os.getpid(), flush=True)
        time.sleep(600)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "lines"), [("worker", 1), ("parallel", 2)])
def test_workers_and_their_children_end_when_this_process_is_killed(mode, lines, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "calls.py").write_text(CALLS)
    command = [sys.executable, tmp_path / "program.py", mode]
    process_ids = []
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        for _ in range(lines):
            process_ids += process.stdout.readline().split()
        process.kill()
    assert len(process_ids) == 2 * lines
    wait_until(lambda: all(map(has_ended, process_ids)))


def test_a_child_is_in_another_process_group_so_it_does_not_see_ctrl_c():
    process = children.start_child(["cat"], dict(os.environ))
    assert os.getpgid(process.pid) != os.getpgid(0)
    output, _ = process.communicate(b"still here")
    assert output == b"still here"
    assert process.returncode == 0


# Workers


@pytest.fixture
def worker():
    with closing(processes.Worker()) as worker:
        yield worker
    assert stand_ins.list_workers() == []


@pytest.mark.slow
@pytest.mark.parametrize("how", ["seized", "asleep"])
def test_an_abandoned_call_is_killed_and_the_next_is_performed(worker, tmp_path, monkeypatch, how):
    begun = tmp_path / "begun"
    monkeypatch.setenv(stand_ins.BEGUN_FILE, str(begun))
    with pytest.raises(Interrupted):
        worker.call(stand_ins.never_return, how, stopped=begun.exists)
    assert stand_ins.list_workers() == []
    assert worker.call(abs, -3) == 3


@pytest.mark.slow
def test_after_a_worker_dies_the_next_call_is_performed(worker):
    with pytest.raises(BrokenProcessPool):
        worker.call(os._exit, 9)
    assert worker.call(abs, -3) == 3


@pytest.mark.slow
def test_an_error_in_a_worker_is_raised_here(worker):
    with pytest.raises(KeyError, match="gone"):
        worker.call({}.__getitem__, "gone")
    assert worker.call(abs, -3) == 3


@pytest.mark.slow
def test_progress_in_a_worker_is_reported_here(worker):
    reports = []
    result = worker.call(stand_ins.count_steps, 3, progress=lambda *report: reports.append(report))
    assert result == 3
    assert reports == [("facts", 1, 3), ("facts", 2, 3), ("facts", 3, 3)]


@pytest.mark.slow
def test_a_worker_collects_garbage_as_rarely_as_this_process():
    thresholds = gc.get_threshold()
    try:
        gc.set_threshold(12_345, 6, 7)
        with closing(processes.Worker()) as worker:
            assert worker.call(gc.get_threshold) == (12_345, 6, 7)
    finally:
        gc.set_threshold(*thresholds)


def test_unfinished_calls_are_killed_at_the_end_of_the_block(tmp_path, monkeypatch):
    begun = tmp_path / "begun"
    monkeypatch.setenv(stand_ins.BEGUN_FILE, str(begun))
    calls = [partial(abs, -3), partial(stand_ins.never_return, "asleep"), partial(abs, -3)]
    with processes.run_in_parallel(calls, 2, ordered=False) as results:
        next(results)
        wait_until(begun.exists)
    # A call that was waited for instead would have written its end.
    assert begun.read_text() == ""
    assert stand_ins.list_workers() == []


@pytest.mark.slow
def test_calls_are_performed_after_others_were_killed():
    calls = [partial(time.sleep, 0)] * 2
    with processes.run_in_parallel(calls, 2, ordered=True) as results:
        assert list(results) == [None, None]


# A command that is killed


def start_training(project, folder, name):
    """Start a training by two processes, with results in NAME and a cache of its own."""
    settings = folder / "settings.toml"
    settings.write_text(toy.SETTINGS.replace("jobs = 1", "jobs = 2"))
    command = [sys.executable, "-m", "tosloc", "train", settings, "--keep-features"]
    command += ["--repo", project.git.path, "--reports", project.write_reports()]
    command += ["--out", folder / name]
    environment = os.environ | {"TOSLOC_CACHE": str(folder / f"{name} cache")}
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


@pytest.mark.slow
def test_a_training_gives_the_same_bytes_after_it_was_killed(project, tmp_path):
    began = time.monotonic()
    assert start_training(project, tmp_path, "whole").wait(600) == 0
    seconds = time.monotonic() - began
    for part in (0.2, 0.5, 0.35, 0.8, 0.65, 0.95):
        with start_training(project, tmp_path, "killed") as process:
            time.sleep(part * seconds)
            process.send_signal(signal.SIGKILL)
    assert start_training(project, tmp_path, "killed").wait(600) == 0
    assert differing_files(tmp_path / "whole", tmp_path / "killed") == []


@pytest.mark.parametrize(
    ("quota", "workers"),
    [("max 100000", 8), ("250000 100000", 3), ("50000 100000", 1), (None, 8)],
    ids=["no limit", "limit", "less than a core", "no container"],
)
def test_workers_stay_within_the_quota_of_a_container(tmp_path, monkeypatch, quota, workers):
    file = tmp_path / "cpu.max"
    if quota is not None:
        file.write_text(quota + "\n")
    monkeypatch.setattr(processes, "_CPU_QUOTA", file)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(8)))
    assert processes.count_workers(-1) == workers


def test_workers_are_as_many_as_asked_for(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0})
    assert processes.count_workers(3) == 3
