"""The facts store: what goes in comes out, whoever else writes and whatever happens to the file."""

import os
import sqlite3
from dataclasses import replace

import numpy as np
import pytest

from tosloc.code.facts import analyse
from tosloc.errors import StoreError
from tosloc.git.repository import Repository
from tosloc.index import store as module
from tosloc.index.corpus import Corpus, pack_facts
from tosloc.index.facts import functions_of_files
from tosloc.index.store import FactStore, pack, unpack


def source(i):
    remarks = "// word\n" * i
    return f"package p.q{i};\n{remarks}\nclass Shop{i} {{ int openDoor{i}() {{ return {i}; }} }}\n"


TEXTS = {f"{i:040x}": source(i) for i in range(0, 120, 7)} | {"e" * 40: ""}
FACTS = {blob: analyse(text, ".java") for blob, text in TEXTS.items()}
ROWS = [(blob, "java1", pack_facts(facts)) for blob, facts in FACTS.items()]


def assert_holds(corpus, row, facts):
    terms, lists, chunks = list(corpus.terms), corpus.by_blob, corpus.chunk_postings.inverted(corpus.chunk_starts[-1])
    part = slice(*lists.starts[row : row + 2])
    assert [terms[term] for term in lists.rows[part]] == facts.terms
    np.testing.assert_array_equal(lists.values[part], facts.counts)
    first, last = corpus.chunk_starts[row : row + 2]
    bounds = chunks.starts[first : last + 1]
    np.testing.assert_array_equal(bounds - bounds[0], facts.chunk_starts)
    names = [terms[term] for term in chunks.rows[bounds[0] : bounds[-1]]]
    assert names == [facts.terms[term] for term in facts.chunk_terms]
    np.testing.assert_array_equal(chunks.values[bounds[0] : bounds[-1]], facts.chunk_counts)
    for name in ("complexity", "lines", "parsed"):
        assert getattr(corpus, name)[row] == getattr(facts, name), name


def test_what_goes_in_comes_out(tmp_path):
    with FactStore(tmp_path / "new" / "facts.db") as store:
        store.write(ROWS[:5])
        assert store.missing([*TEXTS, *TEXTS], "java1") == list(TEXTS)[5:]
        assert store.missing(TEXTS, "java2") == list(TEXTS)
        store.write(ROWS)
    with FactStore(tmp_path / "new" / "facts.db") as store:
        assert store.read([*TEXTS, "f" * 40], "java1") == {blob: payload for blob, _, payload in ROWS}
        assert store.analysers() == {"java1": len(ROWS)}
        store.remove_analysers(["java1"])
        assert store.analysers() == {}
    assert ((tmp_path / "new").stat().st_mode & 0o777, (tmp_path / "new/facts.db").stat().st_mode & 0o777) == (
        0o700,
        0o600,
    )


def test_a_corpus_holds_the_facts_whatever_their_order():
    blobs = [*TEXTS][::-1]
    payloads = {blob: payload for blob, _, payload in ROWS}
    corpus = Corpus.from_rows([*blobs, "none"], [*map(payloads.__getitem__, blobs), None])
    other = Corpus.from_rows(blobs[:7], map(payloads.get, blobs[:7]))
    other = other.followed_by(Corpus.from_rows(blobs[7:], map(payloads.get, blobs[7:])))
    for place, blob in enumerate(blobs):
        assert_holds(corpus, place, FACTS[blob])
        part = slice(*other.by_blob.starts[place : place + 2])
        names = map(list(other.terms).__getitem__, other.by_blob.rows[part])
        counts = dict(zip(names, other.by_blob.values[part].tolist(), strict=True))
        assert counts == dict(zip(FACTS[blob].terms, FACTS[blob].counts.tolist(), strict=True))
    assert other.chunk_postings.inverted(corpus.chunk_starts[-2]).starts.tolist() == [
        *corpus.chunk_postings.inverted(corpus.chunk_starts[-2]).starts
    ]
    assert_holds(corpus, len(blobs), replace(analyse("", ""), parsed=False))
    assert list(corpus.terms) == sorted({term for facts in FACTS.values() for term in facts.terms})
    large = analyse("word " * 70_000, ".java", parse=False)
    assert large.counts.max() == 65_535
    assert_holds(Corpus.from_rows(["a"], [pack_facts(large)]), 0, large)
    (names,), (numbers,) = unpack(pack([["a\nb", "caf\udce9"]], [np.array([2**40])]), 1)
    assert (names, numbers.tolist()) == (["a\nb", "caf\udce9"], [2**40])
    for damage in (b"", b"no zlib", pack([["a"]], [np.arange(2)]), ROWS[3][2][:-9]):
        with pytest.raises(ValueError, match=r"expected|payload"):
            Corpus.from_rows(["a", "b"], [ROWS[0][2], damage])


@pytest.mark.parametrize("damage", ["format", "cut", "bytes"])
def test_a_store_that_is_damaged_or_of_another_format_is_begun_anew(tmp_path, damage):
    path = tmp_path / "facts.db"
    with FactStore(path) as store:
        store.write(ROWS)
    if damage == "format":
        with sqlite3.connect(path) as database:
            database.execute("PRAGMA user_version = 2")
        database.close()
    elif damage == "cut":
        os.truncate(path, 300)
    else:
        data = bytearray(path.read_bytes())
        data[100:3000] = b"\xff" * 2900
        path.write_bytes(data)
    with FactStore(path) as store:
        assert store.missing(TEXTS, "java1") == list(TEXTS)
        store.write(ROWS)
        assert store.missing(TEXTS, "java1") == []


def test_another_programs_file_is_not_touched(tmp_path):
    (tmp_path / "text").write_text("mine" * 1000)
    with sqlite3.connect(tmp_path / "other.db") as database:
        database.execute("CREATE TABLE mine (a)")
    database.close()
    for name, words in (("text", "not a database"), ("other.db", "no facts store")):
        before = (tmp_path / name).read_bytes()
        with pytest.raises(StoreError, match=words):
            FactStore(tmp_path / name)
        assert (tmp_path / name).read_bytes() == before
    with pytest.raises(StoreError, match="is a folder"):
        FactStore(tmp_path)


def test_a_store_that_may_only_be_read_is_read(tmp_path, monkeypatch):
    with FactStore(tmp_path / "facts.db") as store:
        store.write(ROWS)
        store.copy_to(tmp_path / "copy.db")
    with FactStore(tmp_path / "copy.db", unchanging=True) as store:
        assert len(store.read(list(TEXTS), "java1")) == len(ROWS)
    monkeypatch.setattr(module.os, "access", lambda path, mode: mode == os.R_OK)  # who runs the tests may write all
    with FactStore(tmp_path / "facts.db") as store:
        assert len(store.read(list(TEXTS), "java1")) == len(ROWS)
        with pytest.raises(StoreError, match=r"cannot be used .*readonly"):
            store.write(ROWS)


# ---- functions of files

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
