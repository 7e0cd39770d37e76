"""The facts store: one SQLite file that keeps the facts of every blob once, and hands a version's worth out as arrays.

Rows are keyed by blob, language and analyser. Writers may be several processes at once; a crash loses at most the batch
in flight. What ``load`` returns does not depend on the order in which rows were written.
"""

from __future__ import annotations

import os
import sqlite3
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from tosloc.analysis.facts import FIELDS, Facts, analyser_of
from tosloc.errors import StoreError
from tosloc.records import BoolArray, IntArray, LongArray

# B blobs asked for, V distinct terms of them, P (blob, term) postings, C chunks, Q (chunk, term) postings

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
_COLUMNS: Final = (
    "blob, complexity, functions, lines, length, compounds, parsed, counted, package, types,"
    " term_count, chunk_count, pair_count, terms, payload"
)


@dataclass(frozen=True, slots=True)
class Packed:
    """Facts as the store keeps them, but for the numbers of their terms: what a worker sends back."""

    terms: tuple[str, ...]
    scalars: tuple[int, int, int, int, int, bool, bool]
    """complexity, functions, lines, length, compounds, parsed, counted"""
    package: str
    types: str
    chunks: int
    pairs: int
    payload: bytes


def pack(facts: Facts) -> Packed:
    """``facts`` as bytes: low bytes of the counts (T x 6), chunk sizes, chunk counts, chunk terms as differences, and,
    only if any is not zero, the high bytes of the counts."""
    sizes = np.diff(facts.chunk_starts)
    terms = np.diff(facts.chunk_terms, prepend=np.int32(0)).astype(np.int32)
    heads = facts.chunk_starts[:-1][sizes > 0]
    terms[heads] = facts.chunk_terms[heads]  # each chunk starts again from zero
    high = (facts.counts >> 8).astype(np.uint8)
    parts = [
        (facts.counts & 0xFF).astype(np.uint8).T.tobytes(),
        sizes.astype("<u4").tobytes(),
        facts.chunk_counts.tobytes(),
        terms.astype("<u4").tobytes() if len(facts.terms) > 0xFFFF else terms.astype("<u2").tobytes(),
        high.T.tobytes() if high.any() else b"",
    ]
    return Packed(
        tuple(facts.terms),
        (
            facts.complexity,
            facts.functions,
            facts.lines,
            facts.length,
            facts.compounds,
            bool(facts.parsed),
            bool(facts.counted),
        ),
        facts.package,
        " ".join(facts.types),
        len(sizes),
        len(facts.chunk_terms),
        zlib.compress(b"".join(parts), 1),
    )


