"""BM25 of everything that is searched: fields and chunks of files, paths, functions, texts of commits and reports.

Query weight x IDF x saturated frequency, summed over the report's terms (Robertson and Zaragoza 2009, equations 3.15
and 3.22). A posting's saturation does not depend on the report: for a version that stays in memory
(``VersionView.resident``) it is computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tosloc.index.corpus import ALL_TEXT, CODE, COMMENT, METHOD, STRING, TYPE, VersionView
from tosloc.index.postings import K1, LARGEST_KEPT, QUERIES_BEFORE_ALL, Postings, summed
from tosloc.records import Float32Array, FloatArray, IntArray, LongArray

FieldCounts = npt.NDArray[np.uint16]
Fractions = npt.NDArray[np.floating[Any]]
Take = Callable[[npt.NDArray[Any]], npt.NDArray[Any]]
"""Of an array of all postings those that are looked at."""
Formula = Callable[[Any, Take], Fractions]
"""Of a source and some of its postings (P,) saturated frequencies."""


def length_norm(lengths: Fractions, average: Any, k1: float, b: float) -> Any:
    """What lengths do to frequencies: k1 (1 - b + b length / average)."""
    return k1 * (1 - b + b * lengths / average)


def saturated(frequency: Fractions, norm: Fractions | float, k1: float) -> Any:
    """Frequency (k1 + 1) / (frequency + norm)."""
    return frequency * (k1 + 1) / (frequency + norm)


@dataclass(frozen=True)
class Field:
    """BM25 of one or more columns of a file's counts."""

    columns: tuple[int, ...]
    length: int
    """Column of its length."""
    b: float = 0.4
    k1: float = 1.2

    def __call__(self, view: VersionView, take: Take) -> Float32Array:
        """(P,) saturated frequencies of postings."""
        return self.of(view, take(view.corpus.counts), take(view.corpus.postings.rows))

    def of(self, view: VersionView, counts: FieldCounts, rows: IntArray) -> Float32Array:
        """The same of counts (P, 6) in blobs (P,)."""
        if self not in view.norms:
            lengths = view.corpus.lengths[:, self.length]
            view.norms[self] = length_norm(lengths, view.averages[self.length], self.k1, self.b).astype(np.float32)
        total = counts[:, self.columns[0]].astype(np.float32)
        for column in self.columns[1:]:
            total += counts[:, column]
        value: Float32Array = saturated(total, view.norms[self].take(rows), self.k1)
        return value


CODE_FIELD: Final = Field((CODE,), CODE)
METHOD_FIELD: Final = Field((METHOD,), METHOD)
TYPE_FIELD: Final = Field((TYPE,), TYPE)
STRING_FIELD: Final = Field((STRING,), STRING)
WHOLE: Final = Field((CODE, COMMENT, STRING), ALL_TEXT, b=0.3)
FIELD_WEIGHTS: Final = ((CODE, 1.0), (COMMENT, 0.5), (STRING, 0.5), (METHOD, 4.0), (TYPE, 40.0))


def fielded(view: VersionView, take: Take) -> Float32Array:
    """BM25F, k1 4, b .4; code 1, comments .5, strings .5, method names 4, type names 40."""
    counts, rows = take(view.corpus.counts), take(view.corpus.postings.rows)
    total = np.zeros(len(rows), dtype=np.float32)
    for column, weight in FIELD_WEIGHTS:
        if (column, weight) not in view.norms:
            norm = length_norm(view.corpus.lengths[:, column], view.averages[column], 1.0, 0.4)
            view.norms[column, weight] = (weight / norm).astype(np.float32)
        total += counts[:, column] * view.norms[column, weight].take(rows)
    value: Float32Array = saturated(total, 4.0, 4.0)
    return value


def held(view: VersionView, take: Take) -> Float32Array:
    """1 where the text holds the term at all."""
    counts = take(view.corpus.counts)
    value: Float32Array = ((counts[:, CODE] | counts[:, COMMENT] | counts[:, STRING]) > 0).astype(np.float32)
    return value


def of_chunks(view: VersionView, take: Take) -> FloatArray:
    """BM25 of chunks of 50 lines (10 lines of overlap), without length normalisation."""
    value: FloatArray = saturated(take(view.corpus.chunk_counts).astype(np.float64), K1, K1)
    return value


