"""Keeping house in the user's cache: damage that is told, rows and folders that go, processes that go on meanwhile."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from tests.conftest import GitRepository
from tosloc import cache
from tosloc.analysis import store as store_module
from tosloc.analysis.store import FactStore
from tosloc.data.git import Repository
from tosloc.errors import ConfigError, ToslocError
from tosloc.index.repository import IndexedRepository
from tosloc.index.user_cache import Kept, default_store, let_go

JAVA = "package org.x;\nclass {0} {{\n  int {1}Count(int a) {{ return a > 0 ? a : 1; }}\n}}\n"
NAMES = ("Door", "Key", "Lock", "Hinge", "Window")


@pytest.fixture(autouse=True)
def cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path / "cache"))
    yield tmp_path / "cache"
    let_go()


@pytest.fixture
def kept(repository: GitRepository) -> Kept:
    """What is kept of a repository of five files, of whose first version one was another."""
    repository.commit({f"src/{name}.java": JAVA.format(name, name.lower()) for name in NAMES}, "first version")
    prepare(repository)
    repository.commit({"src/Door.java": JAVA.format("Door", "knob")}, "Fix bug 12345: the door has a knob")
    return prepare(repository)


def prepare(repository: GitRepository) -> Kept:
    with Repository(repository.path) as repo:
        project = IndexedRepository(repo, jobs=1)
        project.prepared("HEAD", 30)
        project.close()
        let_go()
        return Kept(default_store(repo).parent)


def changed(kept: Kept, statement: str) -> int:
    """Rows that a statement changes in the facts."""
    with closing(sqlite3.connect(kept.folder / "facts.sqlite")) as database, database:
        return database.execute(statement).rowcount


def rows_of(kept: Kept) -> list[tuple[str, int]]:
    with closing(sqlite3.connect(kept.folder / "facts.sqlite")) as database:
        return database.execute("SELECT blob, count(*) FROM facts GROUP BY blob ORDER BY blob").fetchall()


def test_all_is_well(kept: Kept) -> None:
    [found] = cache.check([kept])
    assert found.damaged == []
    assert found.counted == {"facts": 6, "functions": 0, "versions": 2}


def test_damaged_rows_are_counted_and_made_again(kept: Kept, repository: GitRepository) -> None:
    assert changed(kept, "UPDATE facts SET lines = lines + 1 WHERE id IN (2, 3)") == 2
    [found] = cache.check([kept])
    [sentence] = found.damaged
    assert (
        "facts.sqlite: facts of 2 files are damaged; the next command that asks for them makes them again" in sentence
    )
    for path in (kept.folder / "facts.versions").iterdir():
        path.unlink()
    with pytest.warns(Warning, match="have been made again"):
        prepare(repository)
    left = cache.check([kept])[0].damaged
    assert not left or "facts of 1 file " in left[0]  # of the former version, which nothing has asked for


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("UPDATE terms SET term = term || 'x' WHERE id = 2", "delete it and index again"),
        ("DELETE FROM terms WHERE id = 2", "delete it and index again"),
        ("UPDATE makers SET analyser = 'facts0'", "facts of 6 files are damaged"),
        ("UPDATE facts SET blob = 7 WHERE id = 1", "facts of 1 file are damaged"),
        ("PRAGMA application_id = 7", "not a facts store"),
    ],
)
def test_other_damage_is_told(statement: str, words: str, kept: Kept) -> None:
    changed(kept, statement)
    [found] = cache.check([kept])
    [sentence] = found.damaged
    assert words in sentence


def test_damaged_pages_versions_places_and_reports_are_told(kept: Kept) -> None:
    store = kept.folder / "facts.sqlite"
    content = bytearray(store.read_bytes())
    content[4096:8192] = bytes(4096)
    store.write_bytes(content)
    newest, oldest = sorted((kept.folder / "facts.versions").iterdir(), key=lambda path: -path.stat().st_mtime)
    content = bytearray(newest.read_bytes())
    content[-70] ^= 1
    newest.write_bytes(content)
    oldest.rename(oldest.with_name(f"{'0' * 57}.arrays"))
    (kept.folder / "place.json").write_text("{")
    (kept.folder / "reports.jsonl").write_text('{"id": 1}\n{"id": \n')
    [found] = cache.check([Kept(kept.folder)])
    assert len(found.damaged) == 5
    told = "\n".join(found.damaged)
    assert "place.json: does not tell where the repository lies" in told
    assert "facts store is damaged" in told
    assert f"{newest}: is damaged; the next question" in told
    assert "line 2 is no report; run tosloc mine again" in told


def test_files_with_vectors_are_counted(kept: Kept) -> None:
    np = pytest.importorskip("numpy")
    from tosloc.reranking.encoder.vectors import VectorStore

    store = VectorStore(kept.folder / "facts.vectors.sqlite")
    store.put("m", {"a" * 40: np.ones((2, 3), np.float16), "b" * 40: np.ones((1, 3), np.float16)})
    assert cache.check([kept])[0].counted["vectors"] == 2


def test_facts_of_former_analysers_go(kept: Kept, repository: GitRepository, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cache.remove_rows([kept], former_analysers=True, former_files=False) == []
    with monkeypatch.context() as patch:
        patch.setattr(store_module, "analyser_of", lambda language, lizard: "facts1")
        with FactStore(kept.folder / "facts.sqlite") as store:
            store.put([("f" * 40, "java", _facts())])
    assert len(rows_of(kept)) == 7
    before = (kept.folder / "facts.sqlite").read_bytes()
    [would] = cache.remove_rows([kept], former_analysers=True, former_files=False, dry_run=True)
    assert (would.what, would.done, len(rows_of(kept))) == ("1 row", True, 7)
    assert (kept.folder / "facts.sqlite").read_bytes() == before
    [removed] = cache.remove_rows([kept], former_analysers=True, former_files=False)
    assert (removed.what, len(rows_of(kept))) == ("1 row", 6)
    assert cache.check([kept])[0].damaged == []
    assert len(list((kept.folder / "facts.versions").iterdir())) == 2
    prepare(repository)


def test_versions_that_are_read_no_more_go(kept: Kept) -> None:
    [first, second] = sorted((kept.folder / "facts.versions").iterdir())
    first.write_bytes(second.read_bytes()[:-1])
    size = first.stat().st_size
    [removed] = cache.remove_rows([kept], former_analysers=True, former_files=False)
    assert (removed.what, removed.bytes, first.exists(), second.exists()) == ("1 version", size, False, True)


def test_facts_of_former_files_go(kept: Kept, repository: GitRepository) -> None:
    assert cache.remove_rows([kept], former_analysers=False, former_files=True) == []
    [old] = [path for path in (kept.folder / "facts.versions").iterdir() if repository.made[0] in path.name]
    old.unlink()
    [removed] = cache.remove_rows([kept], former_analysers=False, former_files=True)
    assert (removed.what, len(rows_of(kept))) == ("1 row", 5)
    for path in (kept.folder / "facts.versions").iterdir():
        path.unlink()
    assert cache.remove_rows([kept], former_analysers=False, former_files=True) == []  # nothing tells what is asked for
    assert len(rows_of(kept)) == 5
    prepare(repository)


def test_a_damaged_store_is_passed_over(kept: Kept) -> None:
    (kept.folder / "facts.sqlite").write_bytes(b"x" * 5000)
    [left] = cache.remove_rows([kept], former_analysers=True, former_files=True)
    assert (left.done, left.bytes) == (False, 0)
    assert "facts store is damaged (file is not a database); delete it" in left.left
    with pytest.raises(ToslocError, match="cannot be vacuumed"):
        cache.vacuum([kept])


def test_a_vacuum_gives_room_back_and_leaves_what_is_there(kept: Kept, repository: GitRepository) -> None:
    with FactStore(kept.folder / "facts.sqlite") as store:
        store.put([(f"{number:040}", "java", _facts()) for number in range(2000)])
        expected = store.load([f"{number:040}" for number in range(9)], "java").to_arrays()
        store.put([])
    changed(kept, "DELETE FROM facts WHERE blob LIKE '000000%' AND blob > '0000000000000000000000000000000000000009'")
    before = (kept.folder / "facts.sqlite").stat().st_size
    [(one, freed)] = cache.vacuum([kept])
    assert one.folder == kept.folder
    assert freed >= before - (kept.folder / "facts.sqlite").stat().st_size > before / 3
    with FactStore(kept.folder / "facts.sqlite") as store:
        found = store.load([f"{number:040}" for number in range(9)], "java").to_arrays()
    assert all((found[name] == expected[name]).all() for name in expected)


def test_chosen_by_age_name_and_place(kept: Kept, repository: GitRepository) -> None:
    os.utime(kept.folder / "place.json", (time.time() - 10 * 86_400,) * 2)
    assert len(cache.chosen()) == len(cache.chosen([str(repository.path)], timedelta(days=9))) == 1
    assert cache.chosen(older_than=timedelta(days=11)) == cache.chosen(gone=True) == []
    with pytest.raises(ToslocError, match="nothing is kept of such a repository"):
        cache.chosen(["elsewhere"])
    repository.path.rename(repository.path.with_name("moved"))
    assert len(cache.chosen(gone=True)) == 1


@pytest.mark.parametrize("text", ["", "90", "d", "-1d", "90m", "1e3d", "9" * 400 + "d", "999999999y"])
def test_no_age(text: str) -> None:
    with pytest.raises(ConfigError, match="--older-than"):
        cache.age(text, "--older-than")


# ---- several processes


def large(repository: GitRepository, files: int) -> None:
    repository.commit(
        {f"src/C{n}.java": JAVA.format(f"C{n}", f"word{n}") * 20 for n in range(files)}, "a version of many files"
    )


def started(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tosloc", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out


@pytest.mark.slow
def test_two_processes_index_at_once(repository: GitRepository, tmp_path: Path) -> None:
    large(repository, 400)
    where = ["index", "--repo", str(repository.path), "--json"]
    told = [json.loads(ended(one)) for one in [started(*where), started(*where)]]
    both = Kept(next((tmp_path / "cache").iterdir()))
    assert all(number == 1 for _, number in rows_of(both))
    assert len(rows_of(both)) == 400
    assert sum(one["added"] for one in told) == 400
    assert cache.check([both])[0].damaged == []
    # the same answer as one process's
    (tmp_path / "bug.md").write_text("C17 counts wrongly\n\nword17Count returns 1 for nothing.\n")
    asked = ["localize", str(tmp_path / "bug.md"), "--repo", str(repository.path), "--json"]
    answers = [
        json.loads(ended(started(*asked, *store))) for store in ([], ["--store", str(tmp_path / "alone.sqlite")])
    ]
    assert all(answer.pop("seconds") > 0 for answer in answers)
    assert answers[0] == answers[1]


@pytest.mark.slow
def test_pruning_while_another_process_indexes(repository: GitRepository, tmp_path: Path) -> None:
    large(repository, 400)
    indexing = started("index", "--repo", str(repository.path), "--json")
    while not list((tmp_path / "cache").glob("*/facts.sqlite")):
        assert indexing.poll() is None
    indexing.send_signal(signal.SIGSTOP)
    try:
        [one] = json.loads(ended(started("cache", "prune", "--all", "--json")))
        ended(started("cache", "prune", "--max-size", "0"))
    finally:
        indexing.send_signal(signal.SIGCONT)
    assert one["left"] == "a process uses it, so it stays"
    assert json.loads(ended(indexing))["added"] == 400
    [folder] = (tmp_path / "cache").iterdir()
    assert len(rows_of(Kept(folder))) == 400
    [removed] = json.loads(ended(started("cache", "prune", "--all", "--json")))
    assert removed["left"] is None
    assert list((tmp_path / "cache").iterdir()) == []


@pytest.mark.slow
def test_a_vacuum_while_another_process_reads_and_one_writes(repository: GitRepository, tmp_path: Path) -> None:
    large(repository, 400)
    ended(started("index", "--repo", str(repository.path)))
    [folder] = (tmp_path / "cache").iterdir()
    changed(Kept(folder), "DELETE FROM facts WHERE id % 2")
    with closing(sqlite3.connect(folder / "facts.sqlite", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        [[before]] = reader.execute("SELECT count(*) FROM facts")
        indexing = started("index", "--repo", str(repository.path), "--json")
        ended(started("cache", "vacuum"))
        assert reader.execute("SELECT count(*) FROM facts").fetchall() == [(before,)]
        reader.execute("COMMIT")
        assert json.loads(ended(indexing))["added"] == 200
    assert len(rows_of(Kept(folder))) == 400
    assert cache.check([Kept(folder)])[0].damaged == []


@pytest.mark.slow
def test_killed_while_pruning(repository: GitRepository, tmp_path: Path) -> None:
    """What is left is whole, or a leftover that the next prune removes."""
    repository.commit({"src/Door.java": JAVA.format("Door", "door")})
    with Repository(repository.path) as repo:
        folder = default_store(repo).parent
    for attempt in range(6):
        kept = prepare(repository)
        for number in range(500):
            (folder / "facts.versions" / f"{number:057}.arrays").touch()
        pruning = started("cache", "prune", "--all")
        begun = time.monotonic()
        while pruning.poll() is None:
            late = time.monotonic() - begun > 0.3 + 0.1 * attempt
            if late if attempt % 2 else not folder.exists():  # at any moment, or while it removes
                pruning.send_signal(signal.SIGKILL)
                break
        pruning.communicate()
        if folder.exists():
            assert (folder / "facts.sqlite").exists()
            assert [line for line in cache.check([kept])[0].damaged if "facts.sqlite" in line] == []
        ended(started("cache", "prune", "--all"))
        assert list((tmp_path / "cache").iterdir()) == []


def _facts() -> object:
    from tosloc.analysis.facts import analyse

    return analyse("class Door { int openings; void open() { openings++; } }", ".java")
