"""What encoders made of blobs, kept: chunk vectors in half precision and tokens, one SQLite file, each made once.

Every row has a checksum of its blob, its maker and what it holds; one that does not fit is as if it were not here, so
that it is made again.
"""

from __future__ import annotations

import sqlite3
import warnings
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import numpy as np

from tosloc.errors import StoreError, StoreWarning
from tosloc.files import mode_in
from tosloc.records import Float16Array, IntArray

# n chunks of a blob, d width of the encoder

_SCHEMA: Final = 2
_BUSY_SECONDS: Final = 120.0
_APPLICATION: Final = 0x546F7356  # "TosV"
_ASK: Final = 500
_TABLES: Final = """
CREATE TABLE makers (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE vectors (blob TEXT NOT NULL, maker INTEGER NOT NULL REFERENCES makers (id), width INTEGER NOT NULL,
    data BLOB NOT NULL, checksum INTEGER, PRIMARY KEY (blob, maker)) WITHOUT ROWID;
CREATE TABLE tokens (blob TEXT NOT NULL, maker INTEGER NOT NULL REFERENCES makers (id),
    data BLOB NOT NULL, checksum INTEGER, PRIMARY KEY (blob, maker)) WITHOUT ROWID;
"""
_LONGEST: Final = 1 << 28
"""Bytes of a row; a damaged length is not believed beyond it."""


