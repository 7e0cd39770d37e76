"""Patches of commits: what they change, and what stops git from reading them."""

import pytest

from tosloc.git.patches import MAX_PROCESSES, Hunk, read_patches
from tosloc.git.repository import Repository

LINES = "".join(f"line {number}\n" for number in range(1, 11))


@pytest.fixture
def read(repository):
    """Return a function that reads the patches of the repository's commits, oldest first."""

    def read_all(paths=(), most_bytes=1_000_000):
        with Repository(repository.path) as opened:
            return read_patches(opened, repository.commits, paths, most_bytes)

    return read_all


def test_patch_has_changed_lines_with_one_line_of_context(repository, read):
    repository.commit({"a.py": LINES})
    newest = repository.commit({"a.py": LINES.replace("line 5\n", "line five\n")})
    patch = read().files[1]
    assert patch.commit == newest
    assert patch.path == "a.py"
    assert not patch.adds_file
    assert patch.hunks == (Hunk(4, 4, (" line 4", "-line 5", "+line five", " line 6")),)


def test_patch_has_the_id_of_the_new_content(repository, read):
    newest = repository.commit({"a.py": LINES})
    [patch] = read().files
    assert repository.git("rev-parse", patch.blob) == repository.git("rev-parse", f"{newest}:a.py")


def test_first_commit_adds_its_files(repository, read):
    repository.commit({"a.py": "one\n"})
    [patch] = read().files
    assert patch.adds_file
    assert patch.hunks == (Hunk(0, 1, ("+one",)),)


def test_deleted_file_keeps_its_path(repository, read):
    repository.commit({"a.py": "one\n", "b.py": "two\n"})
    repository.commit({"a.py": None})
    patch = read().files[-1]
    assert patch.path == "a.py"
    assert patch.hunks[0].lines == ("-one",)


def test_changed_white_space_is_no_change(repository, read):
    repository.commit({"a.py": "if a:\n  b\n"})
    repository.commit({"a.py": "if a:\n      b\n"})
    assert len(read().files) == 1


def test_only_wanted_paths_are_read(repository, read):
    repository.commit({"a.py": "one\n", "sub dir/ü.py": "two\n"})
    [patch] = read(["sub dir/ü.py"]).files
    assert patch.path == "sub dir/ü.py"


UNUSUAL = [
    'quote".py',
    '"quoted".py',
    "back\\slash.py",
    "back\\nslash.py",
    "back\\101.py",
    "tab\t.py",
    "blank and tab\t.py",
    "tab at the end\t",
    "new\nline.py",
    "return\r.py",
    "bell\a\b\f\v.py",
    "escape\x1b[31m\x01\x7f.py",
    "ü\t\udcff.py",
]


@pytest.mark.parametrize("path", UNUSUAL)
def test_unusual_characters_of_a_path_are_read(repository, read, path):
    repository.commit({path: "one\n"})
    repository.commit({path: None})
    added, deleted = read([path]).files
    assert added.path == path
    assert deleted.path == path


def test_files_of_a_folder_that_became_a_file_are_left_out(repository, read):
    repository.commit({"a/b.py": "one\n"})
    repository.commit({"a/b.py": None, "a": "two\n"})
    assert {patch.path for patch in read(["a"]).files} == {"a"}


def test_lines_that_look_like_headers_are_lines(repository, read):
    repository.commit({"a.sql": "-- a/b\n++ c/d\n"})
    repository.commit({"a.sql": "diff --git a b\n"})
    assert read().files[1].hunks[0].lines == ("--- a/b", "-++ c/d", "+diff --git a b")


def test_missing_last_line_break_is_no_line(repository, read):
    repository.commit({"a.py": "one"})
    repository.commit({"a.py": "two"})
    assert read().files[1].hunks[0].lines == ("-one", "+two")


def test_merges_change_nothing(repository, read):
    first = repository.commit({"a.py": "one\n"})
    left = repository.commit({"a.py": "two\n"}, parents=[first])
    right = repository.commit({"b.py": "one\n"}, parents=[first])
    merge = repository.commit({"b.py": "one\n"}, parents=[left, right])
    assert merge not in {patch.commit for patch in read().files}


def test_commits_after_a_missing_blob_are_read(repository, read):
    repository.commit({"a.py": "one\n"})
    repository.commit({"a.py": "lost\n"})
    repository.commit({"b.py": "two\n"})
    repository.lose(f"{repository.commits[1]}:a.py")
    patches = read()
    assert patches.unreadable > 0
    assert repository.commits[2] in {patch.commit for patch in patches.files}


def test_restarts_of_git_after_missing_blobs_are_bounded(repository, read):
    for number in range(2 * MAX_PROCESSES):
        commit = repository.commit({"a.py": f"{number}\n"})
        repository.lose(f"{commit}:a.py")
    readable = repository.commit({"b.py": "two\n"})
    patches = read()
    assert patches.unreadable == MAX_PROCESSES
    assert readable not in {patch.commit for patch in patches.files}


def test_number_of_bytes_is_bounded(repository, read):
    for number in range(5):
        repository.commit({"a.py": f"{number}\n" * 100})
    patches = read(most_bytes=1_000)
    assert 0 < len(patches.files) < 5
    assert patches.unreadable == 0
