"""Match the terms of a report with the texts of a version's files, and score them by BM25."""

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
        """Return (F,) BM25 of each file's whole text; ``weights`` (T,) are those of the terms."""
        return self._score(bm25.WHOLE, weights)

    def score_fields(self, weights: FloatArray) -> FloatArray:
        """Return (F,) BM25F of each file's text; ``weights`` (T,) are those of the terms."""
        return self._score(bm25.bm25f, weights)

    def score_code(self, weights: FloatArray) -> FloatArray:
        """Return (F,) BM25 of each file's code; ``weights`` (T,) are those of the terms."""
        return self._score(bm25.CODE_FIELD, weights)

    def score_methods(self, weights: FloatArray) -> FloatArray:
        """Return (F,) BM25 of each file's method names; ``weights`` (T,) are those of the terms."""
        return self._score(bm25.METHOD_FIELD, weights)

    def score_types(self, weights: FloatArray) -> FloatArray:
        """Return (F,) BM25 of each file's type names; ``weights`` (T,) are those of the terms."""
        return self._score(bm25.TYPE_FIELD, weights)

    def coverage(self, weights: FloatArray) -> FloatArray:
        """Return (F,) the sum of ``weights`` (T,) x IDF over the terms that each file contains."""
        return self._score(bm25.term_coverage, weights)

    def _score(self, formula: bm25.Formula, weights: FloatArray) -> FloatArray:
        return self._texts.to_files(self._hits.scores(formula, weights))

    def rarity_in_file(self, file: int) -> dict[str, float]:
        """Return term -> IDF of the report's terms in a file, the term with the best BM25 first."""
        row = int(self._texts.rows[file])
        shared, counts = self._hits.terms_in_row(row)
        frequency = bm25.WHOLE(self._texts, counts, np.full(len(shared), row))
        scores = frequency * self._hits.idf[shared] * self.weights[shared]
        best_first = shared[np.argsort(-scores, kind="stable")]
        words = [self.words[number] for number in best_first.tolist()]
        return dict(zip(words, self._hits.idf[best_first].tolist(), strict=True))

    def best_chunk_scores(self, weights: FloatArray) -> FloatArray:
        """Return (F,) BM25 of each file's best chunk; ``weights`` (T,) are those of the terms."""
        view = self._texts
        if not len(view.corpus):
            return np.zeros(view.files)
        scores = self._chunk_hits.scores(bm25.chunk_frequency, weights)
        return view.to_files(np.maximum.reduceat(scores, view.corpus.chunk_starts[:-1]))

    def align(self, weights: Mapping[str, float]) -> FloatArray:
        """Return (T,) the given weights in the order of ``words``; 0 for a term without one."""
        return np.array([weights.get(term, 0.0) for term in self.words], dtype=np.float64)
