"""The texts of files against a report: BM25 of fields, of the whole and of chunks, and the paper's rVSM.

BM25: query weight x IDF x saturated frequency, summed over the report's terms (Robertson and Zaragoza 2009, equations
3.15 and 3.22). The revised vector space model of BugLocator as the paper uses it (docs/method.md, section 2, feature
1): w(t, d) = (1 + ln tf) ln(N / df_t), vectors of length 1; TextSimilarity = cos x 1 / (1 + exp(-lambda norm(#terms))).
N and df are of the searched version.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from tosloc.core.records import Float32Array, FloatArray, IntArray, LongArray
from tosloc.retrieval.corpus import (
    ALL_TEXT,
    CODE,
    COMMENT,
    FIELD,
    METHOD,
    STRING,
    TYPE,
    Corpus,
    VersionView,
)
from tosloc.retrieval.formulas import K1, Fractions, length_norm, saturate_tf
from tosloc.retrieval.postings import Postings, group_sum, known_terms, row_sums

if TYPE_CHECKING:
    from scipy import sparse

    from tosloc.retrieval.paths import PathTable

FieldCounts: TypeAlias = npt.NDArray[np.uint16]
Formula: TypeAlias = Callable[[VersionView, npt.NDArray[Any], IntArray], Fractions]
"""Of a version, and of postings their counts (P, ...) and rows (P,): saturated frequencies (P,)."""


@dataclass(frozen=True)
class Field:
    """BM25 of one or more columns of a file's counts."""

    columns: tuple[int, ...]
    length: int  # column of its length
    b: float = 0.4

    def __call__(self, view: VersionView, counts: FieldCounts, rows: IntArray) -> Float32Array:
        """(P,) saturated frequencies of counts (P, 6) in blobs (P,)."""
        if self not in view.norms:
            norm = length_norm(
                view.corpus.lengths[:, self.length], view.averages[self.length], K1, self.b
            )
            view.norms[self] = norm.astype(np.float32)
        total = np.sum([counts[:, column].astype(np.float32) for column in self.columns], axis=0)
        return saturate_tf(total, view.norms[self].take(rows), K1)


CODE_FIELD: Final = Field((CODE,), CODE)
METHOD_FIELD: Final = Field((METHOD,), METHOD)
TYPE_FIELD: Final = Field((TYPE,), TYPE)
WHOLE: Final = Field((CODE, COMMENT, STRING), ALL_TEXT, b=0.3)
FIELD_WEIGHTS: Final = ((CODE, 1.0), (COMMENT, 0.5), (STRING, 0.5), (METHOD, 4.0), (TYPE, 40.0))


def bm25f(view: VersionView, counts: FieldCounts, rows: IntArray) -> Float32Array:
    """BM25F, k1 4, b .4; code 1, comments .5, strings .5, method names 4, type names 40."""
    total = np.zeros(len(rows), dtype=np.float32)
    for column, weight in FIELD_WEIGHTS:
        if (column, weight) not in view.norms:
            norm = length_norm(view.corpus.lengths[:, column], view.averages[column], 1.0, 0.4)
            view.norms[column, weight] = (weight / norm).astype(np.float32)
        total += counts[:, column] * view.norms[column, weight].take(rows)
    return saturate_tf(total, 4.0, 4.0)


def term_coverage(_: VersionView, counts: FieldCounts, rows: IntArray) -> Float32Array:
    """1 where the text holds the term at all."""
    return ((counts[:, CODE] | counts[:, COMMENT] | counts[:, STRING]) > 0).astype(np.float32)


def chunk_frequency(_: VersionView, counts: npt.NDArray[np.uint8], rows: IntArray) -> FloatArray:
    """BM25 of chunks of 50 lines (10 lines of overlap), without length normalisation."""
    return saturate_tf(counts.astype(np.float64), K1, K1)


