"""Compare runs on the same judged reports: differences with tests, wins and largest changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any, Final, NamedTuple, Self, TypeAlias

from tosloc.core.errors import RunError
from tosloc.evaluate.measures import AP, RR, YES_OR_NO, Evaluation, Measure, ReportScores
from tosloc.evaluate.runs.judgements import Judgement
from tosloc.evaluate.statistics import EQUAL_TOLERANCE, Difference, holm_adjust

ALWAYS_COMPARED: Final = (AP, RR)
"""Measures that every comparison contains; further measures follow them."""
NamedEvaluation: TypeAlias = tuple[str, Evaluation]
"""Name of a run, and its evaluation."""


class ReportPair(NamedTuple):
    """The scores of one report in both runs."""

    a: ReportScores
    b: ReportScores

    @property
    def report(self) -> str:
        """Id of the report."""
        return self.a.report

    @property
    def judgement(self) -> Judgement:
        """The judgement that knows more of the report; both have the same fixed files."""
        return self.b.judgement if self.a.judgement.attributes is None else self.a.judgement

    @property
    def difference(self) -> float:
        """Average precision in b minus that in a."""
        return self.b.average_precision - self.a.average_precision


@dataclass(frozen=True)
class Comparison:
    """Comparison of the run called ``b`` with the run called ``a``."""

    a: str
    b: str
    pairs: tuple[ReportPair, ...]
    """The compared reports, ordered by id."""
    differences: dict[Measure, Difference]
    """Measure -> difference between the runs; AP and RR come first."""
    only_a: int = 0
    """Number of reports that are judged only in ``a``, which are left out."""
    only_b: int = 0

    @classmethod
    def of(
        cls,
        a: NamedEvaluation,
        b: NamedEvaluation,
        common: bool = False,
        measures: Iterable[Measure] = (),
    ) -> Self:
        """Compare two evaluations in AP, RR and further measures.

        With ``common``, only the reports that both judge are compared. Raises RunError if the two
        judge different reports, or with ``common`` if they have no report in common. Also raises
        RunError if they disagree on the fixed files of a report, because the runs are not
        comparable then.
        """
        name_a, evaluation_a = a
        name_b, evaluation_b = b
        scores_a = _scores_by_report(evaluation_a)
        scores_b = _scores_by_report(evaluation_b)
        only_a = scores_a.keys() - scores_b.keys()
        only_b = scores_b.keys() - scores_a.keys()
        both = sorted(scores_a.keys() & scores_b.keys())
        if not both or ((only_a or only_b) and not common):
            raise RunError(
                f"{name_a} and {name_b} judge different reports ({len(only_a)} only in the first,"
                f" {len(only_b)} only in the second, such as {min(only_a | only_b)})",
                hint=f"{{common}} compares those that both judge, here {len(both)}",
            )
        pairs = tuple(ReportPair(scores_a[report], scores_b[report]) for report in both)
        for pair in pairs:
            one_sided = set(pair.a.judgement.fixed) ^ set(pair.b.judgement.fixed)
            if one_sided:
                raise RunError(
                    f"report {pair.report}: {min(one_sided)} is a fixed file for only one of"
                    f" {name_a} and {name_b}",
                    hint="judge both with the same file, named with {qrels}",
                )
        comparison = cls.of_pairs(name_a, name_b, pairs, measures)
        return replace(comparison, only_a=len(only_a), only_b=len(only_b))

    @classmethod
    def of_pairs(
        cls, a: str, b: str, pairs: Sequence[ReportPair], measures: Iterable[Measure] = ()
    ) -> Self:
        """Compare the runs named ``a`` and ``b`` on reports that have the same judgements in both.

        The reports may be of one project or of several.
        """
        evaluation_a = Evaluation(tuple(pair.a for pair in pairs))
        evaluation_b = Evaluation(tuple(pair.b for pair in pairs))
        differences = {}
        for measure in dict.fromkeys((*ALWAYS_COMPARED, *measures)):
            differences[measure] = Difference.between(
                evaluation_a.values(measure),
                evaluation_b.values(measure),
                yes_or_no=measure.name in YES_OR_NO,
            )
        return cls(a, b, tuple(pairs), differences)

    @property
    def measure_values(self) -> dict[str, Any]:
        """Measure's name -> difference as plain values for JSON."""
        return {repr(measure): asdict(result) for measure, result in self.differences.items()}

    @property
    def searched_differently(self) -> list[str]:
        """Ids of the reports for which the two runs searched different numbers of files.

        A number that is not known is not different.
        """
        reports = []
        for pair in self.pairs:
            searched = {pair.a.searched, pair.b.searched} - {None}
            if len(searched) > 1:
                reports.append(pair.report)
        return reports

    def largest_changes(self, n: int) -> dict[str, list[ReportPair]]:
        """Return the ``n`` reports whose average precision rose most, and the ``n`` that fell most.

        The keys are ``risen`` and ``fallen``. The change is from a to b; the largest change comes
        first. A list is shorter if fewer reports rose or fell.
        """
        rising = sorted(self.pairs, key=lambda pair: -pair.difference)
        falling = sorted(self.pairs, key=lambda pair: pair.difference)
        return {
            "risen": [pair for pair in rising[:n] if pair.difference > EQUAL_TOLERANCE],
            "fallen": [pair for pair in falling[:n] if pair.difference < -EQUAL_TOLERANCE],
        }

    def values(self, top: int) -> dict[str, Any]:
        """Return the comparison as plain values for JSON.

        They contain the ``top`` reports that rose most and the ``top`` that fell most.
        """
        values = {
            "a": self.a,
            "b": self.b,
            "reports": len(self.pairs),
            "only_a": self.only_a,
            "only_b": self.only_b,
            "other_searched": len(self.searched_differently),
            "weak": sum(pair.judgement.is_weak for pair in self.pairs),
            "measures": self.measure_values,
        }
        for direction, pairs in self.largest_changes(top).items():
            values[direction] = [_pair_values(pair) for pair in pairs]
        return values


