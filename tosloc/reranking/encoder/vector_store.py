"""What encoders made of blobs, kept: chunk vectors in half precision and tokens, one SQLite file, each made once."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import numpy as np

from tosloc.errors import StoreError
from tosloc.records import Float16Array, IntArray

# n chunks of a blob, d width of the encoder

_SCHEMA: Final = 1
_BUSY_SECONDS: Final = 120.0
_APPLICATION: Final = 0x546F7356  # "TosV"
_ASK: Final = 500
_TABLES: Final = """
CREATE TABLE makers (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE vectors (blob TEXT NOT NULL, maker INTEGER NOT NULL REFERENCES makers (id), width INTEGER NOT NULL,
    data BLOB NOT NULL, PRIMARY KEY (blob, maker)) WITHOUT ROWID;
CREATE TABLE tokens (blob TEXT NOT NULL, maker INTEGER NOT NULL REFERENCES makers (id),
    data BLOB NOT NULL, PRIMARY KEY (blob, maker)) WITHOUT ROWID;
"""


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
        run("COMMIT")

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=_BUSY_SECONDS, isolation_level=None)
        try:
            connection.execute("PRAGMA synchronous=NORMAL")
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
            for blob, width, data in self._rows("vectors", "blob, width, data", maker, blobs)
        }

    def tokens(self, maker: str, blobs: Sequence[str]) -> dict[str, IntArray]:
        """Blob -> tokens, of those that are here."""
        return {
            blob: np.frombuffer(zlib.decompress(data), dtype="<i4")
            for blob, data in self._rows("tokens", "blob, data", maker, blobs)
        }

    def put_vectors(self, maker: str, items: Iterable[tuple[str, Float16Array]]) -> None:
        """Keep (n, d) chunk vectors of blobs, all of them or none."""
        with self._writing(maker) as (connection, number):
            connection.executemany(
                "INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?)",
                ((blob, number, made.shape[1], made.astype("<f2").tobytes()) for blob, made in items),
            )

    def put_tokens(self, maker: str, items: Iterable[tuple[str, Sequence[int]]]) -> None:
        """Keep tokens of blobs, all of them or none."""
        with self._writing(maker) as (connection, number):
            connection.executemany(
                "INSERT OR REPLACE INTO tokens VALUES (?, ?, ?)",
                ((blob, number, zlib.compress(np.asarray(tokens, dtype="<i4").tobytes(), 1)) for blob, tokens in items),
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
        except (sqlite3.DatabaseError, zlib.error) as error:
            advice = "make room and run again" if "full" in str(error) else "delete it to have the vectors made again"
            raise StoreError(f"{self.path}: the store of vectors cannot be used ({error}); {advice}") from error


def _number(connection: sqlite3.Connection, maker: str) -> int | None:
    found = connection.execute("SELECT id FROM makers WHERE name = ?", (maker,)).fetchone()
    return None if found is None else int(found[0])
