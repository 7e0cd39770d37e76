"""The facts store: one SQLite file that keeps the facts of every blob once, and hands a version's worth out as arrays.

Rows are keyed by blob, language and analyser; those of other analysers may stand beside them. Writers may be several
processes at once; a crash loses at most the batch in flight. What ``load`` returns does not depend on the order in
which rows were written.

Every row has a checksum of what is in it and of what it was made of, and so has every batch of terms, whose numbers the
rows hold; both are compared when they are read. Stores of earlier versions get theirs when they are first opened; an
earlier version can go on using the file, but what it writes there is made again.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
import time
import warnings
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from importlib import metadata
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from tosloc.analysis.analyser import analyser_of
from tosloc.analysis.fact_rows import EMPTY_ROW, FactRow, PackedFacts, checksum, pack_facts, stored_values
from tosloc.analysis.fact_table import ROWS_AT_ONCE, FactTable
from tosloc.analysis.function_rows import FunctionFacts, functions_analyser_of, pack_functions, unpack_functions
from tosloc.errors import DamagedFacts, StoreError, StoreWarning, counted
from tosloc.files import mode_in, written_whole
from tosloc.mapped_arrays import Scratch

if TYPE_CHECKING:
    from tosloc.analysis.facts import Facts  # not loaded: what only reads a store needs no parser

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
CREATE TABLE term_batches (first INTEGER PRIMARY KEY, last INTEGER NOT NULL, checksum INTEGER NOT NULL);
CREATE TABLE facts (
    id INTEGER PRIMARY KEY, blob TEXT NOT NULL, maker INTEGER NOT NULL REFERENCES makers (id),
    complexity INTEGER NOT NULL, functions INTEGER NOT NULL, lines INTEGER NOT NULL,
    length INTEGER NOT NULL, compounds INTEGER NOT NULL, parsed INTEGER NOT NULL, counted INTEGER NOT NULL,
    package TEXT NOT NULL, types TEXT NOT NULL,
    term_count INTEGER NOT NULL, chunk_count INTEGER NOT NULL, pair_count INTEGER NOT NULL,
    terms BLOB NOT NULL, payload BLOB NOT NULL, checksum INTEGER, UNIQUE (blob, maker));
"""
_COLUMNS: Final = ", ".join(FactRow._fields)
_VALUES: Final = _COLUMNS.replace("package", "CAST(package AS BLOB)").replace("types", "CAST(types AS BLOB)")
"""The same to be read: as bytes, what is no text any more can still be looked at."""
_UPGRADE: Final = """
ALTER TABLE facts ADD COLUMN checksum INTEGER;
CREATE TABLE term_batches (first INTEGER PRIMARY KEY, last INTEGER NOT NULL, checksum INTEGER NOT NULL);
"""
_FUNCTIONS_TABLE: Final = """
CREATE TABLE IF NOT EXISTS functions (
    id INTEGER PRIMARY KEY, blob TEXT NOT NULL, maker INTEGER NOT NULL REFERENCES makers (id),
    payload BLOB NOT NULL, checksum INTEGER NOT NULL, UNIQUE (blob, maker))
"""
"""Made when the first functions are written; earlier versions take no notice of it."""
_LONGEST: Final = 1 << 28
"""Bytes of a row or value; a damaged length is not believed beyond it."""
_ELSEWHERE: Final = "name another file with --store, or another folder for the whole cache with $TOSLOC_CACHE"


