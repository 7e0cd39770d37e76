"""All that a results page or table tells of one run: the headline over all reports, intervals, strata, each report.

Strata are kinds of reports, whose results stand below those of all reports and are never the headline: reports that
name the class to fix are easier (Kochhar et al. 2014), and a project's mix of kinds can explain more of a mean than the
method does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from tosloc.errors import counted
from tosloc.evaluate.evaluate import Evaluation, ReportScores
from tosloc.evaluate.judgements import Judgement
from tosloc.evaluate.measures import AP, RR, Measure
from tosloc.evaluate.run_paths import ScoredRun
from tosloc.evaluate.runs import TAUGHT
from tosloc.evaluate.statistics import Interval, percentile_interval, ratios, resampled_sums
from tosloc.metrics import found_at
from tosloc.records import FloatArray, ReportAttributes
from tosloc.reports.test_paths import which_are_tests

FEW_REPORTS = 30
"""A stratum of fewer reports says little; its interval is too narrow."""


@dataclass(frozen=True, slots=True)
class Stratum:
    """A kind of reports, by their judgement or, if it is given, by their attributes."""

    name: str
    of_judgement: Callable[[Judgement], bool] = lambda one: True
    of_attributes: Callable[[ReportAttributes], bool] | None = None

    def holds(self, one: Judgement) -> bool | None:
        """Whether a report is of this kind; None if it is not known."""
        if self.of_attributes is None:
            return self.of_judgement(one)
        return None if one.attributes is None else self.of_attributes(one.attributes)


STRATA: Final = (
    Stratum("reachable only", lambda one: len(one.fixed) > 0),
    Stratum("left empty", lambda one: len(one.fixed) == 0),
    Stratum("1 fixed file", lambda one: len(one.fixed) == 1),
    Stratum("2 to 5 fixed files", lambda one: 2 <= len(one.fixed) <= 5),
    Stratum("6 or more fixed files", lambda one: len(one.fixed) >= 6),
    Stratum("with a description", of_attributes=lambda kind: kind.description),
    Stratum("without a description", of_attributes=lambda kind: not kind.description),
    Stratum("with a stack trace", of_attributes=lambda kind: kind.stack_trace),
    Stratum("without a stack trace", of_attributes=lambda kind: not kind.stack_trace),
    Stratum("already localized", of_attributes=lambda kind: kind.named > 0),
    Stratum("not localized", of_attributes=lambda kind: kind.named == 0),
    Stratum("only test files fixed", lambda one: bool(one.fixed) and bool(which_are_tests(one.fixed).all())),
)
"""Named kinds, in the order of a table. Reachable: some fixed file is in the searched version. Already localized: the
report names the class of a fixed file."""


def known_strata(judgements: Iterable[Judgement]) -> list[Stratum]:
    """The strata of which it is known, for every one of these reports, whether it belongs."""
    attributed = all(one.attributes is not None for one in judgements)
    return [stratum for stratum in STRATA if stratum.of_attributes is None or attributed]


_MEANS: Final = {
    "mrr": RR,
    "map": AP,
    **{f"top{k}": Measure("Hit", k) for k in (1, 5, 10)},
    **{f"any{k}": Measure("Hit", k) for k in (50, 100, 300)},
}
_SHARES: Final = {f"coverage{k}": k for k in (50, 100, 300)}
SURE_LENGTH = 1e-9


@dataclass(frozen=True, slots=True)
class Mean:
    """A measure's mean over reports."""

    value: float
    interval: Interval | None
    """95 % bootstrap interval; None for under two reports."""


@dataclass(frozen=True, slots=True)
class StratumRow:
    """Results of one kind of reports; the means are None where there is no such report."""

    name: str
    reports: int
    relevant: int
    mrr: Mean | None
    map: Mean | None

    @property
    def few(self) -> bool:
        """Whether the reports are too few for the interval to say much."""
        return self.reports < FEW_REPORTS


@dataclass(frozen=True)
class Results:
    """Everything that is told of one run, under the name that tables give it."""

    name: str
    scored: ScoredRun
    evaluation: Evaluation
    summary: dict[str, int | float | None]
    """Over all judged reports, as ``Evaluation.summary``: the headline."""
    intervals: dict[str, Interval | None]
    """95 % bootstrap intervals of the summary's means and shares, by the same names."""
    measures: dict[str, Mean]
    """The measures asked for beyond the summary, by name."""
    strata: tuple[StratumRow, ...]
    """Below the headline, in the order of a table; strata of which nothing is known are left out."""

    @property
    def notes(self) -> list[str]:
        """Sentences that belong beside the numbers."""
        return [note for note in (taught_note(self.scored, self.name), self.length_note) if note is not None]

    @property
    def length_note(self) -> str | None:
        """A sentence if the rankings do not hold, or are not known to hold, every searched file."""
        length = self.evaluation.length
        if length is None and all(one.outcome.ranked is None for one in self.evaluation.per_report):
            return f"{self.name}: only the ranks of fixed files are known, so what was not ranked cannot be seen"
        if length is None:
            return f"{self.name}: it is not known how many files were searched, so rankings may be cut off"
        if abs(length - 1) <= SURE_LENGTH:
            return None
        lengths = [one.length for one in self.evaluation.per_report]
        cut = sum(one is not None and one < 1 - SURE_LENGTH for one in lengths)
        return (
            f"{self.name}: rankings hold {length:.1%} of the files searched, {cut} of {len(lengths)} are cut off; "
            "a fixed file that is not ranked counts as not found"
        )


