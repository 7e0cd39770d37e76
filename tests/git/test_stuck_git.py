"""Commands end although a git that they started never does, and leave no process behind."""

import shutil
import signal
import subprocess
import sys
from contextlib import closing

import pytest

from tests.waiting import TIMEOUT_SECONDS, has_ended, wait_until
from tosloc.core import children
from tosloc.core.errors import Interrupted
from tosloc.core.processes import Worker
from tosloc.git.repository import Repository

STUCK = """#!/bin/sh
case " $* " in *" rev-list "*) echo $$ > {0}.new; mv {0}.new {0}; exec sleep 600;; esac
exec {1} "$@"
"""


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
        try:
            wait_until(lambda: begun.exists() or process.poll() is not None)
            process.send_signal(signal_number)
            assert process.wait(TIMEOUT_SECONDS) == code
        finally:
            process.kill()
    wait_until(lambda: has_ended(int(begun.read_text())))


def end_at_ctrl_c():
    """Let a command end at SIGINT, even if the process that runs the tests ignores it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def list_commits(path):
    """Run a git command that never ends."""
    with Repository(path) as repository, repository.git.stream(["rev-list", "--all"]) as output:
        output.read()


@pytest.mark.slow
def test_an_abandoned_call_leaves_no_git(repository, begun):
    repository.commit({"a.py": "a\n"})
    with closing(Worker()) as worker, pytest.raises(Interrupted):
        worker.call(list_commits, repository.path, stopped=begun.exists)
    wait_until(lambda: has_ended(int(begun.read_text())))


@pytest.fixture
def processes(monkeypatch):
    """Return a list of the git processes that are started from now on."""
    started = []

    def start_child(*arguments):
        started.append(children.start_child(*arguments))
        return started[-1]

    monkeypatch.setattr("tosloc.git.process.start_child", start_child)
    return started


@pytest.fixture
def slow_repository(repository, tmp_path):
    """Yield a repository whose git prints a line, and ends after a minute if it is not killed."""
    repository.commit({"a.py": "a\n"})
    wrapper = tmp_path / "slow-git"
    wrapper.write_text("#!/bin/sh\necho first\nexec sleep 60\n")
    wrapper.chmod(0o755)
    with Repository(repository.path) as opened:
        opened.git._command[0] = str(wrapper)
        yield opened


def test_a_git_whose_output_is_not_read_to_its_end_is_killed(slow_repository, processes):
    with pytest.raises(KeyError), slow_repository.git.stream(["rev-list"]) as output:
        raise KeyError(output.readline())
    assert [git.returncode for git in processes] == [-signal.SIGKILL]


def test_a_git_is_killed_if_a_signal_comes_right_after_its_start(
    slow_repository, processes, monkeypatch
):
    def interrupt(watchdog, function):
        raise Interrupted

    monkeypatch.setattr("tosloc.git.process._Watchdog.watch", interrupt)
    with pytest.raises(Interrupted), slow_repository.git.stream(["rev-list"]):
        pass
    assert [git.returncode for git in processes] == [-signal.SIGKILL]
