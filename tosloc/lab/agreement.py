"""Measure how far a result is reproduced: five levels between an original and our pair of runs.

Source: Breuer et al. 2020; the numbers of equations are those of its section 3. A pair consists of
a baseline b and an advanced run a. The levels, from the most specific to the most general, are:
order of the files, effectiveness per report, overall effect, statistical difference, mean
effectiveness.

On the same reports our pair is a replication. On another project's reports it is a reproduction, to
which the first two levels do not apply. If a paper published only means, the last three apply.

Shapes: N reports.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from tosloc.core.arrays import FloatArray
from tosloc.core.errors import RunError
from tosloc.evaluate.measures import Evaluation, Measure
from tosloc.evaluate.runs import Run
from tosloc.evaluate.statistics import EQUAL_TOLERANCE, Interval, exact_mean, paired_t_test

REGIONS: Final = {
    1: "effect found again, relative improvement smaller",
    2: "effect not found again, relative improvement smaller",
    3: "effect not found again, relative improvement not smaller",
    4: "effect found again, relative improvement not smaller",
}
"""Meaning of each quadrant of the plane of effect ratio (x) and DeltaRI (y).

The best result is in quadrant 4, near the point (1, 0)."""
EFFECT_MEASURES: Final = ("ER", "DeltaRI", "region")
"""Names of the fields of ``Effect``."""
PHI: Final = 0.8
"""Persistence of RBO, as in the paper: all ranks beyond d together weigh at most phi^d."""
ANOTHER_PROJECT: Final = (
    "the two pairs judge different reports, so order and RMSE, which need the same reports, do"
    " not apply"
)
RANKS_ONLY: Final = (
    "only the ranks of some files are known, so the order, which needs complete rankings, does"
    " not apply"
)


def kendall_tau_union(
    original: Sequence[str], ours: Sequence[str], depth: int | None = None
) -> float:
    """Return Kendall's tau-b, -1 to 1, of two lists over the union of their files.

    Breuer et al. 2020, equation 1. The union contains the original's files in their order, followed
    by files that only our list contains, in its order. Its files are numbered from 1. Each list
    becomes the sequence of its files' numbers, and tau compares the two sequences position by
    position. For lists with the same files this is the plain rank correlation. Files that only our
    list contains are always in the union's order, so that lists without a common file have the
    value 1: read it together with RBO.

    ``depth`` cuts both lists. If their lengths differ, the longer list is cut, because its last
    positions have no counterpart. If fewer than two positions remain, the value is 1 for equal
    lists, otherwise 0.

    >>> kendall_tau_union(["d1", "d2", "d3"], ["d1", "d2", "d4"])
    1.0
    >>> round(kendall_tau_union(["d1", "d2", "d3", "d4"], ["d2", "d5", "d3", "d6"]), 4)
    0.6667
    """
    from scipy.stats import kendalltau

    length = min(len(original), len(ours))
    if depth is not None:
        length = min(length, depth)
    first = original[:length]
    second = ours[:length]
    if length < 2:
        return float(first == second and len(original) == len(ours))
    numbers = {file: number for number, file in enumerate(dict.fromkeys((*first, *second)))}
    result = kendalltau([numbers[file] for file in first], [numbers[file] for file in second])
    # Rounding gives equal lists the value 1.
    return round(float(result.statistic), 14)


def rank_biased_overlap(original: Sequence[str], ours: Sequence[str], phi: float = PHI) -> float:
    """Return the rank-biased overlap, 0 to 1, of two lists.

    It is ``(1 - phi) sum phi^(d-1) A_d`` over all depths d from 1, where A_d is the share of common
    files among the first d of each. The sum is infinite but the lists are not, so it is
    extrapolated (Webber et al. 2010, equation 32). Below the end of the shorter list, its missing
    files are assumed to agree as its known files did there; below the end of the longer list, the
    agreement stays the same. The value is 1 for two empty lists, and 0 if only one is empty.

    >>> round(rank_biased_overlap("abcdefg", "bacdefg", 0.9), 12)
    0.9
    """
    if not original or not ours:
        return float(len(original) == len(ours))
    short, long = sorted((len(original), len(ours)))
    position_in_original = {file: position for position, file in enumerate(original)}
    # The depth index at which each common file is in both lists.
    common = [
        max(position, position_in_original[file])
        for position, file in enumerate(ours)
        if file in position_in_original
    ]
    overlap = np.cumsum(np.bincount(common, minlength=long))
    depths = np.arange(1, long + 1)
    overlap_at_short = float(overlap[short - 1])
    overlap_at_long = float(overlap[-1])
    extrapolated = overlap_at_short * np.maximum(depths - short, 0) / short
    weights = phi ** (depths - 1.0)
    within_lists = float(((overlap + extrapolated) / depths) @ weights) * (1 - phi)
    final_agreement = (overlap_at_long - overlap_at_short) / long + overlap_at_short / short
    return within_lists + final_agreement * phi**long


def rmse(original: FloatArray, ours: FloatArray) -> float:
    """Return the root mean square difference of the (N,) values of the same reports (equation 3).

    It is 0 if all values are equal.

    >>> rmse(np.array([0.5, 0.25]), np.array([0.5, 0.75]))
    0.3535533905932738
    """
    return math.sqrt(exact_mean((original - ours) ** 2))


def p_value(original: FloatArray, ours: FloatArray, same_reports: bool) -> float | None:
    """Return the two-tailed p of a t-test between the original's values and ours.

    p is small if they differ. The test is paired for the same reports. For other reports it is
    unpaired with equal variances (Student's test), which the paper prefers to Welch's test for
    samples of different size. Return None if the test is undefined.
    """
    if same_reports:
        return paired_t_test(original, ours)[1]
    if min(len(original), len(ours)) < 2:
        return None
    if max(np.ptp(original), np.ptp(ours)) <= EQUAL_TOLERANCE:
        return None
    from scipy.stats import ttest_ind_from_stats

    result = ttest_ind_from_stats(
        original.mean(),
        original.std(ddof=1),
        len(original),
        ours.mean(),
        ours.std(ddof=1),
        len(ours),
    )
    return float(result.pvalue)


class Effect(NamedTuple):
    """Our effect compared to the original one, in one measure."""

    ratio: float
    """ER = mean(a' - b') / mean(a - b) (equations 5 and 7).

    It is 1 for the same effect, and above 1 for a larger one; at 0 or below, our reproduction
    failed.
    """
    delta_ri: float
    """RI - RI' of RI = (mean a - mean b) / mean b (equation 6).

    It is 0 for the same improvement, and below 0 if ours improves more.
    """
    region: int
    """Quadrant of the two numbers (section 3.1, where no quadrant contains the axes)."""


def effect(
    measure: Measure, baseline: float, advanced: float, our_baseline: float, our_advanced: float
) -> Effect:
    """Return the effect computed from four means.

    Raises RunError if a baseline is 0, or if the original shows no effect.
    """
    if abs(advanced - baseline) <= EQUAL_TOLERANCE:
        raise RunError(
            f"{measure}: the original's advanced run and its baseline have the same mean,"
            f" {baseline:.4g}, so there is no effect to reproduce"
        )
    for mean in (baseline, our_baseline):
        if mean <= 0:
            raise RunError(
                f"{measure}: the baseline's mean is {mean:.4g}, so a relative improvement over it"
                " is undefined"
            )
    ratio = (our_advanced - our_baseline) / (advanced - baseline)
    delta_ri = (advanced - baseline) / baseline - (our_advanced - our_baseline) / our_baseline
    if ratio > 0:
        region = 1 if delta_ri > 0 else 4
    else:
        region = 2 if delta_ri > 0 else 3
    return Effect(ratio, delta_ri, region)


# Pairs of runs

EvaluatedRun: TypeAlias = tuple[Run, Evaluation]
Row: TypeAlias = dict[str, Any]
ReportKey: TypeAlias = tuple[str, tuple[str, ...], tuple[str, ...]]
"""The id of a report, its fixed files and its listed files."""
OrderMeasure: TypeAlias = Callable[[Sequence[str], Sequence[str]], float]
"""A function that compares two orders of files."""


class Pair(NamedTuple):
    """A baseline and an advanced run, each with its evaluation."""

    baseline: EvaluatedRun
    advanced: EvaluatedRun

    @property
    def keys(self) -> set[ReportKey]:
        """The judged reports with their files, because two projects may use the same ids.

        Raises RunError if the two runs have different judgements.
        """
        keys = _report_keys(self.baseline[1])
        if keys != _report_keys(self.advanced[1]):
            raise RunError(
                f"{self.baseline[0].where} and {self.advanced[0].where} are judged on different"
                " reports or fixed files; a baseline and its advanced run need the same ones"
            )
        return keys


def _report_keys(evaluation: Evaluation) -> set[ReportKey]:
    keys: set[ReportKey] = set()
    for scores in evaluation.per_report:
        judgement = scores.judgement
        fixed = tuple(sorted(judgement.fixed))
        keys.add((judgement.report, fixed, tuple(sorted(judgement.listed))))
    return keys


class SidePair(NamedTuple):
    """The original run of one side (baseline or advanced), and our run of it."""

    original: EvaluatedRun
    ours: EvaluatedRun

    def values(self, measure: Measure) -> tuple[FloatArray, FloatArray]:
        """Return (N,) values of the original's reports, and the values of our reports."""
        return self.original[1].values(measure), self.ours[1].values(measure)


def compare_reproduction(
    original: Pair, ours: Pair, measures: Sequence[Measure], depth: int | None = None
) -> tuple[list[Row], list[str]]:
    """Compare two pairs at all levels, and return the rows of a table and remarks on them.

    A row has ``level``, ``measure``, and values of ``baseline`` and ``advanced`` or of their
    ``effect``. A value is None if the level does not apply. ``depth`` cuts the lists that Kendall's
    tau union compares. Raises RunError.
    """
    if depth is not None and depth < 2:
        raise RunError(f"a depth of {depth} leaves nothing to order; use 2 or more")
    same_reports = _have_same_reports(original, ours)
    sides = {
        "baseline": SidePair(original.baseline, ours.baseline),
        "advanced": SidePair(original.advanced, ours.advanced),
    }
    has_ranks_only = any(run.partial for side in sides.values() for run, _ in side)
    has_order = same_reports and not has_ranks_only
    rows: list[Row] = []
    order_measures: dict[str, OrderMeasure] = {
        "Kendall's tau union": partial(kendall_tau_union, depth=depth),
        f"RBO, phi {PHI:g}": rank_biased_overlap,
    }
    for name, order_measure in order_measures.items():
        row: Row = {"level": "order", "measure": name}
        for side_name, side in sides.items():
            row[side_name] = _mean_order(side, order_measure) if has_order else None
        rows.append(row)

    def side_rows(
        level: str, name: str, value: Callable[[FloatArray, FloatArray], float | None]
    ) -> None:
        """Add a row for each measure; ``value`` compares the original's values with ours."""
        for measure in measures:
            row: Row = {"level": level, "measure": name.format(measure)}
            for side_name, side in sides.items():
                row[side_name] = value(*side.values(measure))
            rows.append(row)

    side_rows("effectiveness", "RMSE of {}", rmse if same_reports else lambda *_: None)
    effects = {measure: _pair_effect(sides, measure) for measure in measures}
    for measure, measure_effect in effects.items():
        for name, value in zip(EFFECT_MEASURES, measure_effect, strict=True):
            rows.append({"level": "effect", "measure": f"{name} of {measure}", "effect": value})
    side_rows("statistics", "p of {}", partial(p_value, same_reports=same_reports))
    side_rows("mean", "{}, original", lambda theirs, own: exact_mean(theirs))
    side_rows("mean", "{}, ours", lambda theirs, own: exact_mean(own))
    side_rows("mean", "{}, delta", lambda theirs, own: exact_mean(theirs) - exact_mean(own))

    test = "paired" if same_reports else "unpaired"
    remarks = [
        f"p: two-tailed {test} t-test between the original and the reproduced scores; a small p"
        " means that they differ"
    ]
    regions = {measure_effect.region for measure_effect in effects.values()}
    remarks += [f"region {region}: {REGIONS[region]}" for region in sorted(regions)]
    if not same_reports:
        remarks.append(ANOTHER_PROJECT)
    elif has_ranks_only:
        remarks.append(RANKS_ONLY)
    worse: list[str] = []
    for measure in measures:
        if original.advanced[1].mean(measure) < original.baseline[1].mean(measure):
            worse.append(repr(measure))
    if worse:
        remarks.append(
            f"the original's advanced run is worse than its baseline in {', '.join(worse)}, so ER"
            " compares losses"
        )
    return rows, remarks


def _pair_effect(sides: dict[str, SidePair], measure: Measure) -> Effect:
    baseline, our_baseline = sides["baseline"].values(measure)
    advanced, our_advanced = sides["advanced"].values(measure)
    return effect(
        measure,
        exact_mean(baseline),
        exact_mean(advanced),
        exact_mean(our_baseline),
        exact_mean(our_advanced),
    )


def _have_same_reports(original: Pair, ours: Pair) -> bool:
    """Return whether our pair is a replication. Raises RunError if only some reports are shared."""
    common = len(original.keys & ours.keys)
    is_same = original.keys == ours.keys
    if common and not is_same:
        raise RunError(
            f"{original.baseline[0].where} and {ours.baseline[0].where} share {common} of"
            f" {len(original.keys)} and {len(ours.keys)} judged reports; judge all four runs on"
            " the same reports, or the reproduced runs on another project"
        )
    return is_same


def _mean_order(side: SidePair, order_measure: OrderMeasure) -> float:
    """Return the mean over reports of a measure of two runs' orders of files."""
    run, evaluation = side.original
    our_run, _ = side.ours
    values: list[float] = []
    for scores in evaluation.per_report:
        original_paths = run.ranking(scores.report).paths
        values.append(order_measure(original_paths, our_run.ranking(scores.report).paths))
    return math.fsum(values) / len(values)


def compare_published(
    baseline: float, advanced: float, ours: Pair, measure: Measure
) -> tuple[list[Row], list[str]]:
    """Compare our pair with published means of a measure, and return rows and remarks.

    There is a row for the baseline, for the advanced run, and for the improvement, whose interval
    draws both runs together. The rows of the effect follow. ``interval`` is the 95 % bootstrap
    interval of our value - the published value over our reports, or None for fewer than two. The
    variance of the published mean is unknown, so the difference is less certain than the interval
    suggests.

    Raises RunError for a published mean that is not from 0 to 1.
    """
    for value in (baseline, advanced):
        if not 0 <= value <= 1:
            raise RunError(f"a published mean of {measure} must be between 0 and 1, not {value:g}")
    our_baseline = ours.baseline[1].values(measure)
    our_advanced = ours.advanced[1].values(measure)
    our_effect = effect(
        measure, baseline, advanced, exact_mean(our_baseline), exact_mean(our_advanced)
    )
    rows = [
        _published_row("baseline", baseline, our_baseline),
        _published_row("advanced", advanced, our_advanced),
        _published_row("improvement", advanced - baseline, our_advanced - our_baseline),
    ]
    for name, value in zip(EFFECT_MEASURES, our_effect, strict=True):
        rows.append({"mean": name, "ours": value})
    return rows, [
        "interval: 95 % bootstrap interval of the reproduced minus the published mean, over the"
        " reproduced reports; the variance of published means is unknown",
        f"region {our_effect.region}: {REGIONS[our_effect.region]}",
    ]


def _published_row(name: str, published: float, our_values: FloatArray) -> Row:
    mean = exact_mean(our_values)
    interval = Interval.of_mean(our_values)
    if interval is not None:
        interval = Interval(interval.low - published, interval.high - published)
    return {
        "mean": name,
        "published": published,
        "ours": mean,
        "difference": mean - published,
        "interval": interval,
    }
