"""Synthetic repositories: the same from the same arguments, of files that parse, with the statistics of real ones."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import tree_sitter_java
import tree_sitter_python
from tree_sitter import Language, Parser

from scripts import synthetic
from scripts.synthetic import main
from tosloc.cli.guard import guarded
from tosloc.git.fixes import says_fix
from tosloc.git.history import read_history
from tosloc.git.repository import Repository
from tosloc.index.repository import IndexedRepository

SUFFIXES = {".java", ".py"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("synthetic")
    assert main([str(folder / "a.git"), "--files", "300", "--commits", "40"]) == 0
    return folder / "a.git"


def head(path: Path) -> str:
    with Repository(path) as repository:
        return repository.resolve("HEAD")


def test_the_same_arguments_give_the_same_commit(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    same, few = ["--files", "300", "--commits", "40"], ["--files", "20", "--commits", "2"]
    for name, more in (("b", same), ("c", [*few, "--seed", "1"]), ("d", few)):
        assert main([str(made.with_name(f"{name}.git")), *more]) == 0
    printed = capsys.readouterr().out.split()
    assert printed == [head(made.with_name(f"{name}.git")) for name in "bcd"]
    assert printed[0] == head(made)
    assert len(set(printed)) == 3
    assert {path.name for path in made.parent.iterdir()} == {"a.git", "b.git", "c.git", "d.git"}


def test_every_file_parses_and_stands_for_itself(made: Path) -> None:
    parsers = {
        ".java": Parser(Language(tree_sitter_java.language())),
        ".py": Parser(Language(tree_sitter_python.language())),
    }
    with Repository(made) as repository:
        first = repository.snapshot("HEAD~40", SUFFIXES)
        assert len(first) == 300
        last = repository.snapshot("HEAD", SUFFIXES)
        blobs = dict(zip(last.blobs, last.paths, strict=True)) | dict(zip(first.blobs, first.paths, strict=True))
        for blob, content in repository.texts(blobs):
            assert content is not None
            tree = parsers[Path(blobs[blob]).suffix].parse(content)
            assert not tree.root_node.has_error, blobs[blob]
    types = {Path(path).stem for path in last.paths}
    with Repository(made) as repository:
        [(_, text)] = repository.texts([last.blobs[[".java" in path for path in last.paths].index(True)]])
    assert text is not None
    imported = [
        line.split(b".")[-1].strip(b";").decode() for line in text.splitlines() if line.startswith(b"import org")
    ]
    assert not imported or set(imported) & types


def test_commits_name_what_they_touch(made: Path) -> None:
    with Repository(made) as repository:
        history = read_history(repository, "HEAD", SUFFIXES)
    assert len(history) == 41
    assert (np.diff(history.times) > 0).all()
    names = history.path_names.names
    for number in range(1, 41):
        touched = [Path(names[file]).stem for file in history.files(number).tolist()]
        assert touched
        assert any(stem in history.messages[number] for stem in touched)
    assert 4 <= sum(map(says_fix, history.messages)) <= 25


@pytest.mark.slow
def test_the_statistics_are_those_of_real_repositories(tmp_path: Path) -> None:
    assert main([str(tmp_path / "r.git"), "--files", "3000", "--commits", "50"]) == 0
    with Repository(tmp_path / "r.git") as repository:
        indexed = IndexedRepository(repository, tmp_path / "facts.sqlite", SUFFIXES, jobs=1)
        snapshot = indexed.sources("HEAD")
        indexed.index([snapshot])
        table = indexed.corpus([snapshot]).table
        indexed.close()
    lines = np.log(table.lines[table.lines > 0])
    assert 60 < np.exp(np.median(lines)) < 120
    assert 0.75 < lines.std() < 1.15
    distinct = np.diff(table.starts)
    occurred = table.counts[:, :3].sum(axis=1)
    length = np.bincount(np.repeat(np.arange(len(distinct)), distinct), weights=occurred)
    assert 0.5 < np.polyfit(np.log(length), np.log(distinct), 1)[0] < 0.75
    assert 2.5 < length.mean() / table.lines.mean() < 4
    assert 2.1 < len(table.chunk_terms) / len(table.terms) < 2.9
    files = np.bincount(table.terms, minlength=len(table.vocabulary))
    assert 0.4 < (files == 1).mean() < 0.7
    occurrences = np.sort(np.bincount(table.terms, weights=occurred))[::-1]
    ranks = np.unique(np.geomspace(10, 1000, 30).astype(int))
    assert -1.1 < np.polyfit(np.log(ranks), np.log(occurrences[ranks - 1]), 1)[0] < -0.75
    seen = np.zeros(len(table.vocabulary), dtype=bool)
    known = []
    for blob in np.random.default_rng(0).permutation(len(distinct)).tolist():
        seen[table.terms[table.starts[blob] : table.starts[blob + 1]]] = True
        known.append(seen.sum())
    number = np.arange(1, len(known) + 1)
    assert 0.5 < np.polyfit(np.log(number[200:]), np.log(known[200:]), 1)[0] < 0.8
    folders = np.unique([path.rpartition("/")[0] for path in snapshot.paths], return_counts=True)[1]
    assert 6 < folders.mean() < 14
    depth = np.median([path.count("/") for path in snapshot.paths])
    assert 3 <= depth <= 10


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["x.git", "--files", "0"], "--files"),
        (["x.git", "--lines", "1"], "--lines"),
        (["x.git", "--commits", "-1"], "--commits"),
        (["there", "--files", "5"], "exists"),
        (["no/x.git", "--files", "5"], "no such folder"),
    ],
)
def test_bad_input_is_one_sentence(
    arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "there").mkdir()
    assert guarded(lambda: main([str(tmp_path / arguments[0]), *arguments[1:]])) == 2
    printed = capsys.readouterr()
    assert said in printed.err
    assert (len(printed.err.splitlines()), printed.out) == (1, "")
    assert [path.name for path in tmp_path.iterdir()] == ["there"]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_leaves_nothing(tmp_path: Path, number: int) -> None:
    command = [sys.executable, "-m", "scripts.synthetic", str(tmp_path / "x.git"), "--files", "500000"]
    process = subprocess.Popen(
        command,
        cwd=Path(synthetic.__file__).parents[1],
        stderr=subprocess.PIPE,
        env=os.environ | {"TMPDIR": str(tmp_path)},
    )
    while not list(tmp_path.glob(".*/objects/pack/tmp_pack*")):
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert said.decode().splitlines()[-1].startswith("tosloc: interrupted")
    assert not list(tmp_path.iterdir())
