"""All that a results page or table tells of one run: the headline over all reports, intervals, strata, each report.

Strata are kinds of reports, whose results stand below those of all reports and are never the headline: reports that
name the class to fix are easier (Kochhar et al. 2014), and a project's mix of kinds can explain more of a mean than the
method does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from tosloc.errors import counted
from tosloc.evaluate.evaluate import COVERED, HEADLINE, Evaluation
from tosloc.evaluate.judgements import Judgement
from tosloc.evaluate.measures import AP, RR, Measure
from tosloc.evaluate.run_paths import ScoredRun
from tosloc.evaluate.runs import TAUGHT
from tosloc.evaluate.statistics import Interval, percentile_interval, ratios, resampled_sums
from tosloc.metrics import found_at
from tosloc.reports.test_paths import which_are_tests

FEW_REPORTS: Final = 30  # a stratum of fewer reports says little; its interval is too narrow
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
    **{f"coverage{k}": (f"coverage@{k}", f"fixed files within the first {k}") for k in COVERED},
    **{f"any{k}": (f"any@{k}", f"reports with a fixed file in the first {k}") for k in COVERED},
}
"""Means and shares of the summary: how pages call them, and what they are."""
LENGTH: Final = "ranking length over files searched"
_SURE_LENGTH: Final = 1e-9
FUNCTION_MEASURES: Final = (*(Measure("Acc", k) for k in (1, 5, 10)), *(Measure("Hit", k) for k in (1, 5, 10)), RR, AP)
"""Of a run of functions."""
UNJUDGED: Final = "reports without a changed function"
"""Key of the header of a run of functions: reports left out, of whose changed functions the version has none."""


class Mean(NamedTuple):
    """A measure's mean over reports."""

    mean: float | None  # None where there is no report
    interval: Interval | None  # 95 % bootstrap interval; None for under two reports


class StratumRow(NamedTuple):
    """Results of one kind of reports."""

    stratum: str
    reports: int
    relevant: int
    mrr: float | None
    map: float | None
    intervals: dict[str, Interval | None]  # of these two, by name

    @property
    def few(self) -> bool:
        """Whether there are reports, but too few for the intervals to say much."""
        return 0 < self.reports < FEW_REPORTS


@dataclass(frozen=True)
class Results:
    """Everything that is told of one run."""

    scored: ScoredRun
    evaluation: Evaluation
    summary: dict[str, int | float | None]  # over all judged reports, as Evaluation.summary: the headline
    intervals: dict[str, Interval | None]
    """95 % bootstrap intervals of the summary's means and shares, by the same names."""
    measures: dict[str, Mean]  # the measures asked for beyond the summary, by name
    strata: tuple[StratumRow, ...]
    """Below the headline, in the order of a table; strata of which nothing is known are left out."""

    @property
    def name(self) -> str:
        """What tables call the run."""
        return self.scored.name

    @property
    def notes(self) -> list[str]:
        """Sentences that belong beside the numbers: what flatters them, and rankings that may not be whole."""
        notes, length = taught_notes([self.scored]), self.evaluation.length
        lengths = [one.length for one in self.evaluation.per_report]
        if length is None:
            notes.append(f"{self.name}: it is not known how many files were searched, so rankings may be cut off")
        elif abs(length - 1) > _SURE_LENGTH:
            cut = sum(one is not None and one < 1 - _SURE_LENGTH for one in lengths)
            notes.append(
                f"{self.name}: rankings hold {length:.1%} of the files searched, {cut} of {len(lengths)} are cut off; "
                "a fixed file that is not ranked counts as not found"
            )
        return notes


def taught_notes(runs: Iterable[ScoredRun]) -> list[str]:
    """A sentence for each run whose ranker had learned from some of its reports."""
    taught = ((one.name, one.run.header.get(TAUGHT)) for one in runs)
    return [
        f"{name}: the checkpoint learned from {counted(number, 'report')} of these, so that the numbers flatter it"
        for name, number in taught
        if isinstance(number, int) and number
    ]


