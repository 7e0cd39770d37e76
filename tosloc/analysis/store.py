"""The facts store: one SQLite file that keeps the facts of every blob once, and hands a version's worth out as arrays.

Rows are keyed by blob, language and analyser. Writers may be several processes at once; a crash loses at most the batch
in flight. What ``load`` returns does not depend on the order in which rows were written.
"""

from __future__ import annotations

import os
import sqlite3
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import numpy as np

from tosloc.analysis.fact_rows import EMPTY_ROW, FactRow, PackedFacts, pack_facts
from tosloc.analysis.fact_table import FactTable
from tosloc.analysis.facts import Facts, analyser_of
from tosloc.errors import StoreError

SCHEMA: Final = 1
BUSY_SECONDS: Final = 120.0
"""How long a writer waits for another one's transaction."""

_APPLICATION: Final = 0x546F734C  # "TosL", so that a store is not taken for another program's file
_ASK: Final = 500
"""Values of one query: older SQLite allows 999."""

_TABLES: Final = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE makers (
    id INTEGER PRIMARY KEY, language TEXT NOT NULL, analyser TEXT NOT NULL, UNIQUE (language, analyser));
CREATE TABLE terms (id INTEGER PRIMARY KEY, term TEXT NOT NULL UNIQUE);
CREATE TABLE facts (
    id INTEGER PRIMARY KEY, blob TEXT NOT NULL, maker INTEGER NOT NULL REFERENCES makers (id),
    complexity INTEGER NOT NULL, functions INTEGER NOT NULL, lines INTEGER NOT NULL,
    length INTEGER NOT NULL, compounds INTEGER NOT NULL, parsed INTEGER NOT NULL, counted INTEGER NOT NULL,
    package TEXT NOT NULL, types TEXT NOT NULL,
    term_count INTEGER NOT NULL, chunk_count INTEGER NOT NULL, pair_count INTEGER NOT NULL,
    terms BLOB NOT NULL, payload BLOB NOT NULL, UNIQUE (blob, maker));