class VectorStore:
    """Vectors and tokens by blob and maker. A crash loses at most the batch in flight.

    A maker's name tells everything that its results depend on, such as the encoder's fingerprint. Several processes may
    open the file at once, each for itself. In a ``with`` block it stays open; elsewhere each call opens and closes it,
    so that whoever keeps a store for as long as it lives has nothing to close. Raises StoreError when the file is
    something else or damaged.
    """

    def __init__(self, path: str | Path) -> None:
        self.path: Final = Path(path).expanduser().absolute()
        self._kept: sqlite3.Connection | None = None
        with self._explained():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self._open() as connection:
                self._prepare(connection)

    def _prepare(self, connection: sqlite3.Connection) -> None:
        run = connection.execute
        run("PRAGMA journal_mode=WAL")
        run("BEGIN IMMEDIATE")
        [[application]] = run("PRAGMA application_id")
        [[version]] = run("PRAGMA user_version")
        [[tables]] = run("SELECT count(*) FROM sqlite_master")
        if not tables:
            self.path.chmod(mode_in(self.path.parent))
            for statement in _TABLES.split(";"):
                run(statement)
            run(f"PRAGMA application_id={_APPLICATION}")
            run(f"PRAGMA user_version={_SCHEMA}")
        elif application != _APPLICATION or version > _SCHEMA:
            run("ROLLBACK")
            raise StoreError(
                f"{self.path}: not a store of vectors that this version of TosLoc can read; name another file, or"
                " delete this one to have it made again"
            )
        elif version < _SCHEMA:
            self._upgrade(connection)
        run("COMMIT")

    def _upgrade(self, connection: sqlite3.Connection) -> None:
        """Give the rows of an earlier version their checksums. Within a transaction."""
        run = connection.execute
        [[found]] = run("PRAGMA integrity_check(1)")
        if found != "ok":
            raise sqlite3.DatabaseError(found)
        for table, columns in (("vectors", "width, data"), ("tokens", "data")):
            run(f"ALTER TABLE {table} ADD COLUMN checksum INTEGER")
            rows = run(f"SELECT blob, maker, name, {columns} FROM {table} JOIN makers ON makers.id = maker")
            kept = [(_checksum(blob, name, *values), blob, maker) for blob, maker, name, *values in rows]
            connection.executemany(f"UPDATE {table} SET checksum = ? WHERE blob = ? AND maker = ?", kept)
        run(f"PRAGMA user_version={_SCHEMA}")
        warnings.warn(
            f"{self.path}: written by an earlier TosLoc; from now on its rows have checksums, of what is in them",
            StoreWarning,
            stacklevel=2,
        )

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=_BUSY_SECONDS, isolation_level=None)
        try:
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
        except sqlite3.DatabaseError:
            connection.close()
            raise
        return connection

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """The connection of the ``with`` block, or one for this call alone."""
        if self._kept is not None:
            yield self._kept
            return
        with closing(self._connect()) as connection:
            yield connection

    def __enter__(self) -> Self:
        with self._explained():
            self._kept = self._connect()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._kept is not None:
            self._kept.close()
            self._kept = None

    def missing(self, maker: str, blobs: Iterable[str]) -> list[str]:
        """Those of the blobs of which the maker's vectors are not here, each once, in order."""
        wanted = list(dict.fromkeys(blobs))
        known = {blob for blob, *_ in self._rows("vectors", "blob", maker, wanted)}
        return [blob for blob in wanted if blob not in known]

    def vectors(self, maker: str, blobs: Sequence[str]) -> dict[str, Float16Array]:
        """Blob -> (n, d) chunk vectors, of those that are here."""
        return {
            blob: np.frombuffer(data, dtype="<f2").reshape(-1, width)
            for blob, width, data in self._sound("vectors", "blob, width, data", maker, blobs)
        }

    def tokens(self, maker: str, blobs: Sequence[str]) -> dict[str, IntArray]:
        """Blob -> tokens, of those that are here."""
        return {
            blob: np.frombuffer(zlib.decompress(data), dtype="<i4")
            for blob, data in self._sound("tokens", "blob, data", maker, blobs)
        }

    def put_vectors(self, maker: str, items: Iterable[tuple[str, Float16Array]]) -> None:
        """Keep (n, d) chunk vectors of blobs, all of them or none."""
        with self._writing(maker) as (connection, number):
            connection.executemany(
                "INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?, ?)",
                (
                    (blob, number, made.shape[1], data, _checksum(blob, maker, made.shape[1], data))
                    for blob, made in items
                    for data in (made.astype("<f2").tobytes(),)
                ),
            )

    def put_tokens(self, maker: str, items: Iterable[tuple[str, Sequence[int]]]) -> None:
        """Keep tokens of blobs, all of them or none."""
        with self._writing(maker) as (connection, number):
            connection.executemany(
                "INSERT OR REPLACE INTO tokens VALUES (?, ?, ?, ?)",
                (
                    (blob, number, data, _checksum(blob, maker, data))
                    for blob, tokens in items
                    for data in (zlib.compress(np.asarray(tokens, dtype="<i4").tobytes(), 1),)
                ),
            )

    def audit(self) -> tuple[int, int]:
        """How many rows there are, and how many of them are not what was written.

        Raises StoreError where SQLite's own structure is damaged.
        """
        sound = []
        with self._explained(), self._open() as connection:
            [[found]] = connection.execute("PRAGMA integrity_check(1)")
            if found != "ok":
                raise sqlite3.DatabaseError(found)
            for table, columns in (("vectors", "width, data"), ("tokens", "data")):
                query = f"SELECT blob, name, {columns}, checksum FROM {table} JOIN makers ON makers.id = maker"
                for blob, maker, *values, kept in connection.execute(query):
                    sound.append(kept is not None and _checksum(blob, maker, *values) == kept)
        return len(sound), sound.count(False)

    def _sound(self, table: str, columns: str, maker: str, blobs: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """The rows that are what was written; the others are said, and taken out."""
        damaged = []
        for *values, kept in self._rows(table, f"{columns}, checksum", maker, blobs):
            if kept is not None and _checksum(values[0], maker, *values[1:]) == kept:
                yield tuple(values)
            else:
                damaged.append(values[0])
        if damaged:
            with self._writing(maker) as (connection, number):
                connection.executemany(
                    f"DELETE FROM {table} WHERE maker = ? AND blob = ?", ((number, blob) for blob in damaged)
                )
            warnings.warn(
                f"{self.path}: {table} of {len(damaged)} files were damaged and are made again; see that the disk is"
                " well",
                StoreWarning,
                stacklevel=3,
            )

    def _rows(self, table: str, columns: str, maker: str, blobs: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        with self._explained(), self._open() as connection:
            number = _number(connection, maker)
            for start in range(0, len(blobs), _ASK):
                part = blobs[start : start + _ASK]
                marks = ",".join("?" * len(part))
                yield from connection.execute(
                    f"SELECT {columns} FROM {table} WHERE maker = ? AND blob IN ({marks})", (number, *part)
                ).fetchall()

    @contextmanager
    def _writing(self, maker: str) -> Iterator[tuple[sqlite3.Connection, int]]:
        with self._explained(), self._open() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                connection.execute("INSERT OR IGNORE INTO makers (name) VALUES (?)", (maker,))
                number = _number(connection, maker)
                assert number is not None
                yield connection, number
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StoreError(f"{self.path}: no room for vectors there ({error.strerror}); name another path") from error
        except (sqlite3.Error, zlib.error, UnicodeDecodeError) as error:
            advice = "make room and run again" if "full" in str(error) else "delete it to have the vectors made again"
            raise StoreError(f"{self.path}: the store of vectors cannot be used ({error}); {advice}") from error


def _checksum(blob: str, maker: str, *values: Any) -> int | None:
    """CRC-32 of what a row holds; None where that is not even of the right types."""
    *width, data = values
    try:
        return zlib.crc32(data, zlib.crc32(repr((blob, maker, *width)).encode()))
    except TypeError:
        return None


def _number(connection: sqlite3.Connection, maker: str) -> int | None:
    found = connection.execute("SELECT id FROM makers WHERE name = ?", (maker,)).fetchone()
    return None if found is None else int(found[0])
