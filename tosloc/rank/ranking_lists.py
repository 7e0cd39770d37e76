"""What rankers learn from: for each report the feature rows of its fixed files and of other files.

The rankers see no paths and no names. Shapes: R reports, n rows over all reports, K features.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from tosloc.index.postings import starts_of
from tosloc.records import BoolArray, Float32Array, FloatArray, LongArray


@dataclass(frozen=True, eq=False)
class RankingLists:
    """Feature rows of reports, one report after the other, each with at least one fixed file."""

    rows: Float32Array
    """(n, K)"""
    fixed: BoolArray
    """(n,) whether the row is a fixed file."""
    starts: LongArray
    """(R+1,) rows of report r: starts[r] to starts[r+1]."""
    weights: Float32Array
    """(n,) how many files a row stands for: 1, or more for sampled files."""
    report_weights: FloatArray = field(default_factory=lambda: np.zeros(0))
    """(R,) how much each report counts; all alike, 1, where none are given."""

    def __post_init__(self) -> None:
        if not len(self.report_weights):
            object.__setattr__(self, "report_weights", np.ones(len(self)))

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def sizes(self) -> LongArray:
        """(R,) rows of each report."""
        return np.diff(self.starts)

    @classmethod
    def of(
        cls, lists: Sequence[tuple[Float32Array, BoolArray]], weights: Sequence[Float32Array] = (), features: int = 0
    ) -> Self:
        """Lists of (rows, fixed); every row weighs 1 unless weights are given. ``features`` is K of an empty set."""
        starts = starts_of([len(fixed) for _, fixed in lists])
        rows, fixed = np.zeros((0, features), dtype=np.float32), np.zeros(0, dtype=bool)
        if lists:
            rows, fixed = (np.concatenate(column) for column in zip(*lists, strict=True))
        return cls(rows, fixed, starts, np.concatenate(weights) if weights else np.ones(len(rows), dtype=np.float32))

    @classmethod
    def join(cls, parts: Sequence[RankingLists]) -> Self:
        """All reports of the parts, in their order."""
        sizes = np.concatenate([part.sizes for part in parts])
        return cls(
            np.concatenate([part.rows for part in parts]),
            np.concatenate([part.fixed for part in parts]),
            starts_of(sizes),
            np.concatenate([part.weights for part in parts]),
            np.concatenate([part.report_weights for part in parts]),
        )

    def take(self, reports: LongArray) -> RankingLists:
        """The given reports alone."""
        stretches = [slice(self.starts[r], self.starts[r + 1]) for r in reports.tolist()]
        taken = RankingLists.of(
            [(self.rows[rows], self.fixed[rows]) for rows in stretches],
            [self.weights[rows] for rows in stretches],
            self.rows.shape[1],
        )
        return taken.counting(self.report_weights[reports])

    def columns(self, chosen: Sequence[int]) -> RankingLists:
        """The same rows with some features only."""
        return replace(self, rows=np.ascontiguousarray(self.rows[:, chosen]))

    def counting(self, report_weights: FloatArray) -> RankingLists:
        """The same reports, which count so much (R,) each."""
        return replace(self, report_weights=report_weights)
