"""Ctrl-C as a terminal sends it to a command and its workers, or a signal to the command alone; then it goes on."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests import toy
from tosloc.cli import main

# the command, but that it waits to be interrupted in the midst of its workers' results
BUSY = """
import sys, time
from tosloc import cli
from tosloc.cli import commands
from tosloc.storage import build
from contextlib import contextmanager

@contextmanager
def shown():
    def show(what, done, total):
        if what == "analysing" and done:
            print("now", flush=True)
            time.sleep(60)
    yield show

build.BATCH_BLOBS = 1
commands.shown = shown
sys.exit(cli.main(sys.argv[1:]))
"""


def alive(mark):
    """Commands of the processes that were started with a mark in their environment."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (folder / "environ").read_bytes().split(b"\0"):
                found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue  # ended meanwhile, or another user's
    return found


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked for in /proc")
@pytest.mark.parametrize(
    ("stop", "send", "code"), [(signal.SIGTERM, os.kill, 143), (signal.SIGINT, os.killpg, 130)]
)
def test_nothing_is_left_and_the_same_command_goes_on(stop, send, code, tmp_path, monkeypatch):
    project = toy.grow(tmp_path / "toy", bugs=12, themes=8)
    (tmp_path / "two.toml").write_text("[run]\njobs = 2\n")
    (tmp_path / "temporary").mkdir()
    for name, folder in (("MARK", ""), ("TMPDIR", "temporary"), ("TOSLOC_CACHE", "c")):
        monkeypatch.setenv(name, str(tmp_path / folder))
    mark = f"MARK={tmp_path}"
    arguments = ["index", "--repo", str(project.git.path), "--config", str(tmp_path / "two.toml")]
    command, pipe = [sys.executable, "-c", BUSY, *arguments], subprocess.PIPE
    with (tmp_path / "said").open("wb") as said:
        with subprocess.Popen(command, stdout=pipe, stderr=said, start_new_session=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"now\n"
            assert (
                len(alive(mark)) > 4
            )  # this one, two workers with their git, trackers of semaphores
            send(process.pid, stop)
            assert process.wait(20) == code
    until = time.monotonic() + 5
    while alive(mark) and time.monotonic() < until:
        time.sleep(0.05)
    assert alive(mark) == []
    assert list((tmp_path / "temporary").iterdir()) == []
    assert (
        tmp_path / "said"
    ).read_text() == "tosloc: interrupted; run the same command again to go on\n"
    assert sorted(path.name for path in tmp_path.glob("c/*/*")) == ["facts.sqlite", "place.json"]
    assert main(arguments) == 0
