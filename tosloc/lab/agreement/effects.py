"""Whether an improvement was found again, and whether two runs order files alike, report by report.

A pair is a baseline and an advanced run. Values are arrays (N,) of one measure, one value a report, in the same order
within a pair. Definitions are those of Breuer et al. 2020, section 3, which the equations' numbers mean.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np

from tosloc.errors import RunError
from tosloc.evaluate.runs import Run
from tosloc.evaluate.statistics import SAME, paired_t_test
from tosloc.records import FloatArray

Region: TypeAlias = Literal[1, 2, 3, 4]
"""Quadrant of the plane of effect ratio (x) and DeltaRI (y)."""

REGIONS: Final = {
    1: "effect found again, relative improvement smaller",
    2: "effect not found again, relative improvement smaller",
    3: "effect not found again, relative improvement not smaller",
    4: "effect found again, relative improvement not smaller",
}
"""What each region says; 4 is the one to be in, near the point (1, 0)."""


def mean(values: FloatArray) -> float:
    """Mean, rounded once, so that the order of the reports changes nothing; 0 of nothing."""
    return math.fsum(values.tolist()) / len(values) if len(values) else 0.0


def rmse(original: FloatArray, ours: FloatArray) -> float:
    """Root mean square difference of the scores of the same reports: 0 where all are equal (equation 3).

    >>> import numpy as np
    >>> rmse(np.array([0.5, 0.25]), np.array([0.5, 0.75]))
    0.3535533905932738
    """
    return math.sqrt(mean((original - ours) ** 2))


@dataclass(frozen=True, slots=True)
class Effect:
    """An original effect beside ours, in one measure."""

    ratio: float
    """ER = mean(a' - b') / mean(a - b) (equations 5 and 7): 1 is the same effect, more than 1 a larger one; 0 or less
    means that ours failed."""
    delta_ri: float
    """RI - RI' of RI = (mean a - mean b) / mean b (equation 6): 0 the same, below 0 where ours improves more."""
    region: Region
    """Section 3.1, where none holds the axes."""

    @classmethod
    def of(cls, baseline: float, advanced: float, our_baseline: float, our_advanced: float) -> Effect:
        """From the four means. Raises RunError when a baseline is 0, or the original shows no effect.

        >>> effect = Effect.of(0.2, 0.3, 0.4, 0.45)
        >>> round(effect.ratio, 9), round(effect.delta_ri, 9), effect.region
        (0.5, 0.375, 1)
        """
        if abs(advanced - baseline) <= SAME:
            raise RunError(
                f"the original's advanced run and its baseline have the same mean, {baseline:.4g}: no effect"
            )
        for one in (baseline, our_baseline):
            if one <= 0:
                raise RunError(f"the baseline's mean is {one:.4g}: no relative improvement over it")
        ratio = (our_advanced - our_baseline) / (advanced - baseline)
        delta = (advanced - baseline) / baseline - (our_advanced - our_baseline) / our_baseline
        if ratio > 0:
            return cls(ratio, delta, 1 if delta > 0 else 4)
        return cls(ratio, delta, 2 if delta > 0 else 3)

    def as_dict(self) -> dict[str, float | str]:
        """Plain values."""
        values = {"ER": self.ratio, "DeltaRI": self.delta_ri, "region": self.region}
        return {**values, "meaning": REGIONS[self.region]}


def p_value(original: FloatArray, ours: FloatArray, same_reports: bool) -> float | None:
    """Two-tailed p of a t-test of the original's scores against ours: small where they differ.

    Paired on the same reports. On others unpaired with equal variances (Student's), as the paper prefers to Welch's
    when the samples differ in size. None where the test has no answer.
    """
    if same_reports:
        return paired_t_test(original, ours).p
    freedom = len(original) + len(ours) - 2
    if min(len(original), len(ours)) < 2:
        return None
    from scipy.special import stdtr

    difference = mean(original) - mean(ours)
    squares = math.fsum(float(((values - mean(values)) ** 2).sum()) for values in (original, ours))
    if squares <= SAME**2:  # nothing varies
        return 1.0 if abs(difference) <= SAME else None
    t = difference / math.sqrt(squares / freedom * (1 / len(original) + 1 / len(ours)))
    return float(2 * stdtr(freedom, -abs(t)))


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
    places = {file: place for place, file in enumerate(original)}
    common = [max(place, places[file]) for place, file in enumerate(ours) if file in places]
    overlap = np.cumsum(np.bincount(common, minlength=long))  # files that both hold within the first d
    depths = np.arange(1, long + 1)
    at_short, at_long = float(overlap[short - 1]), float(overlap[-1])
    unseen = at_short * np.maximum(depths - short, 0) / short
    weights = phi ** (depths - 1.0)
    seen = float(((overlap + unseen) / depths) @ weights) * (1 - phi)
    return seen + ((at_long - at_short) / long + at_short / short) * phi**long


@dataclass(frozen=True, slots=True)
class Agreement:
    """How alike the lists of two runs are ordered: means over reports."""

    tau: float
    rbo: float


def agreement(original: Run, ours: Run, reports: Sequence[str], depth: int | None = None) -> Agreement:
    """How alike two runs order the files of reports. ``depth`` cuts the lists for tau. Raises RunError."""
    if depth is not None and depth < 2:
        raise RunError(f"a depth of {depth} leaves nothing to order; name 2 or more")
    lists = [(original.ranking(report).paths, ours.ranking(report).paths) for report in reports]
    taus = (kendall_tau_union(*pair, depth) for pair in lists)
    return Agreement(math.fsum(taus) / len(lists), math.fsum(rank_biased_overlap(*pair) for pair in lists) / len(lists))
