"""Collect the results of one run for tables and pages: headline, intervals, strata and notes.

Strata are kinds of reports. Tables show their results below those of all reports, never as the
headline: reports that name the class to fix are easier (Kochhar et al. 2014), and a project's mix
of kinds can explain more of a mean than the method does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np

from tosloc.core.arrays import FloatArray
from tosloc.core.errors import pluralize
from tosloc.evaluate.compare import Comparison
from tosloc.evaluate.measures import AP, MEASURES, RR, TOP_CUTS, Evaluation, Measure, count_within
from tosloc.evaluate.run_paths import ScoredRun
from tosloc.evaluate.runs.judgements import Judgement
from tosloc.evaluate.statistics import MIN_RELIABLE, Interval, percentile_interval, resampled_sums
from tosloc.paths.classify import which_are_tests

COVERAGE_CUTS: Final = (50, 100, 300)
"""Numbers of top ranks that a second stage may score again, for coverage and for any fixed file."""
COUNT_MEANINGS: Final = {
    "reports": "reports judged",
    "relevant": "fixed files in the searched versions",
    "dropped": "fixed files not in their version (removed)",
    "empty": "reports without fixed files left (count 0)",
    "length": "ranking length / number of searched files",
    "weak": "commit messages in place of reports (easier)",
}
"""Key of ``Evaluation.counts`` -> what it counts."""


class HeadlineRow(NamedTuple):
    """A statistic with its meaning: the mean of a measure, or coverage@k if the statistic is a k.

    Coverage@k is the share of all reports' fixed files that are within the first k ranks.
    """

    statistic: Measure | int
    meaning: str

    @property
    def cut(self) -> int:
        """Number of top ranks that the statistic depends on; 0 if it depends on all."""
        if isinstance(self.statistic, int):
            return self.statistic
        return self.statistic.k or 0


def _headline() -> dict[str, HeadlineRow]:
    rows = {
        "mrr": HeadlineRow(RR, "mean reciprocal rank, first fixed file"),
        "map": HeadlineRow(AP, "mean average precision, whole ranking"),
    }
    for k in TOP_CUTS:
        rows[f"top{k}"] = _hit_row(k)
    for k in COVERAGE_CUTS:
        rows[f"coverage{k}"] = HeadlineRow(k, f"fixed files up to rank {k}")
    for k in COVERAGE_CUTS:
        rows[f"any{k}"] = _hit_row(k)
    return rows


def _hit_row(k: int) -> HeadlineRow:
    return HeadlineRow(Measure("Hit", k), f"reports with a fixed file up to rank {k}")


HEADLINE: Final[Mapping[str, HeadlineRow]] = _headline()
"""Name -> row that every table of results contains."""


class Mean(NamedTuple):
    """A row of results: a mean or share over reports.

    ``mean`` is None if there is no report. ``interval``, the 95 % bootstrap interval, is None for
    fewer than two reports.
    """

    name: str
    mean: float | None
    interval: Interval | None
    meaning: str


class Stratum(NamedTuple):
    """MRR and MAP of the reports of one kind."""

    name: str
    reports: int
    relevant: int
    means: list[Mean]

    @property
    def is_small(self) -> bool:
        """Whether there are reports, but too few for reliable intervals."""
        return 0 < self.reports < MIN_RELIABLE


@dataclass(frozen=True)
class Results:
    """All results of one run.

    ``extra_measures`` come after the headline. ``unit`` is what the run ranks, "file" or
    "function". Each property raises RunError for a run that cannot be evaluated.
    """

    scored: ScoredRun
    extra_measures: Sequence[Measure] = ()
    unit: str = "file"

    @cached_property
    def evaluation(self) -> Evaluation:
        """Evaluation of the run with its judgements."""
        return self.scored.evaluation()

    @cached_property
    def training(self) -> Comparison | None:
        """Comparison of the trained run with the shipped weights' run on the same reports.

        None if the run has no shipped run.
        """
        if self.scored.shipped is None:
            return None
        return Comparison.of(
            (self.scored.shipped.name, self.scored.shipped.evaluation()),
            (self.scored.name, self.evaluation),
        )

    @cached_property
    def means(self) -> list[Mean]:
        """Means of the headline over all judged reports, followed by the extra measures."""
        rows = dict(HEADLINE)
        for measure in self.extra_measures:
            rows[repr(measure)] = HeadlineRow(measure, MEASURES[measure.name].meaning)
        means = []
        for mean in _mean_rows(self.evaluation, rows):
            means.append(mean._replace(meaning=self.name_unit(mean.meaning)))
        return means

    def name_unit(self, text: str) -> str:
        """Return a text about files with "file" replaced by the unit that the run ranks."""
        return text.replace("file", self.unit)

    @property
    def is_small(self) -> bool:
        """Whether there are too few reports for reliable intervals."""
        return len(self.evaluation.per_report) < MIN_RELIABLE

    @property
    def informative_counts(self) -> dict[str, str]:
        """Key of a count -> what it counts; without weak reports if there are none."""
        meanings = dict(COUNT_MEANINGS)
        if not self.evaluation.counts["weak"]:
            del meanings["weak"]
        return meanings

    @property
    def informative_means(self) -> list[Mean]:
        """The means that can be below 1.

        A mean over the first k ranks is left out if no searched version has more than k files.
        """
        most = self.evaluation.most_searched
        largest = math.inf if most is None else most
        means = []
        for mean in self.means:
            cut = HEADLINE[mean.name].cut if mean.name in HEADLINE else 0
            if cut < largest:
                means.append(mean)
        return means

    @property
    def informative_strata(self) -> list[Stratum]:
        """The strata that contain some, but not all reports; others say nothing new."""
        reports = len(self.evaluation.per_report)
        return [stratum for stratum in self.strata if 0 < stratum.reports < reports]

    @cached_property
    def strata(self) -> list[Stratum]:
        """Results of each kind of reports, in the order of a table.

        Kinds that are not known for every report are left out.
        """
        reports = self.evaluation.per_report
        strata_by_report = [report_strata(scores.judgement) for scores in reports]
        headline = {name: HEADLINE[name] for name in ("mrr", "map")}
        strata = []
        for name in strata_by_report[0]:
            if not all(name in memberships for memberships in strata_by_report):
                continue
            members = []
            for scores, memberships in zip(reports, strata_by_report, strict=True):
                if memberships[name]:
                    members.append(scores)
            part = Evaluation(tuple(members))
            means = _mean_rows(part, headline)
            strata.append(Stratum(self.name_unit(name), len(members), part.relevant, means))
        return strata

    @property
    def caveats(self) -> list[str]:
        """Sentences on what makes the numbers look better or worse than they are.

        The last ones say that rankings are, or may be, cut off, and that no fixed file is ranked.
        """
        notes = self.scored.notes
        if self.evaluation.length != 1:
            notes.append(self._cut_note())
        fixed = [scores.judgement.fixed for scores in self.evaluation.per_report]
        if any(fixed) and not any(scores.ranks for scores in self.evaluation.per_report):
            example = next(filter(None, fixed))[0]
            notes.append(
                f"{self.scored.name}: no ranking contains a fixed file; check that its paths are"
                f" written like those of the judgements, such as {example}"
            )
        return notes

    @property
    def notes(self) -> list[str]:
        """Notes on the truth, the caveats, and a sentence that says whether training helped."""
        notes = self.scored.notes_on_truth + self.caveats
        if self.training is not None:
            notes.append(training_sentence(self.training))
        return notes

    def _cut_note(self) -> str:
        """Return a sentence about rankings that are, or may be, cut off."""
        reports = self.evaluation.per_report
        length = self.evaluation.length
        if self.scored.run.partial:
            lengths = "only the ranks of some files are known, so rankings may be cut off"
        elif length is None:
            lengths = "the number of searched files is unknown, so rankings may be cut off"
        else:
            cut = sum(scores.ranked != scores.searched for scores in reports)
            lengths = (
                f"rankings contain {length:.1%} of the searched files, and {cut} of {len(reports)}"
                " are cut off"
            )
        note = self.name_unit(f"{lengths}; a fixed file that is not ranked counts as not found")
        return f"{self.scored.name}: {note}"

    def values(self) -> dict[str, Any]:
        """Return plain values for JSON: counts and headline on top; intervals as ``[low, high]``.

        An undefined interval is null.
        """
        headline = self.means[: len(HEADLINE)]
        extra = self.means[len(HEADLINE) :]
        strata = []
        for stratum in self.strata:
            counts = {
                "stratum": stratum.name,
                "reports": stratum.reports,
                "relevant": stratum.relevant,
            }
            strata.append(counts | _mean_values(stratum.means))
        training = None
        if self.training is not None:
            training = self.training.measure_values
        return {
            "run": self.scored.name,
            "search_space": self.scored.search_space or None,
            **self.evaluation.counts,
            **_mean_values(headline),
            "measures": {row.name: {"mean": row.mean, "interval": row.interval} for row in extra},
            "strata": strata,
            "against_shipped": training,
        }


def training_sentence(comparison: Comparison) -> str:
    """Return a sentence that says whether training helped.

    ``comparison`` compares the shipped with the trained weights on the same held-out reports.
    """
    difference = comparison.differences[RR]
    numbers = (
        f"MRR {difference.b:.3f} with the trained weights, {difference.a:.3f} with the shipped "
        f"ones, on the same {pluralize(len(comparison.pairs), 'held-out report')}"
    )
    if difference.interval is None:
        return f"did training help? One report cannot show this: {numbers}"
    low, high = difference.interval
    if low > 0:
        answer = "Yes"
    elif high < 0:
        answer = "No, it made the ranking worse"
    elif difference.wins == difference.losses == 0:
        answer = "No, both rankings are equally good"
    else:
        answer = "That is not certain"
    interval = f"95 % interval {low:+.3f} to {high:+.3f}"
    return (
        f"did training help? {answer}: {numbers} "
        f"(difference {difference.difference:+.3f}, {interval})"
    )


def _mean_rows(evaluation: Evaluation, rows: Mapping[str, HeadlineRow]) -> list[Mean]:
    """Return the means of some rows with their intervals."""
    reports = evaluation.per_report
    intervals: Mapping[str, Interval] = {}
    if len(reports) > 1:
        intervals = _intervals(evaluation, rows)
    means = []
    for name, row in rows.items():
        mean = None
        if reports:
            mean = _mean(evaluation, row.statistic)
        means.append(Mean(name, mean, intervals.get(name), row.meaning))
    return means


def _mean(evaluation: Evaluation, statistic: Measure | int) -> float:
    if isinstance(statistic, int):
        return evaluation.coverage(statistic)
    return evaluation.mean(statistic)


def _intervals(evaluation: Evaluation, rows: Mapping[str, HeadlineRow]) -> dict[str, Interval]:
    """Return name of a row -> bootstrap interval, all from the same resamples of the reports.

    There must be two reports or more. Coverage in a resample is a ratio of two sums: fixed files
    that were found, and all fixed files.
    """
    reports = evaluation.per_report
    columns: list[Sequence[int] | FloatArray] = []
    for row in rows.values():
        if isinstance(row.statistic, int):
            columns.append([count_within(scores.ranks, row.statistic) for scores in reports])
        else:
            columns.append(evaluation.values(row.statistic))
    columns.append([scores.relevant for scores in reports])
    *row_sums, relevant = resampled_sums(np.column_stack(columns).astype(np.float64)).T
    fixed_files = np.maximum(relevant, 1)
    intervals = {}
    for (name, row), sums in zip(rows.items(), row_sums, strict=True):
        divisor = fixed_files if isinstance(row.statistic, int) else len(reports)
        intervals[name] = percentile_interval(sums / divisor)
    return intervals


def _mean_values(means: Sequence[Mean]) -> dict[str, Any]:
    values: dict[str, Any] = {row.name: row.mean for row in means}
    values["intervals"] = {row.name: row.interval for row in means}
    return values


def report_strata(judgement: Judgement) -> dict[str, bool]:
    """Return kind of reports -> whether the report belongs to it, in the order of a table.

    Kinds that are not known for the report are left out. A report is reachable if some fixed file
    is in the searched version. It names a file if its text contains the name of the file's class.
    """
    fixed = len(judgement.fixed)
    strata = {
        "reachable only": fixed > 0,
        "left empty": fixed == 0,
        "1 fixed file": fixed == 1,
        "2 to 5 fixed files": 2 <= fixed <= 5,
        "6 or more fixed files": fixed >= 6,
    }
    attributes = judgement.attributes
    if attributes is not None:
        strata["with a description"] = attributes.description
        strata["without a description"] = not attributes.description
        strata["with a stack trace"] = attributes.stack_trace
        strata["without a stack trace"] = not attributes.stack_trace
        strata["names a fixed file"] = attributes.named > 0
        strata["names no fixed file"] = attributes.named == 0
    only_tests = fixed > 0 and bool(which_are_tests(judgement.fixed).all())
    strata["only test files fixed"] = only_tests
    return strata
