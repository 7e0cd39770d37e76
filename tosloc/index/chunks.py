"""The best stretch of a file: BM25 of 50-line chunks (10 lines of overlap), without length normalisation."""

from __future__ import annotations

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
        lists = view.corpus.chunk_postings
        self.view = view
        self._selection = lists.select(terms)
        self._rows = self._selection.take(lists.rows).astype(np.int64)
        if worth_keeping(view, len(lists.rows)):
            if view.chunk_saturations is None:
                view.chunk_saturations = SATURATION[view.corpus.chunk_counts]
            self._values = self._selection.take(view.chunk_saturations)
        else:
            self._values = SATURATION[self._selection.take(view.corpus.chunk_counts)]

    def best(self, weights: FloatArray) -> FloatArray:
        """(F,) largest sum over terms of weight x tf (k1+1) / (tf+k1) among a file's chunks; weights have the IDF."""
        starts = self.view.corpus.chunk_starts
        if not len(self.view.corpus):
            return np.zeros(self.view.files)
        values = self._values * self._selection.spread(weights)
        of_chunks = summed(self._rows, values, int(starts[-1]))
        return self.view.to_files(np.maximum.reduceat(of_chunks, starts[:-1]))
