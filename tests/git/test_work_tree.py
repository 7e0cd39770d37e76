"""What is on disk and not committed, and what is never read of it."""

import os

import pytest

from tosloc.core.errors import RepositoryError
from tosloc.git import process
from tosloc.git.process import MAX_SOURCE_BYTES
from tosloc.git.repository import Repository


def changes(repository, path=None):
    """Path -> text on disk, None for what is gone."""
    with Repository(path or repository.path) as opened:
        found = opened.uncommitted(opened.resolve("HEAD"), {".py"})
        texts = dict(opened.texts(blob for _, blob in found if blob))
        return {path: blob and (texts[blob] or b"?").decode() for path, blob in found}


def test_changed_new_gone_and_renamed_files(repository, monkeypatch):
    same = {f"{name}.py": f"{name} = 1\n" for name in ("kept", "changed", "staged", "gone", "old")}
    repository.commit({**same, "a.txt": "x", ".gitignore": "build/\n", "src/b.py": "b\n"})
    tree = repository.path
    monkeypatch.chdir(tree / "src")
    assert changes(repository) == {}
    for path, text in {
        "changed.py": "2",
        "staged.py": "3",
        "new.py": "4",
        "src/é ä.py": "5",
        "a.txt": "y",
    }.items():
        (tree / path).write_text(text)
    (tree / "build").mkdir()
    (tree / "build/made.py").write_text("ignored")
    (tree / ".git/info/exclude").write_text("mine.py\n")
    (tree / "mine.py").write_text("ignored")
    (tree / "gone.py").unlink()
    repository.git("add", "staged.py")
    repository.git("mv", "old.py", "moved.py")
    os.utime(tree / "kept.py", (1, 1))
    said = {"changed.py": "2", "staged.py": "3", "new.py": "4", "src/é ä.py": "5", "gone.py": None}
    assert changes(repository) == {**said, "old.py": None, "moved.py": "old = 1\n"}
    repository.git("worktree", "add", "-q", "--detach", str(tree / "linked"))
    (tree / "linked/kept.py").write_text("linked")
    assert changes(repository, tree / "linked") == {"kept.py": "linked"}
    (tree / ".git/index").unlink()
    assert changes(repository) == {}  # nothing is checked out
    (tree / ".git/index").write_bytes(b"no index")
    with pytest.raises(RepositoryError, match="git diff-index failed"):
        changes(repository)


def test_only_regular_files_inside_are_read_and_nothing_is_run(repository, tmp_path):
    repository.commit(
        {"a.py": "a\n", "b.py": "b\n", "folder/c.py": "c\n", ".gitattributes": "*.py filter=evil\n"}
    )
    tree, outside = repository.path, tmp_path / "outside"
    outside.mkdir()
    (outside / "c.py").write_text("secret")
    for what in ("filter.evil.clean", "core.fsmonitor", "filter.evil.process"):
        repository.git("config", what, f"touch {tmp_path}/ran")
    (tree / "a.py").unlink()
    (tree / "a.py").symlink_to(outside / "c.py")
    (tree / "b.py").unlink()
    os.mkfifo(tree / "b.py")
    (tree / "new.py").symlink_to(outside / "c.py")
    (tree / "folder/c.py").unlink()
    (tree / "folder").rmdir()
    (tree / "folder").symlink_to(outside)
    (tree / "large.py").write_bytes(b"x" * (MAX_SOURCE_BYTES + 1))
    assert changes(repository) == {"a.py": None, "b.py": None, "folder/c.py": None}
    assert not (tmp_path / "ran").exists()


def test_a_file_that_changes_while_it_is_read_is_not_taken_for_another(repository):
    repository.commit({"a.py": "a\n"})
    (repository.path / "a.py").write_text("b\n")
    with Repository(repository.path) as opened:
        [(_, blob)] = opened.uncommitted(repository.commits[0], {".py"})
        assert blob == repository.git("hash-object", "a.py")
        (repository.path / "a.py").write_text("c\n")
        assert dict(opened.texts([blob])) == {blob: None}


@pytest.mark.parametrize(
    "place",
    [
        ".gitignore",
        "src/.gitignore",
        ".gitattributes",
        "src/nested/.git/HEAD",
        "src/nested/.git/commondir",
    ],
)
def test_a_named_pipe_that_git_reads_of_the_work_tree_is_one_sentence(
    repository, monkeypatch, place
):
    monkeypatch.setattr(process, "SECONDS_BEFORE_LOOK", 0.2)
    repository.commit({"a.py": "a\n", "src/b.py": "b\n"})
    file = repository.path / place
    if ".git/" in place:
        repository.git("init", "-q", str(file.parent.parent))
        file.unlink(missing_ok=True)
    os.mkfifo(file)
    with pytest.raises(RepositoryError, match=f"{file} is a named pipe or a device, not a file"):
        changes(repository)


@pytest.mark.parametrize("name", [".mailmap", "CODEOWNERS", "pipe.py", "other"])
def test_a_named_pipe_that_nobody_reads_blocks_nothing(repository, name):
    repository.commit({"a.py": "a\n"})
    os.mkfifo(repository.path / name)
    (repository.path / "a.py").write_text("b\n")
    assert changes(repository) == {"a.py": "b\n"}


def test_a_named_pipe_in_place_of_the_pointer_to_the_git_directory_is_no_repository(tmp_path):
    os.mkfifo(tmp_path / ".git")
    with pytest.raises(RepositoryError, match="not a git repository"):
        Repository(tmp_path)
