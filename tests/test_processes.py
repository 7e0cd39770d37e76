"""What this process starts ends with it, whatever either is doing, and does not see Ctrl-C."""

import os
import subprocess
import sys
import time
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, suppress
from pathlib import Path

import joblib
import pytest

from tests import stuck, toy
from tests.local_cluster import differing
from tosloc import processes
from tosloc.errors import Interrupted

PROGRAM = """
import os, sys, time
from joblib import delayed
from tosloc import processes

def with_git(number):
    if number < 2:  # the third is one more than the workers: it never begins
        child = processes.start(["cat"], dict(os.environ))
        print(child.pid, os.getpid(), flush=True)
        time.sleep(600)

if __name__ == "__main__":
    if sys.argv[1] == "worker":
        processes.Worker().call(with_git, 1)
    else:
        with processes.parallel(map(delayed(with_git), range(3)), 2, return_as="generator") as results:
            list(results)
"""


def gone(process: int, seconds: float = 15.0) -> bool:
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
@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked for in /proc")
@pytest.mark.parametrize(("what", "lines"), [("worker", 1), ("parallel", 2)])
def test_they_end_when_this_one_is_killed(what, lines, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    with subprocess.Popen(
        [sys.executable, tmp_path / "program.py", what], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        started = [int(word) for _ in range(lines) for word in process.stdout.readline().split()]
        process.kill()
        process.wait(10)
        assert started
        assert [number for number in started if not gone(number)] == []


def test_a_program_does_not_see_ctrl_c():
    process = processes.start(["cat"], dict(os.environ))
    assert os.getpgid(process.pid) == process.pid != os.getpgid(0), "a terminal sends it to a group"
    assert process.communicate(b"still here") == (b"still here", None)
    assert process.returncode == 0


@pytest.mark.slow
def test_a_call_that_is_given_up_is_killed_and_the_next_is_done(tmp_path, monkeypatch):
    begun = tmp_path / "begun"
    monkeypatch.setenv(stuck.BEGUN, str(begun))
    told: list[tuple[str, int, int]] = []
    with closing(processes.Worker()) as worker:
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


@pytest.mark.slow
def test_calls_that_are_given_up():
    calls = [joblib.delayed(time.sleep)(seconds) for seconds in (0, 600, 0)]
    with processes.parallel(calls, 2, return_as="generator_unordered") as results:
        next(results)
    with processes.parallel(calls[::2], 2, return_as="generator") as results:
        assert list(results) == [None, None]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked for in /proc")
def test_the_same_bytes_after_kills(project, tmp_path):
    def start(folder: Path) -> subprocess.Popen[bytes]:
        """A training of both stages by two processes, whose results and cache stand in a folder."""
        folder.mkdir(exist_ok=True)
        (folder / "settings.toml").write_text(toy.SETTINGS.replace("jobs = 1", "jobs = 2"))
        words = ["train", folder / "settings.toml", "--repo", project.git.path, "--reports", project.reports()]
        return subprocess.Popen(
            [sys.executable, "-m", "tosloc", *words, "--out", folder / "out", "--keep-features"],
            env=os.environ | {"TOSLOC_CACHE": str(folder / "cache"), "KILLED": str(folder)},
            stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )

    def left_by(folder: Path) -> list[int]:
        """Processes that a command of this folder has started and that do not end."""
        found = []
        for place in Path("/proc").glob("[0-9]*/environ"):
            with suppress(OSError):  # it has just ended, or is another user's
                if f"KILLED={folder}\0".encode() in place.read_bytes():
                    found.append(int(place.parent.name))
        return [one for one in found if not gone(one)]

    whole, killed, began = tmp_path / "whole", tmp_path / "killed", time.monotonic()
    assert start(whole).wait(120) == 0
    seconds = time.monotonic() - began
    for part in (0.2, 0.5, 0.35, 0.8, 0.65, 0.95):
        process = start(killed)
        time.sleep(part * seconds)
        process.kill()
        process.wait()
        assert left_by(killed) == []
    assert start(killed).wait(120) == 0
    assert differing(whole / "out", killed / "out") == []
