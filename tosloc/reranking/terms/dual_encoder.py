"""Two encoders of sparse term vectors: a report on one side, a file's content and history on the other.

Letters in shapes: V terms with the padding, C candidates of a report, n sparse vectors, d width.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Self

import numpy as np

from tosloc.arrays import all_finite
from tosloc.records import Float16Array, Float32Array, FloatArray, LongArray
from tosloc.reranking.terms.sparse_vectors import SparseVectors

SIDES: Final = ("report", "content", "history")
FILE_SIDES: Final = SIDES[1:]


@dataclass(frozen=True, eq=False)
class TermMatch:
    """A term of a report and the term of a file that answers it best."""

    asked: int
    found: int
    share: float
    """What the report's term adds to the score, by all of the file's terms."""


@dataclass(frozen=True, eq=False)
class DualEncoder:
    """Vectors of the terms on each side, in half precision, and how much content and history count."""

    tables: Mapping[str, Float16Array]
    """Side -> (V, d)"""
    gains: Mapping[str, float] = field(default_factory=lambda: {"content": 1.0, "history": 1.0})

    @cached_property
    def _tables(self) -> dict[str, Float32Array]:
        return {side: table.astype(np.float32) for side, table in self.tables.items()}

    @property
    def shape(self) -> tuple[int, int]:
        """V and d."""
        terms, width = self.tables["report"].shape
        return terms, width

    def encode(self, side: str, texts: SparseVectors) -> Float32Array:
        """(n, d) unit vectors of texts; 0 where one has no term."""
        table = self._tables[side]
        summed: Float32Array = texts.matrix(len(table)) @ table
        length = np.sqrt((summed**2).sum(axis=1, keepdims=True))
        unit: Float32Array = summed / np.maximum(length, 1e-12)
        return unit

    def component_scores(self, report: Float32Array, files: Mapping[str, Float32Array]) -> FloatArray:
        """(C, 2) cosines of a report's vector (d,) with contents and histories (C, d), each times its gain."""
        # row by row, so that a score does not depend on what else is scored
        return np.column_stack(
            [self.gains[side] * (files[side] * report).sum(axis=1, dtype=np.float64) for side in FILE_SIDES]
        )

    def matches(
        self, report: SparseVectors, content: SparseVectors, history: SparseVectors, number: int
    ) -> list[TermMatch]:
        """The terms of a report that bring one file most, each with the file's term that answers it best."""
        asked = report.weights[0, :, None] * self._tables["report"][report.terms[0]]
        asked /= max(float(np.sqrt((asked.sum(axis=0) ** 2).sum())), 1e-12)
        shares, terms = [], []
        for side, text in (("content", content), ("history", history)):
            vectors = text.weights[0, :, None] * self._tables[side][text.terms[0]]
            length = float(np.sqrt((vectors.sum(axis=0) ** 2).sum()))
            shares.append(self.gains[side] / max(length, 1e-12) * (asked @ vectors.T))
            terms.append(text.terms[0])
        share, term = np.concatenate(shares, axis=1), np.concatenate(terms)
        total = share.sum(axis=1)
        best = np.argsort(-total, kind="stable")[:number]
        found = share[best].argmax(axis=1)
        return [
            TermMatch(int(report.terms[0, place]), int(term[answer]), float(total[place]))
            for place, answer in zip(best.tolist(), found.tolist(), strict=True)
            if total[place] > 0 and share[place, answer] > 0
        ]

    def to_arrays(self) -> dict[str, Float16Array]:
        """The tables as arrays to keep."""
        return {f"terms.{side}": np.ascontiguousarray(self.tables[side]) for side in SIDES}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any], gains: Mapping[str, Any]) -> Self:
        """What ``to_arrays`` made. Raises KeyError or ValueError when the arrays do not fit together."""
        tables = {side: arrays[f"terms.{side}"] for side in SIDES}
        shapes = {table.shape for table in tables.values()}
        if len(shapes) > 1 or any(table.ndim != 2 or table.dtype != np.float16 for table in tables.values()):
            raise ValueError("tables of several shapes")
        if not all(map(all_finite, tables.values())):
            raise ValueError("a number of a vector is not finite")
        return cls(tables, {side: float(gains[side]) for side in FILE_SIDES})

    @property
    def digest(self) -> str:
        """Short name of the tables' content."""
        digest = hashlib.sha256()
        for side in SIDES:
            digest.update(np.ascontiguousarray(self.tables[side]).tobytes())
        return digest.hexdigest()[:16]


class CachedDualEncoder:
    """A dual encoder at work on growing tables of sparse vectors: each of them is encoded once."""

    def __init__(self, encoder: DualEncoder) -> None:
        self.encoder = encoder
        none = np.zeros((0, encoder.shape[1]), dtype=np.float32)
        self._vectors: dict[str, Float32Array] = dict.fromkeys(FILE_SIDES, none)
        self._known = dict.fromkeys(FILE_SIDES, np.zeros(0, dtype=np.bool_))

    def component_scores(
        self,
        report: SparseVectors,
        contents: SparseVectors,
        content_rows: LongArray,
        histories: SparseVectors,
        history_rows: LongArray,
    ) -> FloatArray:
        """(C, 2) scores of files for one report, by content and by history, from their rows (C,) in the tables."""
        files = {
            "content": self._encoded("content", contents, content_rows),
            "history": self._encoded("history", histories, history_rows),
        }
        return self.encoder.component_scores(self.encoder.encode("report", report)[0], files)

    def _encoded(self, side: str, texts: SparseVectors, rows: LongArray) -> Float32Array:
        more = len(texts) - len(self._known[side])
        if more > 0:  # room for as many again, so that few at a time are not copied often
            more += len(self._known[side])
            self._known[side] = np.concatenate((self._known[side], np.zeros(more, dtype=np.bool_)))
            room = np.zeros((more, self.encoder.shape[1]), dtype=np.float32)
            self._vectors[side] = np.concatenate((self._vectors[side], room))
        new = np.unique(rows[~self._known[side][rows]])
        if len(new):
            self._vectors[side][new] = self.encoder.encode(side, texts.take(new))
            self._known[side][new] = True
        return self._vectors[side][rows]
