"""Per-report values of a run, and their means over **all** judged reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tosloc.errors import RunError
from tosloc.evaluate.file_lists import FileLists
from tosloc.evaluate.judgements import Judgement, Qrels
from tosloc.evaluate.measures import AP, RR, Measure, Others, Outcome
from tosloc.evaluate.runs import Order, Run
from tosloc.evaluate.statistics import exact_mean
from tosloc.metrics import found_at
from tosloc.records import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class ReportScores:
    """How well one report was answered."""

    judgement: Judgement
    outcome: Outcome

    @property
    def report(self) -> str:
        """Id of the report."""
        return self.judgement.report

    @property
    def ranks(self) -> tuple[int, ...]:
        """Ranks of the fixed files that are ranked, ascending."""
        return self.outcome.ranks

    @property
    def average_precision(self) -> float:
        """Textbook average precision."""
        return AP(self.outcome)

    @property
    def reciprocal_rank(self) -> float:
        """One over the rank of the first fixed file."""
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
        return exact_mean([measure(one.outcome) for one in self.per_report])

    @property
    def mrr(self) -> float:
        """Mean reciprocal rank."""
        return self.mean(RR)

    @property
    def map(self) -> float:
        """Mean average precision over the full ranking, all fixed files in the denominator."""
        return self.mean(AP)

    @property
    def relevant(self) -> int:
        """Number of fixed files over all reports."""
        return sum(one.outcome.relevant for one in self.per_report)

    def coverage(self, k: int) -> float:
        """Share of all fixed files that stand within the first ``k``."""
        found = sum(found_at(one.ranks, k) for one in self.per_report)
        return found / self.relevant if self.relevant else 0.0

    @property
    def length(self) -> float | None:
        """Mean of ranking length over files searched: 1.0 for a complete run; None if it is not known of any report."""
        lengths = [one.length for one in self.per_report]
        return exact_mean([length for length in lengths if length is not None]) if None not in lengths else None

    @cached_property
    def by_report(self) -> dict[str, ReportScores]:
        """Report id -> its scores."""
        return {one.report: one for one in self.per_report}

    def summary(self) -> dict[str, int | float | None]:
        """The row of a results table: ``coverageK`` counts fixed files, ``anyK`` and ``topK`` count reports."""
        return {
            "reports": len(self.per_report),
            "relevant": self.relevant,
            "dropped": sum(one.judgement.dropped for one in self.per_report),
            "empty": sum(one.outcome.relevant == 0 for one in self.per_report),
            "mrr": self.mrr,
            "map": self.map,
            **{f"top{k}": self.mean(Measure("Hit", k)) for k in (1, 5, 10)},
            **{f"coverage{k}": self.coverage(k) for k in (50, 100, 300)},
            **{f"any{k}": self.mean(Measure("Hit", k)) for k in (50, 100, 300)},
            "length": self.length,
        }


def evaluate(run: Run, qrels: Qrels) -> Evaluation:
    """Evaluation of a run against the judged reports, in order of report id.

    Raises RunError when a judged report has no ranking, a ranking has no judgement, a ranked or fixed file was not
    searched, a ranking is longer than its version, or there is nothing to judge.
    """
    _check_reports(run, qrels)
    lists = qrels.file_lists
    numbers = None if lists is None else lists.numbers_of(run.names)
    scores = []
    for report in sorted(qrels.judgements):
        judgement, order = qrels.judgements[report], run.orders[report]
        searched = judgement.searched
        if lists is not None and numbers is not None and judgement.version is not None:
            searched = _version_size(run, order, judgement, lists, numbers)
        wanted = [run.numbers[path] for path in judgement.fixed if path in run.numbers]
        ranks = tuple(order.ranks_of(wanted))
        if searched is not None:
            _check_length(order, judgement, searched, len(judgement.fixed) - len(ranks))
        others = None if judgement.nonrelevant is None else _others(run, order, judgement, ranks)
        scores.append(ReportScores(judgement, Outcome(ranks, len(judgement.fixed), order.length, searched, others)))
    return Evaluation(tuple(scores))


def _check_reports(run: Run, qrels: Qrels) -> None:
    """Raise RunError unless the rankings are of the judged reports."""
    if not qrels.judgements:
        raise RunError(f"{run.where}: nothing to evaluate, no report is judged")
    missing = sorted(qrels.judgements.keys() - run.orders.keys())
    if missing:
        where = qrels.judgements[missing[0]].where
        raise RunError(
            f"{run.where}: no ranking for {len(missing)} of {len(qrels)} judged reports, first {missing[0]}"
            + (f" ({where})" if where else "")
        )
    extra = sorted(run.orders.keys() - qrels.judgements.keys())
    if extra:
        where = run.orders[extra[0]].at()
        raise RunError(
            f"{run.where}: no judgement for {len(extra)} of {len(run.orders)} rankings, first {extra[0]}"
            + (f" ({where})" if where != run.where else "")
        )


def _check_length(order: Order, judgement: Judgement, searched: int, unranked: int) -> None:
    """Raise RunError when the version cannot hold the ranked files and the fixed ones that are not ranked."""
    last = len(order.files) if order.known_ranks is None else int(order.known_ranks.max(initial=0))
    if last + unranked > searched:
        ranked = f"ranks {last} files" if order.known_ranks is None else f"has rank {last}"
        lacking = f" and lacks {unranked} of the fixed" if unranked else ""
        raise RunError(f"{order.at()}: report {judgement.report} {ranked}{lacking}, its version has {searched}")


def _others(run: Run, order: Order, judgement: Judgement, ranks: Sequence[int]) -> Others:
    """The report's files judged as not fixed. Raises RunError when only some ranks are known."""
    if order.known_ranks is not None:
        raise RunError(
            f"{order.where}: of report {judgement.report} only some ranks are known, so those of the files that"
            f" {judgement.where or 'its judgement'} calls not fixed are missing"
        )
    others = judgement.nonrelevant or ()
    above, ranked = order.above([run.numbers[path] for path in others if path in run.numbers], ranks)
    return Others(tuple(above), ranked, len(others))


def _version_size(run: Run, order: Order, judgement: Judgement, lists: FileLists, numbers: IntArray) -> int:
    """Number of files of the version; the ``numbers`` are those of the run's names in the lists.

    Raises RunError for the first ranked or fixed file that the version lacks.
    """
    version, report = judgement.version or "", judgement.report
    holds = lists.holds(version)
    there: BoolArray = holds[numbers[order.files]]
    if not there.all():
        place = int(np.argmin(there))
        path = run.names[order.files[place]]
        raise RunError(f"{order.at(place)}: report {report} ranks {path}, which version {version} does not have")
    for path, number in zip(judgement.fixed, lists.numbers_of(judgement.fixed), strict=True):
        if not holds[number]:
            where = judgement.where or lists.where
            raise RunError(f"{where}: report {report} has the fixed file {path}, which version {version} lacks")
    return lists.count(version)
