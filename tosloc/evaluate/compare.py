"""Runs against each other on the same judged reports: differences with their tests, wins, and what moved most."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any, Final, NamedTuple, TypeAlias

from tosloc.core.errors import RunError
from tosloc.evaluate.measures import AP, RR, YES_OR_NO, Evaluation, Measure, ReportScores
from tosloc.evaluate.statistics import EQUAL_TOLERANCE, Difference, difference, holm

ALWAYS_COMPARED: Final = (AP, RR)
Named: TypeAlias = tuple[str, Evaluation]  # an evaluation after the name of its run


class ReportPair(NamedTuple):
    """One report in both runs."""

    a: ReportScores
    b: ReportScores

    @property
    def report(self) -> str:
        return self.a.report

    @property
    def difference(self) -> float:
        """Average precision in b minus that in a."""
        return self.b.average_precision - self.a.average_precision


@dataclass(frozen=True)
class Comparison:
    """The run called b against the one called a."""

    a: str
    b: str
    pairs: tuple[ReportPair, ...]  # the reports compared, by id
    differences: dict[Measure, Difference]  # AP and RR first
    only_a: int = 0  # reports that only a judges, left out
    only_b: int = 0

    @property
    def searched_differently(self) -> list[str]:
        """Reports for which the runs searched different numbers of files."""
        return [one.report for one in self.pairs if one.a.searched != one.b.searched]

    def most_changed(self, n: int) -> dict[str, list[ReportPair]]:
        """The up to ``n`` reports whose average precision has ``risen`` most from a to b, and those ``fallen`` most."""
        rising = sorted(self.pairs, key=lambda pair: -pair.difference)
        falling = sorted(self.pairs, key=lambda pair: pair.difference)
        return {
            "risen": [pair for pair in rising[:n] if pair.difference > EQUAL_TOLERANCE],
            "fallen": [pair for pair in falling[:n] if pair.difference < -EQUAL_TOLERANCE],
        }


def compare(
    a: Named, b: Named, common: bool = False, measures: Iterable[Measure] = ()
) -> Comparison:
    """Comparison of two evaluations in AP, RR and further measures; with ``common``, only of the reports that both
    judge. Raises RunError when the two judge different reports (or, with ``common``, no report together), and when they
    take different files of a report to be fixed: then nothing is comparable.
    """
    (name_a, of_a), (name_b, of_b) = a, b
    mine, other = ({one.report: one for one in of.per_report} for of in (of_a, of_b))
    only_a, only_b, both = (
        mine.keys() - other.keys(),
        other.keys() - mine.keys(),
        sorted(mine.keys() & other.keys()),
    )
    if not both or ((only_a or only_b) and not common):
        raise RunError(
            f"{name_a} and {name_b} judge different reports ({len(only_a)} only the first, {len(only_b)} only the "
            f"second, such as {min(only_a | only_b)})",
            hint=f"{{common}} compares those that both judge, here {len(both)}",
        )
    pairs = tuple(ReportPair(mine[report], other[report]) for report in both)
    for pair in pairs:
        fixed_a, fixed_b = set(pair.a.judgement.fixed), set(pair.b.judgement.fixed)
        if fixed_a != fixed_b:
            one_sided = (
                f"{min(fixed_a ^ fixed_b)} is a fixed file for only one of {name_a} and {name_b}"
            )
            raise RunError(
                f"report {pair.report}: {one_sided}",
                hint="judge both by the same file, with {qrels}",
            )
    return replace(
        compare_pairs(name_a, name_b, pairs, measures), only_a=len(only_a), only_b=len(only_b)
    )


def compare_pairs(
    a: str, b: str, pairs: Sequence[ReportPair], measures: Iterable[Measure] = ()
) -> Comparison:
    """Comparison of the runs ``a`` and ``b`` on reports that both judge alike, of one project or of several."""
    of_a, of_b = (
        Evaluation(tuple(pair.a for pair in pairs)),
        Evaluation(tuple(pair.b for pair in pairs)),
    )
    differences = {
        one: difference(of_a.values(one), of_b.values(one), yes_or_no=one.name in YES_OR_NO)
        for one in dict.fromkeys((*ALWAYS_COMPARED, *measures))
    }
    return Comparison(a, b, tuple(pairs), differences)


def compare_all(
    runs: Mapping[str, Evaluation],
    common: bool = False,
    all_pairs: bool = False,
    measures: Iterable[Measure] = (),
) -> list[Comparison]:
    """Every run against the first, or with ``all_pairs`` against each before it; p-values adjusted over the pairs: the
    family of an adjustment is one measure with one test over all pairs. Raises RunError as ``compare`` does.
    """
    named = list(runs.items())
    pairs = (
        list(combinations(named, 2)) if all_pairs else [(named[0], other) for other in named[1:]]
    )
    found = [compare(a, b, common, measures) for a, b in pairs]
    for measure in found[0].differences if len(found) > 1 else ():
        of_measure = [one.differences[measure] for one in found]
        for test in ("p_t", "p_bootstrap", "p_mcnemar"):
            for one, adjusted in zip(
                of_measure, holm([getattr(one, test) for one in of_measure]), strict=True
            ):
                setattr(one, f"{test}_holm", adjusted)
    return found


def comparison_values(comparison: Comparison, top: int) -> dict[str, Any]:
    """A comparison as plain values for JSON, with the ``top`` reports that rose and that fell most."""
    return {
        "a": comparison.a,
        "b": comparison.b,
        "reports": len(comparison.pairs),
        "only_a": comparison.only_a,
        "only_b": comparison.only_b,
        "other_searched": len(comparison.searched_differently),
        "measures": difference_values(comparison.differences),
        **{
            how: [_pair_values(pair) for pair in pairs]
            for how, pairs in comparison.most_changed(top).items()
        },
    }


def difference_values(differences: Mapping[Measure, Difference]) -> dict[str, Any]:
    """Differences as plain values for JSON."""
    return {repr(measure): asdict(one) for measure, one in differences.items()}


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
