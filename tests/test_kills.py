"""Kill -9 at random instants, then the same command: the same bytes, and nothing beside them."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from scripts.local_cluster import differing
from tests import toy
from tests.test_processes import gone

pytestmark = pytest.mark.slow

KILLS = 6
"""Kills in a row, before the command may finish."""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> toy.Toy:
    return toy.grow(tmp_path_factory.mktemp("toy"), bugs=14, themes=7)


@pytest.fixture(scope="module")
def whole(project: toy.Toy, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, float]:
    """The folder of a training that nobody killed, and the seconds that it took."""
    folder = tmp_path_factory.mktemp("whole")
    started = time.monotonic()
    assert start(project, folder).wait(120) == 0
    return folder, time.monotonic() - started


def start(project: toy.Toy, folder: Path) -> subprocess.Popen[bytes]:
    """A training of both stages by two processes, whose results and cache stand in a folder."""
    (folder / "settings.toml").write_text(toy.SETTINGS.replace("jobs = 1", "jobs = 2"))
    words = ["train", folder / "settings.toml", "--repo", project.git.path, "--reports", project.reports()]
    return subprocess.Popen(
        [sys.executable, "-m", "tosloc", *words, "--out", folder / "out", "--keep-features"],
        env=os.environ | {"TOSLOC_CACHE": str(folder / "cache"), "KILLED": str(folder)},
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )


def processes_of(folder: Path) -> list[int]:
    """Processes that a command of this folder has started."""
    mark = f"KILLED={folder}\0".encode()
    found = []
    for place in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark in place.read_bytes():
                found.append(int(place.parent.name))
        except OSError:  # it has just ended, or is another user's
            continue
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked for in /proc")
@pytest.mark.parametrize("seed", range(5))
def test_the_same_bytes_after_kills(seed: int, project: toy.Toy, whole: tuple[Path, float], tmp_path: Path) -> None:
    instants = random.Random(seed)
    for _ in range(KILLS):
        process = start(project, tmp_path)
        time.sleep(instants.uniform(0.2, whole[1]))
        process.kill()
        process.wait()
        assert [one for one in processes_of(tmp_path) if not gone(one)] == []
    assert start(project, tmp_path).wait(120) == 0
    assert differing(whole[0] / "out", tmp_path / "out") == []
