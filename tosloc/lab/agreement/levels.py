"""When is reproduced reproduced? The five levels of Breuer et al. 2020 between an original pair of runs and ours.

From the most particular to the most general: order of the files, effectiveness per report, overall effect, statistical
difference, mean effectiveness. On the same reports ours is a replication; on another project's a reproduction, to which
the first two do not apply. Of a paper that published means only, the last three are left.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from tosloc.errors import RunError
from tosloc.evaluate.evaluate import Evaluation
from tosloc.evaluate.measures import AP, RR, Measure
from tosloc.evaluate.runs import Run
from tosloc.evaluate.statistics import Interval, mean_interval
from tosloc.lab.agreement.effects import (
    PHI,
    REGIONS,
    Agreement,
    Effect,
    agreement,
    mean,
    p_value,
    rmse,
)

DEFAULT_MEASURES: Final = (AP, RR, Measure("nDCG", 10))
ANOTHER_PROJECT: Final = "other reports were judged: order and RMSE, which need the same ones, do not apply"
RANKS_ONLY: Final = "only some files' ranks are known: the order, which needs whole rankings, does not apply"


@dataclass(frozen=True, eq=False)
class ScoredReports:
    """A run with how good it is."""

    run: Run
    evaluation: Evaluation

    @cached_property
    def keys(self) -> list[tuple[str, tuple[str, ...], tuple[str, ...]]]:
        """The judged reports with their files; ids alone do not tell, as two projects may count bugs alike."""
        judged = (one.judgement for one in self.evaluation.per_report)
        return [(one.report, tuple(sorted(one.fixed)), tuple(sorted(one.listed))) for one in judged]


@dataclass(frozen=True, eq=False)
class Pair:
    """A baseline and an advanced run of the same reports. Raises RunError when they are not of the same reports."""

    baseline: ScoredReports
    advanced: ScoredReports

    def __post_init__(self) -> None:
        if self.baseline.keys != self.advanced.keys:
            raise RunError(
                f"{self.baseline.run.where} and {self.advanced.run.where} are judged by different reports or fixed"
                " files; a baseline and its advanced run need the same"
            )


@dataclass(frozen=True, slots=True)
class Closeness:
    """How close our run comes to an original one, level by level; None for what does not apply."""

    order: Agreement | None
    rmse: Mapping[Measure, float] | None
    p: Mapping[Measure, float | None]
    """Two-tailed p of the t-test; None where the test has no answer."""
    means: Mapping[Measure, tuple[float, float]]

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "tau": None if self.order is None else self.order.tau,
            "RBO": None if self.order is None else self.order.rbo,
            "RMSE": None if self.rmse is None else {repr(measure): value for measure, value in self.rmse.items()},
            "p": {repr(measure): value for measure, value in self.p.items()},
            "ARP": {
                repr(measure): {"original": original, "ours": ours, "delta": original - ours}
                for measure, (original, ours) in self.means.items()
            },
        }


@dataclass(frozen=True, slots=True)
class Reproduction:
    """The five levels between an original pair and ours."""

    same_reports: bool
    """Whether ours is a replication on the same reports, not a reproduction on another project."""
    reports: tuple[int, int]
    baseline: Closeness
    advanced: Closeness
    effects: Mapping[Measure, Effect]
    notes: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain values; None for what does not apply."""
        return {
            "same_reports": self.same_reports,
            "reports": list(self.reports),
            "baseline": self.baseline.as_dict(),
            "advanced": self.advanced.as_dict(),
            "effects": {repr(measure): effect.as_dict() for measure, effect in self.effects.items()},
            "notes": list(self.notes),
        }


