"""Renames compared with those of git: the numbers, where a copy ends a file's past, the command."""

import json

import pytest

from tosloc.cli import main
from tosloc.git.repository import Repository
from tosloc.lab.renames import Agreement, compare_with_git, read_file_log

LINES = "".join(f"line {number}\n" for number in range(20))


@pytest.fixture
def moved(repository):
    """Return a repository in which one file is renamed as TosLoc sees it, another only for git."""
    repository.commit({"cart.py": LINES, "bill.py": LINES.replace("line", "row")}, "Import")
    repository.commit({"cart.py": None, "shop/cart.py": LINES}, "Move")
    edited = LINES.replace("line", "row") + "an end\n"
    repository.commit({"bill.py": None, "shop/account.py": edited}, "Rename")
    return repository


@pytest.fixture
def agreement(moved):
    """Return how far TosLoc and git agree about the two files."""
    with Repository(moved.path) as repo:
        return compare_with_git(repo, files=10)


def test_all_files_are_compared_if_there_are_few(agreement):
    assert agreement.files == 2
    assert agreement.renamed == 2


def test_renames_that_only_git_finds_lower_the_recall(agreement):
    assert agreement.renames == Agreement(git=2, ours=1, both=1)
    assert agreement.renames.recall == 0.5
    assert agreement.renames.precision == 1.0


def test_followed_renames_add_commits(agreement):
    assert agreement.commits_unfollowed == Agreement(git=4, ours=2, both=2)
    assert agreement.commits == Agreement(git=4, ours=3, both=3)


def test_no_renames_have_no_precision():
    assert Agreement(git=0, ours=0, both=0).precision is None


def test_a_copy_ends_the_past_of_a_file(repository):
    repository.commit({"cart.py": LINES})
    copied = repository.commit({"copy.py": LINES})
    with Repository(repository.path) as repo:
        log = read_file_log(repo, copied, "copy.py")
    assert log.commits == {copied}
    assert log.renames == set()


def test_command_prints_a_row_for_each_repository(moved, capsys):
    assert main(["lab", "renames", str(moved.path), "--json"]) == 0
    [row] = json.loads(capsys.readouterr().out)
    assert row["repository"] == str(moved.path)
    assert row["renames"] == {"git": 2, "ours": 1, "both": 1}


def test_a_folder_without_repository_is_refused(tmp_path, capsys):
    assert main(["lab", "renames", str(tmp_path)]) == 2
    assert "repository" in capsys.readouterr().err
