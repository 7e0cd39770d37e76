"""An interrupted command leaves nothing behind, and the same command goes on.

A terminal sends Ctrl-C to the command and its workers, other programs send a signal to the command
alone.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests import toy
from tests.waiting import TIMEOUT_SECONDS, wait_until
from tosloc.cli import main

BUSY_COMMAND = """
import sys, time
from tosloc import cli
from tosloc.cli import commands
from tosloc.storage import build
from contextlib import contextmanager

@contextmanager
def progress_bars():
    def show(what, done, total):
        if what == "indexing files" and done:
            print("now", flush=True)
            time.sleep(60)
    yield show

build.BATCH_BLOBS = 1
commands.progress_bars = progress_bars
sys.exit(cli.main(sys.argv[1:]))
"""
"""The command, which waits to be interrupted while its workers return results."""


def running_commands(mark):
    """Return the commands of the processes that have a mark in their environment."""
    commands = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (folder / "environ").read_bytes().split(b"\0"):
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ")
                commands.append(command.decode())
        except OSError:  # The process has ended meanwhile, or is another user's.
            continue
    return commands


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked for in /proc")
@pytest.mark.parametrize(
    ("signal_number", "send", "code"),
    [(signal.SIGTERM, os.kill, 143), (signal.SIGINT, os.killpg, 130)],
    ids=["SIGTERM to the command", "SIGINT to all processes"],
)
def test_nothing_is_left_and_the_same_command_goes_on(
    signal_number, send, code, tmp_path, monkeypatch
):
    project = toy.make_project(tmp_path / "toy", bugs=12, themes=8)
    (tmp_path / "two.toml").write_text("[run]\njobs = 2\n")
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("MARK", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path / "c"))
    mark = f"MARK={tmp_path}"
    arguments = ["index", "--repo", str(project.git.path), "--config", str(tmp_path / "two.toml")]
    command = [sys.executable, "-c", BUSY_COMMAND, *arguments]
    error_file = tmp_path / "errors"
    with (
        error_file.open("wb") as errors,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, start_new_session=True
        ) as process,
    ):
        assert process.stdout is not None
        assert process.stdout.readline() == b"now\n"
        # The command, two workers with their git, and trackers of semaphores.
        assert len(running_commands(mark)) > 4
        send(process.pid, signal_number)
        assert process.wait(TIMEOUT_SECONDS) == code
    wait_until(lambda: running_commands(mark) == [])
    assert list((tmp_path / "temporary").iterdir()) == []
    sentence = "tosloc: interrupted; run the same command again to continue\n"
    assert error_file.read_text() == sentence
    assert sorted(path.name for path in tmp_path.glob("c/*/*")) == ["facts.sqlite", "place.json"]
    assert main(arguments) == 0
