"""The revised vector space model of BugLocator as the paper uses it: docs/method.md, section 2, feature 1.

w(t, d) = (1 + ln tf) ln(N / df_t), vectors of length 1; TextSimilarity = cos x 1 / (1 + exp(-lambda norm(#terms))).
N and df are of the searched version.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tosloc.index.corpus import COMMENT, FIELD, METHOD, TYPE, Corpus, VersionView
from tosloc.index.paths import PathTable
from tosloc.index.postings import Postings, known_terms, row_sums, summed
from tosloc.records import FloatArray, LongArray

if TYPE_CHECKING:
    from scipy import sparse

LENGTH_STEEPNESS = 10.0


def min_max(values: FloatArray) -> FloatArray:
    """Values moved to 0..1; all 0 when they are all equal.

    >>> min_max(np.array([2.0, 4.0, 3.0])).tolist()
    [0.0, 1.0, 0.5]
    """
    if not len(values):
        return values
    low, high = float(values.min()), float(values.max())
    return (values - low) / (high - low) if high > low else np.zeros_like(values)


def length_score(terms: FloatArray) -> FloatArray:
    """(F,) 1 / (1 + exp(-10 norm(#terms))): long files hold more bugs."""
    score: FloatArray = 1.0 / (1.0 + np.exp(-LENGTH_STEEPNESS * min_max(terms)))
    return score


@dataclass(frozen=True, eq=False)
class RevisedVectors:
    """rVSM of one version: length-1 term vectors of F files over V terms, by term."""

    postings: Postings
    """Files of each term, with (P,) components."""
    idf: FloatArray
    """(V,) ln(N / df); 0 for terms of no file."""
    length_scores: FloatArray
    """(F,)"""
    numbers: Mapping[str, int]
    """Term -> number."""

    @classmethod
    def of(cls, counts: sparse.csr_array, numbers: Mapping[str, int]) -> RevisedVectors:
        """From term counts (F, V)."""
        terms = counts.indices.astype(np.int32)
        frequency = np.bincount(terms, minlength=counts.shape[1])
        idf = np.log(counts.shape[0] / np.maximum(frequency, 1)) * (frequency > 0)
        weight = (1.0 + np.log(counts.data)) * idf[terms]
        starts = counts.indptr.astype(np.int64)
        norm = np.sqrt(np.maximum(row_sums(weight**2, starts), 0.0))
        weight = weight / np.repeat(np.where(norm > 0, norm, 1.0), np.diff(starts))
        lengths = np.asarray(counts.sum(axis=1), dtype=np.float64).ravel()
        return cls(Postings.invert(starts, terms, counts.shape[1], weight), idf, length_score(lengths), numbers)

    def similarity(self, weights: Mapping[str, float]) -> FloatArray:
        """(F,) TextSimilarity of every file to a report given as term -> 1 + ln tf."""
        terms, values = known_terms(self.numbers, weights)
        query = values * self.idf[terms]
        length = float(np.sqrt((query**2).sum())) or 1.0
        chosen = self.postings.select(terms)
        products = chosen.take(self.postings.values) * chosen.spread(query / length)
        return summed(chosen.take(self.postings.rows), products, len(self.length_scores)) * self.length_scores


class StructuredText:
    """The paper's text of a file (file name, type, method and field names, comments) for the versions of one corpus."""

    def __init__(self, corpus: Corpus, table: PathTable) -> None:
        from scipy import sparse  # here: the default features need none of it

        self.numbers = dict(corpus.term_ids)
        """Term -> number: those of the corpus, then those that only paths hold."""
        columns = np.array([self.numbers.setdefault(term, len(self.numbers)) for term in table.term_ids], np.int64)

        def by_row(lists: Postings, counts: FloatArray, numbers: LongArray, rows: int) -> sparse.csr_array:
            """(rows, V) counts from inverted lists of terms with these numbers."""
            terms = np.repeat(numbers, np.diff(lists.starts))[counts > 0]
            places = lists.rows[counts > 0], terms
            return sparse.csr_array((counts[counts > 0], places), shape=(rows, len(self.numbers)))

        of_blobs = corpus.postings.values[:, [COMMENT, METHOD, TYPE, FIELD]].sum(axis=1, dtype=np.float64)
        self.blobs = by_row(corpus.postings, of_blobs, np.arange(len(corpus.term_ids)), len(corpus))
        """(B, V) counts of the terms of each blob's names and comments."""
        self.names = by_row(table.postings, table.postings.values[:, 1], columns, len(table))
        """(N, V) counts of the terms of file names."""

    def version(self, view: VersionView) -> RevisedVectors:
        """Vectors and length scores of one version."""
        from scipy import sparse

        counts = self.names[view.snapshot.path_ids]
        if self.blobs.shape[0]:
            readable = sparse.diags_array((view.rows >= 0).astype(np.float64))
            counts = sparse.csr_array(readable @ self.blobs[np.maximum(view.rows, 0)] + counts)
        counts.eliminate_zeros()
        counts.sort_indices()
        return RevisedVectors.of(counts, self.numbers)