def reproduction(
    original: Pair, ours: Pair, measures: Sequence[Measure] = DEFAULT_MEASURES, depth: int | None = None
) -> Reproduction:
    """The levels between two pairs; ``depth`` cuts the lists that Kendall's tau union compares. Raises RunError."""
    first, second = (set(pair.baseline.keys) for pair in (original, ours))
    same, common = first == second, len(first & second)
    if common and not same:
        raise RunError(
            f"{original.baseline.run.where} and {ours.baseline.run.where} share {common} of {len(first)} and"
            f" {len(second)} judged reports; judge all four by the same ones, or ours by another project's"
        )
    notes = []
    partial = any(one.run.partial for pair in (original, ours) for one in (pair.baseline, pair.advanced))
    if not same:
        notes.append(ANOTHER_PROJECT)
    elif partial:
        notes.append(RANKS_ONLY)
    ordered = same and not partial
    baseline = _closeness(original.baseline, ours.baseline, measures, same, ordered, depth)
    advanced = _closeness(original.advanced, ours.advanced, measures, same, ordered, depth)
    effects = {}
    for measure in measures:
        (b, our_b), (a, our_a) = baseline.means[measure], advanced.means[measure]
        try:
            effects[measure] = Effect.of(b, a, our_b, our_a)
        except RunError as error:
            raise RunError(f"{measure}: {error}") from None
    worse = [repr(one) for one in measures if advanced.means[one][0] < baseline.means[one][0]]
    if worse:
        notes.append(f"the original's advanced run is worse than its baseline in {', '.join(worse)}: ER tells losses")
    reports = len(original.baseline.keys), len(ours.baseline.keys)
    return Reproduction(same, reports, baseline, advanced, effects, tuple(notes))


def _closeness(
    original: ScoredReports,
    ours: ScoredReports,
    measures: Sequence[Measure],
    same: bool,
    ordered: bool,
    depth: int | None,
) -> Closeness:
    values = {one: (original.evaluation.values(one), ours.evaluation.values(one)) for one in measures}
    order = None
    if ordered:
        reports = [one.report for one in original.evaluation.per_report]
        order = agreement(original.run, ours.run, reports, depth)
    return Closeness(
        order,
        {one: rmse(*pair) for one, pair in values.items()} if same else None,
        {one: p_value(*pair, same) for one, pair in values.items()},
        {one: (mean(first), mean(second)) for one, (first, second) in values.items()},
    )


@dataclass(frozen=True, slots=True)
class PublishedDifference:
    """Our mean beside a published one."""

    published: float
    ours: float
    interval: Interval | None
    """95 % bootstrap interval of ours - published over our reports; None for under two of them. What the published mean
    itself varies by is not known, so that the truth is less sure than this."""

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        interval = None if self.interval is None else [self.interval.low, self.interval.high]
        difference = self.ours - self.published
        return {"published": self.published, "ours": self.ours, "difference": difference, "interval": interval}


@dataclass(frozen=True, slots=True)
class AgainstPublished:
    """Means of a paper beside those of our pair."""

    measure: Measure
    reports: int
    differences: Mapping[str, PublishedDifference]
    """Of baseline, advanced, and the improvement of one over the other, whose interval draws both runs together."""
    effect: Effect

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        rows = {name: one.as_dict() for name, one in self.differences.items()}
        return {"measure": repr(self.measure), "reports": self.reports, **rows, **self.effect.as_dict()}


def against_published(baseline: float, advanced: float, ours: Pair, measure: Measure) -> AgainstPublished:
    """Our pair against published means of a measure, which lie from 0 to 1. Raises RunError."""
    for value in (baseline, advanced):
        if not 0 <= value <= 1:
            raise RunError(f"a published mean of {measure} is between 0 and 1, not {value:g}")
    b, a = ours.baseline.evaluation.values(measure), ours.advanced.evaluation.values(measure)
    try:
        effect = Effect.of(baseline, advanced, mean(b), mean(a))
    except RunError as error:
        raise RunError(f"{measure}: {error}") from None
    pairs = {"baseline": (baseline, b), "advanced": (advanced, a), "improvement": (advanced - baseline, a - b)}
    differences = {}
    for name, (published, values) in pairs.items():
        around = mean_interval(values)
        interval = None if around is None else Interval(around.low - published, around.high - published)
        differences[name] = PublishedDifference(published, mean(values), interval)
    return AgainstPublished(measure, len(b), differences, effect)


