"""What several techniques compute alike: term counts of blobs, the vector space and length scores.

Shapes: B blobs, F files of a version, V terms, T terms of a report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from tosloc.core.records import FloatArray, LongArray
from tosloc.retrieval.bm25 import min_max
from tosloc.retrieval.postings import group_sum


@dataclass(eq=False)
class Counts:
    """How often each term stands in each of some texts."""

    matrix: sparse.csr_array
    vocabulary: Mapping[str, int]

    @cached_property
    def lengths(self) -> FloatArray:
        """(B,) terms of each text, repeated ones too."""
        return np.asarray(self.matrix.sum(axis=1), dtype=np.float64).ravel()

    def frequencies(self, weights: FloatArray | LongArray) -> FloatArray:
        """(V,) sum of the (B,) weights of the texts that hold each term."""
        spread = np.repeat(weights, np.diff(self.matrix.indptr))
        return group_sum(self.matrix.indices, spread, self.matrix.shape[1])

    @cached_property
    def log_tf(self) -> sparse.csr_array:
        """(B, V) ln(f) + 1, of the same index arrays."""
        values = np.log(self.matrix.data) + 1.0
        return sparse.csr_array(
            (values, self.matrix.indices, self.matrix.indptr), shape=self.matrix.shape
        )

    @cached_property
    def squared_log_tf(self) -> sparse.csr_array:
        """(B, V) (ln(f) + 1) squared."""
        return self.log_tf.power(2)

    def query_counts(self, terms: Iterable[str]) -> tuple[LongArray, FloatArray]:
        """Columns, rising, and counts (T,) of those terms that any text holds."""
        counted = Counter(self.vocabulary[term] for term in terms if term in self.vocabulary)
        columns = np.array(sorted(counted), dtype=np.int64)
        return columns, np.array([counted[column] for column in columns.tolist()], dtype=np.float64)


def count(texts: Iterable[Sequence[str]], vocabulary: dict[str, int] | None = None) -> Counts:
    """Counts of texts given as terms; a ``vocabulary`` that is given is shared, and grows.

    >>> made = count([["a", "b", "a"], []])
    >>> made.matrix.toarray().tolist(), made.lengths.tolist()
    ([[2.0, 1.0], [0.0, 0.0]], [3.0, 0.0])
    """
    vocabulary = {} if vocabulary is None else vocabulary
    columns: list[int] = []
    values: list[int] = []
    starts = [0]
    for terms in texts:
        counted = Counter(terms)
        columns += [vocabulary.setdefault(term, len(vocabulary)) for term in counted]
        values += counted.values()
        starts.append(len(columns))
    # indices of 32 bits where they suffice: half the memory, and faster products
    bounds = np.array(starts, dtype=np.int32 if starts[-1] < 2**31 else np.int64)
    arrays = np.array(values, dtype=np.float64), np.array(columns, dtype=bounds.dtype), bounds
    matrix = sparse.csr_array(arrays, shape=(len(starts) - 1, len(vocabulary)))
    matrix.sort_indices()
    return Counts(matrix, vocabulary)


def textbook_idf(number: float, frequencies: FloatArray | LongArray) -> FloatArray:
    """(V,) ln(N / n_t) of terms that n_t of N texts hold; 0 for a term of no text."""
    return np.where(frequencies > 0, np.log(max(number, 1) / np.maximum(frequencies, 1)), 0.0)


@dataclass(eq=False)
class VectorSpace:
    """Texts as vectors of w = (ln f + 1) idf, compared by their cosine (docs/method.md, section B.1.5)."""

    counts: Counts
    idf: FloatArray  # (V,) 0 for a term of no text

    @classmethod
    def of(cls, counts: Counts, multiplicity: LongArray) -> VectorSpace:
        """That of one version, in which each text stands ``multiplicity`` (B,) times."""
        return cls(counts, textbook_idf(int(multiplicity.sum()), counts.frequencies(multiplicity)))

    @cached_property
    def norms(self) -> FloatArray:
        """(B,) lengths of the vectors."""
        norms: FloatArray = np.sqrt(self.counts.squared_log_tf @ self.idf**2)
        return norms

    def query_weights(self, terms: Iterable[str]) -> tuple[LongArray, FloatArray]:
        """Columns, rising, and weights (T,) of a report's terms; those that no text holds are ignored."""
        columns, counts = self.counts.query_counts(terms)
        return columns, (np.log(counts) + 1.0) * self.idf[columns]

    def cosine(self, terms: Iterable[str]) -> FloatArray:
        """(B,) cosine of each text with the report; 0/0 is 0."""
        columns, weights = self.query_weights(terms)
        query = np.zeros(len(self.idf))
        query[columns] = weights
        return ratio(
            self.counts.log_tf @ (query * self.idf), self.norms * np.sqrt((weights**2).sum())
        )


def ratio(products: FloatArray, norms: FloatArray) -> FloatArray:
    """Cosines of scalar products and products of lengths; 0/0 is 0."""
    return np.divide(products, norms, out=np.zeros_like(products), where=norms > 0)


def row_cosines(rows: sparse.csr_array, query: FloatArray, length: float) -> FloatArray:
    """Cosine of each row with a query of this length."""
    return ratio(rows @ query, np.sqrt(np.asarray(rows.power(2).sum(axis=1)).ravel()) * length)


def plain_length_score(lengths: FloatArray) -> FloatArray:
    """The length score of BugLocator's paper, 1 / (1 + exp(-(x - min) / (max - min))), from .5 to .731."""
    return 1.0 / (1.0 + np.exp(-min_max(lengths)))


def step_length_score(lengths: FloatArray) -> FloatArray:
    """(F,) BugLocator's length score as its public code has it (docs/method.md, section B.3.3)."""
    real = lengths[lengths > 0]
    if not len(real):
        return np.full(len(lengths), 0.5)
    mean, sigma = float(real.mean()), float(real.std())
    low, high = mean - 3 * sigma, mean + 3 * sigma
    least = float(np.floor(low)) if low > 0 else 0.0
    span = high - least
    score = (
        1.0 / (1.0 + np.exp(-6.0 * (lengths - least) / span))
        if span > 0
        else np.full(len(lengths), 0.5)
    )
    score = (
        np.where(lengths <= low, 0.5, np.where(lengths >= high, 1.0, score)) if sigma > 0 else score
    )
    return np.where(lengths > 0, np.maximum(score, 0.5), 0.5)
