"""Score the texts of files for a report: BM25 of fields, of whole texts and of chunks, and rVSM.

BM25 is query weight x IDF x saturated term frequency, summed over the report's terms (Robertson and
Zaragoza 2009, equations 3.15 and 3.22).

rVSM, the revised vector space model of BugLocator as the paper uses it (docs/method.md, section 2,
feature 1): w(t, d) = (1 + ln tf) ln(N / df_t), vectors of length 1; TextSimilarity = cos x 1 / (1 +
exp(-lambda norm(#terms))). N is the number of files of the searched version, and df_t the number of
those that contain term t.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from tosloc.core.arrays import Float32Array, FloatArray, LongArray
from tosloc.retrieval.texts.corpus import (
    ALL_TEXT,
    CODE,
    COMMENT,
    FIELD,
    METHOD,
    STRING,
    TYPE,
    Corpus,
    VersionTexts,
)
from tosloc.retrieval.texts.formulas import K1, Fractions, length_norm, saturate_tf
from tosloc.retrieval.texts.postings import Postings, group_sum, known_terms, row_sums

if TYPE_CHECKING:
    from scipy import sparse

    from tosloc.retrieval.paths.path_index import PathTable

FieldCounts: TypeAlias = Float32Array
"""(P, 6) counts of a term by field, one column after the other in memory."""
Formula: TypeAlias = Callable[[VersionTexts, Float32Array, LongArray], Fractions]
"""Function that returns the (P,) saturated frequencies of postings.

Its arguments are a version, and the postings' counts (P, ...) and rows (P,).
"""


@dataclass(frozen=True)
class Field:
    """BM25 formula over the sum of one or more columns of a file's counts."""

    columns: tuple[int, ...]
    """Columns of ``FIELDS`` whose counts are added."""
    length: int
    """Column of the text's length."""
    b: float = 0.4
    """Strength of the length normalisation."""

    def __call__(self, view: VersionTexts, counts: FieldCounts, rows: LongArray) -> Float32Array:
        """Return the saturated frequency (P,) of each posting.

        ``counts`` (P, 6) are the term's counts in each field, and ``rows`` (P,) the blobs.
        """
        if self not in view.norms:
            lengths = view.corpus.lengths[:, self.length]
            norm = length_norm(lengths, view.averages[self.length], K1, self.b)
            view.norms[self] = norm.astype(np.float32)
        first, *others = self.columns
        total = counts[:, first]
        for column in others:
            total = total + counts[:, column]
        return saturate_tf(total, view.norms[self].take(rows), K1)


CODE_FIELD: Final = Field((CODE,), CODE)
"""BM25 of a file's code."""
METHOD_FIELD: Final = Field((METHOD,), METHOD)
"""BM25 of the names of a file's methods."""
TYPE_FIELD: Final = Field((TYPE,), TYPE)
"""BM25 of the names of a file's types."""
WHOLE: Final = Field((CODE, COMMENT, STRING), ALL_TEXT, b=0.3)
"""BM25 of a file's whole text."""
FIELD_WEIGHTS: Final = ((CODE, 1.0), (COMMENT, 0.5), (STRING, 0.5), (METHOD, 4.0), (TYPE, 40.0))
"""Columns of the fields in BM25F with their weights."""


def bm25f(view: VersionTexts, counts: FieldCounts, rows: LongArray) -> Float32Array:
    """Return (P,) saturated frequencies of BM25F with ``FIELD_WEIGHTS``, k1 = 4 and b = .4."""
    total = np.zeros(len(rows), dtype=np.float32)
    for column, weight in FIELD_WEIGHTS:
        if (column, weight) not in view.norms:
            norm = length_norm(view.corpus.lengths[:, column], view.averages[column], 1.0, 0.4)
            view.norms[column, weight] = (weight / norm).astype(np.float32)
        total += counts[:, column] * view.norms[column, weight].take(rows)
    return saturate_tf(total, 4.0, 4.0)


def term_coverage(_: VersionTexts, counts: FieldCounts, rows: LongArray) -> Float32Array:
    """Return (P,) 1 for each posting whose text contains the term, otherwise 0."""
    text_counts = counts[:, CODE] + counts[:, COMMENT] + counts[:, STRING]
    return (text_counts > 0).astype(np.float32)


def chunk_frequency(_: VersionTexts, counts: Float32Array, rows: LongArray) -> FloatArray:
    """Return (P,) saturated frequencies of terms in chunks, without length normalisation."""
    return saturate_tf(counts.astype(np.float64), K1, K1)


