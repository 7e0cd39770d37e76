"""All that a results page or table tells of one run: the headline over all reports, intervals, strata, each report.

Strata are kinds of reports, whose results stand below those of all reports and are never the headline: reports that
name the class to fix are easier (Kochhar et al. 2014), and a project's mix of kinds can explain more of a mean than the
method does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from typing import Any, Final, NamedTuple

import numpy as np

from tosloc.core.errors import pluralize
from tosloc.core.metrics import count_within
from tosloc.evaluate.compare import Comparison, compare, difference_values
from tosloc.evaluate.judgements import Judgement
from tosloc.evaluate.measures import AP, MEASURES, RR, Evaluation, Measure
from tosloc.evaluate.run_paths import SHIPPED, ScoredRun
from tosloc.evaluate.runs import TRAINED_ON, WEAK_REPORTS
from tosloc.evaluate.statistics import Interval, percentile_interval, resampled_sums
from tosloc.paths.classify import which_are_tests

FEW_REPORTS: Final = 30  # a stratum of fewer reports says little; its interval is too narrow
COVERAGE_CUTS: Final = (
    50,
    100,
    300,
)  # ranks within which a second stage may look: of coverage, and of any fixed file
COUNT_MEANINGS: Final = {
    "reports": "reports judged",
    "relevant": "fixed files in the searched versions",
    "dropped": "fixed files their version lacks, removed",
    "empty": "reports left without any, counted as 0",
    "length": "ranking length over files searched",
}
"""What ``Evaluation.counts`` holds."""
HEADLINE: Final[Mapping[str, tuple[Measure | int, str]]] = {
    "mrr": (RR, "mean reciprocal rank, first fixed file"),
    "map": (AP, "mean average precision, whole ranking"),
    **{
        f"top{k}": (Measure("Hit", k), f"reports with a fixed file up to rank {k}")
        for k in (1, 5, 10)
    },
    **{f"coverage{k}": (k, f"fixed files up to rank {k}") for k in COVERAGE_CUTS},
    **{
        f"any{k}": (Measure("Hit", k), f"reports with a fixed file up to rank {k}")
        for k in COVERAGE_CUTS
    },
}
"""What is always named: means of measures, and for k coverage@k, the share of all fixed files; with what it means."""
FUNCTION_MEASURES: Final = tuple(Measure("Acc", k) for k in (1, 5, 10))
"""Of a run of functions, beyond the headline."""
UNJUDGED: Final = "reports without a changed function"
"""Key of the header of a run of functions: reports left out, of whose changed functions the version has none."""


class Mean(NamedTuple):
    """A row of results: a mean or share over reports."""

    name: str
    mean: float | None  # None where there is no report
    interval: Interval | None  # 95 % bootstrap interval; None for under two reports
    meaning: str


class Stratum(NamedTuple):
    """Results of one kind of reports."""

    name: str
    reports: int
    relevant: int
    means: list[Mean]  # MRR and MAP

    @property
    def is_small(self) -> bool:
        """Whether there are reports, but too few for the intervals to say much."""
        return 0 < self.reports < FEW_REPORTS


@dataclass(frozen=True)
class Results:
    """Everything that is named of one run. What cannot be evaluated raises RunError when it is asked for."""

    scored: ScoredRun
    asked: Sequence[Measure] = ()  # beyond the headline
    ranked: str = "file"  # what is: in words

    @cached_property
    def evaluation(self) -> Evaluation:
        return self.scored.evaluation()

    @cached_property
    def training(self) -> Comparison | None:
        """The trained run against the shipped weights' on the same reports; None where these are not beside it."""
        if self.scored.shipped is None:
            return None
        return compare(
            (SHIPPED, self.scored.shipped.evaluation()), (self.scored.name, self.evaluation)
        )

    @cached_property
    def means(self) -> list[Mean]:
        """The headline over all judged reports, and after it the measures asked for."""
        asked = {repr(one): (one, MEASURES[one.name].meaning) for one in self.asked}
        named = {
            key: (of, self.name_unit(meaning))
            for key, (of, meaning) in {**HEADLINE, **asked}.items()
        }
        return _means(self.evaluation, named)

    def name_unit(self, text: str) -> str:
        """What is said of files, said of what is ranked."""
        return text.replace("file", self.ranked)

    @property
    def informative_means(self) -> list[Mean]:
        """The means without those of the first k files where no version has more than k, which are 1 of necessity."""
        searched = [one.searched for one in self.evaluation.per_report]
        largest = max(
            (math.inf if files is None else files for files in searched), default=math.inf
        )
        cuts = {name: of if isinstance(of, int) else of.k for name, (of, _) in HEADLINE.items()}
        return [one for one in self.means if (cuts.get(one.name) or 0) < largest]

    @property
    def informative_strata(self) -> list[Stratum]:
        """The strata without those that hold no report, or every report and so repeat the headline."""
        reports = len(self.evaluation.per_report)
        return [one for one in self.strata if 0 < one.reports < reports]

    @cached_property
    def strata(self) -> list[Stratum]:
        """Below the headline, in the order of a table; strata that are not known of every report are left out."""
        reports, strata = self.evaluation.per_report, []
        kinds = [report_strata(one.judgement) for one in reports]
        for name in kinds[0]:
            if all(name in kind for kind in kinds):
                part = Evaluation(tuple(compress(reports, (kind[name] for kind in kinds))))
                means = _means(part, {key: HEADLINE[key] for key in ("mrr", "map")})
                strata.append(
                    Stratum(self.name_unit(name), len(part.per_report), part.relevant, means)
                )
        return strata

    @property
    def notes(self) -> list[str]:
        """Sentences that belong beside the numbers: what flatters them, and rankings that may not be whole."""
        reports, length = self.evaluation.per_report, self.evaluation.length
        said = "it is not known how many files were searched, so rankings may be cut off"
        if length is not None:
            cut = sum(one.ranked != one.searched for one in reports)
            said = f"rankings hold {length:.1%} of the files searched, {cut} of {len(reports)} are cut off"
        said = self.name_unit(f"{said}; a fixed file that is not ranked counts as not found")
        found = f"{self.scored.name}: {said}"
        notes = [*header_notes(self.scored), *([] if length == 1 else [found])]
        if self.training is not None:
            notes.append(training_sentence(self.training))
        return notes

    def values(self) -> dict[str, Any]:
        """Plain values for JSON: counts and headline on top; intervals as ``[low, high]`` or null."""
        headline, asked = self.means[: len(HEADLINE)], self.means[len(HEADLINE) :]
        return {
            "run": self.scored.name,
            **self.evaluation.counts,
            **_values(headline),
            "measures": {one.name: {"mean": one.mean, "interval": one.interval} for one in asked},
            "strata": [
                {
                    "stratum": one.name,
                    "reports": one.reports,
                    "relevant": one.relevant,
                    **_values(one.means),
                }
                for one in self.strata
            ],
            "against_shipped": None
            if self.training is None
            else difference_values(self.training.differences),
        }