def unjudged_note(runs: Iterable[ScoredRun]) -> list[str]:
    """A sentence if reports were left out of runs of functions."""
    number = sum(one.run.header.get(UNJUDGED, 0) for one in runs)
    said = f"{counted(number, 'report')} {'is' if number == 1 else 'are'} not judged"
    return [f"{said}: their version has none of the functions that the fix changed"] if number else []


def results_of(scored: ScoredRun, measures: Sequence[Measure] = (), strata: bool = True) -> Results:
    """The results of a run. Raises RunError for what cannot be evaluated."""
    evaluation = scored.evaluation()
    means = _means(evaluation, [*HEADLINE.values(), *measures])
    intervals = {name: mean.interval for name, mean in zip(HEADLINE, means, strict=False)} | _of_coverage(evaluation)
    asked = dict(zip(map(repr, measures), means[len(HEADLINE) :], strict=True))
    return Results(
        scored,
        evaluation,
        evaluation.summary(),
        {name: intervals[name] for name in MEANS},
        asked,
        tuple(_strata_rows(evaluation)) if strata else (),
    )


def _means(evaluation: Evaluation, measures: Sequence[Measure]) -> list[Mean]:
    """Means of measures; all intervals are of the same resamples."""
    values = np.column_stack([evaluation.values(measure) for measure in measures])
    means = [evaluation.mean(measure) for measure in measures]
    if len(values) < 2:
        return [Mean(mean, None) for mean in means]
    samples = resampled_sums(values).T / len(values)
    return [Mean(mean, percentile_interval(one)) for mean, one in zip(means, samples, strict=True)]


def _of_coverage(evaluation: Evaluation) -> dict[str, Interval | None]:
    """Intervals of coverage: fixed files found over all fixed files, both resampled by report."""
    if len(evaluation.per_report) < 2:
        return {f"coverage{k}": None for k in COVERED}
    columns = [[one.outcome.relevant, *(found_at(one.ranks, k) for k in COVERED)] for one in evaluation.per_report]
    relevant, *found = resampled_sums(np.array(columns, dtype=np.float64)).T
    return {f"coverage{k}": percentile_interval(ratios(of_k, relevant)) for k, of_k in zip(COVERED, found, strict=True)}


def strata_of(one: Judgement) -> dict[str, bool]:
    """Whether a report belongs to each kind of which it is known, in the order of a table. Reachable: some fixed file
    is in the searched version. Already localized: the report names the class of one.
    """
    fixed, kind = len(one.fixed), one.attributes
    found = {
        "reachable only": fixed > 0,
        "left empty": fixed == 0,
        "1 fixed file": fixed == 1,
        "2 to 5 fixed files": 2 <= fixed <= 5,
        "6 or more fixed files": fixed >= 6,
    }
    if kind is not None:
        found |= {
            "with a description": kind.description,
            "without a description": not kind.description,
            "with a stack trace": kind.stack_trace,
            "without a stack trace": not kind.stack_trace,
            "already localized": kind.named > 0,
            "not localized": kind.named == 0,
        }
    return found | {"only test files fixed": fixed > 0 and bool(which_are_tests(one.fixed).all())}


def _strata_rows(evaluation: Evaluation) -> Iterator[StratumRow]:
    """Results of the strata of which it is known, for every report, whether it belongs."""
    kinds = [strata_of(one.judgement) for one in evaluation.per_report]
    for name in kinds[0]:
        if all(name in kind for kind in kinds):
            kept = tuple(one for one, kind in zip(evaluation.per_report, kinds, strict=True) if kind[name])
            part = Evaluation(kept)
            means = _means(part, [RR, AP]) if part.per_report else [Mean(None, None)] * 2
            (mrr, of_mrr), (mean_ap, of_map) = means
            yield StratumRow(name, len(kept), part.relevant, mrr, mean_ap, {"mrr": of_mrr, "map": of_map})


def results_values(results: Results, name: bool = False) -> dict[str, Any]:
    """Results as plain values for JSON: the summary's keys on top; intervals as ``[low, high]`` or null."""
    return {
        **({"run": results.name} if name else {}),
        **results.summary,
        "intervals": results.intervals,
        "measures": {key: mean._asdict() for key, mean in results.measures.items()},
        "strata": [row._asdict() for row in results.strata],
    }
