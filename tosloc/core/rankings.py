"""Rankings of the files of a version."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from tosloc.core.arrays import FloatArray, LongArray


@dataclass(frozen=True, eq=False)
class Ranking:
    """Every file of one version once, most suspicious first; ties by path.

    Raises ValueError unless paths and scores match, and scores are finite and never increase.
    """

    report: str
    """Id of the report."""
    paths: tuple[str, ...]
    """(F,) paths, most suspicious first."""
    scores: FloatArray
    """(F,) scores, never increasing."""

    def __post_init__(self) -> None:
        if len(self.paths) != len(self.scores):
            raise ValueError(
                f"report {self.report}: {len(self.paths)} paths but {len(self.scores)} scores"
            )
        if not np.isfinite(self.scores).all():
            raise ValueError(f"report {self.report}: a score is not a number")
        if (np.diff(self.scores) > 0).any():
            raise ValueError(f"report {self.report}: scores increase down the ranking")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ranking):
            return NotImplemented
        return (
            self.report == other.report
            and self.paths == other.paths
            and bool(np.array_equal(self.scores, other.scores))
        )

    __hash__ = None  # type: ignore[assignment]  # an array has no hash

    def __len__(self) -> int:
        return len(self.paths)

    @classmethod
    def from_scores(cls, report: str, paths: Sequence[str], scores: npt.ArrayLike) -> Self:
        """Return the ranking of files in path order by their scores, highest first.

        Equal scores keep path order.
        """
        values = np.asarray(scores, dtype=np.float64)
        order = np.argsort(-values, kind="stable")
        return cls(report, tuple(map(paths.__getitem__, order.tolist())), values[order])


def splice_head_above_rest(scores: FloatArray, order: LongArray, head: FloatArray) -> FloatArray:
    """Return scores (F,) in which the files at rows ``order`` have the scores ``head``.

    If the lowest of ``head`` is not above the scores of all other files, a constant is added to
    ``head`` that puts it there.
    """
    rest = np.delete(scores, order)
    floor = float(rest.max()) if len(rest) else 0.0
    lowest = float(head.min())
    result = scores.copy()
    result[order] = head if lowest > floor else head - lowest + np.nextafter(floor, np.inf) + 1e-6
    return result
