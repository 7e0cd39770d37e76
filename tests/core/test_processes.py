"""What this process starts ends with it; work by a Dask cluster: what does not fit is a sentence; the same bytes."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from pathlib import Path

import joblib
import pytest
from joblib import delayed

from tests import stand_ins, toy
from tests.local_cluster import LocalCluster, differing_files, wait_until
from tosloc.cli.app import main
from tosloc.core import children, cluster, errors, processes
from tosloc.core.cluster import on_cluster
from tosloc.core.errors import Interrupted, MissingExtra, ToslocError
from tosloc.git.repository import resolve_revision

PROGRAM = """
import calls, sys
from joblib import delayed
from tosloc.core import processes

if sys.argv[1] == "worker":
    processes.Worker().call(calls.with_git, 1)
else:
    with processes.run_in_parallel(map(delayed(calls.with_git), range(3)), 2, ordered=True) as results:
        list(results)
"""
CALLS = """
import os, time
from tosloc.core import children

def with_git(number):
    if number < 2:  # the third is one more than the workers: it never begins
        child = children.start_child(["cat"], dict(os.environ))
        print(child.pid, os.getpid(), flush=True)
        time.sleep(600)
"""


def ended(process):
    """Whether a process has ended, as has one that waits to be asked for its exit code."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked for in /proc")
@pytest.mark.parametrize(("what", "lines"), [("worker", 1), ("parallel", 2)])
def test_they_end_when_this_one_is_killed(what, lines, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "calls.py").write_text(CALLS)
    command = [sys.executable, tmp_path / "program.py", what]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        started = [int(word) for _ in range(lines) for word in process.stdout.readline().split()]
        process.kill()
    assert len(started) == 2 * lines
    wait_until(lambda: all(map(ended, started)))


def test_a_program_does_not_see_ctrl_c():
    process = children.start_child(["cat"], dict(os.environ))
    assert os.getpgid(process.pid) != os.getpgid(0), "a terminal sends it to a group"
    assert process.communicate(b"still here") == (b"still here", None)
    assert process.returncode == 0


@pytest.mark.slow
def test_a_call_that_is_given_up_is_killed_and_the_next_is_done(tmp_path, monkeypatch):
    begun = tmp_path / "begun"
    monkeypatch.setenv(stand_ins.BEGUN_FILE, str(begun))
    told = []
    with closing(processes.Worker()) as worker:
        for how in ("seized", "asleep"):
            with pytest.raises(Interrupted):
                worker.call(stand_ins.never_return, how, stopped=begun.exists)
            assert stand_ins.list_workers() == []
            begun.unlink()
        with pytest.raises(BrokenProcessPool):
            worker.call(os._exit, 9)
        with pytest.raises(KeyError, match="gone"):
            worker.call({}.__getitem__, "gone")
        assert worker.call(stand_ins.count_steps, 3, progress=lambda *said: told.append(said)) == 3
    assert told == [("facts", 1, 3), ("facts", 2, 3), ("facts", 3, 3)]
    assert stand_ins.list_workers() == []


@pytest.mark.slow
def test_calls_that_are_given_up():
    calls = [joblib.delayed(time.sleep)(seconds) for seconds in (0, 600, 0)]
    with processes.run_in_parallel(calls, 2, ordered=False) as results:
        next(results)
    with processes.run_in_parallel(calls[::2], 2, ordered=True) as results:
        assert list(results) == [None, None]


@pytest.mark.slow
def test_the_same_bytes_after_kills(project, tmp_path):
    def start(name):
        """A training by two processes, whose results and cache have a name."""
        settings, cache = (
            tmp_path / "settings.toml",
            {"TOSLOC_CACHE": str(tmp_path / f"{name} cache")},
        )
        settings.write_text(toy.SETTINGS.replace("jobs = 1", "jobs = 2"))
        command = [
            sys.executable,
            "-m",
            "tosloc",
            "train",
            settings,
            "--repo",
            project.git.path,
            "--keep-features",
        ]
        command += ["--reports", project.write_reports(), "--out", tmp_path / name]
        nowhere = subprocess.DEVNULL
        return subprocess.Popen(command, env=os.environ | cache, stdout=nowhere, stderr=nowhere)

    began = time.monotonic()
    assert start("whole").wait(120) == 0
    seconds = time.monotonic() - began
    for part in (0.2, 0.5, 0.35, 0.8, 0.65, 0.95):
        with start("killed") as process:
            time.sleep(part * seconds)
            process.kill()
    assert start("killed").wait(120) == 0
    assert differing_files(tmp_path / "whole", tmp_path / "killed") == []


