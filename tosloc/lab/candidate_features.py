"""Features of the first files of a ranking, by what they hold: words that mean the same, and who uses what who defines.

A study of what these add to stage one on projects that it never saw; [what it found](docs/results.md). Nothing of it is
shipped.

Shapes: C candidates of a report, T terms of their facts, Q terms of the report, N chunks, d width of a term's vector.
"""

from __future__ import annotations

import math
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final, Self

import numpy as np
from scipy import sparse
from scipy.special import softmax

from tosloc.analysis import text
from tosloc.analysis.languages import FIELDS
from tosloc.arrays import checked
from tosloc.errors import ToslocError
from tosloc.index.fact_table import FactTable
from tosloc.index.postings import idf
from tosloc.index.query import Query
from tosloc.records import Float32Array, FloatArray, LongArray
from tosloc.reranking.base import Candidates

_TERMS: Final = 64
"""Heaviest terms of a report's summary, or of its description, that are looked for."""
_SHARPNESS: Final = 3
"""Power of the cosine of two terms: .9 counts .73, .5 counts .13."""
_LEAST_PART: Final = 3
"""Letters of a part of a word that has no vector of its own."""
_LEADERS: Final = 20
"""First files from which uses and definitions are followed."""
_FLOW: Final = 0.3
"""How much of what flows to a file counts beside its own share."""
_LEAST_SHARE: Final = 1e-4

_SIDES: Final = ("summary", "description")
WORDS: Final = tuple(f"{side}_{how}" for side in _SIDES for how in ("exact", "late", "mean", "path"))
"""Features of ``TermVectors.words``."""
USES: Final = ("callee", "user")
"""Features of ``uses``."""


@dataclass(frozen=True)
class CandidateFeatures:
    """Features that are made together."""

    names: tuple[str, ...]
    values: Callable[[Candidates, FactTable, LongArray], Mapping[str, FloatArray]]
    """(candidates, facts, (C,) the row of each candidate) -> (C,) values of each name."""


