"""The best stretch of a file: BM25 of 50-line chunks (10 lines of overlap), without length normalisation."""

from __future__ import annotations

import numpy as np

from tosloc.index.corpus import VersionView
from tosloc.index.postings import K1, summed
from tosloc.records import FloatArray, LongArray

SATURATION = np.arange(256) * (K1 + 1) / (np.arange(256) + K1)
"""tf (k1 + 1) / (tf + k1) for every count that a chunk can hold."""


def best_chunk(view: VersionView, terms: LongArray, weights: FloatArray) -> FloatArray:
    """(F,) largest sum over terms of weight x tf (k1+1) / (tf+k1) among a file's chunks; weights include the IDF."""
    corpus = view.corpus
    if not len(corpus):
        return np.zeros(view.files)
    lists = corpus.chunk_postings
    selection = lists.select(terms)
    values = SATURATION[selection.take(corpus.chunk_counts)] * selection.spread(weights)
    chunks = int(corpus.chunk_starts[-1])
    of_chunks = summed(selection.take(lists.rows), values, chunks)
    return view.to_files(np.maximum.reduceat(of_chunks, corpus.chunk_starts[:-1]))
