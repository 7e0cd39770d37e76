"""Measures by name, of one report, and their means over **all** judged reports. A name tells its denominator.

The measures themselves are in ``tosloc.core.metrics``; coverage@k, which sums over reports, is in ``Evaluation``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal, NamedTuple, Self

import numpy as np

from tosloc.core.errors import RunError
from tosloc.core.metrics import average_precision, bpref, count_within, ndcg, reciprocal_rank
from tosloc.core.records import FloatArray
from tosloc.evaluate.judgements import Judgement, Qrels
from tosloc.evaluate.runs import Run
from tosloc.evaluate.statistics import exact_mean


@dataclass(frozen=True, slots=True)
class ReportScores:
    """How well one report was answered: all that a measure needs to know."""

    judgement: Judgement
    ranks: tuple[int, ...]  # ranks of the fixed files that are ranked, ascending
    ranked: int | None  # length of the ranking; None where only the fixed files' ranks are known

    @property
    def report(self) -> str:
        return self.judgement.report

    @property
    def relevant(self) -> int:
        return len(self.judgement.fixed)

    @property
    def searched(self) -> int | None:
        """Files of the searched version; None if not known, and then those ranked stand for them."""
        return self.judgement.searched

    @property
    def average_precision(self) -> float:
        return AP(self)


def _bpref(one: ReportScores, retrieved: bool) -> float:
    """Over all files that are not fixed, or over those ``retrieved``. Raises RunError where nothing tells how many."""
    above = [rank - place for place, rank in enumerate(one.ranks, start=1)]
    if not retrieved and one.searched is not None:
        return bpref(above, one.relevant, one.searched - one.relevant)
    files = one.searched if one.ranked is None else one.ranked
    if files is None:
        raise RunError("bpref counts the other files, and how many were searched is not known")
    return bpref(above, one.relevant, files - len(one.ranks))


class MeasureRow(NamedTuple):
    """A measure of one report, whether it is of the first k (always, never, or where a k is named), what it means."""

    value: Callable[[ReportScores, Any], float]
    cut: Literal["always", "never", "named"]
    meaning: str


MEASURES: Final[Mapping[str, MeasureRow]] = {
    "AP": MeasureRow(
        lambda one, k: average_precision(one.ranks, one.relevant, k),
        "named",
        "average precision over all fixed files (textbook)",
    ),
    "RR": MeasureRow(
        lambda one, k: reciprocal_rank(one.ranks, k),
        "named",
        "reciprocal rank of the first fixed file",
    ),
    "nDCG": MeasureRow(
        lambda one, k: ndcg(one.ranks, one.relevant, k),
        "named",
        "normalised discounted cumulative gain, binary",
    ),
    "AP_found": MeasureRow(
        lambda one, k: average_precision(one.ranks, one.relevant, k, "found"),
        "named",
        "average precision over the fixed files found (diagnostic: grows when a ranking is cut)",
    ),
    "AP_reachable": MeasureRow(
        lambda one, k: average_precision(one.ranks, one.relevant, k, "reachable"),
        "always",
        "average precision over min(k, fixed files)",
    ),
    "P": MeasureRow(
        lambda one, k: count_within(one.ranks, k) / k,
        "always",
        "fixed files within the first k, over k",
    ),
    "R": MeasureRow(
        lambda one, k: count_within(one.ranks, k) / (one.relevant or 1),
        "always",
        "fixed files within the first k, over all fixed files",
    ),
    "Hit": MeasureRow(
        lambda one, k: float(count_within(one.ranks, k) > 0),
        "always",
        "1 if any fixed file is within the first k",
    ),
    "Acc": MeasureRow(
        lambda one, k: float(0 < one.relevant == count_within(one.ranks, k)),
        "always",
        "1 if all fixed files are within the first k",
    ),
    "bpref": MeasureRow(
        lambda one, _: _bpref(one, retrieved=False),
        "never",
        "binary preference over all files that are not fixed (trec_eval 8.0 and later)",
    ),
    "old_bpref": MeasureRow(
        lambda one, _: _bpref(one, retrieved=True),
        "never",
        "the faulty binary preference, over those of them that are ranked (before trec_eval 8.0)",
    ),
}
YES_OR_NO: Final = {"Hit", "Acc"}  # measures that are 1 or 0 for every report


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure by name: ``AP``, ``RR``, ``nDCG@10``, ``AP_found@10`` and the like. Its repr is what ``parse`` reads.

    >>> Measure.parse("P@5")
    P@5
    """

    name: str
    k: int | None = None

    def __post_init__(self) -> None:
        row, refused = MEASURES.get(self.name), "always" if self.k is None else "never"
        if self.k == 0 or row is None or row.cut == refused:
            ends = {"always": "@k", "never": "", "named": "[@k]"}
            known = ", ".join(f"{name}{ends[row.cut]}" for name, row in MEASURES.items())
            raise RunError(f"no measure {self!r}; known are {known}")

    def __repr__(self) -> str:
        return self.name if self.k is None else f"{self.name}@{self.k}"

    def __call__(self, one: ReportScores) -> float:
        """The measure's value for one report."""
        return MEASURES[self.name].value(one, self.k)

    @classmethod
    def parse(cls, text: str) -> Self:
        """The measure that ``text`` names. Raises RunError, with the names there are."""
        found = re.fullmatch(r"(\w+)(?:@(\d{1,9}))?", text.strip())
        name, k = found.groups() if found else (text, None)
        return cls(
            {"mrr": "RR", "map": "AP"}.get(name.lower(), name), int(k) if k else None
        )  # as tables call means


AP: Final = Measure("AP")
RR: Final = Measure("RR")


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
        return sum(count_within(one.ranks, k) for one in self.per_report) / (self.relevant or 1)

    @property
    def length(self) -> float | None:
        """Mean of ranking length over files searched: 1.0 for a complete run; None if it is not known of any report."""
        known = [
            one.ranked / one.searched
            for one in self.per_report
            if one.ranked is not None and one.searched
        ]
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
    for what, some, others in (
        ("no ranking", qrels, run.orders),
        ("no judgement", run.orders, qrels),
    ):
        if lone := sorted(some.keys() - others.keys()):
            raise RunError(
                f"{run.where}: {what} for {len(lone)} of {len(some)} reports, first {lone[0]}"
            )
    scores = []
    for report, one in sorted(qrels.items()):
        order = run.orders[report]
        ranked = np.isin(
            order.files,
            [run.number_by_path[path] for path in one.fixed if path in run.number_by_path],
        )
        ranks = tuple(sorted(order.ranks[ranked].tolist()))
        last, unranked = int(order.ranks.max(initial=0)), len(one.fixed) - len(ranks)
        if one.searched is not None and last + unranked > one.searched:
            what = f"ranks {last} files and lacks {unranked} of the fixed, but its version has {one.searched} files"
            raise RunError(f"{run.where}: report {report} {what}")
        scores.append(
            ReportScores(one, ranks, len(order.files) if order.known_ranks is None else None)
        )
    return Evaluation(tuple(scores))
