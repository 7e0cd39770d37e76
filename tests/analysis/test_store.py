"""The facts store: what goes in comes out, whoever else writes and whatever happens."""

from __future__ import annotations

import multiprocessing
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from tosloc import mapped_arrays
from tosloc.analysis import fact_table
from tosloc.analysis import store as module
from tosloc.analysis.analyser import FIELDS
from tosloc.analysis.fact_rows import pack_facts
from tosloc.analysis.fact_table import FactTable
from tosloc.analysis.facts import Facts, analyse
from tosloc.analysis.store import FactStore
from tosloc.errors import DamagedFacts, StoreError, StoreWarning


def source(i: int) -> str:
    remarks = "// word\n" * i
    return f"package p.q{i};\n{remarks}\nclass Shop{i} {{ int openDoor{i}() {{ return {i}; }} }}\n"


TEXTS = {f"{i:040x}": source(i) for i in range(0, 120, 7)}
TEXTS["e" * 40] = ""
FACTS = {blob: analyse(text, ".java") for blob, text in TEXTS.items()}


def rows(blobs: list[str]) -> list[tuple[str, str, Facts]]:
    return [(blob, "java", FACTS[blob]) for blob in blobs]


def assert_same(one: FactTable, two: FactTable) -> None:
    left, right = one.to_arrays(), two.to_arrays()
    assert left.keys() == right.keys()
    for name, array in left.items():
        assert array.dtype == right[name].dtype, name
        np.testing.assert_array_equal(array, right[name], err_msg=name)


def assert_holds(table: FactTable, place: int, facts: Facts) -> None:
    start, end = table.starts[place : place + 2]
    assert [table.vocabulary[t] for t in table.terms[start:end]] == facts.terms
    np.testing.assert_array_equal(table.counts[start:end], facts.counts)
    first, last = table.chunk_starts[place : place + 2]
    bounds = table.chunk_posting_starts[first : last + 1]
    np.testing.assert_array_equal(bounds - bounds[0], facts.chunk_starts)
    names = [table.vocabulary[t] for t in table.chunk_terms[bounds[0] : bounds[-1]]]
    assert names == [facts.terms[t] for t in facts.chunk_terms]
    np.testing.assert_array_equal(table.chunk_counts[bounds[0] : bounds[-1]], facts.chunk_counts)
    assert table.types[place] == facts.types
    assert table.packages[place] == facts.package
    for name in ("complexity", "functions", "lines", "length", "compounds", "parsed", "counted"):
        assert getattr(table, name)[place] == getattr(facts, name), name


def test_what_goes_in_comes_out(tmp_path: Path) -> None:
    blobs = list(FACTS)
    with FactStore(tmp_path / "new" / "facts.db") as store:
        assert store.put(rows(blobs)) == len(blobs)
        asked = [*reversed(blobs), blobs[3], blobs[3]]
        table = store.load(asked)
    assert table.blobs == tuple(asked)
    assert len(table) == len(asked)
    assert list(table.vocabulary) == sorted({term for facts in FACTS.values() for term in facts.terms})
    for place, blob in enumerate(asked):
        assert_holds(table, place, FACTS[blob])
    assert table.counts.shape == (len(table.terms), len(FIELDS))


def test_large_counts_and_vocabularies(tmp_path: Path) -> None:
    many = Facts(
        terms=[f"t{i:06}" for i in range(70_000)],
        counts=np.arange(420_000).reshape(70_000, 6).astype(np.uint16),
        chunk_starts=np.array([0, 2, 2, 5]),
        chunk_terms=np.array([3, 69_999, 0, 66_000, 69_998], dtype=np.int32),
        chunk_counts=np.array([1, 255, 3, 4, 5], dtype=np.uint8),
    )
    small = analyse("apple " * 3000, ".java")
    with FactStore(tmp_path / "facts.db") as store:
        store.put([("a" * 40, "java", small), ("b" * 40, "java", many), ("c" * 40, "java", pack_facts(small))])
        table = store.load(["c" * 40, "b" * 40, "a" * 40])
    assert_holds(table, 0, small)
    assert_holds(table, 1, many)
    assert_holds(table, 2, small)
    assert small.counts[0, 0] == 3000


