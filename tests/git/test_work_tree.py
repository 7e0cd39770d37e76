"""Which files of a work tree are not committed, and which are never read."""

import os

import pytest

from tests.conftest import GitRepository
from tosloc.core.errors import RepositoryError
from tosloc.git import process
from tosloc.git.process import MAX_SOURCE_BYTES
from tosloc.git.repository import Repository

COMMITTED = {f"{name}.py": f"{name} = 1\n" for name in ("kept", "changed", "staged", "gone", "old")}


def read_state(repository):
    with Repository(repository.path) as opened:
        return opened.on_disk.state(opened.resolve("HEAD"), {".py"})


def list_changes(repository, path=None):
    """Return path -> text on disk, None for a deleted file."""
    with Repository(path or repository.path) as opened:
        changes = opened.on_disk.state(opened.resolve("HEAD"), {".py"}).changes
        texts = dict(opened.texts(blob for _, blob in changes if blob))
        return {path: blob and (texts[blob] or b"?").decode() for path, blob in changes}


@pytest.fixture
def tree(repository):
    """Commit some files, of which one folder is ignored; return the folder of the work tree."""
    more = {"a.txt": "x", ".gitignore": "build/\n", "src/b.py": "b\n"}
    repository.commit({**COMMITTED, **more})
    return repository.path


def test_nothing_changes_at_first(repository, tree):
    assert list_changes(repository) == {}


def test_changed_staged_and_new_files_have_their_text_on_disk(repository, tree):
    texts = {"changed.py": "2", "staged.py": "3", "new.py": "4", "src/é ä.py": "5"}
    for path, text in texts.items():
        (tree / path).write_text(text)
    repository.git("add", "staged.py")
    assert list_changes(repository) == texts


def test_changes_are_seen_from_every_current_folder(repository, tree, monkeypatch):
    monkeypatch.chdir(tree / "src")
    (tree / "new.py").write_text("4")
    assert list_changes(repository) == {"new.py": "4"}


def test_a_deleted_file_has_no_text(repository, tree):
    (tree / "gone.py").unlink()
    assert list_changes(repository) == {"gone.py": None}


def test_a_moved_file_is_deleted_and_new(repository, tree):
    repository.git("mv", "old.py", "moved.py")
    assert list_changes(repository) == {"old.py": None, "moved.py": "old = 1\n"}


def test_files_without_a_suffix_of_source_do_not_count(repository, tree):
    (tree / "a.txt").write_text("y")
    assert list_changes(repository) == {}


def test_ignored_files_do_not_count(repository, tree):
    (tree / "build").mkdir()
    (tree / "build/made.py").write_text("ignored")
    (tree / ".git/info/exclude").write_text("mine.py\n")
    (tree / "mine.py").write_text("ignored")
    assert list_changes(repository) == {}


def test_a_new_time_alone_is_no_change(repository, tree):
    os.utime(tree / "kept.py", (1, 1))
    assert list_changes(repository) == {}


def test_a_linked_work_tree_has_changes_of_its_own(repository, tree):
    (tree / "changed.py").write_text("2")
    repository.git("worktree", "add", "-q", "--detach", str(tree / "linked"))
    (tree / "linked/kept.py").write_text("linked")
    assert list_changes(repository, tree / "linked") == {"kept.py": "linked"}


def test_without_an_index_files_are_compared_by_their_content(repository, tree):
    (tree / "changed.py").write_text("2")
    (tree / ".git/index").unlink()
    assert list_changes(repository) == {"changed.py": "2"}


def test_without_an_index_files_that_are_not_on_disk_were_never_checked_out(repository, tree):
    (tree / "gone.py").unlink()
    (tree / ".git/index").unlink()
    state = read_state(repository)
    assert state.changes == frozenset()
    assert state.left_out == ("gone.py",)


def test_an_index_behind_a_link_is_not_read(repository, tree, tmp_path):
    (tree / "changed.py").write_text("2")
    (tree / ".git/index").rename(tmp_path / "index")
    (tree / ".git/index").symlink_to(tmp_path / "index")
    assert list_changes(repository) == {"changed.py": "2"}


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_changes_that_git_was_told_to_ignore_are_seen(repository, tree, flag):
    repository.git("update-index", flag, "changed.py", "src/b.py", "kept.py")
    (tree / "changed.py").write_text("2")
    (tree / "src/b.py").write_text("3")
    assert list_changes(repository) == {"changed.py": "2", "src/b.py": "3"}


def test_a_deleted_file_that_is_assumed_unchanged_is_deleted(repository, tree):
    repository.git("update-index", "--assume-unchanged", "gone.py")
    (tree / "gone.py").unlink()
    assert list_changes(repository) == {"gone.py": None}


@pytest.mark.parametrize("path", ["gone.py", "src/b.py"], ids=["file", "folder"])
def test_files_outside_of_a_sparse_checkout_are_left_out(repository, tree, path):
    repository.git("update-index", "--skip-worktree", path)
    (tree / path).unlink()
    if path.startswith("src/"):
        (tree / "src").rmdir()
    state = read_state(repository)
    assert state.changes == frozenset()
    assert state.left_out == (path,)


@pytest.mark.parametrize("configured", [True, False], ids=["autocrlf", "without settings"])
def test_converted_line_ends_are_no_change(repository, tree, configured):
    if configured:
        repository.git("config", "core.autocrlf", "true")
        (tree / "kept.py").unlink()
        repository.git("checkout", "kept.py")
    else:
        (tree / "kept.py").write_bytes(b"kept = 1\r\n")
    os.utime(tree / "kept.py", (1, 1))
    assert (tree / "kept.py").read_bytes() == b"kept = 1\r\n"
    assert list_changes(repository) == {}


