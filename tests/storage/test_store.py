"""The facts store: what goes in comes out, whoever else writes and whatever happens to the file."""

import os
import sqlite3
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from tests.conftest import open_files, with_proc
from tosloc.code.facts import analyse
from tosloc.core.errors import StoreError
from tosloc.git.repository import Repository
from tosloc.retrieval.corpus import Corpus, pack_facts
from tosloc.retrieval.payloads import pack, unpack
from tosloc.storage import store as module
from tosloc.storage.facts import FunctionReader
from tosloc.storage.store import FactStore


def source(i):
    remarks = "// word\n" * i
    return f"package p.q{i};\n{remarks}\nclass Shop{i} {{ int openDoor{i}() {{ return {i}; }} }}\n"


TEXTS = {f"{i:040x}": source(i) for i in range(0, 120, 7)} | {"e" * 40: ""}
FACTS = {blob: analyse(text, ".java") for blob, text in TEXTS.items()}
ROWS = [(blob, "java1", pack_facts(facts)) for blob, facts in FACTS.items()]


def asked(blobs=TEXTS, analyser="java1"):
    return dict.fromkeys(blobs, analyser)


def test_what_goes_in_comes_out(tmp_path):
    with FactStore(tmp_path / "new" / "facts.db") as store:
        store.write((blob, analyser, b"old") for blob, analyser, _ in ROWS[:5])
        assert store.find_missing(asked()) == list(TEXTS)[5:]
        assert store.find_missing(asked(analyser="java2")) == list(TEXTS)
        store.write(ROWS)
        store.copy_to(tmp_path / "copy.db")
    for name, unchanging in (("new/facts.db", False), ("copy.db", True)):
        with FactStore(tmp_path / name, unchanging=unchanging) as store:
            read = store.read(asked(["f" * 40, *list(TEXTS)[::-1]]))
            assert list(read) == [None, *(payload for _, _, payload in ROWS[::-1])]
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700


def told(corpus, row):
    """What a corpus says of one of its blobs: its terms with their counts, those of each chunk, and three numbers."""
    terms, chunks = list(corpus.terms), corpus.chunk_postings.invert(int(corpus.chunk_starts[-1]))

    def of(lists, place):
        part = slice(*lists.starts[place : place + 2])
        return dict(
            zip(
                (terms[term] for term in lists.rows[part]), lists.values[part].tolist(), strict=True
            )
        )

    numbers = [getattr(corpus, name)[row] for name in ("complexity", "lines", "parsed")]
    return (
        of(corpus.by_blob, row),
        [of(chunks, place) for place in range(*corpus.chunk_starts[row : row + 2])],
        numbers,
    )


def held(facts):
    """The same of facts."""
    pairs = [
        (facts.terms[term], count)
        for term, count in zip(facts.chunk_terms, facts.chunk_counts, strict=True)
    ]
    chunks = [dict(pairs[first:last]) for first, last in pairwise(facts.chunk_starts)]
    counts = dict(zip(facts.terms, facts.counts.tolist(), strict=True))
    return counts, chunks, [facts.complexity, facts.lines, facts.parsed]


def test_a_corpus_holds_the_facts_whatever_their_order():
    facts = {**FACTS, "large": analyse("word " * 70_000, ".java", parse=False)}
    assert facts["large"].counts.max() == 65_535
    blobs = [*facts][::-1]
    payloads = [pack_facts(facts[blob]) for blob in blobs]
    whole = Corpus.from_rows([*blobs, "none"], [*payloads, None])
    joined = Corpus.from_rows(blobs[:7], payloads[:7]).concatenate(
        Corpus.from_rows(blobs[7:], payloads[7:])
    )
    for place, blob in enumerate(blobs):
        assert told(whole, place) == told(joined, place) == held(facts[blob])
    assert told(whole, len(blobs)) == held(replace(analyse("", ""), parsed=False))
    assert list(whole.terms) == sorted({term for one in facts.values() for term in one.terms})
    names, numbers = unpack(pack(["a\nb", "caf\udce9"], np.array([2**40])))
    assert (names, numbers.tolist()) == (["a\nb", "caf\udce9"], [2**40])
    for damage in (b"", b"no zlib", payloads[3][:-9]):
        with pytest.raises(StoreError, match=r"damaged .*; remove it: tosloc cache prune"):
            Corpus.from_rows(["a", "b"], [payloads[0], damage])


