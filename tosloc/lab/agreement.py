"""When is reproduced reproduced? The five levels of Breuer et al. 2020 between an original pair of runs and ours.

A pair is a baseline b and an advanced run a. From the most particular to the most general: order of the files,
effectiveness per report, overall effect, statistical difference, mean effectiveness; the equations' numbers are those
of the paper's section 3. On the same reports ours is a replication; on another project's a reproduction, to which the
first two do not apply. Of a paper that published means only, the last three are left. Shapes: N reports.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from tosloc.core.errors import RunError
from tosloc.core.records import FloatArray
from tosloc.evaluate.measures import Evaluation, Measure
from tosloc.evaluate.runs import Run
from tosloc.evaluate.statistics import (
    EQUAL_TOLERANCE,
    Interval,
    exact_mean,
    mean_interval,
    paired_t_test,
)

REGIONS: Final = {
    1: "effect found again, relative improvement smaller",
    2: "effect not found again, relative improvement smaller",
    3: "effect not found again, relative improvement not smaller",
    4: "effect found again, relative improvement not smaller",
}
"""Quadrants of the plane of effect ratio (x) and DeltaRI (y); 4 is the one to be in, near the point (1, 0)."""
EFFECT: Final = ("ER", "DeltaRI", "region")
PHI: Final = (
    0.8  # how far down RBO looks, as in the paper: ranks beyond d weigh at most phi^d together
)
ANOTHER_PROJECT: Final = (
    "other reports were judged: order and RMSE, which need the same ones, do not apply"
)
RANKS_ONLY: Final = (
    "only some files' ranks are known: the order, which needs whole rankings, does not apply"
)


def kendall_tau_union(
    original: Sequence[str], ours: Sequence[str], depth: int | None = None
) -> float:
    """Kendall's tau-b, -1 to 1, of two lists over the union of their files (Breuer et al. 2020, equation 1).

    The union holds the original's files in their order, then those that only ours has, in theirs, numbered from 1; each
    list becomes the sequence of its files' numbers, and tau compares the two sequences place by place. Lists that hold
    the same files have their plain rank correlation. Files that only our list has always stand in the union's order, so
    that lists without a common file have the value 1: read it together with RBO.

    ``depth`` cuts both lists; of lists of different length the longer one is cut, since its other places have no
    partner. Where no two places are left there is nothing to order: 1 for equal lists, else 0.

    >>> kendall_tau_union(["d1", "d2", "d3"], ["d1", "d2", "d4"])
    1.0
    >>> round(kendall_tau_union(["d1", "d2", "d3", "d4"], ["d2", "d5", "d3", "d6"]), 4)
    0.6667
    """
    from scipy.stats import kendalltau

    length = min(len(original), len(ours), *(() if depth is None else (depth,)))
    first, second = original[:length], ours[:length]
    if length < 2:
        return float(first == second and len(original) == len(ours))
    numbers = {file: number for number, file in enumerate(dict.fromkeys((*first, *second)))}
    sequences = [[numbers[file] for file in files] for files in (first, second)]
    return round(
        float(kendalltau(*sequences).statistic), 14
    )  # so that equal lists have the value 1


def rank_biased_overlap(original: Sequence[str], ours: Sequence[str], phi: float = PHI) -> float:
    """Rank-biased overlap, 0 to 1, of two lists: ``(1 - phi) sum phi^(d-1) A_d`` over all depths d from 1.

    A_d is the share of common files among the first d of each. The sum is infinite and the lists are not, so it is
    extrapolated (Webber et al. 2010, equation 32): below the end of the shorter list its missing files agree as its
    known ones did there; below the end of the longer one the agreement stays what it is. Two empty lists have the value
    1, an empty and another one 0.

    >>> round(rank_biased_overlap("abcdefg", "bacdefg", 0.9), 12)
    0.9
    """
    if not original or not ours:
        return float(len(original) == len(ours))
    short, long = sorted((len(original), len(ours)))
    places = {file: place for place, file in enumerate(original)}
    common = [max(place, places[file]) for place, file in enumerate(ours) if file in places]
    overlap = np.cumsum(
        np.bincount(common, minlength=long)
    )  # files that both hold within the first d
    depths = np.arange(1, long + 1)
    at_short, at_long = float(overlap[short - 1]), float(overlap[-1])
    unseen = at_short * np.maximum(depths - short, 0) / short
    weights = phi ** (depths - 1.0)
    seen = float(((overlap + unseen) / depths) @ weights) * (1 - phi)
    return seen + ((at_long - at_short) / long + at_short / short) * phi**long


def rmse(original: FloatArray, ours: FloatArray) -> float:
    """Root mean square difference of the (N,) values of the same reports: 0 where all are equal (equation 3).

    >>> rmse(np.array([0.5, 0.25]), np.array([0.5, 0.75]))
    0.3535533905932738
    """
    return math.sqrt(exact_mean((original - ours) ** 2))


def p_value(original: FloatArray, ours: FloatArray, same_reports: bool) -> float | None:
    """Two-tailed p of a t-test of the original's values against ours: small where they differ.

    Paired on the same reports. On others unpaired with equal variances (Student's), as the paper prefers to Welch's
    when the samples differ in size. None where the test has no answer.
    """
    if same_reports:
        return paired_t_test(original, ours)[1]
    if (
        min(len(original), len(ours)) < 2 or max(np.ptp(original), np.ptp(ours)) <= EQUAL_TOLERANCE
    ):  # nothing varies
        return None
    from scipy.stats import ttest_ind_from_stats

    sides = [(one.mean(), one.std(ddof=1), len(one)) for one in (original, ours)]
    return float(ttest_ind_from_stats(*sides[0], *sides[1]).pvalue)


class Effect(NamedTuple):
    """An original effect beside ours, in one measure."""

    ratio: float
    """ER = mean(a' - b') / mean(a - b) (equations 5 and 7): 1 is the same effect, more than 1 a larger one; 0 or less
    means that ours failed."""
    delta_ri: float
    """RI - RI' of RI = (mean a - mean b) / mean b (equation 6): 0 the same, below 0 where ours improves more."""
    region: int  # section 3.1, where none holds the axes


def effect(
    measure: Measure, baseline: float, advanced: float, our_baseline: float, our_advanced: float
) -> Effect:
    """Of the four means. Raises RunError when a baseline is 0, or the original shows no effect."""
    if abs(advanced - baseline) <= EQUAL_TOLERANCE:
        raise RunError(
            f"{measure}: the original's advanced run and its baseline have the same mean, {baseline:.4g}: no effect"
        )
    for one in (baseline, our_baseline):
        if one <= 0:
            raise RunError(
                f"{measure}: the baseline's mean is {one:.4g}: no relative improvement over it"
            )
    ratio = (our_advanced - our_baseline) / (advanced - baseline)
    delta = (advanced - baseline) / baseline - (our_advanced - our_baseline) / our_baseline
    return Effect(ratio, delta, (1 if delta > 0 else 4) if ratio > 0 else (2 if delta > 0 else 3))


# Pairs of runs

Judged: TypeAlias = tuple[Run, Evaluation]
Row: TypeAlias = dict[str, Any]


class Pair(NamedTuple):
    """A baseline and an advanced run, each with how good it is."""

    baseline: Judged
    advanced: Judged

    @property
    def keys(self) -> set[tuple[str, tuple[str, ...], tuple[str, ...]]]:
        """The judged reports with their files; ids alone do not tell, as two projects may count bugs alike. Raises
        RunError where the two runs are judged by others.
        """
        both = [[one.judgement for one in evaluation.per_report] for _, evaluation in self]
        keys, others = (
            {(one.report, tuple(sorted(one.fixed)), tuple(sorted(one.listed))) for one in judged}
            for judged in both
        )
        if keys != others:
            raise RunError(
                f"{self.baseline[0].where} and {self.advanced[0].where} are judged by different reports or fixed"
                " files; a baseline and its advanced run need the same"
            )
        return keys


def reproduction(
    original: Pair, ours: Pair, measures: Sequence[Measure], depth: int | None = None
) -> tuple[list[Row], list[str]]:
    """The levels between two pairs, a row each of ``level``, ``measure``, and values of ``baseline`` and ``advanced``
    or of their ``effect``, None for what does not apply; and remarks on them.

    ``depth`` cuts the lists that Kendall's tau union compares. Raises RunError.
    """
    if depth is not None and depth < 2:
        raise RunError(f"a depth of {depth} leaves nothing to order; name 2 or more")
    same = _of_same_reports(original, ours)
    sides = {
        "baseline": (original.baseline, ours.baseline),
        "advanced": (original.advanced, ours.advanced),
    }
    whole = not any(run.partial for both in sides.values() for run, _ in both)
    values = {
        (side, measure): (theirs.values(measure), own.values(measure))
        for side, ((_, theirs), (_, own)) in sides.items()
        for measure in measures
    }
    means = {key: (exact_mean(theirs), exact_mean(own)) for key, (theirs, own) in values.items()}
    rows: list[Row] = []
    for name, alike in (
        ("Kendall's tau union", partial(kendall_tau_union, depth=depth)),
        (f"RBO, phi {PHI:g}", rank_biased_overlap),
    ):
        of_sides = {
            side: _order(both, alike) if same and whole else None for side, both in sides.items()
        }
        rows.append({"level": "order", "measure": name, **of_sides})

    def add(level: str, name: str, value: Callable[..., float | None]) -> None:
        for one in measures:
            rows.append(
                {
                    "level": level,
                    "measure": name.format(one),
                    **{side: value(side, one) for side in sides},
                }
            )

    add("effectiveness", "RMSE of {}", lambda *key: rmse(*values[key]) if same else None)
    regions, worse = set(), []
    for one in measures:
        (b, our_b), (a, our_a) = (means[side, one] for side in sides)
        found = effect(one, b, a, our_b, our_a)
        regions.add(found.region)
        worse += [repr(one)] if a < b else []
        for name, value in zip(EFFECT, found, strict=True):
            rows.append({"level": "effect", "measure": f"{name} of {one}", "effect": value})
    add("statistics", "p of {}", lambda *key: p_value(*values[key], same))
    add("mean", "{}, original", lambda *key: means[key][0])
    add("mean", "{}, ours", lambda *key: means[key][1])
    add("mean", "{}, delta", lambda *key: means[key][0] - means[key][1])
    test = "paired" if same else "unpaired"
    remarks = [
        f"p: two-tailed {test} t-test of the original's scores against ours, small where they differ"
    ]
    remarks += [f"region {one}: {REGIONS[one]}" for one in sorted(regions)]
    remarks += [ANOTHER_PROJECT] if not same else [] if whole else [RANKS_ONLY]
    if worse:
        remarks.append(
            f"the original's advanced run is worse than its baseline in {', '.join(worse)}: ER tells losses"
        )
    return rows, remarks


def _of_same_reports(original: Pair, ours: Pair) -> bool:
    """Whether ours is a replication. Raises RunError where only some reports are the same."""
    common, same = len(original.keys & ours.keys), original.keys == ours.keys
    if common and not same:
        raise RunError(
            f"{original.baseline[0].where} and {ours.baseline[0].where} share {common} of {len(original.keys)} and"
            f" {len(ours.keys)} judged reports; judge all four by the same ones, or ours by another project's"
        )
    return same


def _order(both: Sequence[Judged], alike: Callable[[Sequence[str], Sequence[str]], float]) -> float:
    """How alike two runs order files: mean over reports."""
    (run, evaluation), (our_run, _) = both
    ids = [one.report for one in evaluation.per_report]
    return math.fsum(
        alike(run.ranking(one).paths, our_run.ranking(one).paths) for one in ids
    ) / len(ids)


def against_published(
    baseline: float, advanced: float, ours: Pair, measure: Measure
) -> tuple[list[Row], list[str]]:
    """Our pair against published means of a measure, which lie from 0 to 1: a row each of baseline, advanced, and the
    improvement of one over the other, whose interval draws both runs together; then those of the effect; and remarks.

    ``interval`` is the 95 % bootstrap interval of ours - published over our reports; None for under two of them. What
    the published mean itself varies by is not known, so that the truth is less sure than this. Raises RunError.
    """
    for value in (baseline, advanced):
        if not 0 <= value <= 1:
            raise RunError(f"a published mean of {measure} is between 0 and 1, not {value:g}")
    b, a = (evaluation.values(measure) for _, evaluation in (ours.baseline, ours.advanced))
    found = effect(measure, baseline, advanced, exact_mean(b), exact_mean(a))
    rows: list[Row] = []
    pairs = {
        "baseline": (baseline, b),
        "advanced": (advanced, a),
        "improvement": (advanced - baseline, a - b),
    }
    for name, (published, values) in pairs.items():
        around, mean = mean_interval(values), exact_mean(values)
        interval = (
            None if around is None else Interval(around.low - published, around.high - published)
        )
        differs = {
            "published": published,
            "ours": mean,
            "difference": mean - published,
            "interval": interval,
        }
        rows.append({"mean": name, **differs})
    rows += [{"mean": name, "ours": value} for name, value in zip(EFFECT, found, strict=True)]
    return rows, [
        "interval: 95 %, of ours - published, by bootstrap over our reports; how far published means vary is not known",
        f"region {found.region}: {REGIONS[found.region]}",
    ]