# Work by a Dask cluster: what does not fit is a sentence; workers that die; the same bytes


@pytest.mark.parametrize(
    "address", ["here", ":8786", "host:port", "http://host:1", "host:-1", f"{'x' * 2000}:1"]
)
def test_a_wrong_address_is_a_sentence(address):
    with (
        pytest.raises(ToslocError, match="is no address of a Dask scheduler; an address is"),
        on_cluster(address, {}, resolve_revision),
    ):
        pass


@pytest.mark.parametrize("command", ["index", "train", "rank"])
def test_no_command_begins_without_its_cluster(command, project, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path / "cache"))
    more = (
        []
        if command == "index"
        else ["--reports", str(project.write_reports()), "--out", str(tmp_path / "out")]
    )
    assert main([command, "--repo", str(project.git.path), *more, "--cluster", "nothing"]) == 2
    assert capsys.readouterr().err.startswith(
        "tosloc: --cluster: 'nothing' is no address of a Dask scheduler"
    )
    assert list(tmp_path.iterdir()) == []


def test_without_dask(monkeypatch):
    monkeypatch.setattr(errors, "find_spec", lambda name: None)
    with (
        pytest.raises(MissingExtra, match=r"run: .*pip .*install .*\[dask\]"),
        on_cluster("127.0.0.1:9", {}, resolve_revision),
    ):
        pass


@pytest.fixture
def two(tmp_path_factory):
    """A scheduler and two workers."""
    pytest.importorskip("distributed")
    with closing(LocalCluster(tmp_path_factory.mktemp("dask"))) as made:
        yield made


def deadly(number, at):
    """Bring the process down at one number, as a parser might."""
    if number == at:
        os.kill(os.getpid(), signal.SIGSEGV)
    return number


def failing():
    raise ToslocError("it is the input's fault")


def in_order(calls):
    with processes.run_in_parallel(calls, 1, ordered=True) as results:
        return list(results)


@pytest.mark.slow
def test_calls(two, project, capfd):
    numbers = [delayed(abs)(-number) for number in range(20)]
    with on_cluster(two.address, {project.git.path: "HEAD"}, resolve_revision):
        assert in_order(numbers) == list(range(20))
        assert in_order([delayed(os.getcwd)()]) == [os.getcwd()]
        with pytest.raises(ToslocError, match="it is the input's fault"):
            in_order([delayed(failing)()])
        two.workers[0].kill()
        assert in_order(numbers) == list(range(20))
        with processes.run_in_parallel([delayed(time.sleep)(60)], 1, ordered=True) as results:
            two.scheduler.kill()
            with pytest.raises(ToslocError, match="has gone; what was finished is kept"):
                next(results)
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_what_does_not_fit_and_a_call_that_brings_its_worker_down(two, monkeypatch):
    def refused(words):
        with pytest.raises(ToslocError, match=words), on_cluster(two.address, {}, resolve_revision):
            pass

    with monkeypatch.context() as patch:
        patch.setattr(cluster.tosloc, "__version__", "0.0.1")
        refused(r"is not as this machine is \(.*tosloc 0\.0\.1.* on one side alone\)")
    two.start_worker("--nanny")
    with (
        on_cluster(two.address, {}, resolve_revision),
        pytest.raises(BrokenProcessPool, match="killed at the same work"),
    ):
        in_order([delayed(deadly)(number, 5) for number in range(12)])
    two.start_worker("--no-nanny", "--nthreads", "2")
    refused("has many threads")


@pytest.mark.slow
def test_the_same_bytes(two, project, tmp_path, monkeypatch):
    settings = tmp_path / "settings.toml"
    settings.write_text(toy.SETTINGS)
    named = ("--repo", project.git.path, "--reports", project.write_reports())
    for folder, more in (("here", ()), ("there", ("--cluster", two.address))):
        monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path / f"cache-{folder}"))
        out = tmp_path / folder
        for words in (
            ("train", settings, *named, "--out", out / "trained"),
            ("rank", *named, "--checkpoint", out / "trained/checkpoint", "--out", out / "ranked"),
        ):
            assert main([*map(str, (*words, *more))]) == 0
    assert differing_files(tmp_path / "here", tmp_path / "there") == []
