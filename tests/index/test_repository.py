"""What a version's commits say is read once and kept beside the facts; a kept file is never trusted blindly."""

from __future__ import annotations

import itertools
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
from tosloc.index.repository import KEPT_HISTORIES, HistoryCache, IndexedRepository, default_store


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
    return sorted((project.store_path.parent / "facts.past").glob("*"))


def same(one: HistoryCache, other: HistoryCache) -> bool:
    left = one.history.to_arrays(one.paths.names)
    right = other.history.to_arrays(other.paths.names)
    return one.commit_ids == other.commit_ids and all(np.array_equal(left[name], right[name]) for name in left | right)


def no_history(*_: object) -> None:
    raise AssertionError("the history was read again")


def test_the_history_is_read_once(project: IndexedRepository, monkeypatch: pytest.MonkeyPatch) -> None:
    head = project.repo.resolve("HEAD")
    first = project.cached_history(head, 30)
    assert [len(first.history.commits), len(first.history.reports), len(first.commit_ids)] == [3, 1, 3]
    assert "src/caf\udce9.java" in first.paths.names
    assert len(kept(project)) == 1
    monkeypatch.setattr(IndexedRepository, "history", no_history)
    again = project.cached_history(head, 30)
    assert same(first, again)
    assert again.paths.ids == {name: number for number, name in enumerate(first.paths.names)}
    assert again.commit_numbers[head] == 2


@pytest.mark.parametrize("what", ["version", "files", "suffixes", "code", "shallow"])
def test_another_query_has_another_history(
    project: IndexedRepository, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    head, max_files = project.repo.resolve("HEAD"), 30
    project.cached_history(head, max_files)
    if what == "version":
        head = project.repo.resolve("HEAD~1")
    elif what == "files":
        max_files = 1
    elif what == "suffixes":
        project.suffixes = frozenset({".java", ".py"})
    elif what == "code":
        monkeypatch.setattr(module, "HISTORY_VERSION", 0)
    else:
        monkeypatch.setattr(Repository, "shallow", frozenset({head}))
    project.cached_history(head, max_files)
    assert len(kept(project)) == 2


def test_another_ones_content_is_not_taken_for_it(project: IndexedRepository) -> None:
    first, second = (project.cached_history(project.repo.resolve(name), 30) for name in ("HEAD", "HEAD~1"))
    for path, other in itertools.permutations(kept(project)):
        data = path.read_bytes()
        path.write_bytes(other.read_bytes())
        assert HistoryCache.read(path) is None
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


@pytest.mark.parametrize("damage", ["cut", "no archive", "empty", "another archive", "a bit", "an array"])
def test_a_damaged_file_is_made_again(project: IndexedRepository, damage: str) -> None:
    head = project.repo.resolve("HEAD")
    first = project.cached_history(head, 30)
    [path] = kept(project)
    whole = path.read_bytes()
    if damage == "another archive":
        with path.open("wb") as file:
            np.savez(file, a=np.zeros(3))
    elif damage == "an array":
        with path.open("wb") as file:
            np.save(file, np.zeros(3))
    else:
        half = len(whole) // 2
        cut = {"cut": whole[:half], "no archive": b"not an archive", "empty": b""}
        path.write_bytes(cut.get(damage, whole[:60] + bytes([whole[60] ^ 255]) + whole[61:]))
    assert same(first, project.cached_history(head, 30))
    assert path.read_bytes() == whole
    assert kept(project) == [path]


def test_only_the_newest_are_kept(project: IndexedRepository) -> None:
    head = project.repo.resolve("HEAD")
    for max_files in range(1, KEPT_HISTORIES + 3):
        project.cached_history(head, max_files)
        project.cached_history(head, 1)  # used all the time
    assert len(kept(project)) == KEPT_HISTORIES
    assert same(project.cached_history(head, 1), project.cached_history(head, 1))


def test_without_room_the_history_is_only_not_kept(project: IndexedRepository, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tosloc.index.repository.save_arrays", full)
    assert len(project.cached_history(project.repo.resolve("HEAD"), 30).history.commits) == 3
    assert kept(project) == []


def test_each_repository_has_its_store(repository: GitRepository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOSLOC_CACHE", "/somewhere")
    with Repository(repository.path) as repo:
        place = default_store(repo)
    assert place.parts[:2] == ("/", "somewhere")
    assert place.name == "facts.sqlite"