def test_order_of_writing_does_not_matter(tmp_path: Path) -> None:
    blobs = list(FACTS)
    with FactStore(tmp_path / "a.db") as one, FactStore(tmp_path / "b.db") as two:
        one.put(rows(blobs))
        for blob in reversed(blobs):
            two.put(rows([blob]))
        assert_same(one.load(blobs), two.load(blobs))
        assert two.put(rows(blobs)) == 0


def test_rows_are_read_some_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blobs = [*FACTS, *list(FACTS)[:5], "f" * 40]
    with FactStore(tmp_path / "facts") as store:
        store.put(rows(list(FACTS)))
        whole = store.load(blobs, allow_missing=True)
        monkeypatch.setattr(fact_table, "ROWS_AT_ONCE", 3)
        monkeypatch.setattr(fact_table, "POSTINGS_AT_ONCE", 10)
        monkeypatch.setattr(module, "ROWS_AT_ONCE", 4)
        monkeypatch.setattr(mapped_arrays, "IN_MEMORY", 50)
        assert_same(store.load(blobs, allow_missing=True), whole)
        assert store.absent == {"f" * 40}
        store._database.execute("UPDATE facts SET lines = lines + 1 WHERE id IN (1, 17)")
        with pytest.raises(DamagedFacts) as caught:
            store.load(blobs, allow_missing=True)
    assert {blob for blob, _ in caught.value.rows} == {blobs[0], blobs[16]}
    assert {file.name.partition("-")[0] for file in tmp_path.iterdir()} == {"facts"}


def test_languages_are_apart(tmp_path: Path) -> None:
    blob = next(iter(FACTS))
    with FactStore(tmp_path / "facts.db") as store:
        store.put([(blob, "java", FACTS[blob]), (blob, "text", analyse("apple", ".txt"))])
        table = store.load([blob, blob], ["text", "java"])
        assert [table.vocabulary[t] for t in table.terms[: table.starts[1]]] == ["appl"]
        assert_holds(table, 1, FACTS[blob])
        assert store.missing([blob, "f" * 40, "f" * 40], "java") == ["f" * 40]
        assert store.missing([blob], "python") == [blob]
        with pytest.raises(ValueError, match="2 blobs but 1 languages"):
            store.load([blob, blob], ["java"])


def test_missing_facts(tmp_path: Path) -> None:
    blob = list(FACTS)[2]
    with FactStore(tmp_path / "facts.db") as store:
        store.put(rows([blob]))
        with pytest.raises(StoreError, match="no facts of 1 of 2 blobs"):
            store.load([blob, "f" * 40])
        table = store.load(["f" * 40, blob], allow_missing=True)
    assert table.starts.tolist()[:2] == [0, 0]
    assert table.chunk_starts.tolist()[:2] == [0, 1]
    assert_holds(table, 1, FACTS[blob])


def test_a_new_analyser_asks_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blobs = list(FACTS)
    with FactStore(tmp_path / "facts.db") as store:
        store.put(rows(blobs))
    monkeypatch.setattr(module, "analyser_of", lambda language, lizard: "facts99")
    with FactStore(tmp_path / "facts.db") as store:
        assert store.missing(blobs, "java") == blobs


def test_one_file_holds_facts_with_lizards_number_beside_those_without(tmp_path: Path) -> None:
    text = "def f(a):\n    try:\n        a()\n    finally:\n        b()\n"
    for lizard, numbers in ((False, [1]), (True, [2])):
        with FactStore(tmp_path / "facts.db", lizard=lizard) as store:
            assert store.missing(["a"], "python") == ["a"]
            store.put([("a", "python", analyse(text, ".py", lizard=lizard))])
            assert store.load(["a"], "python").complexity.tolist() == numbers
    with FactStore(tmp_path / "facts.db") as store:
        assert store.missing(["a"], "python") == []
        assert store.load(["a"], "python").complexity.tolist() == [1]


