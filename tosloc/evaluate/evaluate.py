"""Per-report values of a run, and their means over **all** judged reports."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from tosloc.errors import RunError
from tosloc.evaluate.judgements import FileLists, Judgement, Qrels
from tosloc.evaluate.measures import AP, RR, Measure, Outcome
from tosloc.evaluate.runs import Order, Run
from tosloc.evaluate.statistics import exact_mean
from tosloc.metrics import found_at
from tosloc.records import FloatArray, IntArray

COVERED: Final = (50, 100, 300)  # ranks within which a second stage may look: of coverage, and of any fixed file
HEADLINE: Final = {
    "mrr": RR,
    "map": AP,
    **{f"top{k}": Measure("Hit", k) for k in (1, 5, 10)},
    **{f"any{k}": Measure("Hit", k) for k in COVERED},
}
"""What the summary calls the means of measures."""


@dataclass(frozen=True, slots=True)
class ReportScores:
    """How well one report was answered."""

    judgement: Judgement
    outcome: Outcome

    @property
    def report(self) -> str:
        return self.judgement.report

    @property
    def ranks(self) -> tuple[int, ...]:
        return self.outcome.ranks

    @property
    def average_precision(self) -> float:
        return AP(self.outcome)

    @property
    def reciprocal_rank(self) -> float:
        return RR(self.outcome)

    @property
    def length(self) -> float | None:
        """Ranking length over files searched, if both are known."""
        ranked, searched = self.outcome.ranked, self.outcome.searched
        return None if ranked is None or not searched else ranked / searched


@dataclass(frozen=True)
class Evaluation:
    """A run against its judgements, by report id. Reports without any fixed file in their version count as 0."""

    per_report: tuple[ReportScores, ...]

    def values(self, measure: Measure) -> FloatArray:
        """(N,) the measure's value for each of the N reports."""
        return np.array([measure(one.outcome) for one in self.per_report], dtype=np.float64)

    def mean(self, measure: Measure) -> float:
        """Mean of the measure over all reports; 0 if there are none."""
        return exact_mean(self.values(measure))

    @property
    def mrr(self) -> float:
        return self.mean(RR)

    @property
    def map(self) -> float:
        """Mean average precision over the full ranking, all fixed files in the denominator."""
        return self.mean(AP)

    @property
    def relevant(self) -> int:
        return sum(one.outcome.relevant for one in self.per_report)

    def coverage(self, k: int) -> float:
        """Share of all fixed files that stand within the first ``k``."""
        return sum(found_at(one.ranks, k) for one in self.per_report) / (self.relevant or 1)

    @property
    def length(self) -> float | None:
        """Mean of ranking length over files searched: 1.0 for a complete run; None if it is not known of any report."""
        lengths = [one.length for one in self.per_report]
        return exact_mean([length for length in lengths if length is not None]) if None not in lengths else None

    @cached_property
    def by_report(self) -> dict[str, ReportScores]:
        return {one.report: one for one in self.per_report}

    def summary(self) -> dict[str, int | float | None]:
        """The row of a results table: ``coverageK`` counts fixed files, ``anyK`` and ``topK`` count reports."""
        return {
            "reports": len(self.per_report),
            "relevant": self.relevant,
            "dropped": sum(one.judgement.dropped for one in self.per_report),
            "empty": sum(one.outcome.relevant == 0 for one in self.per_report),
            **{name: self.mean(measure) for name, measure in HEADLINE.items()},
            **{f"coverage{k}": self.coverage(k) for k in COVERED},
            "length": self.length,
        }


def evaluate(run: Run, qrels: Qrels) -> Evaluation:
    """Evaluation of a run against the judged reports, in order of report id. Raises RunError when a judged report has
    no ranking, a ranking has no judgement, a ranked or fixed file was not searched, a ranking is longer than its
    version, or there is nothing to judge.
    """
    judged, lists = qrels.judgements, qrels.file_lists
    if not judged:
        raise RunError(f"{run.where}: nothing to evaluate, no report is judged")
    for what, some, others in (("no ranking", judged, run.orders), ("no judgement", run.orders, judged)):
        if lone := sorted(some.keys() - others.keys()):
            raise RunError(f"{run.where}: {what} for {len(lone)} of {len(some)} reports, first {lone[0]}")
    numbers = None if lists is None else lists.numbers_of(run.names)
    scores = []
    for report, one in sorted(judged.items()):
        order, searched = run.orders[report], one.searched
        if lists is not None and numbers is not None and one.version is not None:
            _check_files(run, order, one, lists, numbers)
            searched = len(lists.of(one.version))
        ranks = tuple(order.ranks_of([run.numbers[path] for path in one.fixed if path in run.numbers]))
        last, unranked = int(order.ranks.max(initial=0)), len(one.fixed) - len(ranks)
        if searched is not None and last + unranked > searched:
            what = f"ranks {last} files and lacks {unranked} of the fixed, but its version has {searched} files"
            raise RunError(f"{run.where}: report {report} {what}")
        scores.append(ReportScores(one, Outcome(ranks, len(one.fixed), order.length, searched)))
    return Evaluation(tuple(scores))


def _check_files(run: Run, order: Order, one: Judgement, lists: FileLists, numbers: IntArray) -> None:
    """Raise RunError for a ranked or fixed file that the version lacks; ``numbers`` are those of the run's names."""
    holds = np.zeros(len(lists.names) + 1, dtype=np.bool_)  # the last is for a path that no version has
    holds[lists.of(one.version or "")] = True
    lost = [run.names[number] for number in order.files[~holds[numbers[order.files]]][:1]]
    lost += [path for path, there in zip(one.fixed, holds[lists.numbers_of(one.fixed)], strict=True) if not there]
    if lost:
        raise RunError(f"{run.where}: report {one.report}: {lost[0]} is ranked or fixed, but not in {one.version}")
