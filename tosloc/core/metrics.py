"""Measures of effectiveness, computed from the ranks of fixed files.

``ranks`` are the ranks, from 1, of the fixed files in the ranking; ``relevant`` is the number of
all fixed files. A report without fixed files has the value 0 everywhere.

Learners and evaluation use the same functions, but add up in different orders: evaluation rounds
once (``math.fsum``), learners in numpy's order or one by one, because the existing checkpoints were
made so. The two results differ in the last digit at most, but this difference can decide between
two models.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Literal, TypeAlias

import numpy as np

from tosloc.core.arrays import BoolArray, FloatArray, LongArray

Over: TypeAlias = Literal["relevant", "reachable", "found"]
"""Denominator of average precision.

"relevant" is the number of all fixed files (the textbook's), "reachable" at most k of them, and
"found" only those within the first k ("at seen relevant documents": a diagnostic, never a result).
"""
Add: TypeAlias = Callable[[list[float]], float]
"""Function that adds numbers; it decides how the sum is rounded."""


def fixed_ranks(scores: FloatArray, fixed: BoolArray | LongArray) -> LongArray:
    """Return the ranks of the fixed files, from 1 and ascending; equal scores keep path order.

    ``scores`` (F,) are in path order. ``fixed`` is either a mask (F,) of the fixed files or their
    rows.

    >>> fixed_ranks(np.array([.5, .9, .5]), np.array([2, 1])).tolist()
    [1, 3]
    """
    ranks = np.empty(len(scores), dtype=np.int64)
    ranks[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
    return np.sort(ranks[fixed])


def average_precision(
    ranks: Iterable[int],
    relevant: int,
    k: int | None = None,
    over: Over = "relevant",
    add: Add = math.fsum,
) -> float:
    """Return the sum of the precision at each fixed file's rank, divided by a denominator.

    ``over`` names the denominator. With ``k``, only ranks up to ``k`` count. The textbook divides
    by all fixed files, so that a fixed file without a rank adds 0 (Manning et al. 2008, section
    8.4; Buckley and Voorhees 2000). The other two denominators are AP1@K (found) and AP2@K
    (reachable) of the field's papers; AP1@K is undefined if no fixed file is found, and 0 here.

    >>> round(average_precision([1, 2, 5, 12, 15], relevant=5), 3)
    0.653
    >>> overs = ("relevant", "reachable", "found")
    >>> [round(average_precision([1, 2, 5, 12, 15], 5, 10, over), 3) for over in overs]
    [0.52, 0.52, 0.867]
    """
    found = [rank for rank in sorted(ranks) if k is None or rank <= k]
    gain = add([number / rank for number, rank in enumerate(found, start=1)])
    reachable = relevant if k is None else min(relevant, k)
    denominator = {"relevant": relevant, "reachable": reachable, "found": len(found)}[over]
    return float(gain / denominator) if denominator else 0.0


def reciprocal_rank(ranks: Iterable[int], k: int | None = None) -> float:
    """Return one divided by the rank of the first fixed file; 0 if none is in the first ``k``.

    >>> reciprocal_rank([4, 9]), reciprocal_rank([4, 9], k=3)
    (0.25, 0.0)
    """
    return 1 / min((float(rank) for rank in ranks if k is None or rank <= k), default=math.inf)


def rr_and_ap(
    ranks: Iterable[int], relevant: int | None = None, add: Add = np.sum
) -> tuple[float, float]:
    """Return reciprocal rank and textbook average precision, added in learners' order.

    ``relevant`` is the number of all fixed files; None means the number of ranks.

    >>> rr_and_ap([2, 4])
    (0.5, 0.5)
    """
    ranks = list(ranks)
    if relevant is None:
        relevant = len(ranks)
    return reciprocal_rank(ranks), average_precision(ranks, relevant, add=add)