def test_tables_go_through_numpy_files(tmp_path: Path) -> None:
    with FactStore(tmp_path / "facts.db") as store:
        store.put(rows(list(FACTS)))
        table = store.load(list(FACTS))
        empty = store.load([])
    np.savez(tmp_path / "table.npz", allow_pickle=False, **table.to_arrays())
    with np.load(tmp_path / "table.npz", allow_pickle=False) as arrays:
        back = FactTable.from_arrays(arrays)
        assert_same(back, table)
        assert (back.types, back.blobs, back.vocabulary) == (table.types, table.blobs, table.vocabulary)
        with pytest.raises(StoreError, match="not a table of facts"):
            FactTable.from_arrays({name: arrays[name] for name in arrays if name != "terms"})
        with pytest.raises(StoreError, match="do not fit"):
            FactTable.from_arrays({**arrays, "terms": arrays["terms"][1:]})
    assert_same(empty, FactTable.empty())
    assert_same(FactTable.from_arrays(FactTable.empty().to_arrays()), FactTable.empty())
    assert FactTable.empty().counts.shape == (0, 6)


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "facts.db"
    FactStore(path).close()
    with sqlite3.connect(path) as database:
        database.execute("UPDATE meta SET value = '2' WHERE key = 'schema'")
    database.close()
    with pytest.raises(StoreError, match=r"facts\.db: a facts store of schema 2, newer .* update TosLoc"):
        FactStore(path)
    with sqlite3.connect(path) as database:
        database.execute("UPDATE meta SET value = '0' WHERE key = 'schema'")
    database.close()
    with pytest.raises(StoreError, match="older than 1"):
        FactStore(path)


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_bytes(b"hello, this is no database at all" * 100)
    with pytest.raises(StoreError, match="damaged"):
        FactStore(tmp_path / "text.db")
    other = sqlite3.connect(tmp_path / "other.db")
    other.execute("CREATE TABLE things (x)")
    other.close()
    with pytest.raises(StoreError, match="not a facts store"):
        FactStore(tmp_path / "other.db")
    with pytest.raises(StoreError, match="no folder"):
        FactStore(tmp_path / "text.db" / "facts.db")
    with pytest.raises(StoreError, match="is a folder"):
        FactStore(tmp_path)


@pytest.mark.parametrize(
    "damage",
    [
        *("payload = substr(payload, 1, 20)", "payload = x'00'", "payload = 7", "payload = zeroblob(length(payload))"),
        *("terms = x'00'", "terms = zeroblob(4 * term_count)", "term_count = 1", "chunk_count = 1 << 40"),
        *("types = 'Other'", "package = CAST(x'ff' AS TEXT)", "complexity = complexity + 1", "parsed = 0"),
        *("lines = 'x'", "checksum = NULL", "checksum = checksum + 1", "checksum = 'x'"),
        "payload = (SELECT payload FROM facts WHERE blob = 'OTHER')",
        "(payload, terms, term_count, chunk_count, pair_count, checksum) = (SELECT payload, terms, term_count,"
        " chunk_count, pair_count, checksum FROM facts WHERE blob = 'OTHER')",
    ],
)
def test_a_damaged_row_is_noticed_and_can_be_replaced(tmp_path: Path, damage: str) -> None:
    path, blobs = tmp_path / "facts.db", list(FACTS)
    with FactStore(path) as store:
        store.put(rows(blobs))
        whole = store.load(blobs)
        damage = damage.replace("OTHER", blobs[6])
        store._database.execute(f"UPDATE facts SET {damage} WHERE blob = ?", (blobs[5],))
        for read in (lambda: store.load(blobs), lambda: store.check(blobs, "java")):
            with pytest.raises(DamagedFacts, match=r"facts\.db: facts of 1 file are damaged; run the same") as caught:
                read()
            assert caught.value.rows == ((blobs[5], "java"),)
        assert store.put(rows(blobs[5:6])) == 0
        assert store.put(rows(blobs[5:6]), replace=True) == 1
        store.check(blobs, "java")
        assert_same(store.load(blobs), whole)


