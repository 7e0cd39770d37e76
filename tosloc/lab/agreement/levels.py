"""When is reproduced reproduced? The five levels of Breuer et al. 2020 between an original pair of runs and ours.

From the most particular to the most general: order of the files, effectiveness per report, overall effect, statistical
difference, mean effectiveness. On the same reports ours is a replication; on another project's a reproduction, to which
the first two do not apply. Of a paper that published means only, the last three are left.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from tosloc.errors import RunError
from tosloc.evaluate.evaluate import Evaluation
from tosloc.evaluate.judgements import Judgement
from tosloc.evaluate.measures import AP, RR, Measure
from tosloc.evaluate.run_paths import ScoredRun
from tosloc.evaluate.runs import Run
from tosloc.evaluate.statistics import Interval, mean_interval
from tosloc.lab.agreement.effects import (
    PHI,
    REGIONS,
    Agreement,
    Effect,
    agreements,
    mean,
    mean_agreement,
    p_value,
    rmse,
)
from tosloc.records import FloatArray

DEFAULT_MEASURES: Final = (AP, RR, Measure("nDCG", 10))
ANOTHER_PROJECT: Final = "other reports were judged: order and RMSE, which need the same ones, do not apply"
RANKS_ONLY: Final = "only some files' ranks are known: the order, which needs whole rankings, does not apply"

_Key: TypeAlias = tuple[str, tuple[str, ...], tuple[str, ...]]


@dataclass(frozen=True, eq=False)
class ScoredReports:
    """A run with how good it is."""

    run: Run
    evaluation: Evaluation

    @classmethod
    def of(cls, run: ScoredRun) -> ScoredReports:
        """A run that was read. Raises RunError when it does not fit its judgements."""
        return cls(run.run, run.evaluation())


@dataclass(frozen=True, eq=False)
class Pair:
    """A baseline and an advanced run of the same reports. Raises RunError when they are not of the same reports."""

    baseline: ScoredReports
    advanced: ScoredReports

    def __post_init__(self) -> None:
        if _keys(self.baseline.evaluation) != _keys(self.advanced.evaluation):
            raise RunError(
                f"{self.baseline.run.where} and {self.advanced.run.where} are judged by different reports or fixed"
                " files; a baseline and its advanced run need the same"
            )

    @property
    def reports(self) -> int:
        """How many reports were scored."""
        return len(self.baseline.evaluation.per_report)


@dataclass(frozen=True, slots=True)
class Closeness:
    """How close our run comes to an original one, level by level; None for what does not apply."""

    order: Agreement | None
    rmse: Mapping[Measure, float] | None
    p: Mapping[Measure, float | None]
    """Two-tailed p of the t-test; None where the test has no answer."""
    means: Mapping[Measure, tuple[float, float]]

    def delta(self, measure: Measure) -> float:
        """Difference of the means, original - ours."""
        original, ours = self.means[measure]
        return original - ours


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

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The measures compared."""
        return tuple(self.effects)

    def as_dict(self) -> dict[str, Any]:
        """Plain values; None for what does not apply."""
        return {
            "same_reports": self.same_reports,
            "reports": list(self.reports),
            "baseline": _plain(self.baseline),
            "advanced": _plain(self.advanced),
            "effects": {repr(measure): effect.as_dict() for measure, effect in self.effects.items()},
            "notes": list(self.notes),
        }


def reproduction(
    original: Pair, ours: Pair, measures: Sequence[Measure] = DEFAULT_MEASURES, depth: int | None = None
) -> Reproduction:
    """The levels between two pairs; ``depth`` cuts the lists that Kendall's tau union compares. Raises RunError."""
    same = _same_reports(original, ours)
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
    return Reproduction(same, (original.reports, ours.reports), baseline, advanced, effects, tuple(notes))


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
        order = mean_agreement(agreements(original.run, ours.run, reports, depth))
    return Closeness(
        order,
        {one: rmse(*pair) for one, pair in values.items()} if same else None,
        {one: p_value(*pair, same) for one, pair in values.items()},
        {one: (mean(first), mean(second)) for one, (first, second) in values.items()},
    )


def _key(judgement: Judgement) -> _Key:
    return judgement.report, tuple(sorted(judgement.fixed)), tuple(sorted(judgement.listed))


def _keys(evaluation: Evaluation) -> list[_Key]:
    return [_key(one.judgement) for one in evaluation.per_report]


def _same_reports(original: Pair, ours: Pair) -> bool:
    """Whether both are of the same reports; ids alone do not tell, as two projects may count bugs alike."""
    first, second = (set(_keys(pair.baseline.evaluation)) for pair in (original, ours))
    if first == second:
        return True
    common = len(first & second)
    if common:
        raise RunError(
            f"{original.baseline.run.where} and {ours.baseline.run.where} share {common} of {len(first)} and"
            f" {len(second)} judged reports; judge all four by the same ones, or ours by another project's"
        )
    return False


