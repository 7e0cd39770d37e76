"""A version is made ready once and kept beside the facts; a kept file is never trusted blindly."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import HOUR, GitRepository
from tosloc.arrays import read_mapped, write_mapped
from tosloc.git.process import ObjectReader
from tosloc.git.repository import Repository
from tosloc.index import repository as module
from tosloc.index.context import QueryContext
from tosloc.index.query import Query
from tosloc.index.repository import KEPT_VERSIONS, IndexedRepository, PreparedVersion
from tosloc.rank import features
from tosloc.rank.stage_one import StageOne, StageOneAnswer
from tosloc.records import BugReport


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


# ---- a version answers alike however it was made

STAGE = StageOne(features.ALL, np.linspace(0.5, 1.5, len(features.ALL)))
REPORT = BugReport(
    "r",
    "Parser loses the first byte of a socket",
    "ParserService fails with a ledger since #4003. at org.app.core.ParserService.open(ParserService.java:3)",
    None,
)
WORDS = "parser socket ledger reader writer widget cookie planet rocket violin first byte loses open close".split()


def source(seed: int, name: str = "X") -> str:
    """A class of some of the words."""
    rng = np.random.default_rng(seed)
    lines = [f"    void {word}{name}() {{ {rng.choice(WORDS)}(); }}" for word in rng.choice(WORDS, 4)]
    return "\n".join([f"/** The {rng.choice(WORDS)}. */", f"class {name} {{", *lines, "}"]) + "\n"


@pytest.fixture
def grown(repository: GitRepository) -> GitRepository:
    """Fourteen commits, some of one second, some that fix."""
    files = {
        f"src/org/app/p{n % 3}/{word.title()}Service.java": source(n, word.title()) for n, word in enumerate(WORDS)
    }
    repository.commit(files, "Start")
    for number in range(13):
        path = list(files)[(5 * number) % len(files)]
        said = f"Fix bug {4000 + number}: " if number % 3 == 0 else ""
        when = 1_000_000_000 + HOUR * (number // 2)
        repository.commit({path: source(100 + number)}, f"{said}{WORDS[number]} {WORDS[number - 3]}", when=when)
    return repository


def indexed(repository: GitRepository, store: Path) -> IndexedRepository:
    return IndexedRepository(Repository(repository.path), store, {".java"}, jobs=1)


def answers(version: PreparedVersion) -> list[bytes]:
    """Features and scores of every file, at several times."""
    found = []
    first = version.snapshot.committed_at
    for at in (first + 1.0, first - 1.5 * HOUR, first - 4.0 * HOUR):
        context = QueryContext(Query(REPORT), version.index, version.history.as_of(at))
        answer = StageOneAnswer.of(context, STAGE)
        found += [answer.scores.tobytes(), *(values.tobytes() for values in answer.columns.values())]
        assert context.shares_words
    return found


def compared(repository: GitRepository, tmp_path: Path, before: str, after: str) -> PreparedVersion:
    """A version made where another one is known, read back, and made from nothing; the first of them."""
    warm, cold = (indexed(repository, tmp_path / name / "facts.sqlite") for name in ("warm", f"cold {after}"))
    warm.prepared(before)
    made = warm.prepared(after)
    read = warm.prepared(after)
    whole = cold.prepared(after)
    for one in (made, read):
        assert (one.snapshot.paths, one.snapshot.blobs) == (whole.snapshot.paths, whole.snapshot.blobs)
        assert list(one.commit_ids) == list(whole.commit_ids)
        assert list(one.index.paths.table.paths) == list(whole.index.paths.table.paths)
        assert sorted(one.index.text.corpus.term_ids) == sorted(whole.index.text.corpus.term_ids)
    assert answers(made) == answers(read) == answers(whole)
    for one in (warm, cold):
        one.close()
        one.repo.close()
    return made


@pytest.mark.parametrize(("before", "after"), [("HEAD~3", "HEAD"), ("HEAD", "HEAD~2"), ("HEAD~1", "HEAD~1")])
def test_forth_and_back(grown: GitRepository, tmp_path: Path, before: str, after: str) -> None:
    compared(grown, tmp_path, before, after)


def test_files_that_go_and_move(grown: GitRepository, tmp_path: Path) -> None:
    gone, moved = "src/org/app/p0/ParserService.java", "src/org/app/p1/SocketService.java"
    grown.commit({gone: None, moved: None, "a/Socket.java": source(1, "Socket"), "z.java": source(1, "Socket")}, "Move")
    made = compared(grown, tmp_path, "HEAD~1", "HEAD")
    assert gone not in made.snapshot.paths
    assert gone in made.index.paths.table.paths


def test_only_what_is_new_is_read(grown: GitRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = indexed(grown, tmp_path / "one.sqlite")
    project.prepared("HEAD")
    grown.commit({"src/New.java": source(77, "New")}, "One more")
    asked: list[str] = []

    def counted(repo: Repository, ids: list[str], *rest: object) -> object:
        asked.extend(ids)
        return read(repo, ids, *rest)  # type: ignore[arg-type]

    read = module.read_commits
    monkeypatch.setattr(module, "read_commits", counted)
    monkeypatch.setattr(module, "read_history", None)
    assert len(project.prepared("HEAD").commit_ids) == 15
    assert asked == grown.made[-1:]


def test_commits_that_are_damaged_are_made_again(grown: GitRepository, tmp_path: Path) -> None:
    project = indexed(grown, tmp_path / "facts.sqlite")
    first = project.prepared("HEAD")
    [analyser] = [name for name in project.store.analysers() if name.startswith("commits")]
    project.store.write([(grown.made[2], analyser, b"damaged")])
    for path in (tmp_path / "facts.versions").iterdir():
        path.unlink()
    assert answers(project.prepared("HEAD")) == answers(first)


@pytest.mark.parametrize("name", [None, "paths.paths", "commits.files"])
def test_a_kept_version_that_is_damaged_inside_is_made_again(grown: GitRepository, tmp_path: Path, name: str) -> None:
    project = indexed(grown, tmp_path / "facts.sqlite")
    first = answers(project.prepared("HEAD"))
    [path] = kept(project)
    arrays = dict(read_mapped(path))
    write_mapped(path, {} if name is None else arrays | {name: arrays[name][:-1]})
    assert answers(project.prepared("HEAD")) == first
    assert set(read_mapped(path)) == set(arrays)
