"""The facts store: one SQLite table that keeps once what was made of each file content and each commit.

A row is (id, analyser, payload): the id is git's of a blob or commit; the analyser says which facts these are, and by
which version of what they were made; the payload is complete in itself. The store is a cache: one that does not open,
or is of another format, is begun anew.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Self, TypeAlias

from tosloc.core.errors import StoreError

Row: TypeAlias = tuple[str, str, bytes]  # (id, analyser, payload)

BUSY_SECONDS: Final = 120.0  # how long a writer waits for another one's transaction
_FORMAT: Final = 4  # of file and payloads, as user_version: another one is begun anew
_MAKE: Final = f"""
    BEGIN IMMEDIATE;
    CREATE TABLE IF NOT EXISTS facts (id TEXT, analyser TEXT, payload BLOB, PRIMARY KEY (id, analyser));
    PRAGMA user_version = {_FORMAT};
    COMMIT;
    PRAGMA journal_mode = WAL;
"""
"""Of several processes one makes it. Not WITHOUT ROWID: ids come in no order, and its tree would move the payloads."""


class FactStore:
    """Facts in one SQLite file, made if it is absent. Close it, or use it in a ``with`` block.

    For one thread at a time; several processes each open their own. One that may only be read is read, and so is a copy
    that is ``unchanging``. Raises StoreError when the file cannot be read, and when the disk is full; the file stays
    consistent.
    """

    def __init__(self, path: str | os.PathLike[str], *, unchanging: bool = False) -> None:
        self.path: Final = Path(path).expanduser().absolute()
        with self._explained():
            try:
                self._database = self._connect(unchanging)
            except sqlite3.DatabaseError as error:
                if isinstance(error, sqlite3.OperationalError):
                    raise
                for end in ("", "-wal", "-shm"):
                    Path(f"{self.path}{end}").unlink(missing_ok=True)
                self._database = self._connect(unchanging)

    def _connect(self, unchanging: bool) -> sqlite3.Connection:
        """Return a connection to the file, made if it is absent. If this raises, nothing stays open."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        writable = not unchanging and all(
            os.access(p, os.W_OK) for p in (self.path.parent, self.path) if p.exists()
        )
        # without locks, for which there is no room, or which a network disk may lack
        uri = self.path.as_uri() + ("" if writable else "?mode=ro&immutable=1")
        database = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, check_same_thread=False)
        try:
            self._prepare(database)
        except BaseException:
            database.close()
            raise
        return database

    @staticmethod
    def _prepare(database: sqlite3.Connection) -> None:
        """Make the table if it is absent. Raises sqlite3.DatabaseError for a file of another format."""
        tables = database.execute("SELECT 1 FROM sqlite_master").fetchone()
        if database.execute("PRAGMA user_version").fetchone() != (_FORMAT,):
            if tables:
                raise sqlite3.DatabaseError("another format")
            database.executescript(_MAKE)
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
        """Write a copy of what is in the store now, to be read as ``unchanging``."""
        with self._explained():
            self._database.execute("VACUUM INTO ?", (str(path),))

    def find_missing(self, wanted: Mapping[str, str]) -> list[str]:
        """Those of some ids (id -> analyser) that have no row, in their order."""
        return [name for name, row in self._look_up("key, facts.rowid", wanted) if row is None]

    def read(self, wanted: Mapping[str, str]) -> Iterator[bytes | None]:
        """The payload of each id (id -> analyser), in their order; None for one that has no row."""
        return (payload for (payload,) in self._look_up("payload", wanted))

    def write(self, rows: Iterable[Row]) -> None:
        """Write rows over those that are there, in one transaction."""
        with self._explained(), self._database:
            self._database.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?, ?)", rows)

    def _look_up(self, columns: str, wanted: Mapping[str, str]) -> Iterator[tuple[Any, ...]]:
        query = f"SELECT {columns} FROM json_each(?) AS asked LEFT JOIN facts ON facts.id = key AND analyser = asked.value"
        with self._explained():
            yield from self._database.execute(query, (json.dumps(wanted),))

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn the errors of SQLite and of the disk into sentences for people."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise StoreError(
                f"{self.path}: the facts store cannot be used ({error}); see that its folder may be written, the"
                " disk is not full, and run it again; or name another folder for the cache with $TOSLOC_CACHE"
            ) from error
