"""Two encoder of term vectors: a report on one side, a file's content and history on the other.

Letters in shapes: V terms with the padding, C candidates of a report, d width.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np

from tosloc.records import BoolArray, FloatArray, LongArray
from tosloc.reranking.encoder.vector_store import Float16Array
from tosloc.reranking.terms.vocabulary import Float32Array, SparseVectors

SIDES = ("report", "content", "history")


@dataclass(frozen=True, eq=False)
class CandidateRows:
    """One report's candidates, as rows of bags."""

    report: int
    contents: LongArray
    """(C,)"""
    histories: LongArray
    """(C,)"""
    fixed: BoolArray
    """(C,)"""
    scores: FloatArray
    """(C,) stage one's scores, never increasing."""
    missed_ranks: tuple[int, ...] = ()
    """Ranks of the fixed files beyond the list, which keep their places."""


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
    def _singles(self) -> dict[str, Float32Array]:
        return {side: table.astype(np.float32) for side, table in self.tables.items()}

    @property
    def shape(self) -> tuple[int, int]:
        """V and d."""
        terms, width = self.tables["report"].shape
        return terms, width

    def vectors(self, side: str, bags: SparseVectors) -> Float32Array:
        """(n, d) unit vectors of bags; 0 where a bag is empty."""
        table = self._singles[side]
        summed: Float32Array = bags.matrix(len(table)) @ table
        length = np.sqrt((summed**2).sum(axis=1, keepdims=True))
        unit: Float32Array = summed / np.maximum(length, 1e-12)
        return unit

    def scores(self, report: SparseVectors, contents: SparseVectors, histories: SparseVectors) -> FloatArray:
        """(C,) scores of files for one report: its cosine with their contents and histories, each times its gain."""
        scores: FloatArray = self.parts(report, contents, histories).sum(axis=1)
        return scores

    def parts(self, report: SparseVectors, contents: SparseVectors, histories: SparseVectors) -> FloatArray:
        """(C, 2) the two that make a score, by content and by history."""
        vectors = {"content": self.vectors("content", contents), "history": self.vectors("history", histories)}
        return self.closeness(self.vectors("report", report)[0], vectors)

    def closeness(self, asked: Float32Array, vectors: Mapping[str, Float32Array]) -> FloatArray:
        """(C, 2) ``parts`` of a report's vector (d,) and of vectors (C, d) of contents and histories."""
        # row by row, so that a score does not depend on what else is scored
        return np.column_stack(
            [
                self.gains[side] * (vectors[side] * asked).sum(axis=1, dtype=np.float64)
                for side in ("content", "history")
            ]
        )

    def matches(
        self, report: SparseVectors, content: SparseVectors, history: SparseVectors, number: int
    ) -> list[TermMatch]:
        """The terms of a report that bring one file most, each with the file's term that answers it best."""
        asked = report.weights[0, :, None] * self._singles["report"][report.terms[0]]
        asked /= max(float(np.sqrt((asked.sum(axis=0) ** 2).sum())), 1e-12)
        shares, terms = [], []
        for side, bag in (("content", content), ("history", history)):
            vectors = bag.weights[0, :, None] * self._singles[side][bag.terms[0]]
            length = float(np.sqrt((vectors.sum(axis=0) ** 2).sum()))
            shares.append(self.gains[side] / max(length, 1e-12) * (asked @ vectors.T))
            terms.append(bag.terms[0])
        share, term = np.concatenate(shares, axis=1), np.concatenate(terms)
        total = share.sum(axis=1)
        best = np.argsort(-total, kind="stable")[:number]
        found = share[best].argmax(axis=1)
        return [
            TermMatch(int(report.terms[0, place]), int(term[answer]), float(total[place]))
            for place, answer in zip(best.tolist(), found.tolist(), strict=True)
            if total[place] > 0 and share[place, answer] > 0
        ]

    def arrays(self) -> dict[str, Float16Array]:
        """The tables as arrays to keep."""
        return {f"terms.{side}": np.ascontiguousarray(self.tables[side]) for side in SIDES}

    @classmethod
    def of(cls, arrays: Mapping[str, Any], gains: Mapping[str, Any]) -> Self:
        """DualEncoder of ``arrays()``. Raises KeyError or ValueError when they do not fit together."""
        tables = {side: arrays[f"terms.{side}"] for side in SIDES}
        shapes = {table.shape for table in tables.values()}
        if len(shapes) > 1 or any(table.ndim != 2 or table.dtype != np.float16 for table in tables.values()):
            raise ValueError("tables of several shapes")
        return cls(tables, {side: float(gains[side]) for side in SIDES[1:]})

    @property
    def digest(self) -> str:
        """Short name of the tables' content."""
        told = hashlib.sha256()
        for side in SIDES:
            told.update(np.ascontiguousarray(self.tables[side]).tobytes())
        return told.hexdigest()[:16]


class CachedDualEncoder:
    """DualEncoder at work on bags that lie in growing shelves: the vector of each bag is made once."""

    def __init__(self, encoder: DualEncoder) -> None:
        self.encoder = encoder
        none = np.zeros((0, encoder.shape[1]), dtype=np.float32)
        self._vectors: dict[str, Float32Array] = dict.fromkeys(SIDES[1:], none)
        self._made = dict.fromkeys(SIDES[1:], np.zeros(0, dtype=np.bool_))

    def parts(
        self, report: SparseVectors, contents: SparseVectors, histories: SparseVectors, one: CandidateRows
    ) -> FloatArray:
        """(C, 2) what the encoder say of a list whose rows are those of the shelves, by content and by history."""
        asked = self.encoder.vectors("report", report)[0]
        vectors = {
            "content": self._of("content", contents, one.contents),
            "history": self._of("history", histories, one.histories),
        }
        return self.encoder.closeness(asked, vectors)

    def _of(self, side: str, bags: SparseVectors, rows: LongArray) -> Float32Array:
        more = len(bags) - len(self._made[side])
        if more > 0:  # room for as many again, so that few at a time are not copied often
            more += len(self._made[side])
            self._made[side] = np.concatenate((self._made[side], np.zeros(more, dtype=np.bool_)))
            room = np.zeros((more, self.encoder.shape[1]), dtype=np.float32)
            self._vectors[side] = np.concatenate((self._vectors[side], room))
        new = np.unique(rows[~self._made[side][rows]])
        if len(new):
            self._vectors[side][new] = self.encoder.vectors(side, bags.take(new))
            self._made[side][new] = True
        return self._vectors[side][rows]