@dataclass(frozen=True, eq=False)
class FactTable:
    """Facts of B blobs as arrays: what a ranking model selects the rows of a version from."""

    blobs: tuple[str, ...]
    """(B,) blob ids, in the order asked."""
    vocabulary: tuple[str, ...]
    """(V,) distinct terms of these blobs, sorted."""
    starts: LongArray
    """(B + 1,) blob b has postings ``starts[b]:starts[b + 1]``."""
    terms: IntArray
    """(P,) places in ``vocabulary``, ascending in a blob."""
    counts: npt.NDArray[np.uint16]
    """(P, 6) counts by ``FIELDS``, at most 65,535."""
    chunk_starts: LongArray
    """(B + 1,) blob b has chunks ``chunk_starts[b]:chunk_starts[b + 1]``."""
    chunk_posting_starts: LongArray
    """(C + 1,) chunk c has chunk postings ``chunk_posting_starts[c]:chunk_posting_starts[c + 1]``."""
    chunk_terms: IntArray
    """(Q,) places in ``vocabulary``, ascending in a chunk."""
    chunk_counts: npt.NDArray[np.uint8]
    """(Q,) counts of code, comments and strings together, at most 255."""
    complexity: IntArray
    functions: IntArray
    lines: IntArray
    length: IntArray
    """(B,) terms of code, comments and strings, each time they occur."""
    compounds: IntArray
    """(B,) those of ``length`` that are compounds."""
    parsed: BoolArray
    counted: BoolArray
    packages: tuple[str, ...]
    """(B,) dotted package names."""
    types: tuple[tuple[str, ...], ...]
    """(B,) simple names of the declared types."""

    def __len__(self) -> int:
        return len(self.blobs)

    @classmethod
    def empty(cls) -> Self:
        """A table of no blobs."""
        return cls._assemble([], [], {})

    def save_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Every field as arrays that ``numpy.savez`` keeps without pickling; strings as UTF-8 bytes and their ends."""
        arrays: dict[str, npt.NDArray[Any]] = {}
        for name in _STRINGS:
            values = [" ".join(names) for names in self.types] if name == "types" else getattr(self, name)
            encoded = [value.encode() for value in values]
            arrays[f"{name}_bytes"] = np.frombuffer(b"".join(encoded), dtype=np.uint8)
            arrays[f"{name}_ends"] = np.cumsum([len(value) for value in encoded], dtype=np.int64)
        for name in _ARRAYS:
            arrays[name] = getattr(self, name)
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> Self:
        """The table that ``save_arrays`` took apart. Raises StoreError when an array is absent or they do not fit."""
        try:
            values: dict[str, Any] = {name: arrays[name] for name in _ARRAYS}
            for name in _STRINGS:
                values[name] = _strings(arrays[f"{name}_bytes"], arrays[f"{name}_ends"])
            values["types"] = tuple(tuple(names.split()) for names in values["types"])
            table = cls(**values)
        except (KeyError, UnicodeDecodeError) as error:
            raise StoreError(f"these arrays are not a table of facts ({error}); save the table again") from error
        B = len(table)
        if (
            any(len(getattr(table, name)) != B for name in _ROWS)
            or len(table.starts) != B + 1
            or len(table.chunk_starts) != B + 1
            or table.starts[-1] != len(table.terms)
            or table.counts.shape != (len(table.terms), len(FIELDS))
            or table.chunk_starts[-1] != len(table.chunk_posting_starts) - 1
            or table.chunk_posting_starts[-1] != len(table.chunk_terms)
        ):
            raise StoreError("the arrays of a table of facts do not fit together; save the table again")
        return table

    @classmethod
    def _assemble(
        cls,
        blobs: Sequence[str],
        rows: Sequence[_Row],
        strings: Mapping[int, str],
    ) -> Self:
        """Table from rows of the facts table; ``strings`` holds the terms by their number in the store."""
        B = len(rows)
        T = np.array([row[10] for row in rows], dtype=np.int64)
        C = np.array([row[11] for row in rows], dtype=np.int64)
        Q = np.array([row[12] for row in rows], dtype=np.int64)
        numbers = np.frombuffer(b"".join([row[13] for row in rows]), dtype="<i4")
        starts, chunk_starts = _ends(T), _ends(C)
        P = int(starts[-1])
        low: list[bytes] = []
        sizes: list[bytes] = []
        chunk_counts: list[bytes] = []
        narrow: list[bytes] = []
        wide: list[tuple[int, bytes]] = []
        high: list[tuple[int, bytes]] = []
        for b, row in enumerate(rows):
            data = zlib.decompress(row[14])
            t, c, q = row[10], row[11], row[12]
            step = 2 if t <= 0xFFFF else 4
            one, two = 6 * t, 6 * t + 4 * c
            three, four = two + q, two + q + step * q
            if len(row[13]) != 4 * t or len(data) not in (four, four + one):
                raise ValueError(f"blob {row[0]}")
            low.append(data[:one])
            sizes.append(data[one:two])
            chunk_counts.append(data[two:three])
            if step == 2:
                narrow.append(data[three:four])
            else:
                wide.append((b, data[three:four]))
                narrow.append(bytes(2 * q))
            if len(data) > four:
                high.append((b, data[four:]))

        # counts: stored field by field in a blob, wanted term by term
        flat = np.frombuffer(b"".join(low), dtype=np.uint8)
        inner = np.arange(P) - np.repeat(starts[:-1], T)
        base = np.repeat(6 * starts[:-1], T) + inner
        stride = np.repeat(T, T)
        counts = np.empty((P, len(FIELDS)), dtype=np.uint16)
        for place in range(len(FIELDS)):
            counts[:, place] = flat[base + place * stride]
        for b, data in high:
            counts[starts[b] : starts[b + 1]] |= (
                np.frombuffer(data, dtype=np.uint8).reshape(len(FIELDS), -1).T.astype(np.uint16) << 8
            )

        # vocabulary: numbers of the store -> places in the sorted list of the terms that occur
        used = np.flatnonzero(np.bincount(numbers, minlength=1)) if P else np.zeros(0, dtype=np.int64)
        names = [strings[number] for number in used.tolist()]
        order = sorted(range(len(names)), key=names.__getitem__)
        places = np.zeros(int(used[-1]) + 1 if P else 1, dtype=np.int32)
        places[used[order]] = np.arange(len(order), dtype=np.int32)
        terms = places[numbers] if P else np.zeros(0, dtype=np.int32)

        # chunks: differences within a chunk -> places in the blob's terms -> places in the vocabulary
        chunk_posting_starts = _ends(np.frombuffer(b"".join(sizes), dtype="<u4").astype(np.int64))
        posting_starts = _ends(Q)
        if chunk_posting_starts[-1] != posting_starts[-1]:
            raise ValueError("chunks")
        steps = np.frombuffer(b"".join(narrow), dtype="<u2").astype(np.int64)
        for b, data in wide:
            steps[posting_starts[b] : posting_starts[b + 1]] = np.frombuffer(data, dtype="<u4")
        within = _sums_within(steps, chunk_posting_starts)
        within += np.repeat(starts[:-1], Q)
        chunk_terms = terms[within] if len(within) else np.zeros(0, dtype=np.int32)

        def column(place: int, kind: npt.DTypeLike = np.int32) -> npt.NDArray[Any]:
            return np.array([row[place] for row in rows], dtype=kind)

        assert len(blobs) == B
        return cls(
            blobs=tuple(blobs),
            vocabulary=tuple([names[place] for place in order]),
            starts=starts,
            terms=terms,
            counts=counts,
            chunk_starts=chunk_starts,
            chunk_posting_starts=chunk_posting_starts,
            chunk_terms=chunk_terms,
            chunk_counts=np.frombuffer(b"".join(chunk_counts), dtype=np.uint8),
            complexity=column(1),
            functions=column(2),
            lines=column(3),
            length=column(4),
            compounds=column(5),
            parsed=column(6, np.bool_),
            counted=column(7, np.bool_),
            packages=tuple([row[8] for row in rows]),
            types=tuple([tuple(row[9].split()) for row in rows]),
        )


_Row: TypeAlias = tuple[Any, ...]
"""One row of the facts table: ``_COLUMNS``."""

_STRINGS: Final = ("blobs", "vocabulary", "packages", "types")
_ARRAYS: Final = tuple(field.name for field in fields(FactTable) if field.name not in _STRINGS)
_ROWS: Final = (*_ARRAYS[_ARRAYS.index("complexity") :], "packages", "types")


def _ends(sizes: LongArray) -> LongArray:
    return np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(sizes, dtype=np.int64)))


def _sums_within(steps: LongArray, starts: LongArray) -> LongArray:
    """Running sums of ``steps`` that begin again at each of ``starts``."""
    sums = np.cumsum(steps)
    before = np.concatenate((np.zeros(1, dtype=np.int64), sums))[starts[:-1]]
    return np.asarray(sums - np.repeat(before, np.diff(starts)), dtype=np.int64)


def _strings(data: npt.NDArray[np.uint8], ends: LongArray) -> tuple[str, ...]:
    whole = data.tobytes()
    places = [0, *ends.tolist()]
    return tuple(whole[start:end].decode() for start, end in pairwise(places))


class FactStore:
    """Facts of blobs in one SQLite file, made if it is absent. Close it, or use it in a ``with`` block.

    Not for several threads; several processes each open their own. Raises StoreError when the file is not a facts
    store, is damaged, or was written by a newer TosLoc, and when the disk is full; the file stays consistent.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path: Final = Path(path).expanduser().absolute()
        self._strings: dict[int, str] = {}
        self._numbers: dict[str, int] = {}
        self._known = 0  # highest number in _strings
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
            maker = self._maker(language)
            if maker is None:
                return wanted
            known: set[str] = set()
            for part in _parts(wanted):
                query = f"SELECT blob FROM facts WHERE maker = ? AND blob IN ({_marks(part)})"
                known.update(blob for (blob,) in self._database.execute(query, (maker, *part)))
        return [blob for blob in wanted if blob not in known]

    def put(self, batch: Iterable[tuple[str, str, Facts | Packed]]) -> int:
        """Write the facts of (blob, language, facts) in one transaction; how many rows are new.

        A row that is there already is left as it is. After an error nothing of the batch is in the store.
        """
        rows = [(blob, language, pack(facts) if isinstance(facts, Facts) else facts) for blob, language, facts in batch]
        with self._explained(), self._transaction():
            number, added = self._numbers, 0
            fresh = self._intern(dict.fromkeys(term for _, _, facts in rows for term in facts.terms))
            for blob, language, facts in rows:
                terms = np.array([number[term] if term in number else fresh[term] for term in facts.terms], dtype="<i4")
                added += self._database.execute(
                    f"INSERT OR IGNORE INTO facts (maker, {_COLUMNS}) VALUES (?{', ?' * 15})",
                    (
                        self._own_maker(language),
                        blob,
                        *facts.scalars,
                        facts.package,
                        facts.types,
                        len(facts.terms),
                        facts.chunks,
                        facts.pairs,
                        terms.tobytes(),
                        facts.payload,
                    ),
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
        wanted: dict[str, dict[str, None]] = {}
        for blob, name in zip(blobs, names, strict=True):
            wanted.setdefault(name, {})[blob] = None
        found: dict[tuple[str, str], _Row] = {}
        with self._explained():
            for name, some in wanted.items():
                maker = self._maker(name)
                if maker is not None:
                    for part in _parts(sorted(some)):
                        query = f"SELECT {_COLUMNS} FROM facts WHERE maker = ? AND blob IN ({_marks(part)})"
                        found.update(((row[0], name), row) for row in self._database.execute(query, (maker, *part)))
            absent = [blob for blob, name in zip(blobs, names, strict=True) if (blob, name) not in found]
            if absent and not allow_missing:
                raise StoreError(
                    f"{self.path}: no facts of {len(set(absent))} of {len(set(blobs))} blobs, first {absent[0]};"
                    " index the repository first"
                )
            rows = [found.get((blob, name)) or _nothing(blob) for blob, name in zip(blobs, names, strict=True)]
            self._fetch_terms()
        try:
            return FactTable._assemble(blobs, rows, self._strings)
        except (ValueError, IndexError, KeyError, zlib.error) as error:
            raise self._damaged(f"its content does not fit: {error}") from error

    # ---- inside

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
        numbers: dict[str, int] = {}
        for part in _parts(unknown):
            numbers.update(
                self._database.execute(f"SELECT term, id FROM terms WHERE term IN ({_marks(part)})", part).fetchall()
            )
        return numbers

    def _fetch_terms(self) -> None:
        rows = self._database.execute("SELECT id, term FROM terms WHERE id > ?", (self._known,)).fetchall()
        self._strings.update(rows)
        if rows:
            self._known = max(number for number, _ in rows)


def _nothing(blob: str) -> _Row:
    return (blob, 0, 0, 0, 0, 0, False, False, "", "", 0, 1, 0, b"", zlib.compress(bytes(4), 1))


def _parts(values: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(values), _ASK):
        yield values[start : start + _ASK]


def _marks(values: Sequence[str]) -> str:
    return ", ".join("?" * len(values))
