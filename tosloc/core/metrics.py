"""Measures of effectiveness from the ranks of fixed files: the only place where they are written.

``ranks`` are the ranks, from 1, of the fixed files that the ranking holds; ``relevant`` counts all fixed files. A
report without fixed files has the value 0 everywhere.

Learners and evaluation use the same functions, but add up in different orders: evaluation rounds once (``math.fsum``),
learners in numpy's order or one by one, as they did when their checkpoints were made. The results differ in the last
digit at most, but a choice between two models can hang on it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, TypeAlias

import numpy as np

from tosloc.core.records import BoolArray, FloatArray, LongArray

Over: TypeAlias = Literal["relevant", "reachable", "found"]
"""What average precision is divided by: all fixed files (the textbook's), as many of them as k ranks can hold, or
only those found within the first k ("at seen relevant documents": a diagnostic, never a result)."""
Add: TypeAlias = Callable[
    [list[float]], float
]  # how numbers are added, which decides how the sum is rounded


def fixed_ranks(scores: FloatArray, fixed: BoolArray | LongArray) -> LongArray:
    """Ranks, from 1 and ascending, of the fixed files when equal scores keep their (path) order.

    ``scores`` (F,); ``fixed`` either tells of each file whether it is fixed, or gives the rows of those that are.

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
    """Sum of the precision at each fixed file's rank (within the first ``k``), divided by what ``over`` says.

    The textbook divides by all fixed files, so that one that is not ranked adds 0 (Manning et al. 2008, section 8.4;
    Buckley and Voorhees 2000). The other two are AP1@K (found) and AP2@K (reachable) of the field's papers; the former
    is undefined where nothing is found, and 0 here.

    >>> round(average_precision([1, 2, 5, 12, 15], relevant=5), 3)
    0.653
    >>> [round(average_precision([1, 2, 5, 12, 15], 5, 10, over), 3) for over in ("relevant", "reachable", "found")]
    [0.52, 0.52, 0.867]
    """
    found = [rank for rank in sorted(ranks) if k is None or rank <= k]
    gain = add([number / rank for number, rank in enumerate(found, start=1)])
    reachable = relevant if k is None else min(relevant, k)
    share = {"relevant": relevant, "reachable": reachable, "found": len(found)}[over]
    return float(gain / share) if share else 0.0


def reciprocal_rank(ranks: Iterable[int], k: int | None = None) -> float:
    """One divided by the rank of the first fixed file; 0 if none is ranked (within the first ``k``).

    >>> reciprocal_rank([4, 9]), reciprocal_rank([4, 9], k=3)
    (0.25, 0.0)
    """
    return 1 / min((float(rank) for rank in ranks if k is None or rank <= k), default=math.inf)


def rr_and_ap(
    ranks: Iterable[int], relevant: int | None = None, add: Add = np.sum
) -> tuple[float, float]:
    """Reciprocal rank and textbook average precision, as learners add it; ``relevant`` is the number of ranks if None.

    >>> rr_and_ap([2, 4])
    (0.5, 0.5)
    """
    known = list(ranks)
    return reciprocal_rank(known), average_precision(
        known, len(known) if relevant is None else relevant, add=add
    )


def count_within(ranks: Iterable[int], k: int) -> int:
    """Number of fixed files within the first ``k``; summed and divided by all fixed files it is coverage@k."""
    return sum(rank <= k for rank in ranks)


def ndcg(ranks: Iterable[int], relevant: int, k: int | None = None) -> float:
    """Discounted gain ``sum 1 / log2(rank + 1)`` of the fixed files, divided by that of an ideal ranking.

    Gains are 1 and 0; the ideal ranking has all fixed files first, as many as ``k`` holds (Järvelin and Kekäläinen
    2002, with the discount that trec_eval uses).

    >>> round(ndcg([1, 3], relevant=2), 4)
    0.9197
    """
    ideal = range(1, (relevant if k is None else min(relevant, k)) + 1)
    found = (rank for rank in ranks if k is None or rank <= k)
    gain, best = (math.fsum(1 / math.log2(rank + 1) for rank in some) for some in (found, ideal))
    return gain / best if best else 0.0


def bpref(nonrelevant_above: Sequence[int], relevant: int, nonrelevant: int) -> float:
    """Share of pairs (fixed, not fixed) that are in the right order; trec_eval from 8.0 on.

    ``nonrelevant_above`` counts, for each *retrieved* fixed file, the others above it; ``nonrelevant`` counts **all**
    others, retrieved or not (before 8.0, faultily, those retrieved alone). Each adds
    ``1 - min(above, relevant) / min(nonrelevant, relevant)``.

    >>> bpref([1, 1, 1, 1], relevant=6, nonrelevant=4), bpref([1, 1, 1, 1], relevant=6, nonrelevant=1)
    (0.5, 0.0)
    """
    most = min(nonrelevant, relevant)
    return math.fsum(1 - min(n, relevant) / most if n else 1.0 for n in nonrelevant_above) / (
        relevant or 1
    )
