"""Term counts, the vector space model and length scores that several techniques share.

Shapes: B texts (most often one for each blob), F files of a version, V terms, T distinct terms of
a report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from tosloc.core.arrays import FloatArray, LongArray
from tosloc.retrieval.texts import group_sum, min_max


@dataclass(eq=False)
class TermCounts:
    """The number of times that each term occurs in each text."""

    matrix: sparse.csr_array
    """(B, V) term frequencies."""
    vocabulary: Mapping[str, int]
    """Column of each term."""

    @cached_property
    def lengths(self) -> FloatArray:
        """(B,) number of terms of each text, repetitions included."""
        return np.asarray(self.matrix.sum(axis=1), dtype=np.float64).ravel()

    def document_frequencies(self, weights: FloatArray | LongArray) -> FloatArray:
        """Return (V,) for each term the sum of the weights (B,) of the texts that contain it."""
        weight_by_entry = np.repeat(weights, np.diff(self.matrix.indptr))
        return group_sum(self.matrix.indices, weight_by_entry, self.matrix.shape[1])

    @cached_property
    def log_tf(self) -> sparse.csr_array:
        """(B, V) ln(f) + 1 of each frequency f; the index arrays are shared with ``matrix``."""
        values = np.log(self.matrix.data) + 1.0
        arrays = (values, self.matrix.indices, self.matrix.indptr)
        return sparse.csr_array(arrays, shape=self.matrix.shape)

    @cached_property
    def squared_log_tf(self) -> sparse.csr_array:
        """(B, V) (ln(f) + 1) squared."""
        return self.log_tf.power(2)

    def query_counts(self, terms: Iterable[str]) -> tuple[LongArray, FloatArray]:
        """Return (T,) columns, ascending, and (T,) counts of the terms that any text contains."""
        counter = Counter(self.vocabulary[term] for term in terms if term in self.vocabulary)
        columns = sorted(counter)
        counts = [counter[column] for column in columns]
        return np.array(columns, dtype=np.int64), np.array(counts, dtype=np.float64)


def count_terms(
    texts: Iterable[Sequence[str]], vocabulary: dict[str, int] | None = None
) -> TermCounts:
    """Return the term counts of texts, each given as a sequence of terms.

    If a ``vocabulary`` is given, new terms are added to it, so that several counts can share it.

    >>> counts = count_terms([["a", "b", "a"], []])
    >>> counts.matrix.toarray().tolist()
    [[2.0, 1.0], [0.0, 0.0]]
    >>> counts.lengths.tolist()
    [3.0, 0.0]
    """
    vocabulary = {} if vocabulary is None else vocabulary
    columns: list[int] = []
    values: list[int] = []
    starts = [0]
    for terms in texts:
        counter = Counter(terms)
        for term in counter:
            columns.append(vocabulary.setdefault(term, len(vocabulary)))
        values += counter.values()
        starts.append(len(columns))
    # Indices of 32 bits, where they suffice, halve the memory and make products faster.
    bounds = np.array(starts, dtype=np.int32 if starts[-1] < 2**31 else np.int64)
    arrays = (
        np.array(values, dtype=np.float64),
        np.array(columns, dtype=bounds.dtype),
        bounds,
    )
    matrix = sparse.csr_array(arrays, shape=(len(starts) - 1, len(vocabulary)))
    matrix.sort_indices()
    return TermCounts(matrix, vocabulary)


def textbook_idf(number: float, frequencies: FloatArray | LongArray) -> FloatArray:
    """Return (V,) ln(N / n_t), where n_t of N texts contain term t; 0 if n_t is 0."""
    return np.where(frequencies > 0, np.log(max(number, 1) / np.maximum(frequencies, 1)), 0.0)


@dataclass(eq=False)
class VectorSpace:
    """Texts as vectors of the weights (ln f + 1) idf of terms, compared by cosine.

    docs/method.md, section B.1.5, describes it.
    """

    counts: TermCounts
    idf: FloatArray
    """(V,) IDF of each term, 0 for a term of no text."""

    @classmethod
    def of_version(cls, counts: TermCounts, multiplicity: LongArray) -> VectorSpace:
        """Return the vector space of a version.

        ``multiplicity`` (B,) is the number of times that the version contains each text.
        """
        frequencies = counts.document_frequencies(multiplicity)
        return cls(counts, textbook_idf(int(multiplicity.sum()), frequencies))

    @cached_property
    def norms(self) -> FloatArray:
        """(B,) Euclidean norms of the texts' vectors."""
        norms: FloatArray = np.sqrt(self.counts.squared_log_tf @ self.idf**2)
        return norms

    def query_weights(self, terms: Iterable[str]) -> tuple[LongArray, FloatArray]:
        """Return (T,) columns, ascending, and (T,) weights of a report's terms.

        Terms that no text contains are ignored.
        """
        columns, counts = self.counts.query_counts(terms)
        return columns, (np.log(counts) + 1.0) * self.idf[columns]

    def cosine(self, terms: Iterable[str]) -> FloatArray:
        """Return (B,) the cosine of each text with the report's terms; 0/0 is 0."""
        columns, weights = self.query_weights(terms)
        query = np.zeros(len(self.idf))
        query[columns] = weights
        query_norm = np.sqrt((weights**2).sum())
        return divide_or_zero(self.counts.log_tf @ (query * self.idf), self.norms * query_norm)


def divide_or_zero(numerators: FloatArray, denominators: FloatArray) -> FloatArray:
    """Return the quotients; 0 if the denominator is not above 0."""
    zeros = np.zeros_like(numerators)
    return np.divide(numerators, denominators, out=zeros, where=denominators > 0)


def row_cosines(rows: sparse.csr_array, query: FloatArray, query_norm: float) -> FloatArray:
    """Return the cosine of each row with the query, whose norm is ``query_norm``; 0/0 is 0."""
    row_norms = np.sqrt(np.asarray(rows.power(2).sum(axis=1)).ravel())
    return divide_or_zero(rows @ query, row_norms * query_norm)


def plain_length_score(lengths: FloatArray) -> FloatArray:
    """Return the length score of BugLocator's paper: 1 / (1 + exp(-(x - min) / (max - min))).

    The scores range from .5 to .731.
    """
    return 1.0 / (1.0 + np.exp(-min_max(lengths)))


def step_length_score(lengths: FloatArray) -> FloatArray:
    """Return (F,) the length score of BugLocator's public code (docs/method.md, section B.3.3).

    Empty files get .5. The mean and the standard deviation (sigma) of all other lengths give two
    limits. Up to mean - 3 sigma a file gets .5, and from mean + 3 sigma on it gets 1.
    """
    nonempty = lengths[lengths > 0]
    if not len(nonempty):
        return np.full(len(lengths), 0.5)
    mean = float(nonempty.mean())
    sigma = float(nonempty.std())
    low = mean - 3 * sigma
    high = mean + 3 * sigma
    shortest = float(np.floor(low)) if low > 0 else 0.0
    span = high - shortest
    if span > 0:
        scores = 1.0 / (1.0 + np.exp(-6.0 * (lengths - shortest) / span))
    else:
        scores = np.full(len(lengths), 0.5)
    if sigma > 0:
        scores = np.where(lengths >= high, 1.0, scores)
        scores = np.where(lengths <= low, 0.5, scores)
    return np.where(lengths > 0, np.maximum(scores, 0.5), 0.5)
