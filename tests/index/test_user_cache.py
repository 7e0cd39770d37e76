"""The user's cache: what is noted of a repository, who uses it, and what goes when there is too much."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conftest import GitRepository
from tosloc.data.git import Repository
from tosloc.errors import ConfigError
from tosloc.index.repository import IndexedRepository
from tosloc.index.user_cache import (
    Kept,
    bytes_of_size,
    default_store,
    evict,
    hold,
    kept_of,
    kept_repositories,
    let_go,
    remove_leftovers,
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path / "cache"))
    yield tmp_path / "cache"
    let_go()


@pytest.fixture
def indexed(repository: GitRepository) -> Path:
    """The folder of a repository that was indexed, by no process any more."""
    repository.commit({"src/Door.java": "class Door { void open() {} }"})
    with Repository(repository.path) as repo:
        project = IndexedRepository(repo, jobs=1)
        project.prepared("HEAD")
        project.close()
        let_go()
        return default_store(repo).parent


@pytest.fixture
def made(folder: Path) -> Callable[[str, int, int], Kept]:
    """Function (name, bytes, age in s) -> something kept, as an earlier TosLoc left it."""

    def make(name: str, size: int, age: int) -> Kept:
        path = folder / f"{name}-0123456{len(kept_repositories())}"
        path.mkdir(parents=True)
        (path / "facts.sqlite").write_bytes(bytes(size))
        for one in (path / "facts.sqlite", path):
            os.utime(one, (2e9 - age, 2e9 - age))
        return Kept(path)

    return make


@contextmanager
def held_by_another(repository: Path) -> Iterator[None]:
    """Another process holds what is kept of a repository."""
    code = (
        "import sys; from tosloc.data.git import Repository; from tosloc.index.user_cache import *;"
        f"repo = Repository({str(repository)!r}); hold(repo, default_store(repo)); print(flush=True); sys.stdin.read()"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        process.stdout.readline()
        yield
    finally:
        process.communicate()


def test_the_place_is_noted_and_use_is_a_time(indexed: Path, repository: GitRepository) -> None:
    assert json.loads((indexed / "place.json").read_text()) == {"repository": str(repository.path.resolve())}
    [kept] = kept_repositories()
    assert (kept.folder, kept.repository, kept.gone) == (indexed, repository.path.resolve(), False)
    assert kept.name == repository.path.parent.name  # the folder itself is called repo
    assert kept.bytes["facts"] == (indexed / "facts.sqlite").stat().st_size
    assert kept.bytes["versions"] > 0
    assert kept.total == sum(path.stat().st_size for path in indexed.rglob("*") if path.is_file())
    os.utime(indexed / "place.json", (1e9, 1e9))
    [kept] = kept_repositories()
    assert kept.last_used.timestamp() == 1e9
    with Repository(repository.path) as repo:
        IndexedRepository(repo).prepared("HEAD")  # reads the kept version alone
    [kept] = kept_repositories()
    assert kept.last_used.timestamp() > 1.7e9
    os.rename(repository.path, repository.path.with_name("moved"))
    [kept] = kept_repositories()
    assert kept.gone


@pytest.mark.parametrize("content", ["", "[]", "{", '{"repository": 7}', '{"repository": "/elsewhere"}'])
def test_a_place_that_does_not_fit_is_unknown_and_written_anew(
    content: str, indexed: Path, repository: GitRepository
) -> None:
    (indexed / "place.json").write_text(content)
    [kept] = kept_repositories()
    assert (kept.repository, kept.gone) == (None, False)
    with Repository(repository.path) as repo:
        hold(repo, default_store(repo))
    [kept] = kept_repositories()
    assert kept.repository == repository.path.resolve()


def test_a_store_elsewhere_is_none_of_the_caches(repository: GitRepository, folder: Path, tmp_path: Path) -> None:
    repository.commit({"src/Door.java": "class Door {}"})
    with Repository(repository.path) as repo:
        project = IndexedRepository(repo, tmp_path / "facts.sqlite", jobs=1)
        project.prepared("HEAD")
        project.close()
    assert not folder.exists()
    assert kept_repositories() == []


def test_an_earlier_folder_tells_its_use_by_its_files(made: Callable[[str, int, int], Kept]) -> None:
    made("door", 10, 500)
    [kept] = kept_repositories()
    assert (kept.name, kept.repository, kept.gone, kept.total) == ("door", None, False, 10)
    assert kept.last_used.timestamp() == 2e9 - 500


def test_only_our_folders_are_listed(folder: Path, tmp_path: Path) -> None:
    for name in ("notes", "door-01234567", "key-0123456x"):
        (folder / name).mkdir(parents=True)
        (folder / name / "mine.txt").write_text("mine")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "facts.sqlite").touch()
    (folder / "lock-01234567").symlink_to(tmp_path / "elsewhere")
    assert kept_repositories() == []


def test_what_a_process_uses_is_not_removed(indexed: Path, repository: GitRepository) -> None:
    [kept] = kept_repositories()
    before = sorted(indexed.rglob("*"))
    with held_by_another(repository.path):
        assert kept.in_use
        assert not kept.remove()
        assert evict([kept], 0) == []
        assert sorted(indexed.rglob("*")) == before
    assert not kept.in_use
    assert kept.remove()
    assert not indexed.exists()
    assert list(indexed.parent.iterdir()) == []


def test_who_waits_for_a_folder_that_goes_makes_it_anew(indexed: Path, repository: GitRepository) -> None:
    with Repository(repository.path) as repo:
        hold(repo, default_store(repo))
        let_go()
        [kept] = kept_repositories()
        assert kept.remove()
        hold(repo, default_store(repo))
        assert Kept(indexed).in_use
        os.rename(indexed, indexed.with_name("away"))  # by hand, under our eyes
        hold(repo, default_store(repo))
        assert Kept(indexed).in_use


def test_without_locks_nothing_is_removed(
    indexed: Path, repository: GitRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", none)
    (indexed / "place.json").unlink()
    with Repository(repository.path) as repo:
        hold(repo, default_store(repo))
    [kept] = kept_repositories()
    assert kept.repository == repository.path.resolve()
    assert not kept.remove()
    assert evict([kept], 0) == []
    assert (indexed / "facts.sqlite").exists()


def test_files_of_others_stay(indexed: Path) -> None:
    (indexed / "mine.sqlite").write_text("mine")
    (indexed / "reports.jsonl").write_text("{}\n")
    [kept] = kept_repositories()
    assert kept.remove(("facts", "versions"))
    assert sorted(path.name for path in indexed.iterdir()) == ["mine.sqlite", "place.json", "reports.jsonl"]
    assert kept.remove()
    assert sorted(path.name for path in indexed.iterdir()) == ["mine.sqlite", "place.json"]


def test_the_least_used_go_first_and_what_was_mined_stays(made: Callable[[str, int, int], Kept]) -> None:
    old, older, new = made("old", 1000, 50), made("older", 1000, 90), made("new", 1000, 10)
    (older.folder / "reports.jsonl").write_bytes(bytes(200))
    assert [kept.name for kept in kept_repositories()] == ["new", "old", "older"]
    planned = evict(kept_repositories(), 2500, dry_run=True)
    assert [(kept.name, size) for kept, size in planned] == [("older", 1000)]
    assert (older.folder / "facts.sqlite").exists()
    evicted = evict(kept_repositories(), 1500)
    assert [(kept.name, size) for kept, size in evicted] == [("older", 1000), ("old", 1000)]
    assert not old.folder.exists()
    assert [path.name for path in older.folder.iterdir()] == ["reports.jsonl"]
    assert new.folder.exists()
    assert evict(kept_repositories(), 1500) == []


def test_the_cache_may_be_a_link(made: Callable[[str, int, int], Kept], folder: Path, tmp_path: Path) -> None:
    made("old", 1000, 50)
    folder.rename(tmp_path / "large disk")
    folder.symlink_to(tmp_path / "large disk")
    [(kept, size)] = evict(kept_repositories(), 500)
    assert (kept.name, size) == ("old", 1000)
    assert list(folder.iterdir()) == []


def test_who_writes_keeps_to_the_largest_size(
    made: Callable[[str, int, int], Kept], repository: GitRepository, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    repository.commit({"src/Door.java": "class Door { void open() {} }"})
    other = made("other", 1_000_000, 50)
    monkeypatch.setenv("TOSLOC_CACHE_SIZE", "1M")
    with Repository(repository.path) as repo:
        IndexedRepository(repo, tmp_path / "named.sqlite", jobs=1).prepared("HEAD")
        assert other.folder.exists()  # a store that lies elsewhere is not counted
        project = IndexedRepository(repo, jobs=1)
        project.prepared("HEAD")
        assert not other.folder.exists()
        assert project.store_path.exists()
        monkeypatch.setenv("TOSLOC_CACHE_SIZE", "0")
        repository.commit({"src/Key.java": "class Key { }"})
        with Repository(repository.path) as again:
            IndexedRepository(again, jobs=1).prepared("HEAD")  # its own stays, however small the size
        assert project.store_path.exists()
        monkeypatch.setenv("TOSLOC_CACHE_SIZE", "much")
        with pytest.raises(ConfigError, match="TOSLOC_CACHE_SIZE: 'much' is no size"):
            IndexedRepository(repo).prepared("HEAD")


@pytest.mark.parametrize("text", ["", "G", "-1", "1X", "1e9", "nan", "1 2", "9" * 400])
def test_no_size(text: str) -> None:
    with pytest.raises(ConfigError, match="is no size"):
        bytes_of_size(text, "--max-size")


def test_by_path_or_name(indexed: Path, repository: GitRepository, made: Callable[[str, int, int], Kept]) -> None:
    made("door", 10, 0)
    made("door", 10, 0)
    for text in (str(repository.path), repository.path.parent.name, indexed.name):
        assert [kept.folder for kept in kept_of(text)] == [indexed]
    assert [kept.name for kept in kept_of("door")] == ["door", "door"]
    assert kept_of("nothing") == []


def test_leftovers_go(indexed: Path) -> None:
    for place in (indexed.parent, indexed, indexed / "facts.versions"):
        (place / ".tosloc-unfinished.0123").mkdir()
    remove_leftovers()
    assert not list(indexed.parent.rglob(".tosloc-unfinished*"))
