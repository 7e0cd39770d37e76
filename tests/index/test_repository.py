"""A version is made ready once and kept beside the facts; a kept file is never trusted blindly."""

from __future__ import annotations

import itertools
import os
import random
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import GitRepository
from tests.mutations import binary_damage, in_child, kinds
from tosloc.data.git import Repository
from tosloc.errors import StoreError, StoreWarning
from tosloc.index import repository as module
from tosloc.index.prepared import PreparedVersion
from tosloc.index.repository import KEPT_VERSIONS, IndexedRepository
from tosloc.index.user_cache import default_store


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
    return one.snapshot.commit == other.snapshot.commit and all(
        np.array_equal(left[name], right[name]) for name in left | right
    )


def not_again(*_: object, **__: object) -> None:
    raise AssertionError("read or made again")


def test_a_version_is_made_once(project: IndexedRepository, monkeypatch: pytest.MonkeyPatch) -> None:
    head = project.repo.resolve("HEAD")
    first = project.prepared("HEAD")
    assert first.snapshot.commit == head
    assert [len(first.history.commits), len(first.history.reports), len(first.commit_ids)] == [3, 1, 3]
    assert "src/caf\udce9.java" in first.paths
    assert len(kept(project)) == 1
    for name in ("history", "index", "corpus", "snapshot"):
        monkeypatch.setattr(IndexedRepository, name, not_again)
    monkeypatch.setattr(Repository, "objects", not_again)
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
    else:  # the file of another analyser's facts is written again
        monkeypatch.setattr(module, "analyser_of", lambda language, lizard: f"{language} of another time")
        assert [project._kept(path) for path in kept(project)] == [None]
    project.prepared(revision)
    assert len(kept(project)) == (1 if what == "analyser" else 2)
    assert all(project._kept(path) is not None for path in kept(project))


def test_another_ones_content_is_not_taken_for_it(project: IndexedRepository) -> None:
    first, second = (project.prepared(name) for name in ("HEAD", "HEAD~1"))
    for path, other in itertools.permutations(kept(project)):
        data = path.read_bytes()
        path.write_bytes(other.read_bytes())
        assert project._kept(path) is None
        path.write_bytes(data)
    assert not same(first, second)


# Facts that are damaged


def content(project: IndexedRepository) -> list[object]:
    table = project.corpus([project.snapshot("HEAD")]).table
    return [array.tolist() for array in table.to_arrays().values()]


def test_damaged_facts_are_made_again_by_whoever_reads_them(project: IndexedRepository) -> None:
    snapshot = project.snapshot("HEAD")
    project.index([snapshot])
    whole = content(project)
    for read in (lambda: content(project), lambda: project.index([snapshot]) and content(project)):
        project.store._database.execute("UPDATE facts SET length = length + 1")
        with pytest.warns(StoreWarning, match="facts of 3 files were damaged and have been made again"):
            assert read() == whole
        assert content(project) == whole
    project.store._database.execute("UPDATE facts SET length = length + 1")
    assert project.index([snapshot], check=False).added == 0


def test_facts_that_have_gone_are_said(project: IndexedRepository) -> None:
    snapshot = project.snapshot("HEAD")
    project.index([snapshot])
    project.store._database.execute("DELETE FROM facts WHERE id = 1")
    with pytest.raises(StoreError, match=r"damaged \(facts are lost\); delete it and index again"):
        project.corpus([snapshot])


@pytest.mark.slow
def test_no_bit_of_a_store_changes_an_answer(project: IndexedRepository, tmp_path: Path) -> None:
    """The facts as they were, or one sentence. Before there were checksums, 5 of 510 such stores answered otherwise."""
    project.index([project.snapshot("HEAD")])
    whole = repr(content(project))
    project.close()
    data = project.store_path.read_bytes()

    def answer(path: Path) -> str:
        warnings.simplefilter("ignore")
        with Repository(project.repo.path) as repo:
            indexed = IndexedRepository(repo, path, {".java"}, jobs=1)
            indexed.index([indexed.snapshot("HEAD")], check=False)
            return repr(content(indexed))

    outcomes = []
    used = [place for place, byte in enumerate(data) if byte]
    for seed in range(300):
        path = tmp_path / f"{seed}.sqlite"
        if seed % 3:
            rng, damaged = random.Random(seed), bytearray(data)
            damaged[rng.choice(used)] ^= 1 << rng.randrange(8)
            path.write_bytes(damaged)
        else:
            path.write_bytes(binary_damage(data, seed))
        outcomes.append(in_child(lambda path=path: answer(path), memory=2 << 30))
    assert set(kinds(outcomes, whole)) <= {"right", "sentence"}, [one for one in outcomes if one[:5] == "trace"]


@pytest.mark.parametrize("damage", ["cut", "no arrays", "empty", "longer", "a bit", "another format"])
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
            "longer": whole + b"0",
            "a bit": whole[:half] + bytes([whole[half] ^ 4]) + whole[half + 1 :],
            "another format": whole.replace(b"arrays 1", b"arrays 2"),
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


@pytest.mark.slow
def test_no_bit_of_a_kept_version_changes_an_answer(project: IndexedRepository, tmp_path: Path) -> None:
    first = project.prepared("HEAD")
    [path] = kept(project)
    data, arrays = path.read_bytes(), first.to_arrays()
    rng = random.Random(4)
    for _ in range(400):
        damaged = bytearray(data)
        damaged[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        path.unlink()
        path.write_bytes(damaged)
        read = project._kept(path)
        assert read is None or all(np.array_equal(arrays[name], array) for name, array in read.to_arrays().items())


def test_only_the_last_used_are_kept(project: IndexedRepository, monkeypatch: pytest.MonkeyPatch) -> None:
    for version in range(KEPT_VERSIONS + 2):
        monkeypatch.setattr(module, "HISTORY_VERSION", version)
        project.prepared("HEAD")
        monkeypatch.setattr(module, "HISTORY_VERSION", 0)
        project.prepared("HEAD")  # used all the time
    assert len(kept(project)) == KEPT_VERSIONS
    assert same(project.prepared("HEAD"), project.prepared("HEAD"))


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
    version = project.prepared("HEAD")
    assert version.missing == 1
    assert kept(project) == []


def test_each_repository_has_its_store(repository: GitRepository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOSLOC_CACHE", "/somewhere")
    with Repository(repository.path) as repo:
        place = default_store(repo)
    assert place.parts[:2] == ("/", "somewhere")
    assert place.name == "facts.sqlite"
