"""Ctrl-C, as a terminal sends it to a command and its workers; the same command then goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests import toy
from tests.local_cluster import differing, facts
from tosloc.cli import main

SETTINGS = """
[data]
train = 0.6
validation = 0.2
[run]
jobs = 1
[stage_one]
features = ['bm25f', 'path', 'recency', 'file_documents']
ranker = false
"""

# a command that stops after its first progress on some work and waits to be interrupted
WAITING = """
import sys, time
from tosloc import cli
from tosloc.cli import progress
from contextlib import contextmanager

@contextmanager
def shown():
    def show(what, done, total):
        if what == sys.argv[1]:
            print("now", flush=True)
            time.sleep(60)
    yield show

progress.shown = shown
sys.exit(cli.main(sys.argv[2:]))
"""


def interrupted(work: str, *arguments: str) -> None:
    """Run a command and interrupt it in the middle of some work: it says so in one sentence."""
    command = [sys.executable, "-c", WAITING, work, *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, start_new_session=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "now\n"
        os.killpg(process.pid, signal.SIGINT)
        said = process.communicate(timeout=60)[1]
    assert (process.returncode, said) == (130, "tosloc: interrupted; run the same command again to go on\n")


@pytest.fixture
def project(tmp_path: Path) -> toy.Toy:
    (tmp_path / "my.toml").write_text(SETTINGS)
    return toy.grow(tmp_path / "toy", bugs=12, themes=8)


@pytest.mark.slow
def test_train(project: toy.Toy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    common = ["train", str(tmp_path / "my.toml"), "--repo", str(project.git.path), "--reports", str(project.reports())]
    monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path / "one"))
    cut = [*common, "--out", str(tmp_path / "cut")]
    for work in ("reading versions", "features of validation"):
        interrupted(work, *cut)
        assert not (tmp_path / "cut/checkpoint").exists()
    blocks = sorted((tmp_path / "cut/.tosloc-work").glob("block-*"))
    assert len(blocks) == 1  # of train, kept for the next run
    assert main(cut) == 0
    made = facts()
    monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path / "other"))
    assert main([*common, "--out", str(tmp_path / "whole")]) == 0
    assert made == facts() != []
    assert differing(tmp_path / "cut", tmp_path / "whole") == []


# the same in the midst of the workers' results
BUSY = WAITING.replace("if what == sys.argv[1]:", "if what == sys.argv[1] and done:").replace(
    "from tosloc import cli\n", "from tosloc import cli\nfrom tosloc.index import build\nbuild.BATCH_BLOBS = 1\n"
)


def alive(mark: str) -> list[str]:
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
    ("stop", "everyone", "code"),
    [
        (signal.SIGKILL, False, -signal.SIGKILL),
        (signal.SIGTERM, False, 143),
        (signal.SIGINT, True, 130),
    ],
)
def test_nothing_is_left(project: toy.Toy, tmp_path: Path, stop: signal.Signals, everyone: bool, code: int) -> None:
    """Whether the signal goes to the command alone or to its workers, too."""
    (tmp_path / "two.toml").write_text(SETTINGS.replace("jobs = 1", "jobs = 2"))
    (tmp_path / "temporary").mkdir()
    mark = f"MARK={tmp_path}"
    environment = os.environ | {
        "MARK": str(tmp_path),
        "TMPDIR": str(tmp_path / "temporary"),
        "TOSLOC_CACHE": str(tmp_path / "c"),
    }
    arguments = ["index", "--repo", str(project.git.path), "--config", str(tmp_path / "two.toml")]
    command, pipe = [sys.executable, "-c", BUSY, "analysing", *arguments], subprocess.PIPE
    with (tmp_path / "said").open("wb") as said:
        with subprocess.Popen(command, stdout=pipe, stderr=said, env=environment, start_new_session=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"now\n"
            assert len(alive(mark)) > 4  # this one, two workers with their git, trackers of semaphores
            (os.killpg if everyone else os.kill)(process.pid, stop)
            assert process.wait(20) == code
    until = time.monotonic() + 5
    while alive(mark) and time.monotonic() < until:
        time.sleep(0.05)
    assert alive(mark) == []
    assert list((tmp_path / "temporary").iterdir()) == []
    if stop != signal.SIGKILL:  # the store's journal is put away by the next one
        assert (tmp_path / "said").read_text() == "tosloc: interrupted; run the same command again to go on\n"
        assert sorted(path.name for path in tmp_path.glob("c/*/*")) == ["facts.sqlite", "place.json"]
