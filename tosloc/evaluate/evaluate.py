"""Per-report values of a run, and their means over **all** judged reports."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tosloc.errors import RunError
from tosloc.evaluate.judgements import Qrels
from tosloc.evaluate.measures import AP, RR, Measure, ReportScores
from tosloc.evaluate.runs import Run
from tosloc.evaluate.statistics import exact_mean
from tosloc.metrics import found_at
from tosloc.records import FloatArray


@dataclass(frozen=True)
class Evaluation:
    """A run against its judgements, by report id. Reports without any fixed file in their version count as 0."""

    per_report: tuple[ReportScores, ...]

    def values(self, measure: Measure) -> FloatArray:
        """(N,) the measure's value for each of the N reports."""
        return np.array([measure(one) for one in self.per_report], dtype=np.float64)

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
        return sum(one.relevant for one in self.per_report)

    def coverage(self, k: int) -> float:
        """Share of all fixed files that stand within the first ``k``."""
        return sum(found_at(one.ranks, k) for one in self.per_report) / (self.relevant or 1)

    @property
    def length(self) -> float | None:
        """Mean of ranking length over files searched: 1.0 for a complete run; None if it is not known of any report."""
        known = [one.ranked / one.searched for one in self.per_report if one.ranked is not None and one.searched]
        return exact_mean(known) if len(known) == len(self.per_report) else None

    @cached_property
    def counts(self) -> dict[str, int | float | None]:
        """What is counted before anything is measured."""
        return {
            "reports": len(self.per_report),
            "relevant": self.relevant,
            "dropped": sum(one.judgement.dropped for one in self.per_report),
            "empty": sum(one.relevant == 0 for one in self.per_report),
            "length": self.length,
        }


def evaluate(run: Run, qrels: Qrels) -> Evaluation:
    """Evaluation of a run against the judged reports, in order of report id. Raises RunError when a judged report has
    no ranking, a ranking has no judgement, a ranking is longer than its version, or there is nothing to judge.
    """
    if not qrels:
        raise RunError(f"{run.where}: nothing to evaluate, no report is judged")
    for what, some, others in (("no ranking", qrels, run.orders), ("no judgement", run.orders, qrels)):
        if lone := sorted(some.keys() - others.keys()):
            raise RunError(f"{run.where}: {what} for {len(lone)} of {len(some)} reports, first {lone[0]}")
    scores = []
    for report, one in sorted(qrels.items()):
        order = run.orders[report]
        ranked = np.isin(order.files, [run.numbers[path] for path in one.fixed if path in run.numbers])
        ranks = tuple(sorted(order.ranks[ranked].tolist()))
        last, unranked = int(order.ranks.max(initial=0)), len(one.fixed) - len(ranks)
        if one.searched is not None and last + unranked > one.searched:
            what = f"ranks {last} files and lacks {unranked} of the fixed, but its version has {one.searched} files"
            raise RunError(f"{run.where}: report {report} {what}")
        scores.append(ReportScores(one, ranks, len(order.files) if order.known_ranks is None else None))
    return Evaluation(tuple(scores))
