"""Facts of many blobs as inverted lists, and one version as a selection of their rows.

Letters in shapes: B blobs, V terms, P postings, C chunks, Q chunk postings, F files of a version.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import InitVar, dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from tosloc.arrays import Arrays
from tosloc.code.languages import FIELDS
from tosloc.index.names import PackedNames, Vocabulary, by_number, vocabulary_of
from tosloc.index.postings import AT_ONCE, Postings, idf, ranges, stretches, summed
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
        self._rows: FactTable | None = table
        """The table whose numbers of terms are those of the lists; None where it is not at hand."""
        self.blobs: Sequence[str] = table.blobs
        """(B,)"""
        self.term_ids: Mapping[str, int] = {term: number for number, term in enumerate(table.vocabulary)}
        vocabulary = len(table.vocabulary)
        self.counts: npt.NDArray[np.uint16]
        """(P, 6) counts by ``FIELDS`` of each posting."""
        self.postings, self.counts = Postings.invert_with(table.starts, table.terms, vocabulary, table.counts)
        self.chunk_counts: npt.NDArray[np.uint8]
        """(Q,)"""
        self.chunk_postings, self.chunk_counts = Postings.invert_with(
            table.chunk_posting_starts, table.chunk_terms, vocabulary, table.chunk_counts
        )
        self.chunk_starts = table.chunk_starts
        """(B + 1,) the chunks of blob b are ``chunk_starts[b]`` to ``chunk_starts[b + 1]``."""
        self.complexity, self.lines = table.complexity, table.lines
        """(B,)"""
        self._frequency = np.zeros(vocabulary, dtype=np.int64)
        self._multiplicity = np.zeros(len(table.blobs), dtype=np.int64)

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

    @cached_property
    def vocabulary(self) -> Sequence[str]:
        """(V,) terms by number."""
        return by_number(self.term_ids)

    # ---- as arrays

    def to_arrays(self) -> Arrays:
        """Plain arrays, for ``from_arrays``."""
        arrays: Arrays = {name: getattr(self, name) for name in (*_ARRAYS, "lengths")}
        for name in ("postings", "chunk_postings"):
            lists = getattr(self, name)
            arrays |= {f"{name}.starts": lists.starts, f"{name}.rows": lists.rows}
        return {
            **arrays,
            **PackedNames.of(self.blobs).to_arrays("blobs"),
            **vocabulary_of(self.term_ids).to_arrays("terms"),
            "frequency": self._frequency,
            "multiplicity": self._multiplicity,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any], table: TableSource) -> Corpus:
        """Lists from ``to_arrays``; ``table`` gives the same facts by blob, should they be wanted."""
        made = cls.__new__(cls)
        made._table, made._rows = table, None
        made.blobs, made.term_ids = PackedNames.read(arrays, "blobs"), Vocabulary.read(arrays, "terms")
        for name in (*_ARRAYS, "lengths"):
            vars(made)[name] = arrays[name]
        for name in ("postings", "chunk_postings"):
            vars(made)[name] = Postings(arrays[f"{name}.starts"], arrays[f"{name}.rows"])
        made._frequency, made._multiplicity = arrays["frequency"], arrays["multiplicity"]
        return made

    def _count(self, multiplicity: LongArray) -> None:
        """Count document frequencies by term, when blob b stands in multiplicity[b] files."""
        counted = np.zeros(len(self._frequency), dtype=np.int64)
        for first, last, start, end in stretches(self.postings.starts):
            term = np.repeat(np.arange(last - first), np.diff(self.postings.starts[first : last + 1]))
            sums = summed(term, multiplicity[self.postings.rows[start:end]], last - first)
            counted[first:last] = sums.round()
        self._frequency, self._multiplicity = counted, multiplicity

    def __len__(self) -> int:
        return len(self.blobs)

    @cached_property
    def lengths(self) -> FloatArray:
        """(B, 7) terms of each blob by field, then in all of its text."""
        sums = np.zeros((len(self), len(FIELDS) + 1))
        for start in range(0, len(self.counts), AT_ONCE):  # sums of whole numbers, which are exact in any order
            rows, counts = self.postings.rows[start : start + AT_ONCE], self.counts[start : start + AT_ONCE]
            for column in range(len(FIELDS)):
                sums[:, column] += summed(rows, counts[:, column], len(self))
        sums[:, ALL_TEXT] = sums[:, CODE] + sums[:, COMMENT] + sums[:, STRING]
        return sums

    def document_frequency(self, multiplicity: LongArray) -> LongArray:
        """(V,) number of files that hold each term, when blob b stands in multiplicity[b] files.

        Consecutive versions differ in few blobs, so the last answer is updated, not counted again.
        """
        change = multiplicity - self._multiplicity
        rows = np.flatnonzero(change)
        if self._rows is None or 2 * len(rows) > len(self):
            # all of them are counted sooner than the facts are read, and than most of them are looked up
            if len(rows):
                self._count(multiplicity)
        elif len(rows):
            chosen = ranges(self._rows.starts[rows], self._rows.starts[rows + 1])
            amount = np.repeat(change[rows], chosen.sizes)
            terms = chosen.take(self._rows.terms)
            self._frequency = self._frequency + summed(terms, amount, len(self._frequency)).round().astype(np.int64)
            self._multiplicity = multiplicity
        return self._frequency


_ARRAYS: Final = ("counts", "chunk_counts", "chunk_starts", "complexity", "lines")
"""Arrays that are kept as they are."""


@dataclass(eq=False)
class VersionView:
    """One version of a corpus: which blob each file is, and the statistics of exactly these files."""

    corpus: Corpus
    snapshot: Snapshot
    resident: bool = False
    """Many reports will be asked of this version: what does not depend on them is worth computing once."""
    known_rows: InitVar[IntArray | None] = None
    """(F,) ``rows``, where they are known."""

    def __post_init__(self, known_rows: IntArray | None) -> None:
        if known_rows is None:
            rows = self.corpus.row_of_blob
            known_rows = np.array([rows.get(blob, -1) for blob in self.snapshot.blobs], dtype=np.int32)
        self.rows: IntArray = known_rows
        """(F,) corpus row of each file, -1 where the blob could not be read."""
        present = self.rows[self.rows >= 0]
        self.multiplicity: LongArray = np.bincount(present, minlength=len(self.corpus)).astype(np.int64)
        self.frequency = self.corpus.document_frequency(self.multiplicity)
        self.kept: dict[Hashable, Any] = {}
        """Of a resident version: formula -> (P,) saturated frequencies of all postings."""
        self.norms: dict[Hashable, Float32Array] = {}
        """Of formulas: (B,) what the length of a blob does to its frequencies."""
        self.queries = 0
        """How many were asked."""

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
    if name.endswith(_compound(suffixes)):
        tails = (name[start:] for start in range(len(name)))  # longest first
        return next(tail for tail in tails if tail in suffixes)
    return "." + name.rpartition(".")[2]


@lru_cache(maxsize=8)
def _compound(suffixes: frozenset[str]) -> tuple[str, ...]:
    """Those that are more than a dot and what follows it, such as ".d.ts"."""
    return tuple(suffix for suffix in suffixes if suffix.rfind(".") != 0)


def blobs_of(snapshots: Sequence[Snapshot], suffixes: frozenset[str]) -> dict[str, str]:
    """Blob id -> suffix of every file of the versions."""
    return {blob: suffix_of(path, suffixes) for blob, path in first_paths(snapshots).items()}