def test_facts_of_another_analyser_are_not_taken_for_these(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with FactStore(tmp_path / "facts.db") as store:
        store.put(rows(list(FACTS)))
        store._database.execute("UPDATE makers SET analyser = 'facts99'")
    monkeypatch.setattr(module, "analyser_of", lambda language, lizard: "facts99")
    with FactStore(tmp_path / "facts.db") as store, pytest.raises(DamagedFacts):
        store.load(list(FACTS))


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE terms SET term = 'unheard' WHERE id = 5",
        "UPDATE terms SET term = CAST(x'ff' AS TEXT) WHERE id = 5",
        "UPDATE terms SET id = 1000000 WHERE id = 5",
        "DELETE FROM terms WHERE id > 5",
        "DELETE FROM terms WHERE id = 5",
        "DELETE FROM term_batches",
        "UPDATE term_batches SET last = last - 1",
        "UPDATE term_batches SET checksum = x'00'",
        "UPDATE term_batches SET last = 'x'",
    ],
)
def test_a_damaged_term_is_noticed(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "facts.db"
    with FactStore(path) as store:
        store.put(rows(list(FACTS)[:4]))
        store.put(rows(list(FACTS)[4:]))
        store._database.execute(damage)
    with FactStore(path) as store, pytest.raises(StoreError, match=r"is damaged \(.*delete it and index again"):
        store.load(list(FACTS))


def test_a_term_that_is_no_text_is_noticed_by_who_writes(tmp_path: Path) -> None:
    with FactStore(tmp_path / "facts.db") as store:
        store.put(rows(list(FACTS)[:3]))
        store._database.execute("DELETE FROM term_batches")
        store._database.execute("UPDATE terms SET term = x'00' WHERE id = 1")
    with FactStore(tmp_path / "facts.db") as store, pytest.raises(StoreError, match="a term is no text"):
        store.put(rows(list(FACTS)[3:]))


def test_terms_that_their_index_does_not_find_are_noticed(tmp_path: Path) -> None:
    with FactStore(tmp_path / "facts.db") as store:
        store.put(rows(list(FACTS)[:3]))
        execute = store._database.execute
        [[place, size]] = execute("SELECT rootpage, (SELECT page_size FROM pragma_page_size) FROM sqlite_master WHERE"
                                  " name = 'sqlite_autoindex_terms_1'")  # fmt: skip
        execute("PRAGMA wal_checkpoint(TRUNCATE)")
    data = bytearray((tmp_path / "facts.db").read_bytes())
    page = data[size * (place - 1) : size * place]
    data[size * (place - 1) : size * place] = page.replace(b"shop", b"shoq")
    assert page != data[size * (place - 1) : size * place]
    (tmp_path / "facts.db").write_bytes(data)
    with FactStore(tmp_path / "facts.db") as store:
        store.put(rows(list(FACTS)[3:]))
        with pytest.raises(StoreError, match=r"damaged \(a term has two numbers\)"):
            store.load(list(FACTS))


def test_pages_of_nonsense_are_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "facts.db"
    with FactStore(path) as store:
        store.put(rows(list(FACTS)))
    data = bytearray(path.read_bytes())
    data[4096:] = b"\x5a" * (len(data) - 4096)
    path.write_bytes(data)
    with pytest.raises(StoreError, match="damaged"), FactStore(path) as store:
        store.load(list(FACTS))


def earlier(path: Path) -> None:
    """The store as a version without checksums would have it."""
    with sqlite3.connect(path) as database:
        database.execute("ALTER TABLE facts DROP COLUMN checksum")
        database.execute("DROP TABLE term_batches")
    database.close()


def test_an_earlier_versions_store_gets_checksums_once(tmp_path: Path) -> None:
    path, blobs = tmp_path / "facts.db", list(FACTS)
    with FactStore(path) as store:
        store.put(rows(blobs))
        whole = store.load(blobs)
    earlier(path)
    with pytest.warns(StoreWarning, match=rf"facts\.db: written by an earlier TosLoc; .* its {len(blobs)} rows have"):
        store = FactStore(path)
    with store:
        assert_same(store.load(blobs), whole)
        # and goes on to be one for the earlier version, whose rows are made again
        store._database.execute("UPDATE facts SET checksum = NULL WHERE blob = ?", (blobs[2],))
        store._database.execute("INSERT INTO terms (term) VALUES ('theirs')")
        assert store.put([("f" * 40, "java", analyse("class Pear {}", ".java"))]) == 1
        with pytest.raises(DamagedFacts):
            store.load(blobs)
        store.put(rows([blobs[2]]), replace=True)
        assert_same(store.load(blobs), whole)
    FactStore(path).close()


def test_an_earlier_store_that_is_damaged_is_not_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "facts.db"
    with FactStore(path) as store:
        store.put(rows(list(FACTS)))
    earlier(path)
    data = path.read_bytes()
    place = data.rindex(b"opendoor")
    path.write_bytes(data[:place] + b"opendoos" + data[place + 8 :])
    with pytest.raises(StoreError, match="damaged"):
        FactStore(path)


def test_a_full_disk_leaves_the_store_as_it_was(tmp_path: Path) -> None:
    blobs = list(FACTS)
    with FactStore(tmp_path / "facts.db") as store:
        store.put(rows(blobs[:3]))
        (pages,) = store._database.execute("PRAGMA page_count").fetchone()
        store._database.execute(f"PRAGMA max_page_count = {pages + 1}")
        noise = Facts(terms=[f"unheard{i}" for i in range(5000)], counts=np.ones((5000, 6), dtype=np.uint16))
        with pytest.raises(StoreError, match="disk is full"):
            store.put([*rows(blobs[3:]), ("f" * 40, "java", noise)])
        assert store.missing([*blobs, "f" * 40], "java") == [*blobs[3:], "f" * 40]
        assert_holds(store.load(blobs[:3]), 2, FACTS[blobs[2]])
        store._database.execute("PRAGMA max_page_count = 1073741823")
        assert store.put(rows(blobs)) == len(blobs) - 3
        assert store._database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert_holds(store.load(blobs), 7, FACTS[blobs[7]])


def _write(path: str, blobs: list[str]) -> None:
    with FactStore(path) as store:
        for blob in blobs:
            store.put(rows([blob]))


def test_two_processes_write_one_store(tmp_path: Path) -> None:
    blobs = list(FACTS)
    context = multiprocessing.get_context("fork")
    writers = [
        context.Process(target=_write, args=(str(tmp_path / "facts.db"), order)) for order in (blobs, blobs[::-1])
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    assert [writer.exitcode for writer in writers] == [0, 0]
    with FactStore(tmp_path / "facts.db") as store, FactStore(tmp_path / "alone.db") as alone:
        alone.put(rows(blobs))
        assert_same(store.load(blobs), alone.load(blobs))
        (terms,) = store._database.execute("SELECT count(*) - count(DISTINCT term) FROM terms").fetchone()
        assert terms == 0


def test_terms_of_another_writer_are_seen(tmp_path: Path) -> None:
    blobs = list(FACTS)
    with FactStore(tmp_path / "facts.db") as one, FactStore(tmp_path / "facts.db") as two:
        one.put(rows(blobs[:5]))
        assert_holds(two.load(blobs[:5]), 4, FACTS[blobs[4]])
        two.put(rows(blobs[5:10]))
        one.put(rows(blobs[10:]))
        for store in (one, two):
            table = store.load(blobs)
            for place, blob in enumerate(blobs):
                assert_holds(table, place, FACTS[blob])
