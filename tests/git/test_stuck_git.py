"""Commands end although a git that they started never does, and leave no process behind."""

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from tosloc.core.errors import Interrupted
from tosloc.core.processes import Worker
from tosloc.git.repository import Repository

STUCK = """#!/bin/sh
case " $* " in *" rev-list "*) echo $$ > {0}.new; mv {0}.new {0}; exec sleep 600;; esac
exec {1} "$@"
"""


def has_ended(process_id):
    """Return whether a process has ended; a zombie has."""
    result = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(process_id)], capture_output=True, text=True, check=False
    )
    return result.stdout.strip()[:1] in ("", "Z")


def wait_until(condition, seconds=5):
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.02)


@pytest.fixture
def begun(tmp_path, monkeypatch):
    """Build a git that never ends when it lists commits; return the file for its process id."""
    wrapper = tmp_path / "stuck-git"
    wrapper.write_text(STUCK.format(tmp_path / "begun", shutil.which("git")))
    wrapper.chmod(0o755)
    monkeypatch.setenv("GIT_PYTHON_GIT_EXECUTABLE", str(wrapper))
    monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path / "cache"))
    return tmp_path / "begun"


@pytest.mark.parametrize(
    ("signal_number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGKILL, -9)]
)
def test_a_signal_ends_the_command_and_its_git(repository, begun, signal_number, code):
    repository.commit({"a.py": "a\n"})
    command = [sys.executable, "-m", "tosloc", "localize", "it fails"]
    command += ["--repo", str(repository.path)]
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=end_at_ctrl_c
    ) as process:
        wait_until(begun.exists, 60)
        os.kill(process.pid, signal_number)
        try:
            assert process.wait(5) == code
        finally:
            process.kill()
    wait_until(lambda: has_ended(int(begun.read_text())))


def end_at_ctrl_c():
    """Let a command end at SIGINT, even if the process that runs the tests ignores it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def list_commits(path):
    """Run a git command that never ends."""
    with Repository(path) as repository, repository.stream(["rev-list", "--all"]) as output:
        output.read()


@pytest.mark.slow
def test_an_abandoned_call_leaves_no_git(repository, begun):
    repository.commit({"a.py": "a\n"})
    with closing(Worker()) as worker, pytest.raises(Interrupted):
        worker.call(list_commits, repository.path, stopped=begun.exists)
    wait_until(lambda: has_ended(int(begun.read_text())))


def test_a_git_whose_output_is_not_read_to_its_end_is_killed(repository, tmp_path):
    repository.commit({"a.py": "a\n"})
    wrapper = tmp_path / "endless-git"
    wrapper.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/begun\necho first\nexec sleep 600\n")
    wrapper.chmod(0o755)
    with Repository(repository.path) as opened:
        opened._command[0] = str(wrapper)
        started = time.monotonic()
        with pytest.raises(KeyError), opened.stream(["rev-list"]) as output:
            raise KeyError(output.readline())
    assert time.monotonic() - started < 5
    assert has_ended(int(Path(tmp_path / "begun").read_text()))
