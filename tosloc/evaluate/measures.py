"""Measures by name: their value for one report, and their means over **all** judged reports.

The name of a measure says which denominator it has. Formulas that learners share are in
``tosloc.core.metrics``. Coverage@k, which is a sum over reports, is in ``Evaluation``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal, NamedTuple, Self

import numpy as np

from tosloc.core.arrays import FloatArray
from tosloc.core.errors import RunError
from tosloc.core.metrics import average_precision, reciprocal_rank
from tosloc.evaluate.runs.judgements import Judgement, Qrels
from tosloc.evaluate.runs.run import Run
from tosloc.evaluate.statistics import exact_mean

TOP_CUTS: Final = (1, 5, 10)
"""Numbers of top ranks that a user may read."""


@dataclass(frozen=True, slots=True)
class ReportScores:
    """All that a measure needs to know about the ranking of one report."""

    judgement: Judgement
    ranks: tuple[int, ...]
    """Ranks of the fixed files that are ranked, ascending."""
    ranked: int | None
    """Length of the ranking; None if only the ranks of the fixed files are known."""

    @property
    def report(self) -> str:
        """Id of the report."""
        return self.judgement.report

    @property
    def relevant(self) -> int:
        """Number of fixed files."""
        return len(self.judgement.fixed)

    @property
    def searched(self) -> int | None:
        """Number of files of the searched version; None if unknown."""
        return self.judgement.searched

    @property
    def average_precision(self) -> float:
        """Average precision over all fixed files."""
        return AP(self)


def _corrected_bpref(scores: ReportScores) -> float:
    """Return bpref over all files that are not fixed.

    If the number of searched files is unknown, return bpref over the ranked files that are not
    fixed.
    """
    if scores.searched is None:
        return _faulty_bpref(scores)
    return bpref(_others_above(scores), scores.relevant, scores.searched - scores.relevant)


def _faulty_bpref(scores: ReportScores) -> float:
    """Return bpref over the ranked files that are not fixed.

    Raises RunError if neither the length of the ranking nor the number of searched files is known.
    """
    ranked = scores.searched if scores.ranked is None else scores.ranked
    if ranked is None:
        raise RunError("bpref needs the number of searched files, which is unknown")
    return bpref(_others_above(scores), scores.relevant, ranked - len(scores.ranks))


def _others_above(scores: ReportScores) -> list[int]:
    """Return the number of files that are not fixed above each ranked fixed file."""
    return [rank - number for number, rank in enumerate(scores.ranks, start=1)]


class MeasureRow(NamedTuple):
    """A measure's value for one report and a k, whether it needs a k, and its meaning."""

    value: Callable[[ReportScores, Any], float]
    cut: Literal["always", "never", "optional"]
    """Whether the measure is cut at the first k ranks."""
    meaning: str