def _plain(one: Closeness) -> dict[str, Any]:
    return {
        "tau": None if one.order is None else one.order.tau,
        "RBO": None if one.order is None else one.order.rbo,
        "RMSE": None if one.rmse is None else {repr(measure): value for measure, value in one.rmse.items()},
        "p": {repr(measure): value for measure, value in one.p.items()},
        "ARP": {
            repr(measure): {"original": means[0], "ours": means[1], "delta": one.delta(measure)}
            for measure, means in one.means.items()
        },
    }


@dataclass(frozen=True, slots=True)
class PublishedDifference:
    """Our mean beside a published one."""

    published: float
    ours: float
    interval: Interval | None
    """95 % bootstrap interval of ours - published over our reports; None for under two of them. What the published mean
    itself varies by is not known, so that the truth is less sure than this."""

    @classmethod
    def of(cls, published: float, values: FloatArray) -> PublishedDifference:
        """From our (N,) values, one a report."""
        around = mean_interval(values)
        interval = None if around is None else Interval(around.low - published, around.high - published)
        return cls(published, mean(values), interval)

    @property
    def difference(self) -> float:
        """Ours - published."""
        return self.ours - self.published


@dataclass(frozen=True, slots=True)
class AgainstPublished:
    """Means of a paper beside those of our pair."""

    measure: Measure
    reports: int
    baseline: PublishedDifference
    advanced: PublishedDifference
    improvement: PublishedDifference
    """Of advanced over baseline; its interval draws both runs' values of a report together."""
    effect: Effect

    @property
    def differences(self) -> dict[str, PublishedDifference]:
        """All three by name."""
        return {"baseline": self.baseline, "advanced": self.advanced, "improvement": self.improvement}

    @property
    def effects(self) -> dict[Measure, Effect]:
        """The one effect, by its measure."""
        return {self.measure: self.effect}

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        rows = {
            name: {
                "published": one.published,
                "ours": one.ours,
                "difference": one.difference,
                "interval": None if one.interval is None else [one.interval.low, one.interval.high],
            }
            for name, one in self.differences.items()
        }
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
    return AgainstPublished(
        measure,
        len(b),
        PublishedDifference.of(baseline, b),
        PublishedDifference.of(advanced, a),
        PublishedDifference.of(advanced - baseline, a - b),
        effect,
    )


LEVEL_HEADS: Final = ("level", "measure", "baseline", "advanced", "effect")
PUBLISHED_HEADS: Final = ("mean of", "published", "ours", "difference", "95 % interval")
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
    return AgreementTable(title, LEVEL_HEADS, _level_rows(result), [*remarks, *result.notes])


def _level_rows(result: Reproduction) -> list[list[str]]:
    b, a = result.baseline, result.advanced
    taus = [None if one.order is None else one.order.tau for one in (b, a)]
    overlaps = [None if one.order is None else one.order.rbo for one in (b, a)]
    rows = [
        ["order", "Kendall's tau union", *map(number, taus), ""],
        ["order", f"RBO, phi {PHI:g}", *map(number, overlaps), ""],
    ]
    for measure in result.measures:
        errors = [None if one.rmse is None else one.rmse[measure] for one in (b, a)]
        rows.append(["effectiveness", f"RMSE of {measure}", *map(number, errors), ""])
    for measure, effect in result.effects.items():
        rows.append(["effect", f"ER of {measure}", "", "", number(effect.ratio)])
        rows.append(["effect", f"DeltaRI of {measure}", "", "", number(effect.delta_ri, sign=True)])
        rows.append(["effect", f"region of {measure}", "", "", str(effect.region)])
    for measure in result.measures:
        rows.append(["statistics", f"p of {measure}", p_cell(b.p[measure]), p_cell(a.p[measure]), ""])
    for measure in result.measures:
        rows.append(["mean", f"{measure}, original", *(number(one.means[measure][0]) for one in (b, a)), ""])
        rows.append(["mean", f"{measure}, ours", *(number(one.means[measure][1]) for one in (b, a)), ""])
        rows.append(["mean", f"{measure}, delta", *(number(one.delta(measure), sign=True) for one in (b, a)), ""])
    return rows


def published_table(result: AgainstPublished) -> AgreementTable:
    """Our means against published ones."""
    rows = []
    for name, one in result.differences.items():
        around = one.interval
        interval = _UNKNOWN if around is None else f"[{number(around.low, True)}, {number(around.high, True)}]"
        rows.append([name, number(one.published), number(one.ours), number(one.difference, sign=True), interval])
    effect = result.effect
    remarks = [
        "interval: of ours - published, by bootstrap over our reports; what the published means vary by is not known",
        f"ER {number(effect.ratio)}, DeltaRI {number(effect.delta_ri, sign=True)}, region {effect.region}:"
        f" {REGIONS[effect.region]}",
    ]
    title = f"our {result.reports} reports against published means of {result.measure}"
    return AgreementTable(title, PUBLISHED_HEADS, rows, remarks)
