"""Facts of many blobs as arrays, read from rows of the store; their inverted lists; a version as a selection of them.

Letters in shapes: B blobs, V distinct terms, P (blob, term) postings, C chunks, Q (chunk, term) postings, F files of a
version.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from tosloc.arrays import Array, Arrays, pack_words, prefixed, under, unpack_words
from tosloc.code.languages import FIELDS
from tosloc.index.postings import Postings, idf, numbered, row_sums, starts_of
from tosloc.index.store import pack, places_of, steps_of, unpack
from tosloc.records import BoolArray, Float32Array, FloatArray, IntArray, LongArray, Snapshot, first_paths

if TYPE_CHECKING:
    from tosloc.code.terms import Facts  # not loaded: what only reads rows needs no parser

CODE, COMMENT, STRING, METHOD, TYPE, FIELD = (FIELDS.index(name) for name in FIELDS)
ALL_TEXT = len(FIELDS)
"""Column of lengths and averages that stands for code + comment + string."""
NO_FACTS: Final = pack(
    [[]], [np.zeros(size, kind) for size, kind in ((3, "i4"), (0, "u2"), (1, "u4"), (0, "u1"), (0, "u1"))]
)
"""Payload of a blob that was not read: no terms and one empty chunk."""
_KEPT: Final = ("chunk_starts", "complexity", "lines", "parsed", "lengths")
"""What is kept as it is."""


def pack_facts(facts: Facts) -> bytes:
    """The facts of one blob as a row's payload."""
    steps = steps_of(facts.chunk_terms, facts.chunk_starts)
    return pack(
        [facts.terms],
        [
            np.array([facts.lines, facts.complexity, facts.parsed], dtype=np.int32),
            facts.counts.T.ravel().astype(np.min_scalar_type(int(facts.counts.max(initial=0)))),
            np.diff(facts.chunk_starts).astype(np.uint32),
            steps.astype(np.min_scalar_type(int(steps.max(initial=0)))),
            facts.chunk_counts,
        ],
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
    """(B,) by lizard; 0 where it was not asked for."""
    lines: IntArray
    parsed: BoolArray
    """(B,) False where the lexer read the blob."""

    @classmethod
    def from_rows(cls, blobs: Sequence[str], payloads: Iterable[bytes | None]) -> FactTable:
        """The table of ``blobs`` from what ``pack_facts`` made of each, read once; None has one empty chunk.

        Raises ValueError for a row that does not unpack.
        """
        numbers: defaultdict[str, int] = defaultdict(lambda: len(numbers))
        rows = []
        for payload in payloads:
            [words], [head, counts, sizes, steps, in_chunk] = unpack(NO_FACTS if payload is None else payload, 1)
            own = np.fromiter(map(numbers.__getitem__, words), dtype=np.int32, count=len(words))
            terms = own[places_of(steps, starts_of(sizes))]
            rows.append((own, counts.reshape(len(FIELDS), -1).T.astype(np.uint16), terms, in_chunk, sizes, head))
        order = sorted(numbers)
        place_of_number = np.zeros(len(order), dtype=np.int32)
        place_of_number[[numbers[term] for term in order]] = np.arange(len(order), dtype=np.int32)
        kinds = (np.int32, np.uint16, np.int32, np.uint8, np.int64, np.int32)
        none = [np.zeros((0, len(FIELDS)) if kind is np.uint16 else 0, kind) for kind in kinds]
        terms_of, columns = [len(row[0]) for row in rows], list(zip(none, *rows, strict=True))
        chunks_of = [len(row[4]) for row in rows]
        del rows  # so that the parts of each array go as soon as it is made
        terms, counts, chunk_terms, chunk_counts, chunk_sizes, heads = (np.concatenate(columns.pop(0)) for _ in kinds)
        return cls(
            blobs=tuple(blobs),
            vocabulary=tuple(order),
            starts=starts_of(terms_of),
            terms=place_of_number[terms],
            counts=counts,
            chunk_starts=starts_of(chunks_of),
            chunk_posting_starts=starts_of(chunk_sizes),
            chunk_terms=place_of_number[chunk_terms],
            chunk_counts=chunk_counts,
            lines=heads[0::3],
            complexity=heads[1::3],
            parsed=heads[2::3] > 0,
        )


class Corpus:
    """Inverted lists over the blobs of one or more versions; made once, shared by all their views."""

    def __init__(self, table: FactTable) -> None:
        self.blobs: Sequence[str] = table.blobs
        """(B,)"""
        self.term_ids: Mapping[str, int] = numbered(table.vocabulary)
        size = len(table.vocabulary)
        self.postings = Postings.invert(table.starts, table.terms, size, table.counts)
        """Blobs of each term, with (P, 6) counts by ``FIELDS``."""
        self.chunk_postings = Postings.invert(table.chunk_posting_starts, table.chunk_terms, size, table.chunk_counts)
        """Chunks of each term, with (Q,) counts."""
        self.chunk_starts = table.chunk_starts
        """(B + 1,) the chunks of blob b are ``chunk_starts[b]`` to ``chunk_starts[b + 1]``."""
        self.complexity, self.lines, self.parsed = table.complexity, table.lines, table.parsed
        """(B,)"""
        by_field = [row_sums(counts, table.starts) for counts in table.counts.T]
        self.lengths: FloatArray = np.stack([*by_field, by_field[CODE] + by_field[COMMENT] + by_field[STRING]], axis=1)
        """(B, 7) terms of each blob by field, then in all of its text."""

    def __len__(self) -> int:
        return len(self.blobs)

    def followed_by(self, table: FactTable) -> Corpus:
        """Lists of these blobs, and of a table's after them, with its new terms after the others."""
        term_ids = dict(self.term_ids)
        numbers = np.array([term_ids.setdefault(term, len(term_ids)) for term in table.vocabulary], dtype=np.int32)
        terms, chunk_terms = numbers[table.terms], numbers[table.chunk_terms]
        other = Corpus(replace(table, vocabulary=tuple(term_ids), terms=terms, chunk_terms=chunk_terms))
        made = Corpus.__new__(Corpus)
        chunks = int(self.chunk_starts[-1])
        made.blobs, made.term_ids = (*self.blobs, *other.blobs), term_ids
        made.postings = self.postings.followed_by(other.postings, len(self))
        made.chunk_postings = self.chunk_postings.followed_by(other.chunk_postings, chunks)
        made.chunk_starts = np.concatenate((self.chunk_starts, other.chunk_starts[1:] + chunks))
        for name in ("complexity", "lines", "parsed", "lengths"):
            setattr(made, name, np.concatenate((getattr(self, name), getattr(other, name))))
        return made

    @cached_property
    def table(self) -> FactTable:
        """The facts blob by blob: the lists inverted again."""
        lists, chunks = self.postings, self.chunk_postings
        by_blob = Postings.invert(lists.starts, lists.rows, len(self), lists.values)
        by_chunk = Postings.invert(chunks.starts, chunks.rows, int(self.chunk_starts[-1]), chunks.values)
        return FactTable(
            tuple(self.blobs),
            tuple(self.term_ids),
            *(by_blob.starts, by_blob.rows, by_blob.values, self.chunk_starts),
            *(by_chunk.starts, by_chunk.rows, by_chunk.values),
            *(self.complexity, self.lines, self.parsed),
        )

    @cached_property
    def row_of_blob(self) -> Mapping[str, int]:
        """Blob -> its row."""
        return numbered(self.blobs)

    def to_arrays(self) -> Arrays:
        """Plain arrays, for ``from_arrays``."""
        return {
            **{name: getattr(self, name) for name in _KEPT},
            **prefixed("postings", vars(self.postings)),
            **prefixed("chunk_postings", vars(self.chunk_postings)),
            "blobs": pack_words(self.blobs),
            "terms": pack_words(self.term_ids),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> Corpus:
        """Lists from ``to_arrays``."""
        made = cls.__new__(cls)
        vars(made).update({name: arrays[name] for name in _KEPT}, blobs=unpack_words(arrays["blobs"]))
        made.term_ids = numbered(unpack_words(arrays["terms"]))
        made.postings = Postings(**under("postings", arrays))  # type: ignore[arg-type]
        made.chunk_postings = Postings(**under("chunk_postings", arrays))  # type: ignore[arg-type]
        return made


class VersionView:
    """One version of a corpus: which blob each file is, and the statistics of exactly these files.

    ``known``: rows and document frequencies, where they were computed before.
    """

    def __init__(self, corpus: Corpus, snapshot: Snapshot, known: tuple[IntArray, LongArray] | None = None) -> None:
        self.corpus, self.snapshot = corpus, snapshot
        rows = corpus.row_of_blob if known is None else {}
        self.rows = known[0] if known else np.array([rows.get(blob, -1) for blob in snapshot.blobs], dtype=np.int32)
        """(F,) corpus row of each file, -1 where the blob could not be read."""
        self.multiplicity: LongArray = np.bincount(self.rows[self.rows >= 0], minlength=len(corpus)).astype(np.int64)
        """(B,) in how many files each blob stands."""
        lists = corpus.postings
        self.frequency = known[1] if known else row_sums(self.multiplicity[lists.rows], lists.starts).astype(np.int64)
        """(V,) number of files that hold each term."""
        self.norms: dict[Hashable, Float32Array] = {}
        """Of formulas: (B,) what the length of a blob does to its frequencies."""

    @property
    def files(self) -> int:
        """F, the number of files."""
        return len(self.snapshot)

    @cached_property
    def averages(self) -> FloatArray:
        """(7,) mean length of the version's files by field, then of all text; at least 1e-9."""
        total = self.multiplicity @ self.corpus.lengths
        return np.maximum(total / max(self.files, 1), 1e-9)

    def idf(self, terms: LongArray) -> FloatArray:
        """(T,) BM25's inverse document frequency over the version's files."""
        return idf(self.files, self.frequency[terms])

    def to_files(self, of_rows: FloatArray) -> FloatArray:
        """(F,) values of the files from values of the blobs; 0 for a file whose blob could not be read."""
        return np.append(of_rows, 0.0)[self.rows]  # -1 is the last


def suffix_of(path: str, suffixes: frozenset[str]) -> str:
    """The suffix by which a path was taken, in lower case.

    >>> suffix_of("a/B.Java", frozenset({".java"})), suffix_of("a/b.d.ts", frozenset({".d.ts"}))
    ('.java', '.d.ts')
    """
    name = path.rpartition("/")[2].lower()
    parts = name.split(".")
    tails = (f".{'.'.join(parts[place:])}" for place in range(1, len(parts)))  # longest first
    return next((tail for tail in tails if tail in suffixes), f".{parts[-1]}")


def blobs_of(snapshots: Sequence[Snapshot], suffixes: frozenset[str]) -> dict[str, str]:
    """Blob id -> suffix of every file of the versions."""
    return {blob: suffix_of(path, suffixes) for blob, path in first_paths(snapshots).items()}