"""
_COLUMNS: Final = ", ".join(FactRow._fields)


class FactStore:
    """Facts of blobs in one SQLite file, made if it is absent. Close it, or use it in a ``with`` block.

    Not for several threads; several processes each open their own. Raises StoreError when the file is not a facts
    store, is damaged, or was written by a newer TosLoc, and when the disk is full; the file stays consistent.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path: Final = Path(path).expanduser().absolute()
        self._terms: dict[int, str] = {}
        self._last_term = 0  # highest number in _terms
        self._numbers: dict[str, int] = {}
        self._makers: dict[str, int] = {}
        with self._explained():
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise StoreError(
                    f"{self.path.parent}: no folder for the facts store ({error.strerror}); name another path for it"
                ) from error
            if self.path.is_dir():
                raise StoreError(f"{self.path}: is a folder; name a file for the facts store")
            self._database = sqlite3.connect(self.path, timeout=BUSY_SECONDS, isolation_level=None)
            try:
                self._open()
            except BaseException:
                self._database.close()
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the connection; the store cannot be used afterwards."""
        self._database.close()

    def missing(self, blobs: Iterable[str], language: str) -> list[str]:
        """Those of ``blobs`` without facts of ``language`` by the present analyser, each once, in the order given."""
        wanted = list(dict.fromkeys(blobs))
        with self._explained():
            known = {blob for (blob,) in self._rows("blob", wanted, language)}
        return [blob for blob in wanted if blob not in known]

    def put(self, batch: Iterable[tuple[str, str, Facts | PackedFacts]]) -> int:
        """Write the facts of (blob, language, facts) in one transaction; how many rows are new.

        A row that is there already is left as it is. After an error nothing of the batch is in the store.
        """
        packed = [
            (blob, language, pack_facts(facts) if isinstance(facts, Facts) else facts)
            for blob, language, facts in batch
        ]
        added = 0
        with self._explained(), self._transaction():
            fresh = self._intern(dict.fromkeys(term for _, _, facts in packed for term in facts.terms))
            for blob, language, facts in packed:
                numbers = [fresh[term] if term in fresh else self._numbers[term] for term in facts.terms]
                row = facts.with_numbers(blob, np.array(numbers, dtype=np.int32))
                added += self._database.execute(
                    f"INSERT OR IGNORE INTO facts (maker, {_COLUMNS}) VALUES (?{', ?' * len(row)})",
                    (self._own_maker(language), *row),
                ).rowcount
        self._numbers.update(fresh)
        return added

    def load(
        self, blobs: Sequence[str], languages: str | Sequence[str] = "java", *, allow_missing: bool = False
    ) -> FactTable:
        """Facts of ``blobs`` in the order given, repeated if they are; ``languages`` is one for all or one for each.

        Raises StoreError when facts are missing, unless ``allow_missing``: then such a blob has one empty chunk and no
        terms.
        """
        names = [languages] * len(blobs) if isinstance(languages, str) else list(languages)
        if len(names) != len(blobs):
            raise ValueError(f"{len(blobs)} blobs but {len(names)} languages")
        wanted = list(zip(blobs, names, strict=True))
        found: dict[tuple[str, str], FactRow] = {}
        with self._explained():
            for language in dict.fromkeys(names):
                asked = sorted({blob for blob, name in wanted if name == language})
                rows = map(FactRow._make, self._rows(_COLUMNS, asked, language))
                found.update(((row.blob, language), row) for row in rows)
            absent = [blob for blob, name in wanted if (blob, name) not in found]
            if absent and not allow_missing:
                raise StoreError(
                    f"{self.path}: no facts of {len(set(absent))} of {len(set(blobs))} blobs, first {absent[0]};"
                    " index the repository first"
                )
            self._fetch_terms()
        try:
            return FactTable.from_rows(blobs, [found.get(key, EMPTY_ROW) for key in wanted], self._terms)
        except (ValueError, IndexError, KeyError, zlib.error) as error:
            raise self._damaged(f"its content does not fit: {error}") from error

    def _rows(self, columns: str, blobs: Sequence[str], language: str) -> Iterator[tuple[Any, ...]]:
        """Columns of the rows of ``blobs`` by the language's present analyser, of those that are here."""
        maker = self._maker(language)
        if maker is not None:
            query = f"SELECT {columns} FROM facts WHERE maker = ? AND blob IN"
            yield from self._select(query, blobs, maker)

    def _select(self, query: str, values: Sequence[str], *first: object) -> Iterator[tuple[Any, ...]]:
        """Rows of a query that ends in "IN", for all the values; ``first`` are its parameters before them."""
        for start in range(0, len(values), _ASK):
            part = values[start : start + _ASK]
            yield from self._database.execute(f"{query} ({', '.join('?' * len(part))})", (*first, *part))

    def _open(self) -> None:
        execute = self._database.execute
        tables = {name for (name,) in execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if not tables:
            self._create()
        elif "meta" not in tables or execute("PRAGMA application_id").fetchone()[0] != _APPLICATION:
            raise StoreError(f"{self.path}: a database, but not a facts store; give another path for the store")
        execute("PRAGMA journal_mode = WAL")
        execute("PRAGMA synchronous = NORMAL")
        execute("PRAGMA cache_size = -65536")
        row = execute("SELECT value FROM meta WHERE key = 'schema'").fetchone()
        schema = int(row[0]) if row and row[0].isdecimal() else 0
        if schema > SCHEMA:
            raise StoreError(
                f"{self.path}: a facts store of schema {schema}, newer than this TosLoc's {SCHEMA};"
                " update TosLoc, or give another path for the store"
            )
        if schema < SCHEMA:
            raise StoreError(
                f"{self.path}: a facts store of schema {schema}, older than {SCHEMA} and not readable;"
                " delete it and index again"
            )

    def _create(self) -> None:
        with self._transaction():
            (count,) = self._database.execute("SELECT count(*) FROM sqlite_master").fetchone()
            if count:  # another process was faster
                return
            self._database.execute(f"PRAGMA application_id = {_APPLICATION}")
            for statement in _TABLES.split(";"):
                if statement.strip():
                    self._database.execute(statement)
            created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            self._database.executemany(
                "INSERT INTO meta VALUES (?, ?)", (("schema", str(SCHEMA)), ("created", created))
            )

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._database.execute("COMMIT")
        except BaseException:
            self._makers.clear()  # a maker's number may have been rolled back
            with suppress(sqlite3.Error):
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
            raise

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn SQLite's errors into sentences for people."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            text = str(error)
            if "full" in text:
                raise StoreError(
                    f"{self.path}: the disk is full and the last batch was not written; make room and run it again"
                ) from error
            if "locked" in text:
                raise StoreError(
                    f"{self.path}: another process has kept the facts store for {BUSY_SECONDS:.0f} s;"
                    " wait for it to end"
                ) from error
            if "readonly" in text or "unable to open" in text:
                raise StoreError(
                    f"{self.path}: the facts store cannot be opened for writing ({text}); name another path for it"
                ) from error
            if "I/O" in text:  # of the device, or a limit on the size of files; says nothing of the content
                raise StoreError(
                    f"{self.path}: the facts store cannot be read or written ({text}); see that the disk is well and"
                    " has room, and run it again"
                ) from error
            raise self._damaged(text) from error

    def _damaged(self, reason: str) -> StoreError:
        return StoreError(f"{self.path}: the facts store is damaged ({reason}); delete it and index again")

    def _maker(self, language: str) -> int | None:
        if language not in self._makers:
            row = self._database.execute(
                "SELECT id FROM makers WHERE language = ? AND analyser = ?", (language, analyser_of(language))
            ).fetchone()
            if row is None:
                return None
            self._makers[language] = row[0]
        return self._makers[language]

    def _own_maker(self, language: str) -> int:
        """Number of the language's present analyser, given now if it has none. Within a transaction."""
        found = self._maker(language)
        if found is None:
            self._database.execute(
                "INSERT INTO makers (language, analyser) VALUES (?, ?)", (language, analyser_of(language))
            )
            found = self._maker(language)
            assert found is not None
        return found

    def _intern(self, terms: Iterable[str]) -> dict[str, int]:
        """Numbers of those terms that this object has not seen, given now to new ones. Within a transaction."""
        unknown = [term for term in terms if term not in self._numbers]
        self._database.executemany("INSERT OR IGNORE INTO terms (term) VALUES (?)", ((term,) for term in unknown))
        return dict(self._select("SELECT term, id FROM terms WHERE term IN", unknown))

    def _fetch_terms(self) -> None:
        """Bring ``_terms`` up to date with what any process has written."""
        rows = self._database.execute("SELECT id, term FROM terms WHERE id > ?", (self._last_term,)).fetchall()
        self._terms.update(rows)
        self._last_term = max((number for number, _ in rows), default=self._last_term)
