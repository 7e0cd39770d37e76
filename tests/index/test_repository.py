"""A version is made ready once and kept beside the facts; a kept file is never trusted blindly."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import GitRepository
from tosloc.arrays import read_mapped
from tosloc.git.process import ObjectReader
from tosloc.git.repository import Repository
from tosloc.index import repository as module
from tosloc.index.cache import default_store
from tosloc.index.repository import KEPT_VERSIONS, IndexedRepository, PreparedVersion


@pytest.fixture
def project(repository: GitRepository, tmp_path: Path) -> Iterator[IndexedRepository]:
    repository.commit({"src/Reader.java": "class Reader { int a; }", b"src/caf\xe9.java": "class C { }"}, "Start")
    repository.commit({"src/Reader.java": "class Reader { int b; }"}, "Fix bug 4711: reader loses the first byte")
    repository.commit({"src/Writer.java": "class Writer { }"}, "Add a writer")
    with Repository(repository.path) as repo:
        made = IndexedRepository(repo, tmp_path / "cache" / "facts.sqlite", {".java"}, jobs=1)
        yield made
        made.close()


def kept(project: IndexedRepository) -> list[Path]:
    return sorted((project.store_path.parent / "facts.versions").glob("*"))


def same(one: PreparedVersion, other: PreparedVersion) -> bool:
    left, right = one.to_arrays(), other.to_arrays()
    return all(np.array_equal(left[name], right[name]) for name in left | right)


def not_again(*_: object, **__: object) -> None:
    raise AssertionError("read or made again")


def test_a_version_is_made_once(project: IndexedRepository, monkeypatch: pytest.MonkeyPatch) -> None:
    head = project.repo.resolve("HEAD")
    first = project.prepared("HEAD")
    assert first.snapshot.commit == head
    assert [len(first.history.commits), len(first.history.reports), len(first.commit_ids)] == [3, 1, 3]
    assert "src/caf\udce9.java" in first.index.paths.table.paths
    assert len(kept(project)) == 1
    for name in ("history", "index", "corpus", "snapshot", "facts"):
        monkeypatch.setattr(IndexedRepository, name, not_again)
    monkeypatch.setattr(ObjectReader, "read", not_again)
    again = project.prepared("HEAD")
    assert same(first, again)
    assert again.snapshot.paths == first.snapshot.paths
    assert again.snapshot.blobs == first.snapshot.blobs
    assert again.snapshot.committed_at == first.snapshot.committed_at
    assert list(again.commit_ids) == list(first.commit_ids)
    assert again.snapshot.path_names.ids == first.snapshot.path_names.ids


@pytest.mark.parametrize("what", ["version", "suffixes", "code", "shallow", "analyser"])
def test_another_query_has_another_version(
    project: IndexedRepository, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    revision = "HEAD"
    project.prepared(revision)
    if what == "version":
        revision = "HEAD~1"
    elif what == "suffixes":
        project.suffixes = frozenset({".java", ".py"})
    elif what == "code":
        monkeypatch.setattr(module, "HISTORY_VERSION", 0)
    elif what == "shallow":
        monkeypatch.setattr(Repository, "shallow", frozenset({project.repo.resolve("HEAD")}))
    else:
        monkeypatch.setattr(module, "analyser_of", lambda language, lizard: f"{language} of another time")
    project.prepared(revision)
    assert len(kept(project)) == 2
    assert all("text.terms" in read_mapped(path) for path in kept(project))


@pytest.mark.parametrize("damage", ["cut", "no arrays", "empty", "another head"])
def test_a_damaged_file_is_made_again(project: IndexedRepository, damage: str) -> None:
    first = project.prepared("HEAD")
    [path] = kept(project)
    whole = path.read_bytes()
    half = len(whole) // 2
    path.unlink()  # what is mapped is not written to
    path.write_bytes(
        {
            "cut": whole[:half],
            "no arrays": b"not an archive",
            "empty": b"",
            "another head": whole.replace(b"data_offsets", b"data_offsetz"),
        }[damage]
    )
    assert same(first, project.prepared("HEAD"))
    assert path.read_bytes() == whole
    assert kept(project) == [path]


def test_what_is_not_a_file_is_not_read(project: IndexedRepository) -> None:
    first = project.prepared("HEAD")
    [path] = kept(project)
    path.unlink()
    os.mkfifo(path)
    assert same(first, project.prepared("HEAD"))


def test_only_the_last_used_are_kept(project: IndexedRepository, repository: GitRepository) -> None:
    for number in range(KEPT_VERSIONS + 2):
        repository.commit({"src/Reader.java": f"class Reader {{ int c{number}; }}"}, "One more")
        project.prepared(repository.made[-1])
        project.prepared(repository.made[0])  # used all the time
    assert len(kept(project)) == KEPT_VERSIONS
    assert any(repository.made[0] in path.name for path in kept(project))


def test_without_room_a_version_is_only_not_kept(project: IndexedRepository, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "write_mapped", full)
    assert len(project.prepared("HEAD").history.commits) == 3
    assert kept(project) == []


def test_a_version_with_files_that_cannot_be_read_is_not_kept(
    project: IndexedRepository, repository: GitRepository
) -> None:
    blob = repository.git("rev-parse", "HEAD:src/Writer.java")
    (repository.objects / blob[:2] / blob[2:]).unlink()
    assert len(project.prepared("HEAD").snapshot) == 3
    assert kept(project) == []


def test_each_repository_has_its_store(repository: GitRepository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOSLOC_CACHE", "/somewhere")
    with Repository(repository.path) as repo:
        place = default_store(repo)
    assert place.parts[:2] == ("/", "somewhere")
    assert place.name == "facts.sqlite"
