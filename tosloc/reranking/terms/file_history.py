"""What commit messages and fixed reports said of each file, as sparse vectors: the history side of the dual encoder.

Letters in shapes: D documents, N paths, V terms with the padding, C files asked about.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from tosloc.index.documents import DAY, Documents
from tosloc.index.history_index import HistoryAsOf, HistoryIndex
from tosloc.records import BoolArray, FloatArray, IntArray, LongArray
from tosloc.reranking.terms.sparse_vectors import SparseVectorCache, SparseVectors
from tosloc.reranking.terms.vocabulary import TermVocabulary

YEAR = 365 * DAY
REPORT_WEIGHT = 1.5
"""How much more a fixed report says of a file than a commit message does."""


class FileHistories:
    """Histories of files, made when first asked for; one that says the same as before is not made again."""

    def __init__(
        self, history_index: HistoryIndex, vocabulary: TermVocabulary, paths: int, size: int, years: float
    ) -> None:
        self.cache = SparseVectorCache(size)
        self._size, self._seconds = size, years * YEAR
        commits, reports = history_index.commits, history_index.reports
        self._texts = sparse.vstack(
            (
                vectors(commits, vocabulary, vocabulary.in_commits),
                REPORT_WEIGHT * vectors(reports, vocabulary, vocabulary.in_fixes),
            ),
            format="csr",
        )
        self._times = np.concatenate((commits.times, reports.times)).astype(np.float64)
        documents = np.concatenate((commits.pair_document, reports.pair_document + len(commits)))
        files = np.concatenate((commits.files, reports.files))
        kept = files < paths
        ones = np.ones(int(kept.sum()), dtype=np.int8)
        self._of_file = sparse.csr_array(
            (ones, (files[kept], documents[kept])), shape=(paths, len(commits) + len(reports))
        )
        # the sum of its documents' marks stands for a set of documents
        self._marks = np.random.default_rng(0).integers(0, 2**64, len(self._times), dtype=np.uint64)

    def rows(self, files: IntArray, history: HistoryAsOf) -> LongArray:
        """(C,) rows, in the cache, of what was known of the files."""
        known: BoolArray = np.concatenate((history.commits.known, history.reports.known))
        held = self._of_file[files]
        heard = known[held.indices]
        running = np.concatenate((np.zeros(1, dtype=np.uint64), np.cumsum(self._marks[held.indices] * heard)))
        marks = running[held.indptr[1:]] - running[held.indptr[:-1]]
        keys = list(zip(files.tolist(), marks.tolist(), strict=True))
        return self.cache.rows(keys, lambda new: self._made(held[new], known))

    def _made(self, held: sparse.csr_array, known: BoolArray) -> SparseVectors:
        """Vectors of files from the documents (C, D) that touched them."""
        owners = np.repeat(np.arange(held.shape[0]), np.diff(held.indptr))
        times = np.where(known[held.indices], self._times[held.indices], -np.inf)
        newest = np.full(held.shape[0], -np.inf)
        np.maximum.at(newest, owners, times)
        # only ages among a file's own documents count: its vector has length 1 whatever the time
        newest[np.isinf(newest)] = 0.0
        decayed = np.exp((times - newest[owners]) / self._seconds)
        joined = sparse.csr_array((decayed, held.indices, held.indptr), shape=held.shape) @ self._texts
        joined.data = np.sqrt(joined.data)
        return SparseVectors.heaviest(joined, self._size)


def vectors(documents: Documents, vocabulary: TermVocabulary, rare: FloatArray) -> sparse.csr_array:
    """(D, V) (1 + ln tf) IDF of each document, of length 1 / sqrt(files that it touched)."""
    terms = vocabulary.numbers(documents.vocabulary)[documents.terms]
    owners = np.repeat(np.arange(len(documents)), np.diff(documents.starts))
    known = terms > 0
    terms, owners = terms[known], owners[known]
    weights = (1.0 + np.log(documents.counts[known].astype(np.float64))) * rare[terms]
    squares = np.bincount(owners, weights=weights**2, minlength=len(documents))
    length = np.sqrt(squares * np.maximum(documents.sizes, 1.0))
    values = weights / np.where(length > 0, length, 1.0)[owners]
    return sparse.csr_array((values, (owners, terms)), shape=(len(documents), len(vocabulary)))
