"""The facts store: one SQLite table that keeps once what was made of each file content and each commit.

A row is (id, analyser, payload): the id is git's of a blob or commit; the analyser says which facts these are, and by
which version of what they were made; the payload is complete in itself. The store is a cache: one that is damaged, or
of another format, is begun anew, and a row that does not unpack is made again.
"""

from __future__ import annotations

import json
import os
import sqlite3
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from typing import Any, Final, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from tosloc.errors import StoreError

Row: TypeAlias = tuple[str, str, bytes]  # (id, analyser, payload)

BUSY_SECONDS: Final = 120.0  # how long a writer waits for another one's transaction
_APPLICATION: Final = 0x546F734C  # "TosL", so that no other program's file is taken for a store
_FORMAT: Final = 3  # of the file, as user_version: another one is begun anew
_ELSEWHERE: Final = "name another folder for the cache with $TOSLOC_CACHE"
_AGAIN: Final = (
    "see that the disk is not full and no other process keeps it, and run it again; or delete it: what it holds is"
    " made again"
)


class FactStore:
    """Facts in one SQLite file, made if it is absent. Close it, or use it in a ``with`` block.

    Not for several threads; several processes each open their own. One that may only be read is read, and so is a copy
    that is ``unchanging``. Raises StoreError when the file cannot be read, and when the disk is full; the file stays
    consistent.
    """

    def __init__(self, path: str | os.PathLike[str], *, unchanging: bool = False) -> None:
        self.path: Final = Path(path).expanduser().absolute()
        if self.path.is_dir():
            raise StoreError(f"{self.path}: is a folder; name a file for the facts store")
        with self._explained():
            try:
                self._open(unchanging)
            except sqlite3.DatabaseError as error:
                if isinstance(error, sqlite3.OperationalError) or not self._is_ours():
                    raise
                for end in ("", "-wal", "-shm"):
                    Path(f"{self.path}{end}").unlink(missing_ok=True)
                self._open(unchanging)

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

    def missing(self, ids: Iterable[str], analyser: str) -> list[str]:
        """Those of ``ids`` without facts by the analyser, each once, in the order given."""
        wanted = list(dict.fromkeys(ids))
        known = {found for (found,) in self._select("id", wanted, analyser)}
        return [name for name in wanted if name not in known]

    def read(self, ids: Sequence[str], analyser: str) -> dict[str, bytes]:
        """id -> payload, of those that are here."""
        return dict(self._select("id, payload", ids, analyser))

    def write(self, rows: Iterable[Row]) -> None:
        """Write rows over those that are there, in one transaction."""
        with self._explained(), self._database:
            self._database.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?, ?)", rows)

    def analysers(self) -> dict[str, int]:
        """Analyser -> how many rows it made."""
        with self._explained():
            return dict(self._database.execute("SELECT analyser, count(*) FROM facts GROUP BY analyser"))

    def remove_analysers(self, analysers: Iterable[str]) -> None:
        """Delete what these analysers made, and give its room back."""
        with self._explained():
            with self._database:
                self._database.executemany("DELETE FROM facts WHERE analyser = ?", ((name,) for name in analysers))
            self._database.execute("VACUUM")

    def _select(self, columns: str, ids: Sequence[str], analyser: str) -> Iterator[tuple[Any, ...]]:
        query = f"SELECT {columns} FROM facts WHERE analyser = ? AND id IN (SELECT value FROM json_each(?))"
        with self._explained():
            yield from self._database.execute(query, (analyser, json.dumps(ids)))

    def _open(self, unchanging: bool) -> None:
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.path.touch(0o600)
        except OSError as error:
            if not self.path.exists():
                raise StoreError(f"{self.path}: cannot be made ({error.strerror}); {_ELSEWHERE}") from error
        writable = not unchanging and os.access(self.path, os.W_OK) and os.access(self.path.parent, os.W_OK)
        # without locks, for which there is no room, or which a network disk may lack
        alone = "" if Path(f"{self.path}-wal").exists() else "&immutable=1"
        uri = self.path.as_uri() + ("" if writable else f"?mode=ro{alone}")
        self._database = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS)
        try:
            execute = self._database.execute
            if execute("PRAGMA user_version").fetchone() != (_FORMAT,):
                execute("BEGIN IMMEDIATE")  # of several processes one makes it
                if execute("PRAGMA user_version").fetchone() != (_FORMAT,):
                    if execute("SELECT 1 FROM sqlite_master").fetchone():
                        raise sqlite3.DatabaseError("no facts store, or one of another format")
                    execute(
                        # not WITHOUT ROWID: ids come in no order, and its tree would move the payloads with them
                        "CREATE TABLE facts (id TEXT, analyser TEXT, payload BLOB, PRIMARY KEY (id, analyser))"
                    )
                    execute(f"PRAGMA application_id = {_APPLICATION}")
                    execute(f"PRAGMA user_version = {_FORMAT}")
                execute("COMMIT")
                execute("PRAGMA journal_mode = WAL")
            execute("PRAGMA synchronous = NORMAL")
            execute("PRAGMA cache_size = -65536")
        except BaseException:
            self._database.close()
            raise

    def _is_ours(self) -> bool:
        """Whether a file that does not open was once a store: it says so at a fixed place."""
        with self.path.open("rb") as file:
            return file.read(72)[68:] == _APPLICATION.to_bytes(4, "big")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn SQLite's errors into sentences for people."""
        try:
            yield
        except sqlite3.Error as error:
            advice = _ELSEWHERE if "readonly" in str(error) or "unable to open" in str(error) else _AGAIN
            raise StoreError(f"{self.path}: the facts store cannot be used ({error}); {advice}") from error


