"""All that a results page or table tells of one run: the headline over all reports, intervals, strata, each report.

Strata are kinds of reports, whose results stand below those of all reports and are never the headline: reports that
name the class to fix are easier (Kochhar et al. 2014), and a project's mix of kinds can explain more of a mean than the
method does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
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


_BY_JUDGEMENT: Final[Mapping[str, Callable[[Judgement], bool]]] = {
    "reachable only": lambda one: len(one.fixed) > 0,
    "left empty": lambda one: len(one.fixed) == 0,
    "1 fixed file": lambda one: len(one.fixed) == 1,
    "2 to 5 fixed files": lambda one: 2 <= len(one.fixed) <= 5,
    "6 or more fixed files": lambda one: len(one.fixed) >= 6,
}
_BY_ATTRIBUTES: Final[Mapping[str, Callable[[ReportAttributes], bool]]] = {
    "with a description": lambda kind: kind.description,
    "without a description": lambda kind: not kind.description,
    "with a stack trace": lambda kind: kind.stack_trace,
    "without a stack trace": lambda kind: not kind.stack_trace,
    "already localized": lambda kind: kind.named > 0,
    "not localized": lambda kind: kind.named == 0,
}
"""Reachable: some fixed file is in the searched version. Already localized: the report names the class of one."""


def strata_of(one: Judgement) -> dict[str, bool | None]:
    """Whether a report belongs to each named kind, in the order of a table; None where it is not known."""
    kind, tests = one.attributes, bool(one.fixed) and bool(which_are_tests(one.fixed).all())
    return {
        **{name: holds(one) for name, holds in _BY_JUDGEMENT.items()},
        **{name: None if kind is None else holds(kind) for name, holds in _BY_ATTRIBUTES.items()},
        "only test files fixed": tests,
    }


COUNTS: Final = {
    "reports": "reports judged",
    "relevant": "fixed files in the searched versions",
    "dropped": "fixed files their version lacks, removed",
    "empty": "reports left without any, counted as 0",
}
"""Counts of the summary, with what they count."""
MEANS: Final = {
    "mrr": ("MRR", "mean reciprocal rank, first fixed file"),
    "map": ("MAP", "mean average precision, whole ranking"),
    "top1": ("top 1", "reports with a fixed file at rank 1"),
    **{f"top{k}": (f"top {k}", f"reports with a fixed file in the first {k}") for k in (5, 10)},
    **{f"coverage{k}": (f"coverage@{k}", f"fixed files within the first {k}") for k in (50, 100, 300)},
    **{f"any{k}": (f"any@{k}", f"reports with a fixed file in the first {k}") for k in (50, 100, 300)},
}
"""Means and shares of the summary: how pages call them, and what they are."""
LENGTH: Final = "ranking length over files searched"
_MEASURES: Final = {
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
    means = _means(evaluation, [*_MEASURES.values(), *measures])
    intervals = dict(zip(_MEASURES, [mean.interval for mean in means], strict=False)) | _share_intervals(evaluation)
    asked = means[len(_MEASURES) :]
    return Results(
        name or scored.name,
        scored,
        evaluation,
        evaluation.summary(),
        {key: intervals[key] for key in MEANS},
        {repr(measure): mean for measure, mean in zip(measures, asked, strict=True)},
        tuple(_strata_rows(evaluation)) if strata else (),
    )


def _strata_rows(evaluation: Evaluation) -> Iterator[StratumRow]:
    """Results of the strata of which it is known, for every report, whether it belongs."""
    kinds = [strata_of(one.judgement) for one in evaluation.per_report]
    for name in kinds[0] if kinds else ():
        if all(kind[name] is not None for kind in kinds):
            part = Evaluation(tuple(one for one, kind in zip(evaluation.per_report, kinds, strict=True) if kind[name]))
            mrr, mean_ap = _means(part, [RR, AP]) if part.per_report else (None, None)
            yield StratumRow(name, len(part.per_report), part.relevant, mrr, mean_ap)


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
