"""Whether two runs order files alike: Kendall's tau union and rank-biased overlap, per report (Breuer et al. 2020).

Both compare a report's two lists of files, the original's and ours; neither looks at what was fixed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from tosloc.errors import RunError
from tosloc.evaluate.runs import Run
from tosloc.records import LongArray

PHI: Final = 0.8
"""How far down RBO looks, as in the paper: ranks beyond d weigh at most phi^d together."""


def kendall_tau_union(
    original: Sequence[str], ours: Sequence[str], depth: int | None = None, *, sorted_union: bool = False
) -> float:
    """Kendall's tau-b, -1 to 1, of two lists over the union of their files (Breuer et al. 2020, equation 1).

    The union holds the original's files in their order, then those that only ours has, in theirs, numbered from 1; each
    list becomes the sequence of its files' numbers, and tau compares the two sequences place by place. Lists that hold
    the same files have their plain rank correlation. Files that only our list has always stand in the union's order, so
    that lists without a common file have the value 1: read it together with RBO.

    ``depth`` cuts both lists; of lists of different length the longer one is cut, since its other places have no
    partner. Where no two places are left there is nothing to order: 1 for equal lists, else 0.

    ``sorted_union`` numbers the union by name, as repro_eval 0.5 does: a value that changes when files are renamed, for
    comparison with that tool only.

    >>> kendall_tau_union(["d1", "d2", "d3"], ["d1", "d2", "d4"])
    1.0
    >>> round(kendall_tau_union(["d1", "d2", "d3", "d4"], ["d2", "d5", "d3", "d6"]), 4)
    0.6667
    """
    from scipy.stats import kendalltau

    shorter = min(len(original), len(ours))
    length = shorter if depth is None else min(shorter, depth)
    first, second = original[:length], ours[:length]
    if length < 2:
        return float(first == second and len(original) == len(ours))
    union: Iterable[str] = dict.fromkeys((*first, *second))
    numbers = {file: number for number, file in enumerate(sorted(union) if sorted_union else union, start=1)}
    sequences = [[numbers[file] for file in files] for files in (first, second)]
    return round(float(kendalltau(*sequences).statistic), 14)  # so that equal lists have the value 1


def rank_biased_overlap(original: Sequence[str], ours: Sequence[str], phi: float = PHI) -> float:
    """Rank-biased overlap, 0 to 1, of two lists: ``(1 - phi) sum phi^(d-1) A_d`` over all depths d from 1.

    A_d is the share of common files among the first d of each. The sum is infinite and the lists are not, so it is
    extrapolated (Webber et al. 2010, equation 32): below the end of the shorter list its missing files agree as its
    known ones did there; below the end of the longer one the agreement stays what it is. Two empty lists have the value
    1, an empty and another one 0.

    >>> round(rank_biased_overlap("abcdefg", "bacdefg", 0.9), 12)
    0.9
    """
    if not 0 < phi < 1:
        raise ValueError(f"phi is between 0 and 1, not {phi}")
    if not original or not ours:
        return float(len(original) == len(ours))
    short, long = sorted((len(original), len(ours)))
    overlap = _overlaps(original, ours)
    depths = np.arange(1, long + 1)
    at_short, at_long = float(overlap[short - 1]), float(overlap[-1])
    unseen = at_short * np.maximum(depths - short, 0) / short
    weights = phi ** (depths - 1.0)
    seen = float(((overlap + unseen) / depths) @ weights) * (1 - phi)
    return seen + ((at_long - at_short) / long + at_short / short) * phi**long


def _overlaps(original: Sequence[str], ours: Sequence[str]) -> LongArray:
    """(the longer length,) how many files both lists hold within the first d of each, for d from 1."""
    positions = {file: position for position, file in enumerate(original)}
    common = [max(position, positions[file]) for position, file in enumerate(ours) if file in positions]
    return np.cumsum(np.bincount(common, minlength=max(len(original), len(ours))))


@dataclass(frozen=True, slots=True)
class Agreement:
    """How alike two lists, or on average all lists of two runs, are ordered."""

    tau: float
    """Kendall's tau union."""
    rbo: float
    """Rank-biased overlap, phi .8, extrapolated."""


def agreements(original: Run, ours: Run, reports: Iterable[str], depth: int | None = None) -> dict[str, Agreement]:
    """Report id -> how alike two runs order its files. ``depth`` cuts the lists for tau.

    By default all files count: full rankings of one version hold the same files, and then nothing depends on the union.
    RBO needs no cut, as ranks below 50 weigh .8^50 = .00001. Raises RunError when only some ranks are known.
    """
    if depth is not None and depth < 2:
        raise RunError(f"a depth of {depth} leaves nothing to order; name 2 or more")
    made = {}
    for report in reports:
        first, second = original.ranking(report).paths, ours.ranking(report).paths
        made[report] = Agreement(kendall_tau_union(first, second, depth), rank_biased_overlap(first, second))
    return made


def mean_agreement(per_report: Mapping[str, Agreement]) -> Agreement:
    """The means over all reports, of which there is at least one."""
    number = len(per_report)
    return Agreement(
        math.fsum(one.tau for one in per_report.values()) / number,
        math.fsum(one.rbo for one in per_report.values()) / number,
    )
