"""The facts store: rows come out as written, whoever else writes and whatever the file suffers."""

import os
import sqlite3
from contextlib import closing
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from tests.conftest import open_files, with_proc
from tosloc.code.facts import analyse
from tosloc.core.errors import StoreError
from tosloc.git.repository import Repository
from tosloc.retrieval.texts.corpus import Corpus, pack_facts
from tosloc.retrieval.texts.payloads import pack, unpack
from tosloc.storage.facts import FunctionReader
from tosloc.storage.store import FactStore


def make_source(number):
    comments = "// word\n" * number
    method = f"int openDoor{number}() {{ return {number}; }}"
    return f"package p.q{number};\n{comments}\nclass Shop{number} {{ {method} }}\n"


TEXTS = {f"{number:040x}": make_source(number) for number in range(0, 120, 7)} | {"e" * 40: ""}
FACTS = {blob: analyse(text, ".java") for blob, text in TEXTS.items()}
ROWS = [(blob, "java1", pack_facts(facts)) for blob, facts in FACTS.items()]


def with_analyser(blobs=TEXTS, analyser="java1"):
    return dict.fromkeys(blobs, analyser)


@pytest.fixture
def path(tmp_path):
    """Return the path of a store with all rows."""
    path = tmp_path / "facts.db"
    with FactStore(path) as store:
        store.write(ROWS)
    return path


# Rows


def test_a_new_store_is_in_a_folder_of_the_user_alone(tmp_path):
    FactStore(tmp_path / "new" / "facts.db").close()
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700


def test_ids_without_a_row_of_the_analyser_are_missing(tmp_path):
    with FactStore(tmp_path / "facts.db") as store:
        store.write((blob, analyser, b"old") for blob, analyser, _ in ROWS[:5])
        assert store.find_missing(with_analyser()) == list(TEXTS)[5:]
        assert store.find_missing(with_analyser(analyser="java2")) == list(TEXTS)


@pytest.fixture(params=[False, True], ids=["store", "copy"])
def rewritten(request, tmp_path):
    """Yield a store whose first rows were written twice, or an unchanging copy of it."""
    path = tmp_path / "facts.db"
    copy = tmp_path / "copy.db"
    with FactStore(path) as store:
        store.write((blob, analyser, b"old") for blob, analyser, _ in ROWS[:5])
        store.write(ROWS)
        store.copy_to(copy)
    with FactStore(copy if request.param else path, unchanging=request.param) as store:
        yield store


def test_the_last_payloads_come_out_in_the_order_asked(rewritten):
    payloads = rewritten.read(with_analyser(["f" * 40, *list(TEXTS)[::-1]]))
    assert list(payloads) == [None, *(payload for _, _, payload in ROWS[::-1])]


# A corpus of rows


def contents_of_row(corpus, row):
    """Return the terms of a blob with their counts, those of each chunk, and three numbers."""
    terms = list(corpus.terms)
    chunks = corpus.chunk_postings.invert(int(corpus.chunk_starts[-1]))

    def counts(postings, position):
        part = slice(*postings.starts[position : position + 2])
        words = [terms[term] for term in postings.rows[part]]
        return dict(zip(words, postings.values[part].tolist(), strict=True))

    chunk_rows = range(*corpus.chunk_starts[row : row + 2])
    return (
        counts(corpus.by_blob, row),
        [counts(chunks, chunk) for chunk in chunk_rows],
        [corpus.complexity[row], corpus.lines[row], corpus.parsed[row]],
    )


def contents_of_facts(facts):
    """Return the same of the facts of a blob."""
    words = [facts.terms[term] for term in facts.chunk_terms]
    pairs = list(zip(words, facts.chunk_counts, strict=True))
    chunks = [dict(pairs[first:last]) for first, last in pairwise(facts.chunk_starts)]
    counts = dict(zip(facts.terms, facts.counts.tolist(), strict=True))
    return counts, chunks, [facts.complexity, facts.lines, facts.parsed]


@pytest.fixture(scope="module")
def facts_by_blob():
    """Return facts in reverse order, with those of a text of more words than a count can be."""
    large = analyse("word " * 70_000, ".java", parse=False)
    assert large.counts.max() == 65_535
    return dict(reversed((*FACTS.items(), ("large", large))))


@pytest.fixture(scope="module")
def payloads(facts_by_blob):
    return [pack_facts(facts) for facts in facts_by_blob.values()]


def test_a_corpus_contains_the_facts_of_its_rows(facts_by_blob, payloads):
    corpus = Corpus.from_rows(list(facts_by_blob), payloads)
    for row, facts in enumerate(facts_by_blob.values()):
        assert contents_of_row(corpus, row) == contents_of_facts(facts)


def test_a_corpus_of_two_parts_contains_the_facts_of_both(facts_by_blob, payloads):
    blobs = list(facts_by_blob)
    first = Corpus.from_rows(blobs[:7], payloads[:7])
    corpus = first.concatenate(Corpus.from_rows(blobs[7:], payloads[7:]))
    for row, facts in enumerate(facts_by_blob.values()):
        assert contents_of_row(corpus, row) == contents_of_facts(facts)


def test_a_blob_without_a_row_is_like_an_empty_text(payloads):
    corpus = Corpus.from_rows(["large", "none"], [payloads[0], None])
    empty = replace(analyse("", ""), parsed=False)
    assert contents_of_row(corpus, 1) == contents_of_facts(empty)


