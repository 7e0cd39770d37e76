"""Measures of one report from the ranks of its fixed files; textbook definitions, means are taken elsewhere.

``ranks`` are the ranks, from 1, of the fixed files that the ranking holds; ``relevant`` counts all fixed files.
"""

from __future__ import annotations

from collections.abc import Iterable


def average_precision(ranks: Iterable[int], relevant: int, k: int | None = None) -> float:
    """Sum of the precision at each fixed file's rank (within the first ``k``), divided by all fixed files.

    A fixed file that is not ranked adds 0; without fixed files the value is 0 (Manning et al. 2008, section 8.4).

    >>> round(average_precision([1, 2, 5, 12, 15], relevant=5), 3)
    0.653
    >>> round(average_precision([1, 2, 5, 12, 15], relevant=5, k=10), 3)
    0.52
    """
    gain = sum(found / rank for found, rank in enumerate(sorted(ranks), start=1) if k is None or rank <= k)
    return gain / relevant if relevant else 0.0


def reciprocal_rank(ranks: Iterable[int]) -> float:
    """One divided by the rank of the first fixed file; 0 if none is ranked.

    >>> reciprocal_rank([4, 9])
    0.25
    """
    return 1 / min(ranks, default=float("inf"))


def hit_at(ranks: Iterable[int], k: int) -> bool:
    """Whether any fixed file stands within the first ``k``; the share of such reports is printed as top1 or any50.

    >>> hit_at([4, 9], 5), hit_at([4, 9], 3)
    (True, False)
    """
    return any(rank <= k for rank in ranks)


def found_at(ranks: Iterable[int], k: int) -> int:
    """Number of fixed files within the first ``k``; summed and divided by all fixed files it is coverage@k.

    >>> found_at([4, 9, 60], 50)
    2
    """
    return sum(rank <= k for rank in ranks)