def _scores_by_report(evaluation: Evaluation) -> dict[str, ReportScores]:
    return {scores.report: scores for scores in evaluation.per_report}


def compare_all(
    runs: Mapping[str, Evaluation],
    common: bool = False,
    all_pairs: bool = False,
    measures: Iterable[Measure] = (),
) -> list[Comparison]:
    """Compare every run with the first, or with ``all_pairs`` with each run before it.

    P-values are adjusted for the number of pairs of runs, for each measure and each test
    separately. Raises RunError under the conditions of ``Comparison.of``.
    """
    first, *others = runs.items()
    pairs_of_runs = [(first, other) for other in others]
    if all_pairs:
        pairs_of_runs = list(combinations(runs.items(), 2))
    comparisons = [Comparison.of(a, b, common, measures) for a, b in pairs_of_runs]
    if len(comparisons) > 1:
        for measure in comparisons[0].differences:
            _adjust_p_values([comparison.differences[measure] for comparison in comparisons])
    return comparisons


def _adjust_p_values(differences: Sequence[Difference]) -> None:
    """Set the adjusted p-values of one measure's differences between several pairs of runs."""
    for test in ("p_t", "p_bootstrap", "p_mcnemar"):
        adjusted = holm_adjust([getattr(result, test) for result in differences])
        for result, p_value in zip(differences, adjusted, strict=True):
            setattr(result, f"{test}_holm", p_value)


def _pair_values(pair: ReportPair) -> dict[str, Any]:
    return {
        "report": pair.report,
        "difference": pair.difference,
        "relevant": pair.a.relevant,
        "AP_a": pair.a.average_precision,
        "AP_b": pair.b.average_precision,
        "ranks_a": pair.a.ranks,
        "ranks_b": pair.b.ranks,
    }