def test_the_terms_of_a_corpus_are_sorted(facts_by_blob, payloads):
    corpus = Corpus.from_rows(list(facts_by_blob), payloads)
    all_terms = set()
    for facts in facts_by_blob.values():
        all_terms.update(facts.terms)
    assert list(corpus.terms) == sorted(all_terms)


@pytest.mark.parametrize("damage", ["empty", "no zlib", "cut off"])
def test_a_damaged_payload_is_an_error(payloads, damage):
    damaged = {"empty": b"", "no zlib": b"no zlib", "cut off": payloads[3][:-9]}[damage]
    with pytest.raises(StoreError, match=r"damaged .*; remove it: tosloc cache prune"):
        Corpus.from_rows(["a", "b"], [payloads[0], damaged])


def test_a_payload_keeps_strings_that_are_no_utf8_and_large_numbers():
    names, numbers = unpack(pack(["a\nb", "caf\udce9"], np.array([2**40])))
    assert names == ["a\nb", "caf\udce9"]
    assert numbers.tolist() == [2**40]


# Damage, and other processes


def damage_format(path):
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version = 3")
    database.close()


def damage_bytes(path):
    path.write_bytes(path.read_bytes()[:100] + b"\xff" * 2900)


def test_a_store_of_a_later_format_is_refused_and_kept(path):
    """A later version may be using it; with an empty store, that would rank files without facts."""
    with FactStore(path) as store:
        store.write([("a", "x", b"facts")])
    with closing(sqlite3.connect(path)) as database:
        [format_] = database.execute("PRAGMA user_version").fetchone()
        database.execute(f"PRAGMA user_version = {format_ + 1}")
    with pytest.raises(StoreError, match="a later version of TosLoc has written this"):
        FactStore(path)
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"PRAGMA user_version = {format_}")
    with FactStore(path) as store:
        assert list(store.read({"a": "x"})) == [b"facts"]


@pytest.mark.parametrize("damage", [damage_format, damage_bytes])
def test_a_store_that_is_damaged_or_of_an_earlier_format_is_replaced(path, damage):
    damage(path)
    with FactStore(path) as store:
        assert store.find_missing(with_analyser()) == list(TEXTS)
        store.write(ROWS)
        assert store.find_missing(with_analyser()) == []


@with_proc
def test_a_closed_store_has_no_open_file(path, tmp_path):
    with FactStore(path) as store:
        next(store.read(with_analyser()))
        assert open_files(tmp_path)
    assert open_files(tmp_path) == []


@with_proc
def test_a_store_that_does_not_open_has_no_open_file(tmp_path, monkeypatch):
    def fail(store, database):
        database.execute("SELECT 1 FROM sqlite_master").fetchone()
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(FactStore, "_prepare", fail)
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


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo], ids=["folder", "pipe"])
def test_what_is_no_file_is_to_be_removed(tmp_path, make):
    make(tmp_path / "facts.db")
    with pytest.raises(StoreError, match=r"facts\.db is a folder, a named pipe .*; remove it"):
        FactStore(tmp_path / "facts.db")


def test_a_store_that_another_process_writes_is_not_removed(path, monkeypatch):
    def fail_busy(*_, **__):
        raise sqlite3.OperationalError("database is locked")

    monkeypatch.setattr(FactStore, "_connect", fail_busy)
    with pytest.raises(StoreError, match="locked"):
        FactStore(path)
    monkeypatch.undo()
    with FactStore(path) as store:
        assert store.find_missing(with_analyser()) == []


@pytest.fixture
def read_only_store(path, monkeypatch):
    """Yield a store that may not be written; whoever runs the tests may write all files."""
    monkeypatch.setattr(os, "access", lambda path, mode: mode == os.R_OK)
    with FactStore(path) as store:
        yield store


def test_a_store_that_may_only_be_read_is_read(read_only_store):
    assert read_only_store.find_missing(with_analyser()) == []


def test_writing_a_store_that_may_only_be_read_is_an_error(read_only_store):
    message = r"cannot be used .*readonly.*; check that its folder is writable"
    with pytest.raises(StoreError, match=message):
        read_only_store.write(ROWS)


# Functions


@pytest.fixture
def two_files(repository):
    """Yield a repository, and the path of each blob of its two files."""
    java = "class Store {\n  void open() {}\n}\n"
    repository.commit({"a.py": "def area(): pass\n", "b.java": java})
    with Repository(repository.path) as repo:
        area, shop = repo.snapshot("HEAD", {".py", ".java"}).blobs
        yield repo, {shop: "b.java", area: "a.py"}


def test_functions_come_in_the_order_asked(two_files, tmp_path):
    """A blob that the repository lacks has none."""
    repo, files = two_files
    with FactStore(tmp_path / "facts.sqlite") as store:
        functions = FunctionReader(repo, store).read(files | {"0" * 40: "c.py"})
    names = [list(facts.names) for facts in functions.values()]
    assert names == [["Store", "Store.open"], ["area"], []]


def test_functions_are_extracted_once(two_files, tmp_path, monkeypatch):
    repo, files = two_files
    with FactStore(tmp_path / "facts.sqlite") as store:
        first = FunctionReader(repo, store).read(files)
        monkeypatch.setattr("tosloc.storage.facts.find_functions", None)
        again = FunctionReader(repo, store).read(files)
    for blob, facts in first.items():
        for name, value in vars(facts).items():
            assert np.array_equal(value, getattr(again[blob], name)), name
