"""Ranks of fixed files by score, and what they are worth: for learning, where ``tosloc.evaluation`` is out of reach."""

from __future__ import annotations

import numpy as np

from tosloc.records import BoolArray, FloatArray, LongArray


def fixed_ranks(scores: FloatArray, fixed: BoolArray | LongArray) -> LongArray:
    """Ranks, from 1 and ascending, of the fixed files when equal scores keep their (path) order.

    ``scores`` (F,); ``fixed`` either tells of each file whether it is fixed, or gives the places of those that are.

    >>> fixed_ranks(np.array([.5, .9, .5]), np.array([2, 1])).tolist()
    [1, 3]
    """
    place = np.empty(len(scores), dtype=np.int64)
    place[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
    return np.sort(place[fixed])


def average_precision(ranks: LongArray, relevant: int) -> float:
    """Textbook AP from ascending ranks; ``relevant`` is the denominator. 0 without a rank or a relevant file.

    >>> average_precision(np.array([1, 3]), 2)
    0.8333333333333333
    """
    if not len(ranks) or not relevant:
        return 0.0
    return float((np.arange(1, len(ranks) + 1) / ranks).sum() / relevant)


def precision_and_rank(ranks: LongArray) -> tuple[float, float]:
    """(RR, AP) from the ascending ranks of all fixed files; 0 when there are none."""
    if not len(ranks):
        return 0.0, 0.0
    return 1.0 / float(ranks[0]), average_precision(ranks, len(ranks))
