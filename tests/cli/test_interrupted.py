"""Ctrl-C, as a terminal sends it to a command and its workers; the same command then goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests import toy
from tosloc.analysis.store import FactStore
from tosloc.cli import main

SETTINGS = """
[data]
train = 0.6
validation = 0.2
[run]
jobs = 1
[stage_one]
features = ['bm25f', 'path', 'recency', 'file_documents']
sampled_negatives = 5
[stage_one.ranker]
enabled = false
"""

# a command that stops after its first progress on some work and waits to be interrupted
WAITING = """
import sys, time
from tosloc import cli
from tosloc.cli import progress
from contextlib import contextmanager

@contextmanager
def shown(wanted, stream=None):
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
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "now\n", process.communicate()[1]
    os.killpg(process.pid, signal.SIGINT)
    said = process.communicate(timeout=60)[1]
    assert (process.returncode, said) == (130, "tosloc: interrupted; run the same command again to go on\n")


@pytest.fixture
def project(tmp_path: Path) -> toy.Toy:
    (tmp_path / "my.toml").write_text(SETTINGS)
    return toy.grow(tmp_path / "toy", bugs=12, themes=8)


def facts(path: Path) -> list[tuple[object, ...]]:
    with FactStore(path) as store:
        return list(store._database.execute("SELECT blob, lines, length FROM facts ORDER BY blob"))


@pytest.mark.slow
def test_index(project: toy.Toy, tmp_path: Path) -> None:
    command = ["index", "--repo", str(project.git.path), "--store"]
    interrupted("analysing", *command, str(tmp_path / "cut.sqlite"))
    assert len(facts(tmp_path / "cut.sqlite")) == 0
    assert main([*command, str(tmp_path / "cut.sqlite")]) == 0
    assert main([*command, str(tmp_path / "whole.sqlite")]) == 0
    assert facts(tmp_path / "cut.sqlite") == facts(tmp_path / "whole.sqlite")
    assert len(facts(tmp_path / "whole.sqlite")) == 10


@pytest.mark.slow
def test_train(project: toy.Toy, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    common = ["train", str(tmp_path / "my.toml"), "--repo", str(project.git.path), "--reports", str(project.reports())]
    cut = [*common, "--store", str(tmp_path / "cut.sqlite"), "--out", str(tmp_path / "cut")]
    for work in ("reading versions", "features of validation"):
        interrupted(work, *cut)
        assert not (tmp_path / "cut/checkpoint").exists()
    blocks = sorted((tmp_path / "cut/work").glob("block-*"))
    assert len(blocks) == 1  # of train, kept for the next run
    assert main(cut) == 0
    whole = [*common, "--store", str(tmp_path / "whole.sqlite"), "--out", str(tmp_path / "whole")]
    assert main(whole) == 0
    names = sorted(path.relative_to(tmp_path / "whole") for path in (tmp_path / "whole").rglob("*") if path.is_file())
    assert names == sorted(
        path.relative_to(tmp_path / "cut") for path in (tmp_path / "cut").rglob("*") if path.is_file()
    )
    for name in names:
        if name.name == "seconds.json":
            continue  # the only file that may differ
        assert (tmp_path / "cut" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name