def header_notes(scored: ScoredRun) -> list[str]:
    """Return sentences for a run whose ranker had learned from some of its reports, that leaves reports out, or whose
    reports are none that users wrote.
    """
    keys, header = (TRAINED_ON, UNJUDGED, WEAK_REPORTS), scored.run.header
    taught, unjudged, weak = (
        value if isinstance(value, int) else 0 for value in map(header.get, keys)
    )
    learned = f"the checkpoint learned from {pluralize(taught, 'report')} of these, so that the numbers flatter it"
    left_out = f"{pluralize(unjudged, 'report')} not judged: their version has none of the functions that the fix changed"
    notes = [f"{scored.name}: {learned}"] * bool(taught) + [left_out] * bool(unjudged)
    if weak:
        what = f"{weak:,} of {pluralize(len(scored.qrels), 'report')}"
        notes.append(
            f"{scored.name}: {what} are commit messages, which differ from what users write"
        )
    return notes


def training_sentence(comparison: Comparison) -> str:
    """Return the answer to "did training help?": shipped and trained weights on the same held-out reports."""
    of_rr, reports = comparison.differences[RR], len(comparison.pairs)
    means = f"MRR {of_rr.b:.3f} with the trained weights, {of_rr.a:.3f} with the shipped ones"
    numbers = f"{means}, on the same {pluralize(reports, 'held-out report')}"
    if of_rr.interval is None:
        return f"did training help? One report cannot tell: {numbers}"
    low, high = of_rr.interval
    numbers += f" (difference {of_rr.difference:+.3f}, 95 % interval {low:+.3f} to {high:+.3f})"
    if low > 0:
        answer = "yes"
    elif high < 0:
        answer = "no, it made the ranking worse"
    elif of_rr.wins == of_rr.losses == 0:
        answer = "no, both rank alike"
    else:
        answer = "that is not certain"
    return f"did training help? {answer.capitalize()}: {numbers}"


def _means(evaluation: Evaluation, named: Mapping[str, tuple[Measure | int, str]]) -> list[Mean]:
    """Rows of what is ``named``; all intervals are of the same resamples, of coverage of the fixed files in them."""
    reports, rows = evaluation.per_report, []
    columns = [
        [count_within(one.ranks, of) for one in reports]
        if isinstance(of, int)
        else evaluation.values(of)
        for of, _ in named.values()
    ]
    columns.append([one.relevant for one in reports])
    sums = (
        resampled_sums(np.column_stack(columns).astype(np.float64)).T if len(reports) > 1 else None
    )
    for place, (name, (of, meaning)) in enumerate(named.items()):
        mean = evaluation.coverage(of) if isinstance(of, int) else evaluation.mean(of)
        interval = None
        if sums is not None:
            below = np.maximum(sums[-1], 1) if isinstance(of, int) else len(reports)
            interval = percentile_interval(sums[place] / below)
        rows.append(Mean(name, mean if reports else None, interval, meaning))
    return rows


def _values(means: Sequence[Mean]) -> dict[str, Any]:
    return {one.name: one.mean for one in means} | {
        "intervals": {one.name: one.interval for one in means}
    }


def report_strata(one: Judgement) -> dict[str, bool]:
    """Whether a report belongs to each kind of which it is known, in the order of a table. Reachable: some fixed file
    is in the searched version. A file is named where the text has the name of its class.
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
            "names a fixed file": kind.named > 0,
            "names no fixed file": kind.named == 0,
        }
    return found | {"only test files fixed": fixed > 0 and bool(which_are_tests(one.fixed).all())}