MEASURES: Final[Mapping[str, MeasureRow]] = {
    "AP": MeasureRow(
        lambda scores, k: average_precision(scores.ranks, scores.relevant, k),
        "optional",
        "average precision over all fixed files (textbook)",
    ),
    "RR": MeasureRow(
        lambda scores, k: reciprocal_rank(scores.ranks, k),
        "optional",
        "reciprocal rank of the first fixed file",
    ),
    "nDCG": MeasureRow(
        lambda scores, k: ndcg(scores.ranks, scores.relevant, k),
        "optional",
        "normalised discounted cumulative gain, binary",
    ),
    "AP_found": MeasureRow(
        lambda scores, k: average_precision(scores.ranks, scores.relevant, k, "found"),
        "optional",
        "average precision over the fixed files found (diagnostic: grows when a ranking is cut)",
    ),
    "AP_reachable": MeasureRow(
        lambda scores, k: average_precision(scores.ranks, scores.relevant, k, "reachable"),
        "always",
        "average precision over min(k, fixed files)",
    ),
    "P": MeasureRow(
        lambda scores, k: count_within(scores.ranks, k) / k,
        "always",
        "fixed files within the first k, over k",
    ),
    "R": MeasureRow(
        lambda scores, k: count_within(scores.ranks, k) / (scores.relevant or 1),
        "always",
        "fixed files within the first k, over all fixed files",
    ),
    "Hit": MeasureRow(
        lambda scores, k: float(count_within(scores.ranks, k) > 0),
        "always",
        "1 if any fixed file is within the first k",
    ),
    "Acc": MeasureRow(
        lambda scores, k: float(0 < scores.relevant == count_within(scores.ranks, k)),
        "always",
        "1 if all fixed files are within the first k",
    ),
    "bpref": MeasureRow(
        lambda scores, _: _corrected_bpref(scores),
        "never",
        "binary preference over all files that are not fixed (trec_eval 8.0 and later)",
    ),
    "old_bpref": MeasureRow(
        lambda scores, _: _faulty_bpref(scores),
        "never",
        "binary preference over the ranked files that are not fixed (faulty formula before"
        " trec_eval 8.0)",
    ),
}
YES_OR_NO: Final = {"Hit", "Acc"}
"""Measures that are 1 or 0 for every report."""
_SUFFIXES: Final = {"always": "@k", "never": "", "optional": "[@k]"}
_NAMES_OF_MEANS: Final = {"mrr": "RR", "map": "AP"}
"""Name of a mean in tables -> name of the measure that it averages."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure by name: ``AP``, ``RR``, ``nDCG@10``, ``AP_found@10`` and the like.

    ``parse`` reads what ``repr`` returns. Raises RunError for an unknown name and for a k that is
    missing, superfluous or 0.

    >>> Measure.parse("P@5")
    P@5
    """

    name: str
    k: int | None = None

    def __post_init__(self) -> None:
        row = MEASURES.get(self.name)
        refused = "always" if self.k is None else "never"
        if self.k == 0 or row is None or row.cut == refused:
            names = ", ".join(f"{name}{_SUFFIXES[row.cut]}" for name, row in MEASURES.items())
            raise RunError(f"there is no measure {self!r}; choose from {names}")

    def __repr__(self) -> str:
        return self.name if self.k is None else f"{self.name}@{self.k}"

    def __call__(self, scores: ReportScores) -> float:
        """Return the measure's value for one report."""
        return MEASURES[self.name].value(scores, self.k)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the measure that ``text`` names, including MRR and MAP.

        Raises RunError, which lists the names of all measures, for an unknown name.
        """
        match = re.fullmatch(r"(\w+)(?:@(\d{1,9}))?", text.strip())
        name, k = match.groups() if match else (text, None)
        return cls(_NAMES_OF_MEANS.get(name.lower(), name), int(k) if k else None)

    @classmethod
    def parse_all(cls, texts: Sequence[str] | None, functions: bool = False) -> list[Self]:
        """Return the measures in the values of ``--measures``: names with commas between them.

        Each measure is returned once. With ``functions``, the measures that runs of functions
        always have come first.
        """
        measures = [cls("Acc", k) for k in TOP_CUTS] if functions else []
        for text in texts or ():
            names = [name for name in text.split(",") if name.strip()]
            measures += map(cls.parse, names)
        return list(dict.fromkeys(measures))


AP: Final = Measure("AP")
RR: Final = Measure("RR")


@dataclass(frozen=True)
class Evaluation:
    """A run with its judgements, ordered by report id.

    A report without any fixed file in its version counts as 0.
    """

    per_report: tuple[ReportScores, ...]

    def values(self, measure: Measure) -> FloatArray:
        """Return (R,) the measure's value for each report."""
        return np.array([measure(scores) for scores in self.per_report], dtype=np.float64)

    def mean(self, measure: Measure) -> float:
        """Return the mean of the measure over all reports; 0 if there are no reports."""
        return exact_mean(self.values(measure))

    @property
    def mrr(self) -> float:
        """Mean reciprocal rank of the first fixed file."""
        return self.mean(RR)

    @property
    def map(self) -> float:
        """Mean average precision over the full ranking, divided by the number of fixed files."""
        return self.mean(AP)

    @property
    def relevant(self) -> int:
        """Number of fixed files of all reports."""
        return sum(scores.relevant for scores in self.per_report)

    def coverage(self, k: int) -> float:
        """Return the share of all fixed files that are within the first ``k`` ranks."""
        within = sum(count_within(scores.ranks, k) for scores in self.per_report)
        return within / (self.relevant or 1)

    @property
    def length(self) -> float | None:
        """Mean of ranked / searched files: 1.0 for a complete run; None if a number is unknown."""
        lengths = []
        for scores in self.per_report:
            if scores.ranked is None or not scores.searched:
                return None
            lengths.append(scores.ranked / scores.searched)
        return exact_mean(lengths)

    @property
    def most_searched(self) -> int | None:
        """Number of files of the largest searched version; None if a number is unknown."""
        numbers = [scores.searched for scores in self.per_report]
        known = [number for number in numbers if number is not None]
        return max(known) if known and len(known) == len(numbers) else None

    @cached_property
    def counts(self) -> dict[str, int | float | None]:
        """Key in JSON -> count for tables.

        The counts are reports, relevant files, dropped files, reports left empty, ranking length,
        and weak reports, which are commit messages.
        """
        return {
            "reports": len(self.per_report),
            "relevant": self.relevant,
            "dropped": sum(scores.judgement.dropped for scores in self.per_report),
            "empty": sum(scores.relevant == 0 for scores in self.per_report),
            "length": self.length,
            "weak": sum(scores.judgement.is_weak for scores in self.per_report),
        }


