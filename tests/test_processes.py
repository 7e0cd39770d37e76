"""What this process starts ends with it, whatever either is doing, and does not see Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import Pipe
from pathlib import Path

import joblib
import pytest

from tests import stuck
from tests.conftest import GitRepository
from tosloc import processes
from tosloc.errors import Interrupted, ToslocError

PROGRAM = """
import os, re, signal, subprocess, sys, time
from joblib import delayed
from tosloc import processes

def seized(number):
    if number == 2:  # one more than the workers: it never begins
        return
    print(os.getpid(), flush=True)
    re.match("(a+)+$", "a" * 60 + "b")  # holds the interpreter for good

def with_git(number):
    child = processes.start(["sleep", "600"], dict(os.environ))
    print(child.pid, os.getpid(), flush=True)
    time.sleep(600)

if __name__ == "__main__":
    if sys.argv[1] == "program":
        child = processes.start(["sleep", "600"], dict(os.environ))
        print(child.pid, flush=True)
    elif sys.argv[1] == "worker":
        processes.Worker().call(seized, 1)
    else:
        with processes.parallel(map(delayed(globals()[sys.argv[1]]), range(3)), 2, return_as="generator") as results:
            list(results)
    time.sleep(600)
"""


def gone(process: int, seconds: float = 5.0) -> bool:
    """Whether a process ends within some seconds; one that waits to be asked for its exit code has ended."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            if Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
            os.kill(process, 0)
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.02)
    return False


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere processes end when they next do something")
@pytest.mark.parametrize(("what", "lines"), [("program", 1), ("worker", 1), ("seized", 2), ("with_git", 2)])
def test_they_end_when_this_one_is_killed(what: str, lines: int, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    with (
        (tmp_path / "said").open("wb") as said,
        subprocess.Popen(
            [sys.executable, str(tmp_path / "program.py"), what], stdout=subprocess.PIPE, stderr=said, text=True
        ) as process,
    ):
        assert process.stdout is not None
        started = [int(word) for _ in range(lines) for word in process.stdout.readline().split()]
        process.kill()
        process.wait(10)
        assert started
        assert [number for number in started if not gone(number)] == []
        process.stdout.read()  # nobody holds it any more, the trackers of semaphores neither
    assert (tmp_path / "said").read_text() == ""


def test_a_program_does_not_see_ctrl_c() -> None:
    process = processes.start(["cat"], dict(os.environ))
    process.send_signal(signal.SIGINT)
    assert process.communicate(b"still here") == (b"still here", None)
    assert process.returncode == 0


def test_a_worker_whose_line_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    codes: list[int] = []
    monkeypatch.setattr(os, "_exit", codes.append)
    reading, writing = Pipe(duplex=False)
    writing.close()
    processes._exit_when_closed(reading)
    assert codes == [1]


def test_a_call_that_is_given_up_is_killed_and_the_next_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = tmp_path / "begun"
    monkeypatch.setenv(stuck.BEGUN, str(begun))
    told: list[tuple[str, int, int]] = []
    with processes.Worker() as worker:
        for how in ("seized", "asleep"):
            with pytest.raises(Interrupted):
                worker.call(stuck.hold, how, stopped=begun.exists)
            assert stuck.workers() == []
            begun.unlink()
        with pytest.raises(BrokenProcessPool, match="a process died of this"):
            worker.call(os._exit, 9)
        with pytest.raises(KeyError, match="gone"):
            worker.call({}.__getitem__, "gone")
        assert worker.call(stuck.tell, 3, progress=lambda *said: told.append(said)) == 3
    assert told == [("facts", 1, 3), ("facts", 2, 3), ("facts", 3, 3)]
    assert stuck.workers() == []


def test_other_backends_of_joblib() -> None:
    with (
        joblib.parallel_config("threading"),
        processes.parallel(map(joblib.delayed(abs), range(-9, 0)), 2, return_as="generator") as results,
    ):
        assert list(results) == list(range(9, 0, -1))


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such limit")
def test_too_few_files_for_the_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    import resource

    monkeypatch.setattr(resource, "getrlimit", lambda _: (24, 24))
    with (
        pytest.raises(ToslocError, match="only 24 files may be open at once, too few for 12 worker processes; allow"),
        processes.parallel([joblib.delayed(abs)(-1)], 12, return_as="generator"),
    ):
        pass


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no such limit")
@pytest.mark.parametrize("limit", [12, 24])
def test_too_few_files_is_one_sentence(repository: GitRepository, tmp_path: Path, limit: int) -> None:
    repository.commit({f"f{number}.py": f"x = {number}\n" for number in range(500)})
    (tmp_path / "settings.toml").write_text("[run]\njobs = 12\n")
    command = [sys.executable, "-m", "tosloc", "index", "--repo", repository.path, "--config", "settings.toml"]
    done = subprocess.run(
        ["sh", "-c", f'ulimit -n {limit}; exec "$@"', "sh", *command, "--store", "facts"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    [line] = done.stderr.splitlines()
    assert done.returncode == 2
    assert line.startswith("tosloc: ")
    assert line.endswith("; allow more by: ulimit -n 1024")


@pytest.mark.slow
def test_calls_that_are_given_up() -> None:
    calls = [joblib.delayed(time.sleep)(seconds) for seconds in (0, 600, 0)]
    with processes.parallel(calls, 2, return_as="generator_unordered") as results:
        next(results)
    with processes.parallel(calls[::2], 2, return_as="generator") as results:
        assert list(results) == [None, None]
