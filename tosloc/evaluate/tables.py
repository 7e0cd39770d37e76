"""All that a results page or table tells of one run: the headline over all reports, intervals, strata, each report.

Strata are kinds of reports, whose results stand below those of all reports and are never the headline: reports that
name the class to fix are easier (Kochhar et al. 2014), and a project's mix of kinds can explain more of a mean than the
method does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any, Final, NamedTuple

import numpy as np

from tosloc.errors import counted
from tosloc.evaluate.evaluate import COVERED, HEADLINE, Evaluation
from tosloc.evaluate.judgements import Judgement
from tosloc.evaluate.measures import AP, RR, Measure
from tosloc.evaluate.run_paths import ScoredRun
from tosloc.evaluate.runs import TRAINED_ON
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
        reports, length = self.evaluation.per_report, self.evaluation.length
        said = "it is not known how many files were searched, so rankings may be cut off"
        if length is not None:
            cut = sum(one.ranked != one.searched for one in reports)
            said = f"rankings hold {length:.1%} of the files searched, {cut} of {len(reports)} are cut off"
        found = f"{self.name}: {said}; a fixed file that is not ranked counts as not found"
        return [*header_notes(self.scored), *([] if length == 1 else [found])]


def header_notes(scored: ScoredRun) -> list[str]:
    """Sentences for a run whose ranker had learned from some of its reports, or that leaves reports out."""
    header = scored.run.header
    taught, unjudged = (value if isinstance(value, int) else 0 for value in map(header.get, (TRAINED_ON, UNJUDGED)))
    learned = f"the checkpoint learned from {counted(taught, 'report')} of these, so that the numbers flatter it"
    left_out = f"{counted(unjudged, 'report')} not judged: their version has none of the functions that the fix changed"
    return [f"{scored.name}: {learned}"] * bool(taught) + [left_out] * bool(unjudged)


def results_of(scored: ScoredRun, measures: Sequence[Measure] = (), strata: bool = True) -> Results:
    """The results of a run. Raises RunError for what cannot be evaluated."""
    evaluation = scored.evaluation()
    names = [*HEADLINE, *(f"coverage{k}" for k in COVERED), *map(repr, measures)]
    intervals = dict(zip(names, _intervals(evaluation, [*HEADLINE.values(), *COVERED, *measures]), strict=True))
    return Results(
        scored,
        evaluation,
        evaluation.summary(),
        {name: intervals[name] for name in MEANS},
        {repr(one): Mean(evaluation.mean(one), intervals[repr(one)]) for one in measures},
        tuple(_strata_rows(evaluation)) if strata else (),
    )


def _intervals(evaluation: Evaluation, statistics: Sequence[Measure | int]) -> list[Interval | None]:
    """Of means of measures, and for k of coverage: fixed files found over all, both resampled. All are of the same
    resamples.
    """
    reports = evaluation.per_report
    if len(reports) < 2:
        return [None] * len(statistics)
    columns = [
        [found_at(one.ranks, of) for one in reports] if isinstance(of, int) else evaluation.values(of)
        for of in statistics
    ]
    relevant = [one.relevant for one in reports]
    *sums, all_fixed = resampled_sums(np.column_stack([*columns, relevant]).astype(np.float64)).T
    below = [all_fixed if isinstance(of, int) else np.full_like(all_fixed, len(reports)) for of in statistics]
    return [percentile_interval(ratios(*pair)) for pair in zip(sums, below, strict=True)]


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
            part = Evaluation(tuple(compress(evaluation.per_report, (kind[name] for kind in kinds))))
            number, intervals = len(part.per_report), dict(zip(("mrr", "map"), _intervals(part, (RR, AP)), strict=True))
            mrr, average_precision = (part.mrr, part.map) if number else (None, None)
            yield StratumRow(name, number, part.relevant, mrr, average_precision, intervals)


def results_values(results: Results) -> dict[str, Any]:
    """Results as plain values for JSON: the summary's keys on top; intervals as ``[low, high]`` or null."""
    return {
        "run": results.name,
        **results.summary,
        "intervals": results.intervals,
        "measures": {key: mean._asdict() for key, mean in results.measures.items()},
        "strata": [row._asdict() for row in results.strata],
    }
