"""Per-report values of a run, and their means over **all** judged reports."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tosloc.errors import RunError
from tosloc.evaluation.judgements import Judgement, read_judgements
from tosloc.evaluation.measures import average_precision, found_at, hit_at, reciprocal_rank
from tosloc.evaluation.runs import Run, read_run

RUN_FILE = "run.jsonl.gz"
JUDGEMENTS_FILE = "qrels.jsonl"


@dataclass(frozen=True, slots=True)
class ReportScores:
    """How well one report was answered."""

    report: str
    ranks: tuple[int, ...]
    """Ranks of the fixed files that are ranked, ascending."""
    relevant: int
    dropped: int
    average_precision: float
    reciprocal_rank: float
    length: float | None
    """Ranking length over files searched, if the number of files searched is known."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A run against its judgements. Reports without any fixed file in their version count with AP = RR = 0."""

    per_report: tuple[ReportScores, ...]

    @property
    def mrr(self) -> float:
        """Mean reciprocal rank."""
        return _mean([one.reciprocal_rank for one in self.per_report])

    @property
    def map(self) -> float:
        """Mean average precision over the full ranking, all fixed files in the denominator."""
        return _mean([one.average_precision for one in self.per_report])

    @property
    def relevant(self) -> int:
        """Number of fixed files over all reports."""
        return sum(one.relevant for one in self.per_report)

    def top(self, k: int) -> float:
        """Share of the reports with any fixed file within the first ``k``."""
        return _mean([hit_at(one.ranks, k) for one in self.per_report])

    def coverage(self, k: int) -> float:
        """Share of all fixed files that stand within the first ``k``."""
        found = sum(found_at(one.ranks, k) for one in self.per_report)
        return found / self.relevant if self.relevant else 0.0

    @property
    def length(self) -> float | None:
        """Mean of ranking length over files searched: 1.0 for a complete run; None if a version's size is not known."""
        lengths = [one.length for one in self.per_report]
        return _mean([length for length in lengths if length is not None]) if None not in lengths else None

    def summary(self) -> dict[str, int | float | None]:
        """The row of a results table: ``coverageK`` counts fixed files, ``anyK`` and ``topK`` count reports."""
        return {
            "reports": len(self.per_report),
            "relevant": self.relevant,
            "dropped": sum(one.dropped for one in self.per_report),
            "empty": sum(one.relevant == 0 for one in self.per_report),
            "mrr": self.mrr,
            "map": self.map,
            **{f"top{k}": self.top(k) for k in (1, 5, 10)},
            **{f"coverage{k}": self.coverage(k) for k in (50, 100, 300)},
            **{f"any{k}": self.top(k) for k in (50, 100, 300)},
            "length": self.length,
        }


def evaluate(run: Run, judgements: Iterable[Judgement]) -> Evaluation:
    """Evaluation of a run against the judged reports.

    Raises RunError when a judged report has no ranking, or a ranking has no judgement, or there is nothing to judge.
    """
    judged = tuple(judgements)
    if not judged:
        raise RunError(f"{run.where}: nothing to evaluate, no report is judged")
    missing = [one.report for one in judged if one.report not in run.rankings]
    if missing:
        raise RunError(
            f"{run.where}: no ranking for {len(missing)} of {len(judged)} judged reports, first {missing[0]}"
        )
    known = {one.report for one in judged}
    extra = [report for report in run.rankings if report not in known]
    if extra:
        raise RunError(f"{run.where}: no judgement for {len(extra)} of {len(run.rankings)} rankings, first {extra[0]}")
    return Evaluation(tuple(_scores(run, one) for one in judged))


def evaluate_folder(folder: str | Path, split: str) -> Evaluation:
    """Evaluation of the run in ``folder/split``.

    Raises RunError when there is none, naming the splits that are there.
    """
    place = Path(folder) / split
    if not (place / RUN_FILE).is_file() or not (place / JUDGEMENTS_FILE).is_file():
        there = splits_of(folder)
        known = f"it holds {', '.join(there)}" if there else "make one with: tosloc train, or tosloc rank"
        raise RunError(f"{folder}: no finished run of the split {split!r}; {known}")
    return evaluate(read_run(place / RUN_FILE), read_judgements(place / JUDGEMENTS_FILE))


def splits_of(folder: str | Path) -> list[str]:
    """Names of the splits whose run is in ``folder``, by name."""
    return sorted(
        run.parent.name for run in Path(folder).glob(f"*/{RUN_FILE}") if (run.parent / JUDGEMENTS_FILE).is_file()
    )


def _scores(run: Run, judgement: Judgement) -> ReportScores:
    ranking = run.rankings[judgement.report]
    if judgement.searched is not None and len(ranking) > judgement.searched:
        raise RunError(
            f"{run.where}: report {judgement.report} ranks {len(ranking)} files, its version has {judgement.searched}"
        )
    ranks = tuple(sorted(ranking.ranks(judgement.fixed).values()))
    relevant = len(judgement.fixed)
    return ReportScores(
        report=judgement.report,
        ranks=ranks,
        relevant=relevant,
        dropped=judgement.dropped,
        average_precision=average_precision(ranks, relevant),
        reciprocal_rank=reciprocal_rank(ranks),
        length=len(ranking) / judgement.searched if judgement.searched else None,
    )


def _mean(values: Sequence[float]) -> float:
    """Mean, rounded once, so that the order of the reports changes nothing."""
    return math.fsum(values) / len(values)