def test_a_changed_file_with_converted_line_ends_is_a_change(repository, tree):
    (tree / "kept.py").write_bytes(b"kept = 2\r\n")
    assert list_changes(repository) == {"kept.py": "kept = 2\r\n"}


def test_an_untracked_repository_is_named(repository, tree):
    GitRepository.new(tree / "nested").commit({"a.py": "a = 1\n"})
    state = read_state(repository)
    assert state.changes == frozenset()
    assert state.repositories == ("nested",)


def test_files_of_another_folder_are_not_compared(repository, tree, tmp_path):
    repository.git("config", "core.worktree", str(tmp_path))
    (tree / "changed.py").write_text("2")
    with Repository(repository.path) as opened:
        assert opened.work_tree is None
        assert opened.layout.other_work_tree == tmp_path
    assert list_changes(repository) == {}


def test_core_worktree_may_name_the_folder_itself(repository, tree):
    repository.git("config", "core.worktree", "..")
    (tree / "changed.py").write_text("2")
    assert list_changes(repository) == {"changed.py": "2"}


def test_a_damaged_index_is_an_error(repository, tree):
    (tree / ".git/index").write_bytes(b"no index")
    with pytest.raises(RepositoryError, match="git diff-index failed"):
        list_changes(repository)


# What is never read


@pytest.fixture
def outside(tmp_path):
    """Build a folder outside the work tree, with a file c.py."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "c.py").write_text("secret")
    return folder


def replace_by_link(path, target):
    path.unlink()
    path.symlink_to(target)


def test_a_link_is_not_followed(repository, outside):
    repository.commit({"a.py": "a\n"})
    replace_by_link(repository.path / "a.py", outside / "c.py")
    (repository.path / "new.py").symlink_to(outside / "c.py")
    assert list_changes(repository) == {"a.py": None}


def test_a_link_to_a_folder_is_not_followed(repository, outside):
    repository.commit({"folder/c.py": "c\n"})
    (repository.path / "folder/c.py").unlink()
    (repository.path / "folder").rmdir()
    (repository.path / "folder").symlink_to(outside)
    assert list_changes(repository) == {"folder/c.py": None}


def test_a_named_pipe_is_a_deleted_file(repository):
    repository.commit({"b.py": "b\n"})
    (repository.path / "b.py").unlink()
    os.mkfifo(repository.path / "b.py")
    assert list_changes(repository) == {"b.py": None}


def test_a_file_that_is_too_large_is_not_read(repository):
    repository.commit({"a.py": "a\n"})
    (repository.path / "large.py").write_bytes(b"x" * (MAX_SOURCE_BYTES + 1))
    state = read_state(repository)
    assert state.changes == frozenset()
    assert state.unread == ("large.py",)


@pytest.mark.parametrize("key", ["filter.evil.clean", "core.fsmonitor", "filter.evil.process"])
def test_no_program_of_the_configuration_is_run(repository, tmp_path, key):
    repository.commit({"a.py": "a\n", ".gitattributes": "*.py filter=evil\n"})
    repository.git("config", key, f"touch {tmp_path}/ran")
    (repository.path / "a.py").write_text("b\n")
    assert list_changes(repository) == {"a.py": "b\n"}
    assert not (tmp_path / "ran").exists()


def test_a_file_that_changes_while_it_is_read_has_no_text(repository):
    repository.commit({"a.py": "a\n"})
    (repository.path / "a.py").write_text("b\n")
    with Repository(repository.path) as opened:
        [(_, blob)] = opened.on_disk.state(repository.commits[0], {".py"}).changes
        assert blob == repository.git("hash-object", "a.py")
        (repository.path / "a.py").write_text("c\n")
        assert dict(opened.texts([blob])) == {blob: None}


# Named pipes


@pytest.mark.parametrize(
    "name",
    [
        ".gitignore",
        "src/.gitignore",
        ".gitattributes",
        "src/nested/.git/HEAD",
        "src/nested/.git/commondir",
    ],
)
def test_a_named_pipe_that_git_reads_is_one_sentence(repository, monkeypatch, name):
    monkeypatch.setattr(process, "SECONDS_BEFORE_LOOK", 0.2)
    repository.commit({"a.py": "a\n", "src/b.py": "b\n"})
    file = repository.path / name
    if ".git/" in name:
        repository.git("init", "-q", str(file.parent.parent))
        file.unlink(missing_ok=True)
    os.mkfifo(file)
    with pytest.raises(RepositoryError, match=f"{file} is a named pipe or a device, not a file"):
        list_changes(repository)


@pytest.mark.parametrize("name", [".mailmap", "CODEOWNERS", "pipe.py", "other"])
def test_a_named_pipe_that_nobody_reads_blocks_nothing(repository, name):
    repository.commit({"a.py": "a\n"})
    os.mkfifo(repository.path / name)
    (repository.path / "a.py").write_text("b\n")
    assert list_changes(repository) == {"a.py": "b\n"}


def test_a_named_pipe_called_git_is_no_repository(tmp_path):
    os.mkfifo(tmp_path / ".git")
    with pytest.raises(RepositoryError, match="not a git repository"):
        Repository(tmp_path)
