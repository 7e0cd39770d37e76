"""Facts of many blobs as inverted lists, and one version as a selection of their rows.

Letters in shapes: B blobs, V terms, P postings, C chunks, Q chunk postings, F files of a version.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tosloc.analysis.fact_table import FactTable
from tosloc.analysis.facts import FIELDS
from tosloc.analysis.languages import language_of
from tosloc.analysis.store import FactStore
from tosloc.index.postings import Postings, idf, ranges, row_sums, summed
from tosloc.records import Float32Array, FloatArray, IntArray, LongArray, Snapshot, first_paths

CODE, COMMENT, STRING, METHOD, TYPE, FIELD = (FIELDS.index(name) for name in FIELDS)
ALL_TEXT = len(FIELDS)
"""Column of lengths and averages that stands for code + comment + string."""


class Corpus:
    """Inverted lists over the blobs of one or more versions; made once, shared by all their views."""

    def __init__(self, table: FactTable) -> None:
        self.table = table
        self.row_of_blob = {blob: row for row, blob in enumerate(table.blobs)}
        self.term_ids = {term: number for number, term in enumerate(table.vocabulary)}
        vocabulary = len(table.vocabulary)
        self.postings = Postings.invert(table.starts, table.terms, vocabulary)
        self.counts = table.counts[self.postings.origin]
        self.chunk_postings = Postings.invert(table.chunk_posting_starts, table.chunk_terms, vocabulary)
        self.chunk_counts = table.chunk_counts[self.chunk_postings.origin]
        self._frequency = np.zeros(vocabulary, dtype=np.int64)
        self._multiplicity = np.zeros(len(table.blobs), dtype=np.int64)

    def __len__(self) -> int:
        return len(self.table.blobs)

    @cached_property
    def lengths(self) -> FloatArray:
        """(B, 7) terms of each blob by field, then in all of its text."""
        sums = np.zeros((len(self), len(FIELDS) + 1))
        for column in range(len(FIELDS)):
            sums[:, column] = row_sums(self.table.counts[:, column], self.table.starts)
        sums[:, ALL_TEXT] = sums[:, CODE] + sums[:, COMMENT] + sums[:, STRING]
        return sums

    def document_frequency(self, multiplicity: LongArray) -> LongArray:
        """(V,) number of files that hold each term, when blob b stands in multiplicity[b] files.

        Consecutive versions differ in few blobs, so the last answer is updated, not counted again.
        """
        change = multiplicity - self._multiplicity
        rows = np.flatnonzero(change)
        if len(rows):
            chosen = ranges(self.table.starts[rows], self.table.starts[rows + 1])
            amount = np.repeat(change[rows], chosen.sizes)
            terms = chosen.take(self.table.terms)
            self._frequency = self._frequency + summed(terms, amount, len(self._frequency)).round().astype(np.int64)
            self._multiplicity = multiplicity
        return self._frequency


@dataclass(eq=False)
class VersionView:
    """One version of a corpus: which blob each file is, and the statistics of exactly these files."""

    corpus: Corpus
    snapshot: Snapshot
    resident: bool = False
    """Many reports will be asked of this version: term saturations of all postings are worth computing once."""

    def __post_init__(self) -> None:
        rows = self.corpus.row_of_blob
        self.rows: IntArray = np.array([rows.get(blob, -1) for blob in self.snapshot.blobs], dtype=np.int32)
        """(F,) corpus row of each file, -1 where the blob could not be read."""
        present = self.rows[self.rows >= 0]
        self.multiplicity: LongArray = np.bincount(present, minlength=len(self.corpus)).astype(np.int64)
        self.frequency = self.corpus.document_frequency(self.multiplicity)
        self.saturations: dict[Hashable, Float32Array] = {}
        """Of a resident version: formula -> (P,) saturated frequencies of all postings."""

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
        if not len(of_rows):
            return np.zeros(self.files)
        values = of_rows[self._readable_rows]
        values[self._unreadable] = 0.0
        return values

    @cached_property
    def _readable_rows(self) -> LongArray:
        return np.maximum(self.rows, 0).astype(np.int64)

    @cached_property
    def _unreadable(self) -> LongArray:
        """Files whose blob could not be read: none, most of the time."""
        return np.flatnonzero(self.rows < 0)


def suffix_of(path: str, suffixes: frozenset[str]) -> str:
    """The suffix by which a path was taken, in lower case.

    >>> suffix_of("a/B.Java", frozenset({".java"}))
    '.java'
    """
    name = path.rpartition("/")[2].lower()
    tails = (name[start:] for start in range(len(name)))  # longest first
    return next((tail for tail in tails if tail in suffixes), "." + name.rpartition(".")[2])


def blobs_of(snapshots: Sequence[Snapshot], suffixes: frozenset[str]) -> dict[str, str]:
    """Blob id -> suffix of every file of the versions."""
    return {blob: suffix_of(path, suffixes) for blob, path in first_paths(snapshots).items()}


def corpus_of(store: FactStore, snapshots: Sequence[Snapshot], suffixes: frozenset[str]) -> Corpus:
    """Inverted lists of the versions' files; a file whose blob could not be read has no terms."""
    blobs = blobs_of(snapshots, suffixes)
    return Corpus(store.load(list(blobs), [language_of(suffix) for suffix in blobs.values()], allow_missing=True))