def taught_note(scored: ScoredRun, name: str) -> str | None:
    """A sentence if what ranked the reports had learned from some of them."""
    taught = scored.run.header.get(TAUGHT)
    if not isinstance(taught, int) or not taught:
        return None
    return f"{name}: the checkpoint learned from {counted(taught, 'report')} of these, so that the numbers flatter it"


def results_of(scored: ScoredRun, measures: Sequence[Measure] = (), strata: bool = True, name: str = "") -> Results:
    """The results of a run, named ``name`` or as it is. Raises RunError for what cannot be evaluated."""
    evaluation = scored.evaluation()
    means = _means(evaluation, [*_MEANS.values(), *measures])
    intervals = dict(zip(_MEANS, [mean.interval for mean in means], strict=False)) | _share_intervals(evaluation)
    asked = means[len(_MEANS) :]
    summary = evaluation.summary()
    return Results(
        name or scored.name,
        scored,
        evaluation,
        summary,
        {key: intervals[key] for key in summary if key in intervals},
        {repr(measure): mean for measure, mean in zip(measures, asked, strict=True)},
        tuple(strata_rows(evaluation)) if strata else (),
    )


def strata_rows(evaluation: Evaluation) -> list[StratumRow]:
    """Results of the known strata, in their order."""
    known = known_strata(one.judgement for one in evaluation.per_report)
    return [_stratum_row(stratum, evaluation) for stratum in known]


def _stratum_row(stratum: Stratum, evaluation: Evaluation) -> StratumRow:
    part = evaluation.only(lambda one: stratum.holds(one) is True)
    mrr, mean_ap = _means(part, [RR, AP]) if part.per_report else (None, None)
    return StratumRow(stratum.name, len(part.per_report), part.relevant, mrr, mean_ap)


def results_values(results: Results, name: bool = False) -> dict[str, Any]:
    """Results as plain values for JSON: the summary's keys on top; intervals as ``[low, high]`` or null."""
    return {
        **({"run": results.name} if name else {}),
        **results.summary,
        "intervals": {key: pair(interval) for key, interval in results.intervals.items()},
        "measures": {
            key: {"mean": mean.value, "interval": pair(mean.interval)} for key, mean in results.measures.items()
        },
        "strata": [
            {
                "stratum": row.name,
                "reports": row.reports,
                "relevant": row.relevant,
                "mrr": row.mrr and row.mrr.value,
                "map": row.map and row.map.value,
                "intervals": {
                    "mrr": pair(row.mrr.interval if row.mrr else None),
                    "map": pair(row.map.interval if row.map else None),
                },
            }
            for row in results.strata
        ],
    }


def report_values(one: ReportScores, measures: Sequence[Measure] = ()) -> dict[str, Any]:
    """One report's scores as plain values: ranks of its fixed files, counts, AP, RR, more measures, attributes."""
    return {
        "report": one.report,
        "ranks": list(one.ranks),
        "relevant": one.outcome.relevant,
        "dropped": one.judgement.dropped,
        "searched": one.outcome.searched,
        **{repr(measure): measure(one.outcome) for measure in dict.fromkeys((AP, RR, *measures))},
        "traits": None if one.judgement.attributes is None else asdict(one.judgement.attributes),
    }


def _means(evaluation: Evaluation, measures: Sequence[Measure]) -> list[Mean]:
    """Means of measures; all intervals are of the same resamples."""
    values: FloatArray = np.column_stack([evaluation.values(measure) for measure in measures])
    means = [evaluation.mean(measure) for measure in measures]
    if len(values) < 2:
        return [Mean(mean, None) for mean in means]
    sums = resampled_sums(values)
    return [Mean(mean, percentile_interval(sums[:, column] / len(values))) for column, mean in enumerate(means)]


def _share_intervals(evaluation: Evaluation) -> dict[str, Interval | None]:
    """Intervals of coverage: fixed files found over all fixed files, both resampled by report."""
    if len(evaluation.per_report) < 2:
        return dict.fromkeys(_SHARES)
    columns = [
        [one.outcome.relevant, *(found_at(one.ranks, k) for k in _SHARES.values())] for one in evaluation.per_report
    ]
    relevant, *found = resampled_sums(np.array(columns, dtype=np.float64)).T
    return {key: percentile_interval(ratios(sums, relevant)) for key, sums in zip(_SHARES, found, strict=True)}


def pair(interval: Interval | None) -> list[float] | None:
    """Ends of an interval, for JSON."""
    return None if interval is None else [interval.low, interval.high]