@pytest.mark.parametrize("damage", ["format", "bytes"])
def test_a_store_that_is_damaged_or_of_another_format_is_begun_anew(tmp_path, damage):
    path = tmp_path / "facts.db"
    with FactStore(path) as store:
        store.write(ROWS)
    if damage == "format":
        with sqlite3.connect(path) as database:
            database.execute("PRAGMA user_version = 3")
        database.close()
    else:
        path.write_bytes(path.read_bytes()[:100] + b"\xff" * 2900)
    with FactStore(path) as store:
        assert store.find_missing(asked()) == list(TEXTS)
        store.write(ROWS)
        assert store.find_missing(asked()) == []


@with_proc
def test_a_closed_store_has_no_open_file(tmp_path):
    with FactStore(tmp_path / "facts.db") as store:
        store.write(ROWS)
        next(store.read(asked()))
        assert open_files(tmp_path)
    assert open_files(tmp_path) == []


@with_proc
def test_a_store_that_does_not_open_has_no_open_file(tmp_path, monkeypatch):
    def fail(database):
        database.execute("SELECT 1 FROM sqlite_master").fetchone()
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(FactStore, "_prepare", staticmethod(fail))
    with pytest.raises(StoreError, match="disk I/O error") as error:
        FactStore(tmp_path / "facts.db")
    assert open_files(tmp_path) == []
    assert error.value.__cause__ is not None


def test_a_store_that_cannot_be_opened_is_not_removed(tmp_path):
    path = tmp_path / "facts.db"
    path.mkdir()
    (path / "kept").write_text("mine")
    with pytest.raises(StoreError, match=r"facts\.db"):
        FactStore(path)
    assert (path / "kept").read_text() == "mine"


def test_a_store_that_another_process_writes_is_not_removed(tmp_path, monkeypatch):
    path = tmp_path / "facts.db"
    with FactStore(path) as store:
        store.write(ROWS)

    def busy(*_, **__):
        raise sqlite3.OperationalError("database is locked")

    monkeypatch.setattr(FactStore, "_connect", busy)
    with pytest.raises(StoreError, match="locked"):
        FactStore(path)
    monkeypatch.undo()
    with FactStore(path) as store:
        assert store.find_missing(asked()) == []


def test_a_store_that_may_only_be_read_is_read(tmp_path, monkeypatch):
    with FactStore(tmp_path / "facts.db") as store:
        store.write(ROWS)
    monkeypatch.setattr(
        module.os, "access", lambda path, mode: mode == os.R_OK
    )  # who runs the tests may write all
    with FactStore(tmp_path / "facts.db") as store:
        assert store.find_missing(asked()) == []
        with pytest.raises(
            StoreError, match=r"cannot be used .*readonly.*; or name another folder for the cache"
        ):
            store.write(ROWS)


def test_functions_are_made_once_and_kept(repository, tmp_path, monkeypatch):
    repository.commit(
        {"a.py": "def area(): pass\n", "b.java": "class Store {\n  void open() {}\n}\n"}
    )
    with Repository(repository.path) as repo, FactStore(tmp_path / "facts.sqlite") as store:
        area, shop = repo.snapshot("HEAD", {".py", ".java"}).blobs
        files = {shop: "b.java", area: "a.py"}
        first = FunctionReader(repo, store).read(files | {"0" * 40: "c.py"})
        assert [list(one.names) for one in first.values()] == [
            ["Store", "Store.open"],
            ["area"],
            [],
        ]
        monkeypatch.setattr(
            "tosloc.storage.facts.find_functions", None
        )  # nothing is left to be made
        for blob, now in FunctionReader(repo, store).read(files).items():
            assert all(
                np.array_equal(value, getattr(now, name))
                for name, value in vars(first[blob]).items()
            )