_UNKNOWN: Final = "-"


def number(value: float | None, sign: bool = False) -> str:
    """A value to three places; never a minus before zero.

    >>> number(0.98765), number(-0.0001), number(-1.5, sign=True), number(None)
    ('0.988', '0.000', '-1.500', '-')
    """
    if value is None:
        return _UNKNOWN
    text = f"{value:{'+' if sign else ''}.3f}"
    return "0.000" if text in ("-0.000", "+0.000") else text


def p_cell(p: float | None) -> str:
    """A p-value to as many places as say anything.

    >>> p_cell(0.0432), p_cell(1e-9), p_cell(None)
    ('0.043', '<0.001', '-')
    """
    return "<0.001" if p is not None and p < 0.001 else number(p)


@dataclass(frozen=True)
class AgreementTable:
    """A table with a title above and remarks below it."""

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    remarks: Sequence[str]


def levels_table(result: Reproduction) -> AgreementTable:
    """The levels from the most particular to the most general; below, what was tested and what does not apply."""
    original, ours = result.reports
    title = f"reproduction: {original} reports of the original, {ours} others of ours"
    if result.same_reports:
        title = f"replication: the same {original} reports"
    test = "paired" if result.same_reports else "unpaired"
    remarks = [f"p: two-tailed {test} t-test of the original's scores against ours, small where they differ"]
    remarks += [
        f"region {one}: {REGIONS[one]}" for one in sorted({effect.region for effect in result.effects.values()})
    ]
    heads = ("level", "measure", "baseline", "advanced", "effect")
    sides = result.baseline, result.advanced
    orders = [one.order for one in sides]
    rows = [
        ["order", "Kendall's tau union", *(number(None if one is None else one.tau) for one in orders), ""],
        ["order", f"RBO, phi {PHI:g}", *(number(None if one is None else one.rbo) for one in orders), ""],
    ]
    for measure in result.effects:
        errors = (None if one.rmse is None else one.rmse[measure] for one in sides)
        rows.append(["effectiveness", f"RMSE of {measure}", *map(number, errors), ""])
    for measure, effect in result.effects.items():
        rows.append(["effect", f"ER of {measure}", "", "", number(effect.ratio)])
        rows.append(["effect", f"DeltaRI of {measure}", "", "", number(effect.delta_ri, sign=True)])
        rows.append(["effect", f"region of {measure}", "", "", str(effect.region)])
    for measure in result.effects:
        rows.append(["statistics", f"p of {measure}", *(p_cell(one.p[measure]) for one in sides), ""])
    for measure in result.effects:
        means = [one.means[measure] for one in sides]
        rows.append(["mean", f"{measure}, original", *(number(original) for original, _ in means), ""])
        rows.append(["mean", f"{measure}, ours", *(number(ours) for _, ours in means), ""])
        rows.append(["mean", f"{measure}, delta", *(number(one - ours, sign=True) for one, ours in means), ""])
    return AgreementTable(title, heads, rows, [*remarks, *result.notes])


def published_table(result: AgainstPublished) -> AgreementTable:
    """Our means against published ones."""
    rows = []
    for name, one in result.differences.items():
        around = one.interval
        interval = _UNKNOWN if around is None else f"[{number(around.low, True)}, {number(around.high, True)}]"
        difference = number(one.ours - one.published, sign=True)
        rows.append([name, number(one.published), number(one.ours), difference, interval])
    effect = result.effect
    remarks = [
        "interval: of ours - published, by bootstrap over our reports; what the published means vary by is not known",
        f"ER {number(effect.ratio)}, DeltaRI {number(effect.delta_ri, sign=True)}, region {effect.region}:"
        f" {REGIONS[effect.region]}",
    ]
    title = f"our {result.reports} reports against published means of {result.measure}"
    return AgreementTable(title, ("mean of", "published", "ours", "difference", "95 % interval"), rows, remarks)
