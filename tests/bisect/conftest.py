"""Repositories to bisect, and commands that run in this process, in their work tree."""

import sys

import pytest

from tests.conftest import FIRST_TIME, HOUR
from tosloc.cli import main

TEST = "import sys, pathlib; sys.exit('fault' in pathlib.Path('shop.py').read_text())"
"""Program that fails in versions with the fault."""
TEST_COMMAND = (sys.executable, "-c", TEST)


@pytest.fixture
def bisect(capfd, monkeypatch):
    """Return a function (*words, code=0) -> (out, err) of ``tosloc bisect`` in a repository."""

    def run(repository, *words, code=0):
        folder = getattr(repository, "path", repository)
        monkeypatch.chdir(folder)
        capfd.readouterr()
        assert main(["bisect", *map(str, words)]) == code
        return capfd.readouterr()

    return run


@pytest.fixture
def fails(bisect):
    """Return a function that returns the one sentence of a command that ends with 2."""

    def run(repository, *words):
        out, err = bisect(repository, *words, code=2)
        assert out == ""
        [line] = err.splitlines()
        return line.removeprefix("tosloc: ")

    return run


def make_line(repository, number=12, culprit=7):
    """Make a line of commits of which one introduces a fault; the first has the tag good."""
    commits = []
    for position in range(number):
        files = {"a.txt": f"{position}\n"}
        if position == 0:
            files["shop.py"] = "def total():\n    return 1\n"
        if position == culprit:
            files["shop.py"] = "def total():\n    fault = 1\n    return fault\n"
        commits.append((files, f"Change {position}", FIRST_TIME + HOUR * position))
    repository.commit_all(commits)
    repository.git("reset", "-q", "--hard")
    repository.git("tag", "good", repository.commits[0])
    return repository


@pytest.fixture
def line(repository):
    """Return a repository with a line of twelve commits; commit 7 introduces the fault."""
    return make_line(repository)
