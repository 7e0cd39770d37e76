"""The best stretch of a file: BM25 of 50-line chunks (10 lines of overlap), without length normalisation."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from tosloc.index.bm25 import worth_keeping
from tosloc.index.corpus import VersionView
from tosloc.index.postings import K1, summed
from tosloc.records import FloatArray, LongArray

SATURATION = np.arange(256) * (K1 + 1) / (np.arange(256) + K1)
"""tf (k1 + 1) / (tf + k1) for every count that a chunk can hold."""


class ChunkHits:
    """The postings of some terms among the chunks of a version, selected once for several weightings. P postings."""

    def __init__(self, view: VersionView, terms: LongArray) -> None:
        self.view = view
        self._selection = view.corpus.chunk_postings.select(terms)
        kept = worth_keeping(view, len(view.corpus.chunk_postings.rows))
        if kept and view.chunk_saturations is None:
            view.chunk_saturations = SATURATION[view.corpus.chunk_counts]
        self._kept = view.chunk_saturations if kept else None

    @cached_property
    def _rows(self) -> LongArray:
        """(P,) the chunk of each posting."""
        return self._selection.take(self.view.corpus.chunk_postings.rows).astype(np.int64)

    @cached_property
    def _values(self) -> FloatArray:
        """(P,) its saturated frequency."""
        kept, take = self._kept, self._selection.take
        return SATURATION.take(take(self.view.corpus.chunk_counts)) if kept is None else take(kept)

    def best(self, weights: FloatArray) -> FloatArray:
        """(F,) largest sum over terms of weight x tf (k1+1) / (tf+k1) among a file's chunks; weights have the IDF."""
        starts = self.view.corpus.chunk_starts
        if not len(self.view.corpus):
            return np.zeros(self.view.files)
        if self._selection.many:
            of_chunks = self._term_by_term(weights, int(starts[-1]))
        else:
            values = self._values * self._selection.spread(weights)
            of_chunks = summed(self._rows, values, int(starts[-1]))
        return self.view.to_files(np.maximum.reduceat(of_chunks, starts[:-1]))

    def _term_by_term(self, weights: FloatArray, chunks: int) -> FloatArray:
        """(chunks,) the sums, added in the same order: a term stands once in a chunk's list."""
        rows, counts = self.view.corpus.chunk_postings.rows, self.view.corpus.chunk_counts
        total = np.zeros(chunks)
        for stretch, weight in zip(self._selection.stretches, weights, strict=True):
            values = SATURATION.take(counts[stretch]) if self._kept is None else self._kept[stretch]
            np.add.at(total, rows[stretch].astype(np.int64), values * weight)
        return total
