"""The terms of a report in the texts of a version's files, and BM25 of any weights of them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from tosloc.core.arrays import FloatArray, LongArray
from tosloc.retrieval.query import Query
from tosloc.retrieval.texts import bm25
from tosloc.retrieval.texts.postings import known_terms
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
    def _hits(self) -> bm25.Hits:
        """Postings of the report's terms."""
        return bm25.Hits(self._texts, self.numbers)

    @cached_property
    def _chunk_hits(self) -> bm25.Hits:
        """Postings of the report's terms among the chunks of files."""
        view = self._texts
        chunks = int(view.corpus.chunk_starts[-1])
        return bm25.Hits(view, self.numbers, view.corpus.chunk_postings, chunks)

    def score_whole(self, weights: FloatArray) -> FloatArray:
        """Return (F,) BM25 of the files' whole texts, from weights (T,) of the terms."""
        return self._score(bm25.WHOLE, weights)

    def score_fields(self, weights: FloatArray) -> FloatArray:
        """Return (F,) BM25F of the files' texts, from weights (T,) of the terms."""
        return self._score(bm25.bm25f, weights)

    def score_code(self, weights: FloatArray) -> FloatArray:
        """Return (F,) BM25 of the files' code, from weights (T,) of the terms."""
        return self._score(bm25.CODE_FIELD, weights)

    def score_methods(self, weights: FloatArray) -> FloatArray:
        """Return (F,) BM25 of the names of the files' methods, from weights (T,) of the terms."""
        return self._score(bm25.METHOD_FIELD, weights)

    def score_types(self, weights: FloatArray) -> FloatArray:
        """Return (F,) BM25 of the names of the files' types, from weights (T,) of the terms."""
        return self._score(bm25.TYPE_FIELD, weights)

    def coverage(self, weights: FloatArray) -> FloatArray:
        """Return (F,) the sum of weight (T,) x IDF of the terms that each file contains."""
        return self._score(bm25.term_coverage, weights)

    def _score(self, formula: bm25.Formula, weights: FloatArray) -> FloatArray:
        return self._texts.to_files(self._hits.scores(formula, weights))

    def rarity_in_file(self, file: int) -> dict[str, float]:
        """Return the IDF of the terms that a file contains, those with the best BM25 first."""
        row = int(self._texts.rows[file])
        shared, counts = self._hits.terms_in_row(row)
        frequency = bm25.WHOLE(self._texts, counts, np.full(len(shared), row, dtype=np.int32))
        scores = frequency * self._hits.idf[shared] * self.weights[shared]
        best_first = shared[np.argsort(-scores, kind="stable")].tolist()
        return {self.words[number]: float(self._hits.idf[number]) for number in best_first}

    def best_chunk_scores(self, weights: FloatArray) -> FloatArray:
        """Return (F,) BM25 of the best chunk of each file, from weights (T,) of the terms."""
        view = self._texts
        if not len(view.corpus):
            return np.zeros(view.files)
        scores = self._chunk_hits.scores(bm25.chunk_frequency, weights)
        return view.to_files(np.maximum.reduceat(scores, view.corpus.chunk_starts[:-1]))

    def align(self, weights: Mapping[str, float]) -> FloatArray:
        """Return (T,) other weights of the terms; a term without a weight has 0."""
        return np.array([weights.get(term, 0.0) for term in self.words], dtype=np.float64)