class Hits:
    """The postings of one set of query terms in R rows of a source, selected once and scored in several ways.

    T terms, P postings.
    """

    def __init__(
        self, source: Any, postings: Postings, terms: LongArray, idf: FloatArray, rows: int, resident: bool = False
    ) -> None:
        self.source, self.postings, self.terms, self.idf, self.rows = source, postings, terms, idf, rows
        self.selection = postings.select(terms)
        self.keeps = resident and len(postings.rows) <= LARGEST_KEPT
        """Whether saturated frequencies of all postings are computed, and kept: in ``source.kept``."""
        self._taken: dict[int, tuple[npt.NDArray[Any], npt.NDArray[Any]]] = {}
        self._parts: dict[bytes, Hits] = {}

    @classmethod
    def of_text(cls, view: VersionView, terms: LongArray) -> Hits:
        """In the files of a version; rows are blobs."""
        return cls(view, view.corpus.postings, terms, view.idf(terms), len(view.corpus), keeps(view))

    def take(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """(P, ...) what an array of all postings has for the selected ones, copied once."""
        if id(values) not in self._taken:
            self._taken[id(values)] = values, self.selection.take(values)
        return self._taken[id(values)][1]

    @cached_property
    def _groups(self) -> LongArray:
        """(P,) row of each: counting by other integers converts them each time."""
        return self.take(self.postings.rows).astype(np.int64)

    def scores(self, formula: Formula, weights: FloatArray) -> FloatArray:
        """(R,) sum over terms of weight x IDF x saturated frequency."""
        used = np.flatnonzero(weights)
        if len(used) < len(weights):
            return self._of_some(used).scores(formula, weights[used])
        kept, by_term = self._of_all(formula), weights * self.idf
        if not self.selection.many:
            values = formula(self.source, self.take) if kept is None else self.selection.take(kept)
            return summed(self._groups, values * self.selection.spread(by_term), self.rows)
        total = np.zeros(self.rows)  # term by term, added in the same order: a term stands once in a row
        for stretch, weight in zip(self.selection.stretches, by_term, strict=True):
            values = formula(self.source, partial(_part, stretch)) if kept is None else kept[stretch]
            # several times as fast as total[rows] +=
            np.add.at(total, self.postings.rows[stretch].astype(np.int64), values * weight)
        return total

    def _of_all(self, formula: Formula) -> Fractions | None:
        kept: dict[Hashable, Fractions] = self.source.kept
        if not self.keeps:
            return None
        if formula not in kept:
            kept[formula] = formula(self.source, lambda array: array)
        return kept[formula]

    def _of_some(self, places: LongArray) -> Hits:
        """The hits of some of the terms: those of the summary are asked for several times."""
        key = places.tobytes()
        if key not in self._parts:
            terms, idf = self.terms[places], self.idf[places]
            self._parts[key] = Hits(self.source, self.postings, terms, idf, self.rows, self.keeps)
        return self._parts[key]

    def positions_in(self, rows: Sequence[int]) -> list[tuple[LongArray, LongArray]]:
        """For each of some rows: which of the terms it holds, as places among them, and where their postings stand.

        Each term is looked up once for all rows.
        """
        wanted = np.array(sorted(set(rows)), dtype=self.postings.rows.dtype)
        found: dict[int, list[tuple[int, int]]] = {row: [] for row in wanted.tolist()}
        for place, stretch in enumerate(self.selection.stretches):
            holders = self.postings.rows[stretch]
            positions = np.searchsorted(holders, wanted)
            met = np.flatnonzero(holders.take(positions, mode="clip") == wanted) if len(holders) else positions[:0]
            for one, position in zip(met.tolist(), positions[met].tolist(), strict=True):
                found[int(wanted[one])].append((place, stretch.start + position))
        pairs = (np.array(found[row], dtype=np.int64).reshape(-1, 2) for row in rows)
        return [(pair[:, 0], pair[:, 1]) for pair in pairs]


def _part(stretch: slice, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return values[stretch]


def keeps(view: VersionView) -> bool:
    """Whether what is the same for every query of a version is worth computing for all of it."""
    return view.resident and view.queries >= QUERIES_BEFORE_ALL
