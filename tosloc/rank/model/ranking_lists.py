"""Feature rows of many reports in one array, the input of every fit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from tosloc.core.arrays import BoolArray, Float32Array, FloatArray, LongArray
from tosloc.rank.features.tables import FeatureTable
from tosloc.retrieval.texts import group_starts


@dataclass(frozen=True, eq=False)
class RankingLists:
    """Feature rows of reports, one report after the other, each with at least one fixed file."""

    rows: Float32Array
    """(n, K) features of the files."""
    fixed: BoolArray
    """(n,) whether the fix changed the file."""
    starts: LongArray
    """(R+1,) report r has the rows from starts[r] to starts[r+1]."""
    weights: Float32Array
    """(n,) number of files that each row stands for: 1, or more for sampled files."""
    report_weights: FloatArray
    """(R,) weight of each report."""

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def sizes(self) -> LongArray:
        """(R,) number of rows of each report."""
        return np.diff(self.starts)

    @classmethod
    def of(cls, lists: Sequence[tuple[Float32Array, BoolArray, Float32Array]]) -> Self:
        """Return the lists of reports from their (rows, fixed, weights); all reports weigh 1."""
        if not lists:
            empty = np.zeros((0, 0), np.float32), np.zeros(0, np.bool_), np.zeros(0, np.float32)
            return cls(empty[0], empty[1], group_starts([]), empty[2], np.ones(0))
        rows = np.concatenate([own_rows for own_rows, _, _ in lists])
        fixed = np.concatenate([own_fixed for _, own_fixed, _ in lists])
        weights = np.concatenate([own_weights for _, _, own_weights in lists])
        starts = group_starts([len(own_rows) for own_rows, _, _ in lists])
        return cls(rows, fixed, starts, weights, np.ones(len(lists)))

    @classmethod
    def of_tables(cls, tables: Iterable[FeatureTable]) -> Self:
        """Return the tables that have at least one fixed file as lists."""
        return cls.of(
            [(table.rows, table.fixed, table.weights) for table in tables if table.fixed.any()]
        )

    @classmethod
    def join(cls, parts: Sequence[RankingLists]) -> Self:
        """Return the reports of several lists, in their order."""
        return cls(
            np.concatenate([part.rows for part in parts]),
            np.concatenate([part.fixed for part in parts]),
            group_starts(np.concatenate([part.sizes for part in parts])),
            np.concatenate([part.weights for part in parts]),
            np.concatenate([part.report_weights for part in parts]),
        )