class Hits:
    """The postings of a report's terms, selected once and scored with several formulas.

    Their rows are the blobs of a version by default, or the ``rows`` of ``postings`` if these are
    given.
    """

    def __init__(
        self,
        view: VersionTexts,
        terms: LongArray,
        postings: Postings | None = None,
        rows: int | None = None,
    ) -> None:
        self.view = view
        self.idf = view.idf(terms)
        """(T,) inverse document frequency of the terms."""
        self.rows = rows or len(view.corpus)
        """R, the number of rows."""
        selection = (postings or view.corpus.postings).select(terms)
        self._selection = selection
        # NumPy converts indexes of other types at each use.
        self._row_ids: LongArray = selection.rows.astype(np.int64)
        self._counts: Float32Array = np.asarray(selection.values, dtype=np.float32, order="F")
        self._saturated: dict[Formula, Fractions] = {}

    def scores(self, formula: Formula, weights: FloatArray) -> FloatArray:
        """Return (n,) for each row the sum over terms of weight x IDF x saturated frequency.

        ``weights`` are (T,).
        """
        if formula not in self._saturated:
            self._saturated[formula] = formula(self.view, self._counts, self._row_ids)
        term_weights = self._selection.expand(weights * self.idf)
        return group_sum(self._row_ids, self._saturated[formula] * term_weights, self.rows)

    def terms_in_row(self, row: int) -> tuple[LongArray, Float32Array]:
        """Return the positions of the terms that a row contains, and the counts of each of them."""
        postings = np.flatnonzero(self._row_ids == row)
        terms = np.searchsorted(np.cumsum(self._selection.sizes), postings, side="right")
        return terms, self._counts[postings]


# ---- rVSM


def min_max(values: FloatArray) -> FloatArray:
    """Return the values scaled to 0..1; all are 0 if they are equal.

    >>> min_max(np.array([2.0, 4.0, 3.0])).tolist()
    [0.0, 1.0, 0.5]
    """
    width = np.ptp(values) if len(values) else 0.0
    return (values - values.min()) / width if width > 0 else np.zeros_like(values)


@dataclass(frozen=True, eq=False)
class RevisedVectors:
    """rVSM of one version: vectors of length 1 over terms of names, comments and file names."""

    vectors: sparse.csc_array
    """(F, V) vectors of the files."""
    idf: FloatArray
    """(V,) ln(N / df), where df of the N files contain the term; 0 if df is 0."""
    length_scores: FloatArray
    """(F,) 1 / (1 + exp(-10 norm(#terms))): long files contain more bugs."""
    numbers: Mapping[str, int]
    """Term -> its column in ``vectors``."""

    @classmethod
    def of(cls, view: VersionTexts, table: PathTable) -> RevisedVectors:
        """Return the vectors of a version whose paths are in ``table``."""
        from scipy import sparse  # Imported here because default features need none of it.

        numbers, blob_counts, name_counts = view.corpus.remember(_term_counts, table)
        counts = sparse.csr_array(blob_counts[view.rows] + name_counts[view.snapshot.path_ids])
        terms = counts.indices
        starts = counts.indptr
        frequency = np.bincount(terms, minlength=len(numbers))
        idf = np.log(view.files / np.maximum(frequency, 1)) * (frequency > 0)
        length_scores = 1.0 / (1.0 + np.exp(-10.0 * min_max(row_sums(counts.data, starts))))
        weights = (1.0 + np.log(counts.data)) * idf[terms]
        norms = np.sqrt(np.maximum(row_sums(weights**2, starts), 0.0))
        weights = weights / np.repeat(np.where(norms > 0, norms, 1.0), np.diff(starts))
        vectors = sparse.csr_array((weights, terms, starts), shape=counts.shape)
        return cls(vectors.tocsc(), idf, length_scores, numbers)

    def similarity(self, weights: Mapping[str, float]) -> FloatArray:
        """Return (F,) TextSimilarity of every file to a report given as term -> 1 + ln tf."""
        terms, values = known_terms(self.numbers, weights)
        query = values * self.idf[terms]
        length = float(np.sqrt((query**2).sum())) or 1.0
        similarities: FloatArray = self.vectors[:, terms] @ (query / length)
        return similarities * self.length_scores


def _term_counts(
    corpus: Corpus, table: PathTable
) -> tuple[dict[str, int], sparse.csr_array, sparse.csr_array]:
    """Return the number of each term, and the counts of terms in blobs and in file names.

    The counts of blobs (B + 1, V) are those of declared names and comments; the last row stands for
    a file without a blob. The counts of file names are (N, V).
    """
    numbers = dict(corpus.terms)
    for term in table.term_ids:
        numbers.setdefault(term, len(numbers))
    path_terms = np.array([numbers[term] for term in table.term_ids], np.int64)
    corpus_terms = np.arange(len(corpus.terms))
    fields = corpus.postings.values[:, [COMMENT, METHOD, TYPE, FIELD]]
    blob_counts = fields.sum(axis=1, dtype=np.float64)
    name_counts = table.postings.values[:, 1]
    blob_shape = (len(corpus) + 1, len(numbers))
    name_shape = (len(table), len(numbers))
    return (
        numbers,
        _sparse_counts(corpus.postings, blob_counts, corpus_terms, blob_shape),
        _sparse_counts(table.postings, name_counts, path_terms, name_shape),
    )


def _sparse_counts(
    postings: Postings, counts: npt.NDArray[Any], terms: LongArray, shape: tuple[int, int]
) -> sparse.csr_array:
    """Return the (P,) counts of postings as a matrix; ``terms`` are the columns of their terms."""
    from scipy import sparse

    matrix = sparse.csr_array((counts, (postings.rows, terms[postings.terms])), shape=shape)
    matrix.eliminate_zeros()
    return matrix
