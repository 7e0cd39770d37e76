"""The facts store: one SQLite table with the facts of each file content and each commit.

A row is (id, analyser, payload). The id is git's id of a blob or commit. The analyser is the name
and version of the code that made the facts. A payload needs no other row. The store is a cache: a
file that cannot be opened, or has an earlier format, is replaced by an empty file.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Self, TypeAlias

from tosloc.code.languages import analyser_version, language_name, with_grammar_release
from tosloc.core.errors import StoreError
from tosloc.retrieval.texts import Corpus

Row: TypeAlias = tuple[str, str, bytes]
"""A row of the table: id, analyser, payload."""

BUSY_SECONDS: Final = 120.0
"""Seconds that a writer waits for the transaction of another writer."""
_FORMAT: Final = 5
"""Version of the format of file and payloads, stored as SQLite's user_version.

A file of an earlier version is replaced. One of a later version is not: a newer program may be
using it, and would find no facts.
"""
_TABLE: Final = "facts (id TEXT, analyser TEXT, payload BLOB, PRIMARY KEY (id, analyser))"
"""The table and its columns.

The table has rowids, because ids arrive in no order, and a table without rowids would have to move
payloads for each new row.
"""
_CREATE: Final = f"""
    BEGIN IMMEDIATE;
    CREATE TABLE IF NOT EXISTS {_TABLE};
    PRAGMA user_version = {_FORMAT};
    COMMIT;
    PRAGMA journal_mode = WAL;
"""
"""Statements that create the table; if several processes run them, one creates it."""
_LOOK_UP: Final = """
    SELECT {columns} FROM json_each(?) AS asked
    LEFT JOIN facts ON facts.id = key AND analyser = asked.value
"""
"""Query for the rows with given ids and analysers, in the order of a JSON object."""


def analysers_by_blob(blobs: Mapping[str, str], *, lizard: bool = False) -> dict[str, str]:
    """Return blob id -> name of the analyser for its facts, from blob id -> path."""
    version = analyser_version(lizard)
    return {
        blob: with_grammar_release(language_name(path), version) for blob, path in blobs.items()
    }


class FactStore:
    """Facts in one SQLite file, which is created if it is absent.

    Close it, or use it in a ``with`` block. A store is for one thread at a time; several processes
    each open their own. A file without write permission is opened for reading only, and so is a
    copy that is ``unchanging``. Raises StoreError if the file cannot be read, was written by a
    later version of TosLoc, or the disk is full; the file stays consistent.
    """

    def __init__(self, path: str | os.PathLike[str], *, unchanging: bool = False) -> None:
        self.path: Final = Path(path).expanduser().absolute()
        if self.path.exists() and not self.path.is_file():
            raise StoreError(
                f"{self.path} is a folder, a named pipe or a device in the place of the store of"
                " facts; remove it, and run the same command again"
            )
        with self._translate_sqlite_errors():
            try:
                self._database = self._connect(unchanging)
            except sqlite3.DatabaseError as error:
                # A busy or unreadable file is no damage.
                if isinstance(error, sqlite3.OperationalError):
                    raise
                for end in ("", "-wal", "-shm"):
                    Path(f"{self.path}{end}").unlink(missing_ok=True)
                self._database = self._connect(unchanging)

    def _connect(self, unchanging: bool) -> sqlite3.Connection:
        """Return a connection to the file, which is created if it does not exist.

        If this function raises an error, no connection stays open.
        """
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        uri = self.path.as_uri()
        if unchanging or not self._is_writable():
            # Without locks, which need a writable folder, and which a network disk may lack.
            uri += "?mode=ro&immutable=1"
        database = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, check_same_thread=False)
        try:
            self._prepare(database)
        except BaseException:
            database.close()
            raise
        return database

    def _is_writable(self) -> bool:
        """Return whether the folder, and the file if it exists, may be written."""
        existing = [path for path in (self.path.parent, self.path) if path.exists()]
        return all(os.access(path, os.W_OK) for path in existing)

    def _prepare(self, database: sqlite3.Connection) -> None:
        """Create the table if it is absent.

        Raises sqlite3.DatabaseError for a file of an earlier format, and StoreError for one of a
        later format.
        """
        tables = database.execute("SELECT 1 FROM sqlite_master").fetchone()
        [version] = database.execute("PRAGMA user_version").fetchone()
        if version > _FORMAT:
            raise StoreError(
                f"{self.path}: a later version of TosLoc has written this store of facts; use that"
                " version, or name another folder for the cache with $TOSLOC_CACHE"
            )
        if version != _FORMAT:
            if tables:
                raise sqlite3.DatabaseError("an earlier format")
            database.executescript(_CREATE)
        database.execute("PRAGMA synchronous = NORMAL")
        database.execute("PRAGMA cache_size = -65536")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the connection; the store cannot be used afterwards."""
        self._database.close()

    def copy_to(self, path: Path) -> None:
        """Write a copy of the store as it is now, which can be opened as ``unchanging``."""
        with self._translate_sqlite_errors():
            self._database.execute("VACUUM INTO ?", (str(path),))

    def find_missing(self, wanted: Mapping[str, str]) -> list[str]:
        """Return the ids in ``wanted`` (id -> analyser) that have no row, in their order."""
        rows = self._look_up("key, facts.rowid", wanted)
        return [identity for identity, row in rows if row is None]

    def read_facts(self, blobs: Mapping[str, str], *, lizard: bool = False) -> Corpus:
        """Return the facts of blobs (id -> path), in the order of ``blobs``.

        A blob that could not be read has no facts, and gets one empty chunk.
        """
        return Corpus.from_rows(list(blobs), self.read(analysers_by_blob(blobs, lizard=lizard)))

    def read(self, wanted: Mapping[str, str]) -> Iterator[bytes | None]:
        """Return the payload of each id in ``wanted``, in order; None for an id without a row.

        ``wanted`` maps ids to analysers.
        """
        return (payload for (payload,) in self._look_up("payload", wanted))

    def write(self, rows: Iterable[Row]) -> None:
        """Insert rows, or replace existing ones, in one transaction."""
        with self._translate_sqlite_errors(), self._database:
            self._database.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?, ?)", rows)

    def _look_up(self, columns: str, wanted: Mapping[str, str]) -> Iterator[tuple[Any, ...]]:
        """Yield the columns for each id in ``wanted`` (id -> analyser), in order.

        The columns are None if the id has no row.
        """
        with self._translate_sqlite_errors():
            query = _LOOK_UP.format(columns=columns)
            yield from self._database.execute(query, (json.dumps(wanted),))

    @contextmanager
    def _translate_sqlite_errors(self) -> Iterator[None]:
        """Turn errors of SQLite and of the disk into StoreError, which says what to do."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise StoreError(
                f"{self.path}: the store of facts cannot be used ({error}); check that its folder"
                " is writable and the disk is not full, or name another folder for the cache with"
                " $TOSLOC_CACHE"
            ) from error