@dataclass(frozen=True, eq=False)
class TermVectors:
    """Pretrained vectors of terms."""

    rows: Mapping[str, int]
    vectors: Float32Array
    """(V, d) each of length 1."""

    @classmethod
    def read(cls, path: Path) -> Self:
        """From an archive of ``tokens`` (bytes), ``vectors`` (int8) and ``scale``: a term's vector is its words' mean.

        Raises ToslocError when it is none, or lacks one of them.
        """
        try:
            with np.load(path, allow_pickle=False) as archive:  # words are no plain numbers, as tosloc.arrays has them
                arrays = {name: archive[name] for name in ("tokens", "vectors", "scale")}
            words = [bytes(word).decode("utf-8", "replace") for word in arrays["tokens"].tolist()]
            packed = checked(arrays, "vectors", np.int8, len(words), None)
            scale = checked(arrays, "scale", np.float32, packed.shape[1])
        except (OSError, EOFError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
            raise ToslocError(f"{path} is no archive of tokens, vectors and scale ({error}); give one") from error
        rows: dict[str, int] = {}
        terms = [text.identifier_terms(word) for word in words]
        owners = np.array([rows.setdefault(term[0], len(rows)) if len(term) == 1 else -1 for term in terms])
        sums = np.zeros((len(rows), packed.shape[1]), dtype=np.float32)
        known = np.flatnonzero(owners >= 0)
        np.add.at(sums, owners[known], packed[known].astype(np.float32) * scale.astype(np.float32))
        return cls(rows, _unit(sums))

    def of(self, term: str) -> Float32Array:
        """(d,) the vector of a term, or of its longest parts that have one; 0 where nothing is known."""
        if term in self.rows:
            return self._own(term)
        parts: list[int] = []
        start = 0
        while start + _LEAST_PART <= len(term):
            ends = range(len(term), start + _LEAST_PART - 1, -1)
            end = next((end for end in ends if term[start:end] in self.rows), start + 1)
            if end > start + 1:
                parts.append(self.rows[term[start:end]])
            start = end
        whole: Float32Array = _unit(self.vectors[parts].sum(axis=0, keepdims=True))[0]
        return whole

    def words(self, candidates: Candidates, table: FactTable, rows: LongArray) -> dict[str, FloatArray]:
        """How well summary and description are answered by a file's best chunk and by its path.

        "exact": the share of the terms, by IDF among the candidates, that stand there. "late": each term of the report
        counts by its nearest term (late interaction, Khattab and Zaharia 2020). "mean": cosine of the mean vectors.
        """
        query, count, width = Query(candidates.report), len(candidates), self.vectors.shape[1]
        rare = idf(count, _holders(_files(table, rows)))
        known = {term: number for number, term in enumerate(table.vocabulary)}
        of_terms = _unit(np.array([self._own(term) for term in table.vocabulary]).reshape(len(known), width))
        chunks, chunk_starts = _chunks(table, rows)
        means = _unit(chunks @ (of_terms * rare[:, None].astype(np.float32)))
        paths = [text.terms(path.rpartition(".")[0].replace("/", " ")) for path in candidates.paths]
        unknown = float(idf(count, np.zeros(1, dtype=np.int64))[0])
        made = {}
        for side, said in zip(_SIDES, (query.title, query.parts.prose), strict=True):
            weighed = {
                term: (1.0 + math.log(number)) * (rare[known[term]] if term in known else unknown)
                for term, number in Counter(text.terms(said)).items()
            }
            asked = sorted(weighed, key=lambda term: (-weighed[term], term))[:_TERMS]
            weights = np.array([weighed[term] for term in asked])
            weights /= max(weights.sum(), 1e-12)
            vectors = np.array([self.of(term) for term in asked], dtype=np.float32).reshape(len(asked), width)
            near = np.maximum(of_terms @ vectors.T, 0.0) ** _SHARPNESS if asked else np.zeros((len(known), 0))
            same = np.zeros_like(near)
            for place, term in enumerate(asked):
                if term in known:
                    same[known[term], place] = near[known[term], place] = 1.0
            mean = _unit((weights @ vectors)[None])[0] if asked else np.zeros(width)
            made[f"{side}_exact"] = _best(_largest(same, chunks) @ weights, chunk_starts)
            made[f"{side}_late"] = _best(_largest(near, chunks) @ weights, chunk_starts)
            made[f"{side}_mean"] = _best(means @ mean, chunk_starts)
            made[f"{side}_path"] = np.array([self._answered(asked, vectors, path) @ weights for path in paths])
        return made

    def _own(self, term: str) -> Float32Array:
        if term not in self.rows:
            return np.zeros(self.vectors.shape[1], dtype=np.float32)
        vector: Float32Array = self.vectors[self.rows[term]]
        return vector

    def _answered(self, asked: list[str], vectors: Float32Array, path: list[str]) -> FloatArray:
        """(Q,) how near the nearest word of a path is to each term."""
        if not path or not asked:
            return np.zeros(len(asked))
        near = np.maximum(vectors @ np.array([self.of(word) for word in path]).T, 0.0).max(axis=1) ** _SHARPNESS
        answered: FloatArray = np.maximum(near, [term in path for term in asked]).astype(np.float64)
        return answered


def uses(candidates: Candidates, table: FactTable, rows: LongArray) -> dict[str, FloatArray]:
    """What flows from the first files to those that define what they use, and to those that use what they define.

    Each of the first files hands on its share: "callee" to the definers of the names in its best chunk, by IDF over
    squared definers; "user" to the users of what it defines, by IDF over definers and users. A file's value is
    ln(1 + .3 flow / (its own share + .0001)). Only the candidates are looked at.
    """
    count, leaders = len(candidates), min(_LEADERS, len(candidates))
    share = softmax(candidates.scores)
    defined = (_files(table, rows, ("method", "type")) > 0).astype(np.float64)
    coded = (_files(table, rows, ("code",)) > 0).astype(np.float64)
    used = (coded - coded.multiply(defined)).tocsr()
    rare = idf(count, _holders(_files(table, rows)))
    definers, users = np.maximum(_holders(defined), 1), np.maximum(_holders(coded), 1)
    weights = np.zeros(len(table.vocabulary))
    known = {term: number for number, term in enumerate(table.vocabulary)}
    for term, weight in Query(candidates.report).weights.items():
        if term in known:
            weights[known[term]] = weight * rare[known[term]]
    chunks, starts = _chunks(table, rows[:leaders])
    told = chunks @ weights
    best = np.array([first + int(np.argmax(told[first:last])) for first, last in pairwise(starts.tolist())])
    said = (chunks[best] > 0).astype(np.float64)
    said = said - said.multiply(defined[:leaders])

    def flow(edges: sparse.csr_array) -> FloatArray:
        dense = edges.toarray()
        np.fill_diagonal(dense, 0.0)
        dense /= np.maximum(dense.sum(axis=0, keepdims=True), 1e-12)
        value: FloatArray = np.log1p(_FLOW * (dense @ share[:leaders]) / (share + _LEAST_SHARE))
        return value

    return {
        "callee": flow(defined @ said.multiply(rare / definers**2).tocsr().T),
        "user": flow(used @ defined[:leaders].multiply(rare / definers / users).tocsr().T),
    }


def _files(table: FactTable, rows: LongArray, fields: tuple[str, ...] = FIELDS) -> sparse.csr_array:
    """(C, T) counts in some fields; a file without facts has none."""
    counts = table.counts[:, [FIELDS.index(name) for name in fields]].sum(axis=1, dtype=np.float64)
    whole = sparse.csr_array((counts, table.terms, table.starts), shape=(len(table), len(table.vocabulary)))
    made = whole[rows]
    made.eliminate_zeros()
    return made


def _holders(files: sparse.csr_array) -> LongArray:
    """(T,) how many files (C, T) hold each term."""
    return np.diff(files.tocsc().indptr).astype(np.int64)


def _chunks(table: FactTable, rows: LongArray) -> tuple[sparse.csr_array, LongArray]:
    """(N, T) counts of the files' chunks, one file after the other, and (C + 1,) where each file's begin."""
    number = len(table.chunk_posting_starts) - 1
    counts = np.log1p(table.chunk_counts.astype(np.float32))
    whole = sparse.csr_array(
        (counts, table.chunk_terms, table.chunk_posting_starts), shape=(number, len(table.vocabulary))
    )
    firsts, lasts = table.chunk_starts[rows], table.chunk_starts[rows + 1]
    chosen = np.concatenate([np.arange(first, last) for first, last in zip(firsts, lasts, strict=True)])
    return whole[chosen], np.concatenate(([0], np.cumsum(lasts - firsts)))


def _largest(near: FloatArray, chunks: sparse.csr_array) -> FloatArray:
    """(N, Q) of each chunk the largest value of its terms (T, Q); 0 of an empty one."""
    made, filled = np.zeros((chunks.shape[0], near.shape[1])), np.diff(chunks.indptr) > 0
    if filled.any():
        made[filled] = np.maximum.reduceat(near[chunks.indices], chunks.indptr[:-1][filled], axis=0)
    return made


def _best(values: FloatArray, starts: LongArray) -> FloatArray:
    """(C,) of each file the largest value of its chunks (N,)."""
    best: FloatArray = np.maximum.reduceat(values, starts[:-1])
    return best


def _unit(rows: Float32Array) -> Float32Array:
    length = np.sqrt((rows**2).sum(axis=1, keepdims=True))
    unit: Float32Array = (rows / np.maximum(length, 1e-12)).astype(np.float32)
    return unit
