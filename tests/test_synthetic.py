"""Synthetic repositories: the same from the same arguments, of files that parse, with the statistics of real ones."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from scripts import synthetic
from scripts.synthetic import main
from tosloc.git.fixes import says_fix
from tosloc.git.history import read_history
from tosloc.git.repository import Repository
from tosloc.index.repository import IndexedRepository

SUFFIXES = {".java"}


def test_the_same_arguments_give_the_same_commit_and_commits_name_what_they_touch(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    same, few = ["--files", "60", "--commits", "30"], ["--files", "20", "--commits", "2"]
    for name, more in (("a", same), ("b", same), ("c", [*few, "--seed", "1"]), ("d", few)):
        assert main([str(tmp_path / f"{name}.git"), *more]) == 0
    first, again, seeded, other = capsys.readouterr().out.split()
    assert first == again
    assert len({first, seeded, other}) == 3
    assert len(list(tmp_path.iterdir())) == 4
    with Repository(tmp_path / "a.git") as repository:
        assert repository.resolve("HEAD") == first
        assert len(repository.snapshot("HEAD~30", SUFFIXES)) == 60
        history = read_history(repository, "HEAD", SUFFIXES)
    assert (np.diff(history.times) > 0).all()
    names = history.path_names.names
    for number in range(1, 31):
        touched = [Path(names[file]).stem for file in history.touched[number]]
        assert any(stem in history.messages[number] for stem in touched)
    assert 3 <= sum(map(says_fix, history.messages)) <= 20


@pytest.mark.slow
def test_the_statistics_are_those_of_real_repositories(tmp_path: Path) -> None:
    assert main([str(tmp_path / "r.git"), "--files", "2000", "--commits", "50"]) == 0
    with Repository(tmp_path / "r.git") as repository:
        indexed = IndexedRepository(repository, tmp_path / "facts.sqlite", SUFFIXES, jobs=1)
        snapshot = indexed.sources("HEAD")
        indexed.index([snapshot])
        corpus = indexed.corpus([snapshot])
        indexed.close()
    assert corpus.parsed.all()
    lines = np.log(corpus.lines[corpus.lines > 0])
    assert 60 < np.exp(np.median(lines)) < 120
    assert 0.75 < lines.std() < 1.15
    lists = corpus.by_blob
    distinct = np.diff(lists.starts)
    occurred = lists.values[:, :3].sum(axis=1)
    length = np.bincount(np.repeat(np.arange(len(distinct)), distinct), weights=occurred)
    assert 0.5 < np.polyfit(np.log(length), np.log(distinct), 1)[0] < 0.75
    assert 2.5 < length.mean() / corpus.lines.mean() < 4
    assert 2.1 < len(corpus.chunk_postings.rows) / len(lists.rows) < 2.9
    files = np.diff(corpus.postings.starts)
    assert 0.4 < (files == 1).mean() < 0.7
    occurrences = np.sort(np.bincount(lists.rows, weights=occurred))[::-1]
    ranks = np.unique(np.geomspace(10, 1000, 30).astype(int))
    assert -1.1 < np.polyfit(np.log(ranks), np.log(occurrences[ranks - 1]), 1)[0] < -0.75
    folders = np.unique([path.rpartition("/")[0] for path in snapshot.paths], return_counts=True)[1]
    assert 6 < folders.mean() < 14


@pytest.mark.slow
def test_an_interruption_leaves_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "scripts.synthetic", str(tmp_path / "x.git"), "--files", "500000"]
    process = subprocess.Popen(command, cwd=Path(synthetic.__file__).parents[1], stderr=subprocess.PIPE)
    while not list(tmp_path.glob(".*/objects/pack/tmp_pack*")):
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.decode().splitlines()[-1].startswith("tosloc: interrupted")
    assert not list(tmp_path.iterdir())