# ---- payloads


def pack(texts: Sequence[Sequence[str]], arrays: Sequence[npt.NDArray[Any]]) -> bytes:
    """Lists of strings without NUL, and arrays of one dimension, as one payload.

    >>> unpack(pack([["a", "b"], []], [np.arange(3, dtype=np.uint8)]), 2)
    ([['a', 'b'], []], [array([0, 1, 2], dtype=uint8)])
    """
    parts = ["\0".join(some).encode("utf-8", "surrogateescape") for some in texts]
    parts += [array.tobytes() for array in arrays]
    kinds = "".join(array.dtype.char for array in arrays).encode()
    head = struct.pack(f"<B{len(parts)}I", len(arrays), *map(len, parts))
    # a window of 4 KB suffices for what repeats, and takes half the time of zlib's 32 KB
    return zlib.compress(b"".join((head, kinds, *parts)), 1, 12)


def unpack(payload: bytes, texts: int) -> tuple[list[list[str]], list[npt.NDArray[Any]]]:
    """What ``pack`` packed, with so many lists of strings. Raises ValueError for bytes that it did not make."""
    try:
        data = zlib.decompress(payload)
    except zlib.error as error:
        raise ValueError(f"no payload: {error}") from error
    sizes = struct.unpack_from(f"<{texts + data[0]}I", data, 1)
    place = 1 + 4 * len(sizes) + data[0]
    kinds = data[place - data[0] : place].decode("ascii")
    starts = accumulate(sizes, initial=place)
    parts = [data[start : start + size] for start, size in zip(starts, sizes, strict=False)]
    strings = [part.decode("utf-8", "surrogateescape").split("\0") if part else [] for part in parts[:texts]]
    return strings, [np.frombuffer(part, kind) for part, kind in zip(parts[texts:], kinds, strict=True)]


def steps_of(places: npt.NDArray[np.int32], starts: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
    """Ascending places in groups that begin at ``starts``, as differences, which pack better."""
    steps = np.diff(places, prepend=np.int32(0))
    first = starts[:-1][np.diff(starts) > 0]
    steps[first] = places[first]
    return steps


def places_of(steps: npt.NDArray[Any], starts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The places of which ``steps_of`` made differences: each group begins again at zero."""
    sums = np.concatenate(([0], np.cumsum(steps, dtype=np.int64)))
    places: npt.NDArray[np.int64] = sums[1:] - np.repeat(sums[starts[:-1]], np.diff(starts))
    return places