def evaluate(run: Run, qrels: Qrels) -> Evaluation:
    """Evaluate a run against the judged reports, in order of report id.

    Raises RunError if no report is judged, if a judged report has no ranking, if a ranking has no
    judgement, and if a ranking has more files than its version.
    """
    if not qrels:
        raise RunError(f"{run.where}: no report is judged, so there is nothing to evaluate")
    _check_all_present(run, "ranking", qrels.keys(), run.orders.keys())
    _check_all_present(run, "judgement", run.orders.keys(), qrels.keys())
    return Evaluation(tuple(_score_report(run, qrels[report]) for report in sorted(qrels)))


def _check_all_present(
    run: Run, what: str, reports: Collection[str], present: Collection[str]
) -> None:
    """Raise RunError if some of the ``reports`` are not among the ``present`` ones.

    ``what`` names in the message what these reports lack, such as a ranking.
    """
    lacking = sorted(set(reports) - set(present))
    if lacking:
        raise RunError(
            f"{run.where}: no {what} for {len(lacking)} of {len(reports)} reports, such as"
            f" {lacking[0]}",
            hint=_advice(run, what, lacking[0]),
        )


def _advice(run: Run, what: str, report: str) -> str:
    """Return what to do about a report that has no ranking, or no judgement."""
    if what == "judgement":
        return "judge them, or leave them out of the run"
    if "tag" not in run.header:
        return "rank them, or leave them out of the judgements"
    line = f"{report} Q0 - 1 0 {run.header['tag']}"
    return f"if no file was found for a report, write a line such as: {line}"


def _score_report(run: Run, judgement: Judgement) -> ReportScores:
    """Return the ranks of one report's fixed files.

    Raises RunError if the ranking is longer than the searched version.
    """
    order = run.orders[judgement.report]
    numbers = [run.number_by_path[path] for path in judgement.fixed if path in run.number_by_path]
    is_fixed = np.isin(order.files, numbers)
    ranks = tuple(sorted(order.ranks[is_fixed].tolist()))
    last_rank = int(order.ranks.max(initial=0))
    unranked = len(judgement.fixed) - len(ranks)
    if judgement.searched is not None and last_rank + unranked > judgement.searched:
        hint = ""
        ranked_paths = set(run.paths(judgement.report))
        for path in judgement.fixed:
            if path not in ranked_paths:
                hint = f"leave files that are not searched, such as {path}, out of the judgements"
                break
        raise RunError(
            f"{run.where}: report {judgement.report} ranks {last_rank} files and lacks {unranked} "
            f"of the fixed, but its version has {judgement.searched} files",
            hint=hint,
        )
    length = len(order.files) if order.known_ranks is None else None
    return ReportScores(judgement, ranks, length)


def count_within(ranks: Iterable[int], k: int) -> int:
    """Return the number of fixed files within the first ``k`` ranks.

    The sum over all reports, divided by the number of all fixed files, is coverage@k.
    """
    return sum(rank <= k for rank in ranks)


def ndcg(ranks: Iterable[int], relevant: int, k: int | None = None) -> float:
    """Return the discounted cumulative gain of the fixed files, divided by the ideal ranking's.

    The gain of a fixed file is ``1 / log2(rank + 1)``. The ideal ranking begins with all fixed
    files, or with ``k`` of them if there are more (Järvelin and Kekäläinen 2002, with the discount
    that trec_eval uses).

    >>> round(ndcg([1, 3], relevant=2), 4)
    0.9197
    """
    reachable = relevant if k is None else min(relevant, k)
    ideal_gain = _discounted_gain(range(1, reachable + 1))
    gain = _discounted_gain(rank for rank in ranks if k is None or rank <= k)
    return gain / ideal_gain if ideal_gain else 0.0


def _discounted_gain(ranks: Iterable[int]) -> float:
    return math.fsum(1 / math.log2(rank + 1) for rank in ranks)


def bpref(nonrelevant_above: Sequence[int], relevant: int, nonrelevant: int) -> float:
    """Return the share of pairs (fixed, not fixed) in the right order, as in trec_eval since 8.0.

    ``nonrelevant_above`` has, for each *retrieved* fixed file, the number of other files above it.
    ``nonrelevant`` is the number of **all** other files, retrieved or not (trec_eval before 8.0
    mistakenly counted only the retrieved ones). Each fixed file adds ``1 - min(above, relevant) /
    min(nonrelevant, relevant)``.

    >>> bpref([1, 1, 1, 1], relevant=6, nonrelevant=4)
    0.5
    >>> bpref([1, 1, 1, 1], relevant=6, nonrelevant=1)
    0.0
    """
    pairs = min(nonrelevant, relevant)
    terms = [1 - min(above, relevant) / pairs if above else 1.0 for above in nonrelevant_above]
    return math.fsum(terms) / (relevant or 1)