class Hits:
    """The postings of a report's terms, selected once and scored in several ways. R rows, T terms, P postings.

    The rows are the blobs of a version, unless other ``postings`` say what holds the terms.
    """

    def __init__(
        self,
        view: VersionView,
        terms: LongArray,
        postings: Postings | None = None,
        rows: int | None = None,
    ) -> None:
        self.view, self.idf, self.rows = view, view.idf(terms), rows or len(view.corpus)
        self.selection = (postings or view.corpus.postings).select(terms)
        self._groups = self.selection.rows.astype(
            np.int64
        )  # counting by other integers converts them each time
        self._saturated: dict[Formula, Fractions] = {}

    def scores(self, formula: Formula, weights: FloatArray) -> FloatArray:
        """(R,) sum over terms of weight (T,) x IDF x saturated frequency."""
        found = self.selection
        if formula not in self._saturated:
            self._saturated[formula] = formula(self.view, found.values, found.rows)
        return group_sum(
            self._groups, self._saturated[formula] * found.expand(weights * self.idf), self.rows
        )

    def terms_in_row(self, row: int) -> tuple[LongArray, npt.NDArray[Any]]:
        """Which of the terms a row holds, as places among them, and their counts in it."""
        found = np.flatnonzero(self.selection.rows == row)
        return np.searchsorted(
            np.cumsum(self.selection.sizes), found, side="right"
        ), self.selection.values[found]


# ---- rVSM


def min_max(values: FloatArray) -> FloatArray:
    """Values moved to 0..1; all 0 when they are all equal.

    >>> min_max(np.array([2.0, 4.0, 3.0])).tolist()
    [0.0, 1.0, 0.5]
    """
    width = np.ptp(values) if len(values) else 0.0
    return (values - values.min()) / width if width > 0 else np.zeros_like(values)


@dataclass(frozen=True, eq=False)
class RevisedVectors:
    """rVSM of one version: length-1 vectors of F files over V terms (of names, comments, file names)."""

    vectors: sparse.csc_array  # (F, V)
    idf: FloatArray  # (V,) ln(N / df); 0 for terms of no file
    length_scores: FloatArray  # (F,) 1 / (1 + exp(-10 norm(#terms))): long files hold more bugs
    numbers: Mapping[str, int]  # term -> number

    @classmethod
    def of(cls, view: VersionView, table: PathTable) -> RevisedVectors:
        """Vectors and length scores of a version whose paths are in the table."""
        from scipy import sparse  # here: the default features need none of it

        numbers, blobs, names = view.corpus.remember(_term_counts, table)
        counts = sparse.csr_array(blobs[view.rows] + names[view.snapshot.path_ids])
        terms, starts = counts.indices, counts.indptr
        frequency = np.bincount(terms, minlength=len(numbers))
        idf = np.log(view.files / np.maximum(frequency, 1)) * (frequency > 0)
        lengths = 1.0 / (1.0 + np.exp(-10.0 * min_max(row_sums(counts.data, starts))))
        weight = (1.0 + np.log(counts.data)) * idf[terms]
        norm = np.sqrt(np.maximum(row_sums(weight**2, starts), 0.0))
        weight = weight / np.repeat(np.where(norm > 0, norm, 1.0), np.diff(starts))
        vectors = sparse.csr_array((weight, terms, starts), shape=counts.shape)
        return cls(vectors.tocsc(), idf, lengths, numbers)

    def similarity(self, weights: Mapping[str, float]) -> FloatArray:
        """(F,) TextSimilarity of every file to a report given as term -> 1 + ln tf."""
        terms, values = known_terms(self.numbers, weights)
        query = values * self.idf[terms]
        length = float(np.sqrt((query**2).sum())) or 1.0
        similarities: FloatArray = self.vectors[:, terms] @ (query / length)
        return similarities * self.length_scores


def _term_counts(
    corpus: Corpus, table: PathTable
) -> tuple[dict[str, int], sparse.csr_array, sparse.csr_array]:
    """Number of each term, counts (B + 1, V) of the blobs' names and comments, the last of no blob, and (N, V) of file
    names.
    """
    from scipy import sparse

    numbers = dict(corpus.terms)  # then those that only paths hold
    columns = np.array(
        [numbers.setdefault(term, len(numbers)) for term in table.term_ids], np.int64
    )
    of_blobs = corpus.postings.values[:, [COMMENT, METHOD, TYPE, FIELD]].sum(
        axis=1, dtype=np.float64
    )
    made = []
    for lists, counts, terms, rows in (
        (corpus.postings, of_blobs, np.arange(len(corpus.terms)), len(corpus) + 1),
        (table.postings, table.postings.values[:, 1], columns, len(table)),
    ):
        made.append(
            sparse.csr_array((counts, (lists.rows, terms[lists.terms])), shape=(rows, len(numbers)))
        )
        made[-1].eliminate_zeros()
    return numbers, made[0], made[1]
