"""Arithmetic of a bisection on a graph of commits with weights, without git.

The commits of a graph are those that may have introduced a fault: the bad commit and its ancestors,
without the ancestors of good commits. A test of a commit splits the graph: if the commit is bad,
only the commits that it contains remain, otherwise only the other commits. The best commit to test
contains half of the weight.

Weights are integers, so that sums are exact and ties do not depend on the order of additions.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from tosloc.core.arrays import FloatArray, LongArray

TOTAL_WEIGHT: Final = 2**40
"""Sum to which the weights of a range are scaled before they are rounded."""


@dataclass(frozen=True, eq=False)
class CommitGraph:
    """Commits that may have introduced a fault, and their parents within the graph."""

    commits: Sequence[str]
    """(D,) full ids, parents before children; the last is the bad commit, which contains all."""
    parents: Sequence[Sequence[int]]
    """(D,) positions of each commit's parents in ``commits``, first parent first."""

    def __len__(self) -> int:
        return len(self.commits)

    @cached_property
    def positions(self) -> dict[str, int]:
        """Id of a commit -> its position."""
        return {commit: position for position, commit in enumerate(self.commits)}

    def contained_weights(self, weights: LongArray) -> LongArray:
        """Return (D,) the sum of the weights (D,) of each commit and its ancestors in the graph.

        Only merges need more than an addition, as in git. Their ancestors are stored as sets of
        bits, which are dropped once all children of a commit are done.
        """
        sums = np.zeros(len(self), dtype=np.int64)
        remaining_children = self._count_children()
        ancestors: dict[int, int] = {}
        for position, parents in enumerate(self.parents):
            contained = 0
            total = int(weights[position])
            for number, parent in enumerate(parents):
                if number == 0:
                    contained = ancestors[parent]
                    total += int(sums[parent])
                else:
                    added = ancestors[parent] & ~contained
                    total += _sum_at_bits(added, weights)
                    contained |= added
            sums[position] = total
            if remaining_children[position]:
                ancestors[position] = contained | 1 << position
            for parent in parents:
                remaining_children[parent] -= 1
                if not remaining_children[parent]:
                    del ancestors[parent]
        return sums

    def _count_children(self) -> list[int]:
        """Return the number of children of each commit in the graph."""
        counts = [0] * len(self)
        for parents in self.parents:
            for parent in parents:
                counts[parent] += 1
        return counts

    def first_parent_line(self, weights: LongArray) -> tuple[CommitGraph, LongArray]:
        """Return the line of first parents from the bad commit down, and its weights.

        The weight of a merge is the sum over all commits that it brought.
        """
        sums = self.contained_weights(weights)
        line = [len(self) - 1]
        while self.parents[line[-1]]:
            line.append(self.parents[line[-1]][0])
        line.reverse()
        commits = [self.commits[position] for position in line]
        parents = [[place - 1] if place else [] for place in range(len(line))]
        return CommitGraph(commits, parents), np.diff(sums[line], prepend=0)


def _sum_at_bits(bits: int, weights: LongArray) -> int:
    """Return the sum of the weights at the positions of the set bits in ``bits``."""
    if not bits:
        return 0
    data = np.frombuffer(bits.to_bytes(len(weights) // 8 + 1, "little"), dtype=np.uint8)
    filled = np.flatnonzero(data)
    rows, columns = np.nonzero(np.unpackbits(data[filled, None], axis=1, bitorder="little"))
    return int(weights[8 * filled[rows] + columns].sum())


def scale_weights(weights: FloatArray) -> LongArray:
    """Return weights (D,) as integers of at least 1 whose sum is about ``TOTAL_WEIGHT``."""
    scaled: LongArray = np.rint(weights * (TOTAL_WEIGHT / weights.sum())).astype(np.int64)
    return np.maximum(scaled, 1)


def choose_commit(
    graph: CommitGraph, weights: LongArray, skipped: Collection[int] = ()
) -> int | None:
    """Return the position of the commit to test next; None if no test can tell more.

    It is the commit that, with its ancestors, has closest to half of the weight, so that either
    result halves the rest; of equally good commits the oldest is chosen. The last commit is known
    to be bad. Skipped commits cannot be tested, and commits near them are likely to fail in the
    same way. After s skipped commits, the gain of a commit is therefore multiplied by d / (d + s),
    where d is its distance from the nearest skipped commit in the list.
    """
    sums = graph.contained_weights(weights)
    gains = np.minimum(sums, sums[-1] - sums).astype(np.float64)
    if skipped:
        distances = _distances(len(graph), sorted(skipped))
        gains *= distances / (distances + len(skipped))
    gains[-1] = 0.0
    best = int(gains.argmax())
    return best if gains[best] > 0 else None


def _distances(number: int, places: Sequence[int]) -> FloatArray:
    """Return the distance of each of ``number`` positions from the nearest of ``places``.

    ``places`` must be in ascending order.
    """
    positions = np.arange(number)
    marks = np.array(places)
    after = np.searchsorted(marks, positions)
    before = np.maximum(after - 1, 0)
    after = np.minimum(after, len(marks) - 1)
    nearest: FloatArray = np.minimum(positions - marks[before], marks[after] - positions).astype(
        np.float64
    )
    return np.abs(nearest)


def count_runs(weights: FloatArray, culprit: int) -> int:
    """Return the number of tests that find the culprit in a line of commits with weights (D,)."""
    sums = sums_before(scale_weights(weights))
    first, end = 0, len(weights)
    runs = 0
    while end - first > 1:
        middle = split_line(sums, first, end)
        if culprit < middle:
            end = middle
        else:
            first = middle
        runs += 1
    return runs


def expected_runs(weights: LongArray) -> float:
    """Return the mean number of tests until the culprit is found, from the commits' weights (D,).

    The commits count as a linear history. The mean is a sum over all splits that can happen: each
    costs one test, times the weight of the commits that it splits.
    """
    sums = sums_before(weights)
    cost = 0.0
    spans = [(0, len(weights))]
    while spans:
        first, end = spans.pop()
        if end - first > 1:
            middle = split_line(sums, first, end)
            cost += sums[end] - sums[first]
            spans.append((first, middle))
            spans.append((middle, end))
    return cost / sums[-1]


def sums_before(weights: LongArray) -> list[int]:
    """Return (D + 1,) the sum of the weights before each commit, and of all commits."""
    return [0, *np.cumsum(weights).tolist()]


def split_line(sums: Sequence[int], first: int, end: int) -> int:
    """Return the position at which a test splits a line of commits into two parts.

    ``sums`` is the result of ``sums_before``. The line contains the commits from ``first`` to
    before ``end``, at least two. Both parts contain at least one commit, and nearly the same
    weight.
    """
    both = sums[first] + sums[end]
    best = bisect_left(sums, both / 2, first + 1, end - 1)
    before = best - 1
    if before > first and both - 2 * sums[before] <= abs(2 * sums[best] - both):
        best = before
    return best


def plain_runs(number: int) -> float:
    """Return the mean number of tests of a bisection that ignores weights, for a number of commits.

    >>> plain_runs(1), plain_runs(4), round(plain_runs(3), 2)
    (0.0, 2.0, 1.67)
    """
    whole = number.bit_length() - 1
    return whole + 2 * (1 - (1 << whole) / number)
