"""Two encoders of sparse term vectors: a report on one side, a file's content and history on the other.

Letters in shapes: V terms, C candidates of a report, n sparse vectors, d width.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from scipy import sparse

from tosloc.records import Float16Array, Float32Array, FloatArray

SIDES: Final = ("report", "content", "history")
FILE_SIDES: Final = SIDES[1:]


@dataclass(frozen=True, eq=False)
class DualEncoder:
    """Vectors of the terms on each side, in half precision, and how much content and history count."""

    tables: Mapping[str, Float16Array]
    """Side -> (V, d)"""
    gains: Mapping[str, float]
    """Side of files -> what its cosine is multiplied by."""

    @cached_property
    def _tables(self) -> dict[str, Float32Array]:
        return {side: table.astype(np.float32) for side, table in self.tables.items()}

    def encode(self, side: str, texts: sparse.csr_array) -> Float32Array:
        """(n, d) unit vectors of texts (n, V); 0 where one has no term."""
        summed: Float32Array = texts @ self._tables[side]
        unit: Float32Array = summed / np.maximum(np.sqrt((summed**2).sum(axis=1, keepdims=True)), 1e-12)
        return unit

    def scores(self, report: sparse.csr_array, files: Mapping[str, sparse.csr_array]) -> FloatArray:
        """(C,) of a report (1, V) the cosines with contents and histories (C, V), each times its gain."""
        asked, total = self.encode("report", report), np.zeros(1)
        for side in FILE_SIDES:  # row by row, so that a score does not depend on what else is scored
            cosines = (self.encode(side, files[side]) * asked).sum(axis=1, dtype=np.float64)
            total = total + self.gains[side] * cosines
        return total

    def matches(
        self, report: sparse.csr_array, file: Mapping[str, sparse.csr_array], number: int
    ) -> list[tuple[int, int]]:
        """The terms of a report (1, V) that bring one file (1, V) most, each with the file's that answers it best."""
        asked = report.data[:, None] * self._tables["report"][report.indices]
        shares = []
        for side in FILE_SIDES:
            vectors = file[side].data[:, None] * self._tables[side][file[side].indices]
            length = float(np.sqrt((vectors.sum(axis=0) ** 2).sum()))
            shares.append(self.gains[side] / max(length, 1e-12) * (asked @ vectors.T))
        share, terms = np.concatenate(shares, axis=1), np.concatenate([file[side].indices for side in FILE_SIDES])
        total = share.sum(axis=1)
        best = [place for place in np.argsort(-total, kind="stable")[:number].tolist() if total[place] > 0]
        return [(int(report.indices[place]), int(terms[share[place].argmax()])) for place in best]