class FactStore:
    """Facts of blobs in one SQLite file, made if it is absent. Close it, or use it in a ``with`` block.

    Not for several threads; several processes each open their own. Raises StoreError when the file is not a facts
    store, is damaged, or was written by a newer TosLoc, and when the disk is full; the file stays consistent.
    """

    def __init__(self, path: str | os.PathLike[str], *, lizard: bool = False, unchanging: bool = False) -> None:
        self.path: Final = Path(path).expanduser().absolute()
        self.lizard: Final = lizard
        """Whether complexity is lizard's number: other facts, which one file may hold beside those without."""
        self.scratch_folder: Final = Path(tempfile.gettempdir()) if unchanging else self.path.parent
        """Where large arrays may lie for a while: not beside a copy, which others share."""
        self._terms: dict[int, str] = {}
        self._last_term = 0  # highest number in _terms
        self._numbers: dict[str, int] = {}
        self._makers: dict[tuple[str, str], int] = {}
        self.absent: set[str] = set()
        """Blobs that the last ``load`` or ``check`` found no facts of."""
        self.unreadable: set[str] = set()
        """Blobs that a repository could not give when their facts were to be made: they may lack."""
        with self._explained():
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise StoreError(
                    f"{self.path.parent}: no folder for the facts store ({error.strerror}); {_ELSEWHERE}"
                ) from error
            if self.path.is_dir():
                raise StoreError(f"{self.path}: is a folder; name a file for the facts store")
            if unchanging:  # a copy that nobody writes: no locks, which a network disk may lack
                self._database = sqlite3.connect(
                    f"{self.path.as_uri()}?mode=ro&immutable=1", uri=True, isolation_level=None
                )
                return
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

    def copy_to(self, path: Path) -> None:
        """Write a copy of what is in the store now, one file whole, to be read as ``unchanging``."""
        with written_whole(path) as temporary, self._explained():
            with closing(sqlite3.connect(temporary, isolation_level=None)) as copy:
                self._database.backup(copy)
                copy.execute("PRAGMA journal_mode = DELETE")

    def missing(self, blobs: Iterable[str], language: str) -> list[str]:
        """Those of ``blobs`` without facts of ``language`` by the present analyser, each once, in the order given."""
        wanted = list(dict.fromkeys(blobs))
        with self._explained():
            known = {blob for (blob,) in self._rows("blob", wanted, language)}
        return [blob for blob in wanted if blob not in known]

    def put(self, batch: Iterable[tuple[str, str, Facts | PackedFacts]], *, replace: bool = False) -> int:
        """Write the facts of (blob, language, facts) in one transaction; how many rows are written.

        A row that is there already is left as it is, or replaced. After an error nothing of the batch is in the store.
        """
        packed = [
            (blob, language, facts if isinstance(facts, PackedFacts) else pack_facts(facts))
            for blob, language, facts in batch
        ]
        insert = (
            f"INSERT OR {'REPLACE' if replace else 'IGNORE'} INTO facts (maker, {_COLUMNS}, checksum)"
            f" VALUES (?{', ?' * len(FactRow._fields)}, ?)"
        )
        added = 0
        fresh: dict[str, int] = {}
        try:
            with self._explained(), self._transaction():
                fresh = self._intern(dict.fromkeys(chain.from_iterable(facts.terms for _, _, facts in packed)))
                self._numbers.update(fresh)
                for blob, language, facts in packed:
                    numbers = map(self._numbers.__getitem__, facts.terms)
                    row = facts.with_numbers(blob, np.fromiter(numbers, dtype=np.int32, count=len(facts.terms)))
                    kept = checksum(self._maker_checksum(language), stored_values(row))
                    added += self._database.execute(insert, (self._own_maker(language), *row, kept)).rowcount
        except BaseException:
            for term in fresh:
                self._numbers.pop(term, None)
            raise
        return added

    def load(
        self, blobs: Sequence[str], languages: str | Sequence[str] = "java", *, allow_missing: bool = False
    ) -> FactTable:
        """Facts of ``blobs`` in the order given, repeated if they are; ``languages`` is one for all or one for each.

        Raises StoreError when facts are missing, unless ``allow_missing``: then such a blob has one empty chunk and no
        terms. Raises DamagedFacts when rows are not what was written.
        """
        names = [languages] * len(blobs) if isinstance(languages, str) else list(languages)
        if len(names) != len(blobs):
            raise ValueError(f"{len(blobs)} blobs but {len(names)} languages")
        rows = self._rows_in_order(blobs, names, allow_missing)
        try:
            table = FactTable.from_rows(blobs, rows, self._terms, Scratch(self.scratch_folder))
        except (ValueError, IndexError, KeyError, zlib.error) as error:
            raise self._damaged(f"its content does not fit: {error}") from error
        if len(set(table.vocabulary)) < len(table.vocabulary):
            raise self._damaged("a term has two numbers")
        return table

    def _rows_in_order(self, blobs: Sequence[str], languages: Sequence[str], allow_missing: bool) -> Iterator[FactRow]:
        """Rows of the blobs, in their order; when one comes, all terms are known that it can hold.

        Some are read at a time: a million would not fit into memory. Raises as ``load`` does, after the last one.
        """
        damaged: list[tuple[str, str]] = []
        absent: set[str] = set()
        with self._explained():
            for start in range(0, len(blobs), ROWS_AT_ONCE):
                end = start + ROWS_AT_ONCE
                wanted = list(zip(blobs[start:end], languages[start:end], strict=True))
                found: dict[tuple[str, str], FactRow] = {}
                for language in dict.fromkeys(name for _, name in wanted):
                    asked = sorted({blob for blob, name in wanted if name == language})
                    found.update(self._sound_rows(asked, language, damaged))
                absent.update(blob for blob, name in wanted if (blob, name) not in found)
                self._fetch_terms()
                yield from [found.get(key, EMPTY_ROW) for key in wanted]
            self._check_none(damaged)
            self.absent = absent
            if absent and not allow_missing:
                raise StoreError(
                    f"{self.path}: no facts of {len(absent)} of {len(set(blobs))} blobs, first {min(absent)};"
                    " index the repository first"
                )

    def check(self, blobs: Iterable[str], language: str) -> None:
        """Raise DamagedFacts unless the rows of ``blobs`` are what was written; ``absent`` are those without one."""
        damaged: list[tuple[str, str]] = []
        wanted = list(dict.fromkeys(blobs))
        with self._explained():
            found = {blob for (blob, _), _ in self._sound_rows(wanted, language, damaged)}
        self._check_none(damaged)
        self.absent = set(wanted) - found

    def functions(self, wanted: Iterable[tuple[str, str]]) -> dict[tuple[str, str], FunctionFacts]:
        """(blob, language) -> its functions by the present analyser, of those that are here and whole.

        The others are to be made: a row that is not what was written is as good as none.
        """
        by_language: dict[str, list[str]] = {}
        for blob, language in dict.fromkeys(wanted):
            by_language.setdefault(language, []).append(blob)
        found: dict[tuple[str, str], FunctionFacts] = {}
        with self._explained():
            if not self._has_functions():
                return found
            for language, blobs in by_language.items():
                analyser = functions_analyser_of(language)
                maker = self._maker(language, analyser)
                query = "SELECT blob, payload, checksum FROM functions WHERE maker = ? AND blob IN"
                for blob, payload, kept in [] if maker is None else self._select(query, blobs, maker):
                    with suppress(TypeError, ValueError, zlib.error):  # TypeError: no bytes
                        if _sum_of_functions(language, analyser, blob, payload) == kept:
                            found[blob, language] = unpack_functions(payload)
        return found

    def put_functions(self, batch: Iterable[tuple[str, str, FunctionFacts]]) -> None:
        """Write the functions of (blob, language, facts) in one transaction, over those that are there."""
        packed = [(blob, language, pack_functions(facts)) for blob, language, facts in batch]
        with self._explained(), self._transaction():
            self._database.execute(_FUNCTIONS_TABLE)
            for blob, language, payload in packed:
                analyser = functions_analyser_of(language)
                row = (blob, self._own_maker(language, analyser), payload)
                self._database.execute(
                    "INSERT OR REPLACE INTO functions (blob, maker, payload, checksum) VALUES (?, ?, ?, ?)",
                    (*row, _sum_of_functions(language, analyser, blob, payload)),
                )

    # ---- the store as a whole

    def audit(self) -> dict[str, tuple[int, int]]:
        """Kind of rows (facts, functions) -> how many there are, and how many of them are not what was written.

        Those of all analysers are read. Raises StoreError where the damage is not of single rows: of SQLite's own
        structure, or of the terms.
        """
        with self._explained():
            [[found]] = self._database.execute("PRAGMA integrity_check(1)")
            if found != "ok":
                raise self._damaged(found)
            self._fetch_terms()
            kinds: dict[str, list[bool]] = {"facts": [], "functions": []}
            names = {number: (language, analyser) for number, language, analyser in self._all_makers()}
            makers = {number: _crc(*name) for number, name in names.items()}
            for maker, *values, kept in self._database.execute(f"SELECT maker, {_VALUES}, checksum FROM facts"):
                kinds["facts"].append(kept is not None and _sum_of(makers.get(maker), values) == kept)
            for maker, blob, payload, kept in self._function_rows():
                with suppress(TypeError):  # no bytes, or no such maker
                    kinds["functions"].append(_sum_of_functions(*names.get(maker, ("", "")), blob, payload) == kept)
                    continue
                kinds["functions"].append(False)
        return {kind: (len(sound), sound.count(False)) for kind, sound in kinds.items()}

    def remove_former(self, *, dry_run: bool = False) -> int:
        """Delete the rows by analysers other than the present ones, in one transaction; how many. Terms stay."""
        with self._explained():
            former = [
                number
                for number, language, analyser in self._all_makers()
                if analyser not in present_analysers(language)
            ]
            return self._remove(f"maker IN ({', '.join(map(str, former))})", dry_run)

    def remove_other_blobs(self, blobs: Iterable[str], *, dry_run: bool = False) -> int:
        """Delete the rows of all blobs but these, in one transaction; how many. Terms stay."""
        with self._explained():
            execute = self._database.execute
            execute("CREATE TEMP TABLE IF NOT EXISTS wanted (blob TEXT PRIMARY KEY) WITHOUT ROWID")
            execute("DELETE FROM wanted")
            self._database.executemany("INSERT OR IGNORE INTO wanted VALUES (?)", ((blob,) for blob in blobs))
            return self._remove("blob NOT IN (SELECT blob FROM wanted)", dry_run)

    def _remove(self, condition: str, dry_run: bool) -> int:
        tables = ["facts", *(["functions"] if self._has_functions() else [])]
        if dry_run:
            counted = [f"SELECT count(*) FROM {table} WHERE {condition}" for table in tables]
            return sum(self._database.execute(query).fetchone()[0] for query in counted)
        with self._transaction():
            return sum(self._database.execute(f"DELETE FROM {table} WHERE {condition}").rowcount for table in tables)

    def _all_makers(self) -> list[tuple[int, str, str]]:
        return self._database.execute("SELECT id, language, analyser FROM makers").fetchall()

    def _has_functions(self) -> bool:
        query = "SELECT 1 FROM sqlite_master WHERE name = 'functions'"
        return self._database.execute(query).fetchone() is not None

    def _function_rows(self) -> Iterator[tuple[Any, ...]]:
        if self._has_functions():
            yield from self._database.execute("SELECT maker, blob, payload, checksum FROM functions")

    def _sound_rows(
        self, blobs: Sequence[str], language: str, damaged: list[tuple[str, str]]
    ) -> Iterator[tuple[tuple[str, str], FactRow]]:
        """(blob, language) -> row of those that are here; ``damaged`` gets those that are not what was written."""
        maker = self._maker_checksum(language)
        for *values, kept in self._rows(f"{_VALUES}, checksum", blobs, language):
            if kept is not None and _sum_of(maker, values) == kept:
                yield (values[0], language), FactRow.of(values)
            else:
                damaged.append((values[0], language))

    def _check_none(self, damaged: Sequence[tuple[str, str]]) -> None:
        if damaged:
            raise DamagedFacts(
                f"{self.path}: facts of {counted(len(damaged), 'file')} are damaged; run the same command again to have"
                " them made anew",
                tuple(damaged),
            )

    def _rows(self, columns: str, blobs: Sequence[str], language: str) -> Iterator[tuple[Any, ...]]:
        """Columns of the rows of ``blobs`` by the language's present analyser, of those that are here."""
        maker = self._maker(language)
        if maker is not None:
            query = f"SELECT {columns} FROM facts WHERE maker = ? AND blob IN"
            yield from self._select(query, blobs, maker)

    def _select(self, query: str, values: Sequence[str | int], *first: object) -> Iterator[tuple[Any, ...]]:
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
        self._database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
        row = execute("SELECT value FROM meta WHERE key = 'schema'").fetchone()
        schema = int(row[0]) if row and str(row[0]).isdecimal() else 0
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
        if "term_batches" not in tables and tables:
            self._upgrade()

    def _upgrade(self) -> None:
        """Give the content of an earlier version's store its checksums."""
        execute = self._database.execute
        with self._transaction():
            if execute("SELECT 1 FROM sqlite_master WHERE name = 'term_batches'").fetchone():  # by another process
                return
            [[found]] = execute("PRAGMA integrity_check(1)")
            if found != "ok":
                raise self._damaged(found)
            for statement in _UPGRADE.strip().split(";"):
                execute(statement)
            self._cover_terms()
            makers = {
                number: _crc(language, analyser) for number, language, analyser in execute("SELECT * FROM makers")
            }
            query = f"SELECT id, maker, {_VALUES} FROM facts"
            kept = [(_sum_of(makers.get(maker), values), number) for number, maker, *values in execute(query)]
            self._database.executemany("UPDATE facts SET checksum = ? WHERE id = ?", kept)
        warnings.warn(
            f"{self.path}: written by an earlier TosLoc; from now on its {len(kept)} rows have checksums, of what is in"
            " them",
            StoreWarning,
            stacklevel=2,
        )

    def _create(self) -> None:
        with self._transaction():
            (count,) = self._database.execute("SELECT count(*) FROM sqlite_master").fetchone()
            if count:  # another process was faster
                return
            self.path.chmod(mode_in(self.path.parent))
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
        except sqlite3.Error as error:
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
                    f"{self.path}: the facts store cannot be opened for writing ({text}); {_ELSEWHERE}"
                ) from error
            if "I/O" in text:  # of the device, or a limit on the size of files; says nothing of the content
                raise StoreError(
                    f"{self.path}: the facts store cannot be read or written ({text}); see that the disk is well and"
                    " has room, and run it again"
                ) from error
            raise self._damaged(text) from error
        except UnicodeDecodeError as error:  # in the words of SQLite, which tell of what the file holds
            raise self._damaged("a name in it is no text") from error

    def _damaged(self, reason: str) -> StoreError:
        return StoreError(f"{self.path}: the facts store is damaged ({reason}); delete it and index again")

    def _maker(self, language: str, analyser: str | None = None) -> int | None:
        """Number of an analyser of the language, of facts unless another is named."""
        key = (language, analyser or analyser_of(language, self.lizard))
        if key not in self._makers:
            row = self._database.execute("SELECT id FROM makers WHERE language = ? AND analyser = ?", key).fetchone()
            if row is None:
                return None
            self._makers[key] = row[0]
        return self._makers[key]

    def _own_maker(self, language: str, analyser: str | None = None) -> int:
        """The same, given now if it has none. Within a transaction."""
        found = self._maker(language, analyser)
        if found is None:
            self._database.execute(
                "INSERT INTO makers (language, analyser) VALUES (?, ?)",
                (language, analyser or analyser_of(language, self.lizard)),
            )
            found = self._maker(language, analyser)
            assert found is not None
        return found

    def _maker_checksum(self, language: str) -> int:
        """Of a language and its present analyser."""
        return _crc(language, analyser_of(language, self.lizard))

    def _intern(self, terms: Iterable[str]) -> dict[str, int]:
        """Numbers of those terms that this object has not seen, given now to new ones. Within a transaction."""
        unknown = [term for term in terms if term not in self._numbers]
        self._database.executemany("INSERT OR IGNORE INTO terms (term) VALUES (?)", zip(unknown))
        new = {term: number for number, term in self._cover_terms()}
        old = [term for term in unknown if term not in new] if len(new) != len(unknown) else []
        found = dict(self._select("SELECT term, id FROM terms WHERE term IN", old))
        # the one comes out of SQLite's index of the terms, the other out of the table
        known = dict(self._select("SELECT id, term FROM terms WHERE id IN", list(found.values())))
        if len(found) < len(old) or any(known.get(number) != term for term, number in found.items()):
            raise self._damaged("its terms and their index differ")
        if found or len(new) > len(unknown):  # another writer's
            return {term: new[term] if term in new else found[term] for term in unknown}
        return new

    def _cover_terms(self) -> list[tuple[int, str]]:
        """Give the terms that have none yet a checksum, all together, and return them. Within a transaction."""
        execute = self._database.execute
        [[covered]] = execute("SELECT coalesce(max(last), 0) FROM term_batches")
        rows = execute("SELECT id, term FROM terms WHERE id > ? ORDER BY id", (covered,)).fetchall()
        if rows:
            if rows[-1][0] - rows[0][0] != len(rows) - 1:
                raise self._damaged("terms are numbered wrongly")
            try:
                kept = _checksum_of_terms(rows)
            except TypeError as error:  # rows from before, whose batch is damaged, too
                raise self._damaged("a term is no text") from error
            execute("INSERT INTO term_batches VALUES (?, ?, ?)", (rows[0][0], rows[-1][0], kept))
        return rows

    def _fetch_terms(self) -> None:
        """Bring ``_terms`` up to date with what any process has written. Raises StoreError when it is damaged."""
        execute = self._database.execute
        batches = execute("SELECT * FROM term_batches WHERE last > ? ORDER BY first", (self._last_term,)).fetchall()
        if not batches:
            return
        query = "SELECT id, term FROM terms WHERE id > ? AND id <= ? ORDER BY id"
        rows = execute(query, (self._last_term, batches[-1][1])).fetchall()
        place = 0
        try:
            for first, last, kept in batches:
                end = place + last - first + 1
                batch = rows[place:end]
                if (batch[0][0], batch[-1][0], len(batch)) != (first, last, end - place):
                    raise self._damaged("terms are missing")
                if _checksum_of_terms(batch) != kept:
                    raise self._damaged("a term is not what was written")
                place = end
        except (TypeError, IndexError) as error:  # no numbers, no texts, or fewer than there were
            raise self._damaged("terms are missing") from error
        if place < len(rows):
            raise self._damaged("terms are numbered wrongly")
        self._terms.update(rows)
        self._last_term = batches[-1][1]


def present_analysers(language: str) -> set[str]:
    """What this TosLoc makes of a language: facts, those with lizard's number, functions."""
    present = {analyser_of(language, False), functions_analyser_of(language)}
    with suppress(metadata.PackageNotFoundError):
        present.add(analyser_of(language, True))
    return present


def _sum_of(maker: int | None, values: Sequence[Any]) -> int | None:
    """Checksum of what a row holds; None where that is not even of the right types."""
    try:
        return None if maker is None else checksum(maker, values)
    except TypeError:
        return None


def _checksum_of_terms(rows: Sequence[tuple[int, str]]) -> int:
    """Of terms with their numbers, which are consecutive."""
    return zlib.crc32("\n".join([term for _, term in rows]).encode(), rows[0][0] & 0xFFFFFFFF)


def _crc(language: str, analyser: str) -> int:
    return zlib.crc32(f"{language}\n{analyser}".encode())


def _sum_of_functions(language: str, analyser: str, blob: str, payload: bytes) -> int:
    """Of a blob's functions, its name and what made them."""
    return zlib.crc32(payload, zlib.crc32(blob.encode(), _crc(language, analyser)))
