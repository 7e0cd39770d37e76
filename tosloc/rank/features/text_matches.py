"""The terms of a report in the texts of a version's files, and BM25 of any weights of them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from tosloc.core.arrays import FloatArray, LongArray
from tosloc.retrieval.query import Query
from tosloc.retrieval.texts import Hits, bm25, known_terms
from tosloc.retrieval.version_index import VersionIndex


class TextMatches:
    """The terms of a report that occur in the texts of a version's files."""

    def __init__(self, query: Query, version: VersionIndex) -> None:
        self._query = query
        self._texts = version.text
        numbers, weights = known_terms(self._texts.corpus.terms, query.weights)
        self.numbers: LongArray = numbers
        """(T,) number of each term in the corpus."""
        self.weights: FloatArray = weights
        """(T,) weight of each term in the query."""

    @cached_property
    def words(self) -> tuple[str, ...]:
        """(T,) the terms."""
        known = self._texts.corpus.terms
        return tuple(term for term in self._query.weights if term in known)

    @cached_property
    def hits(self) -> Hits:
        """Postings of the report's terms."""
        return Hits(self._texts, self.numbers)

    @cached_property
    def _chunk_hits(self) -> Hits:
        """Postings of the report's terms among the chunks of files."""
        view = self._texts
        chunks = int(view.corpus.chunk_starts[-1])
        return Hits(view, self.numbers, view.corpus.chunk_postings, chunks)

    def score_files(self, formula: bm25.Formula, weights: FloatArray) -> FloatArray:
        """Return (F,) BM25 of the files' texts, from weights (T,) of the terms of ``hits``."""
        return self._texts.to_files(self.hits.scores(formula, weights))

    def best_chunk_scores(self, weights: FloatArray) -> FloatArray:
        """Return (F,) BM25 of the best chunk of each file, from weights (T,) of the terms."""
        view = self._texts
        if not len(view.corpus):
            return np.zeros(view.files)
        scores = self._chunk_hits.scores(bm25.chunk_frequency, weights)
        return view.to_files(np.maximum.reduceat(scores, view.corpus.chunk_starts[:-1]))

    def align(self, weights: Mapping[str, float]) -> FloatArray:
        """Return (T,) other weights of the terms of ``hits``; a term without a weight has 0."""
        return np.array([weights.get(term, 0.0) for term in self.words], dtype=np.float64)
