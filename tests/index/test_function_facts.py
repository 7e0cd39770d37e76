"""Functions of a version's files, by way of the store."""

from __future__ import annotations

import os
import sqlite3

from tosloc.git.repository import Repository
from tosloc.index.facts import functions_of_files
from tosloc.index.store import FactStore

SHAPES, STORE = "def area(): pass\n", "class Store {\n  void open() {}\n}\n"


def test_functions_are_made_once_and_kept(repository, tmp_path, monkeypatch):
    repository.commit({"a.py": SHAPES, "b.java": STORE, "c.txt": "none"})
    with Repository(repository.path) as repo:
        blobs = dict(zip(("a.py", "b.java"), repo.snapshot("HEAD", frozenset({".py", ".java"})).blobs, strict=True))
        files = [(blobs["b.java"], ".java"), (blobs["a.py"], ".py"), (blobs["b.java"], ".java"), ("0" * 40, ".py")]
        first = functions_of_files(repo, tmp_path / "facts.sqlite", files)
        assert [one.names for one in first] == [("Store", "Store.open"), ("area",), ("Store", "Store.open"), ()]
        monkeypatch.setattr("tosloc.index.facts.functions_of", None)  # nothing is left to be made
        again = functions_of_files(repo, tmp_path / "facts.sqlite", files[:3])
        assert [one.names for one in again] == [one.names for one in first[:3]]


def test_a_store_that_may_only_be_read_answers_with_functions(repository, tmp_path, monkeypatch):
    repository.commit({"a.py": SHAPES})
    path, connect = tmp_path / "store" / "facts.sqlite", sqlite3.connect

    def reading(database, *arguments, **options):
        if "mode=ro" not in str(database):  # as SQLite says it, whose modes do not bind the superuser
            raise sqlite3.OperationalError("attempt to write a readonly database")
        return connect(database, *arguments, **options)

    with Repository(repository.path) as repo:
        [blob] = repo.snapshot("HEAD", frozenset({".py"})).blobs
        FactStore(path).close()
        monkeypatch.setattr(os, "access", lambda *_: False)
        monkeypatch.setattr(sqlite3, "connect", reading)
        [found] = functions_of_files(repo, path, [(blob, ".py")])
    assert found.names == ("area",)
