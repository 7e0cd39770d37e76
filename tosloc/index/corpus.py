"""Facts of many blobs as inverted lists, and one version as a selection of their rows.

Letters in shapes: B blobs, V terms, P postings, C chunks, Q chunk postings, F files of a version.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from tosloc.arrays import Array, Arrays, pack_words, prefixed, under, unpack_words
from tosloc.code.languages import FIELDS
from tosloc.index.postings import Postings, idf, numbered, row_sums
from tosloc.records import Float32Array, FloatArray, IntArray, LongArray, Snapshot, first_paths

if TYPE_CHECKING:
    from tosloc.index.fact_table import FactTable

TableSource: TypeAlias = "Callable[[Sequence[str]], FactTable]"
"""Blobs -> their facts, in this order."""
CODE, COMMENT, STRING, METHOD, TYPE, FIELD = (FIELDS.index(name) for name in FIELDS)
ALL_TEXT = len(FIELDS)
"""Column of lengths and averages that stands for code + comment + string."""


class Corpus:
    """Inverted lists over the blobs of one or more versions; made once, shared by all their views."""

    def __init__(self, table: FactTable) -> None:
        self._table: FactTable | TableSource = table
        self.blobs: Sequence[str] = table.blobs
        """(B,)"""
        self.term_ids: Mapping[str, int] = numbered(table.vocabulary)
        vocabulary = len(table.vocabulary)
        self.postings = Postings.invert(table.starts, table.terms, vocabulary, table.counts)
        """Blobs of each term, with (P, 6) counts by ``FIELDS``."""
        self.chunk_postings = Postings.invert(
            table.chunk_posting_starts, table.chunk_terms, vocabulary, table.chunk_counts
        )
        """Chunks of each term, with (Q,) counts."""
        self.chunk_starts = table.chunk_starts
        """(B + 1,) the chunks of blob b are ``chunk_starts[b]`` to ``chunk_starts[b + 1]``."""
        self.complexity, self.lines = table.complexity, table.lines
        """(B,)"""
        by_field = [row_sums(counts, table.starts) for counts in table.counts.T]
        self.lengths: FloatArray = np.stack([*by_field, by_field[CODE] + by_field[COMMENT] + by_field[STRING]], axis=1)
        """(B, 7) terms of each blob by field, then in all of its text."""

    def __len__(self) -> int:
        return len(self.blobs)

    @property
    def table(self) -> FactTable:
        """The facts blob by blob, with a vocabulary of their own; of a kept version they are read from the store."""
        if callable(self._table):
            self._table = self._table(list(self.blobs))
        return self._table

    @cached_property
    def row_of_blob(self) -> Mapping[str, int]:
        """Blob -> its row."""
        return {blob: row for row, blob in enumerate(self.blobs)}

    def to_arrays(self) -> Arrays:
        """Plain arrays, for ``from_arrays``."""
        return {
            **{name: getattr(self, name) for name in ("chunk_starts", "complexity", "lines", "lengths")},
            **prefixed("postings", self.postings.to_arrays()),
            **prefixed("chunk_postings", self.chunk_postings.to_arrays()),
            "blobs": pack_words(self.blobs),
            "terms": pack_words(self.term_ids),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], table: TableSource) -> Corpus:
        """Lists from ``to_arrays``; ``table`` gives the same facts by blob, should they be wanted."""
        made = cls.__new__(cls)
        vars(made).update({name: arrays[name] for name in ("chunk_starts", "complexity", "lines", "lengths")})
        made._table, made.blobs = table, unpack_words(arrays["blobs"])
        made.term_ids = numbered(unpack_words(arrays["terms"]))
        made.postings = Postings.from_arrays(under("postings", arrays))
        made.chunk_postings = Postings.from_arrays(under("chunk_postings", arrays))
        return made


class VersionView:
    """One version of a corpus: which blob each file is, and the statistics of exactly these files.

    ``known``: rows and document frequencies, where they were computed before.
    """

    def __init__(self, corpus: Corpus, snapshot: Snapshot, known: tuple[IntArray, LongArray] | None = None) -> None:
        self.corpus, self.snapshot = corpus, snapshot
        self.rows: IntArray
        """(F,) corpus row of each file, -1 where the blob could not be read."""
        self.frequency: LongArray
        """(V,) number of files that hold each term."""
        if known is None:
            rows = corpus.row_of_blob
            self.rows = np.array([rows.get(blob, -1) for blob in snapshot.blobs], dtype=np.int32)
        else:
            self.rows, self.frequency = known
        self.multiplicity: LongArray = np.bincount(self.rows[self.rows >= 0], minlength=len(corpus)).astype(np.int64)
        """(B,) in how many files each blob stands."""
        if known is None:
            held = row_sums(self.multiplicity[corpus.postings.rows], corpus.postings.starts)
            self.frequency = held.astype(np.int64)
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
        mean: FloatArray = np.maximum(total / max(self.files, 1), 1e-9)
        return mean

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
