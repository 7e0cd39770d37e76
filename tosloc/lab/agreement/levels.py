"""When is reproduced reproduced? The five levels of Breuer et al. 2020 between an original pair of runs and ours.

From the most particular to the most general: order of the files, effectiveness per report, overall effect, statistical
difference, mean effectiveness. On the same reports ours is a replication; on another project's a reproduction, to which
the first two do not apply.
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
from tosloc.lab.agreement.effects import Effect, mean, p_value, rmse
from tosloc.lab.agreement.order import Agreement, agreements, mean_agreement

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
    """Mean over reports (ARP), the original's and ours."""

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
    """How many the original is scored on, and how many ours."""
    baseline: Closeness
    advanced: Closeness
    effects: Mapping[Measure, Effect]
    notes: tuple[str, ...]
    """What does not apply, and why."""

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
    """The levels between two pairs; ``depth`` cuts the lists that Kendall's tau union compares.

    Raises RunError when the pairs share some of their reports but not all, and when a measure allows no effect.
    """
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
