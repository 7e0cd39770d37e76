"""BM25 and BM25F over the fields of files (Robertson and Zaragoza 2009, equations 3.15 and 3.22).

Query weight x IDF x saturated term frequency, summed over the report's terms. A posting's saturation does not depend on
the report: for a version that stays in memory (``VersionView.resident``) it is computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tosloc.index.corpus import ALL_TEXT, CODE, COMMENT, METHOD, STRING, TYPE, VersionView
from tosloc.index.postings import LARGEST_KEPT, QUERIES_BEFORE_ALL, summed
from tosloc.records import Float32Array, FloatArray, IntArray, LongArray

FieldCounts = npt.NDArray[np.uint16]
Saturation = Callable[[VersionView, FieldCounts, IntArray], Float32Array]
"""(counts (P, 6), rows (P,)) -> saturated frequency (P,)."""

FIELD_WEIGHTS = ((CODE, 1.0), (COMMENT, 0.5), (STRING, 0.5), (METHOD, 4.0), (TYPE, 40.0))


def _saturate(
    frequency: Float32Array, view: VersionView, rows: IntArray, column: int, k1: float, b: float
) -> Float32Array:
    length: npt.NDArray[Any] | None = view.norms.get((column, k1, b))
    if length is None:
        relative = view.corpus.lengths[:, column] / view.averages[column]
        length = (k1 * (1 - b + b * relative)).astype(np.float32)
        view.norms[column, k1, b] = length
    value: Float32Array = frequency * np.float32(k1 + 1) / (frequency + length.take(rows))
    return value


def code_field(view: VersionView, counts: FieldCounts, rows: IntArray) -> Float32Array:
    """BM25 of identifiers in code, k1 1.2, b .4."""
    return _saturate(counts[:, CODE].astype(np.float32), view, rows, CODE, 1.2, 0.4)


def method_field(view: VersionView, counts: FieldCounts, rows: IntArray) -> Float32Array:
    """BM25 of declared method names, k1 1.2, b .4."""
    return _saturate(counts[:, METHOD].astype(np.float32), view, rows, METHOD, 1.2, 0.4)


def type_field(view: VersionView, counts: FieldCounts, rows: IntArray) -> Float32Array:
    """BM25 of declared type names, k1 1.2, b .4."""
    return _saturate(counts[:, TYPE].astype(np.float32), view, rows, TYPE, 1.2, 0.4)


def string_field(view: VersionView, counts: FieldCounts, rows: IntArray) -> Float32Array:
    """BM25 of string literals, k1 1.2, b .4."""
    return _saturate(counts[:, STRING].astype(np.float32), view, rows, STRING, 1.2, 0.4)


def whole(view: VersionView, counts: FieldCounts, rows: IntArray) -> Float32Array:
    """BM25 of all text, k1 1.2, b .3."""
    total = counts[:, CODE].astype(np.float32)
    total += counts[:, COMMENT]
    total += counts[:, STRING]
    return _saturate(total, view, rows, ALL_TEXT, 1.2, 0.3)


def held(view: VersionView, counts: FieldCounts, rows: IntArray) -> Float32Array:
    """1 where the text holds the term at all."""
    value: Float32Array = ((counts[:, CODE] | counts[:, COMMENT] | counts[:, STRING]) > 0).astype(np.float32)
    return value


def fielded(view: VersionView, counts: FieldCounts, rows: IntArray) -> Float32Array:
    """BM25F, k1 4, b .4; code 1, comments .5, strings .5, method names 4, type names 40."""
    k1, b = 4.0, 0.4
    total = np.zeros(len(rows), dtype=np.float32)
    for column, weight in FIELD_WEIGHTS:
        scale = view.norms.get((column, weight))
        if scale is None:
            scale = (weight / (1 - b + b * view.corpus.lengths[:, column] / view.averages[column])).astype(np.float32)
            view.norms[column, weight] = scale
        total += counts[:, column] * scale.take(rows)
    value: Float32Array = total * np.float32(k1 + 1) / (total + np.float32(k1))
    return value


def worth_keeping(view: VersionView, postings: int) -> bool:
    """Whether what is the same for every query is to be computed for all of so many postings of a version."""
    return view.resident and view.queries >= QUERIES_BEFORE_ALL and postings <= LARGEST_KEPT


class TextHits:
    """The postings of one set of query terms in one version, selected once and scored in several ways."""

    def __init__(self, view: VersionView, terms: LongArray) -> None:
        self.view, self.terms = view, terms
        self.selection = view.corpus.postings.select(terms)
        self.idf = view.idf(terms)

    @cached_property
    def rows(self) -> IntArray:
        """(P,) row of each selected posting."""
        return self.selection.take(self.view.corpus.postings.rows)

    @cached_property
    def _groups(self) -> LongArray:
        """(P,) the same, once: counting by other integers converts them each time."""
        return self.rows.astype(np.int64)

    @cached_property
    def counts(self) -> FieldCounts:
        """(P, 6) counts by field of the selected postings."""
        return self.selection.take(self.view.corpus.counts)

    def _kept(self, formula: Saturation) -> Float32Array | None:
        """Saturated frequencies of all postings of the version, where they are worth keeping."""
        corpus, kept = self.view.corpus, self.view.saturations
        if not worth_keeping(self.view, len(corpus.postings.rows)):
            return None
        if formula not in kept:
            kept[formula] = formula(self.view, corpus.counts, corpus.postings.rows).astype(np.float32)
        return kept[formula]

    def scores(self, formula: Saturation, weights: FloatArray) -> FloatArray:
        """(F,) sum over terms of weight x IDF x saturated frequency."""
        used = np.flatnonzero(weights)
        if len(used) < len(weights):
            return self._of_some(used).scores(formula, weights[used])
        kept, by_term = self._kept(formula), weights * self.idf
        if self.selection.many:
            return self.view.to_files(self._term_by_term(formula, kept, by_term))
        saturation = formula(self.view, self.counts, self.rows) if kept is None else self.selection.take(kept)
        values = saturation * self.selection.spread(by_term)
        return self.view.to_files(summed(self._groups, values, len(self.view.corpus)))

    def _term_by_term(self, formula: Saturation, kept: Float32Array | None, by_term: FloatArray) -> FloatArray:
        """(B,) the sums, added in the same order: a term stands once in a row."""
        corpus = self.view.corpus
        total = np.zeros(len(corpus))
        for stretch, weight in zip(self.selection.stretches, by_term, strict=True):
            rows = corpus.postings.rows[stretch]
            values = formula(self.view, corpus.counts[stretch], rows) if kept is None else kept[stretch]
            np.add.at(total, rows.astype(np.int64), values * weight)  # several times as fast as total[rows] +=
        return total

    def _of_some(self, places: LongArray) -> TextHits:
        """The hits of some of the terms: those of the summary are asked for several times."""
        key = places.tobytes()
        found = self._parts.get(key)
        if found is None:
            found = self._parts[key] = TextHits(self.view, self.terms[places])
        return found

    @cached_property
    def _parts(self) -> dict[bytes, TextHits]:
        return {}

    def counts_in(self, rows: Sequence[int]) -> list[tuple[LongArray, FieldCounts]]:
        """For each of some rows: which of the terms it holds, as places among them (n,), and how often by field (n, 6).

        Each term is looked up once for all rows.
        """
        corpus = self.view.corpus
        wanted = np.array(sorted(set(rows)), dtype=corpus.postings.rows.dtype)
        found: dict[int, list[tuple[int, int]]] = {row: [] for row in wanted.tolist()}
        bounds = zip(self.selection.starts.tolist(), self.selection.sizes.tolist(), strict=True)
        for place, (start, size) in enumerate(bounds):
            held = corpus.postings.rows[start : start + size]
            positions = np.searchsorted(held, wanted)
            met = np.flatnonzero(held.take(positions, mode="clip") == wanted) if size else positions[:0]
            for one, position in zip(met.tolist(), positions[met].tolist(), strict=True):
                found[int(wanted[one])].append((place, start + position))
        return [
            (
                np.array([place for place, _ in found[row]], dtype=np.int64),
                corpus.counts[np.array([position for _, position in found[row]], dtype=np.int64)],
            )
            for row in rows
        ]
