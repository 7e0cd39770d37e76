"""Runs against each other on the same judged reports: differences with their tests, wins, and what moved most."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any, Final, NamedTuple, TypeAlias

from tosloc.core.errors import RunError
from tosloc.evaluate.measures import AP, RR, YES_OR_NO, Evaluation, Measure, ReportScores
from tosloc.evaluate.statistics import SAME, Difference, difference, holm

COMPARED: Final = (AP, RR)
Named: TypeAlias = tuple[str, Evaluation]  # an evaluation after the name of its run


class Move(NamedTuple):
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
    moves: tuple[Move, ...]  # the reports compared, by id
    differences: dict[Measure, Difference]  # AP and RR first
    only_a: int = 0  # reports that only a judges, left out
    only_b: int = 0

    @property
    def other_searched(self) -> list[str]:
        """Reports for which the runs searched different numbers of files."""
        return [one.report for one in self.moves if one.a.searched != one.b.searched]

    def most_moved(self, n: int) -> dict[str, list[Move]]:
        """The up to ``n`` reports whose average precision has ``risen`` most from a to b, and those ``fallen`` most."""
        rising = sorted(self.moves, key=lambda move: -move.difference)
        falling = sorted(self.moves, key=lambda move: move.difference)
        return {
            "risen": [move for move in rising[:n] if move.difference > SAME],
            "fallen": [move for move in falling[:n] if move.difference < -SAME],
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
    moves = tuple(Move(mine[report], other[report]) for report in both)
    for move in moves:
        fixed_a, fixed_b = set(move.a.judgement.fixed), set(move.b.judgement.fixed)
        if fixed_a != fixed_b:
            one_sided = (
                f"{min(fixed_a ^ fixed_b)} is a fixed file for only one of {name_a} and {name_b}"
            )
            raise RunError(
                f"report {move.report}: {one_sided}",
                hint="judge both by the same file, with {qrels}",
            )
    return replace(
        compared(name_a, name_b, moves, measures), only_a=len(only_a), only_b=len(only_b)
    )


def compared(a: str, b: str, moves: Sequence[Move], measures: Iterable[Measure] = ()) -> Comparison:
    """Comparison of the runs ``a`` and ``b`` on reports that both judge alike, of one project or of several."""
    of_a, of_b = (
        Evaluation(tuple(move.a for move in moves)),
        Evaluation(tuple(move.b for move in moves)),
    )
    differences = {
        one: difference(of_a.values(one), of_b.values(one), yes_or_no=one.name in YES_OR_NO)
        for one in dict.fromkeys((*COMPARED, *measures))
    }
    return Comparison(a, b, tuple(moves), differences)


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
        "reports": len(comparison.moves),
        "only_a": comparison.only_a,
        "only_b": comparison.only_b,
        "other_searched": len(comparison.other_searched),
        "measures": difference_values(comparison.differences),
        **{
            how: [_move_values(move) for move in moves]
            for how, moves in comparison.most_moved(top).items()
        },
    }


def difference_values(differences: Mapping[Measure, Difference]) -> dict[str, Any]:
    """Differences as plain values for JSON."""
    return {repr(measure): asdict(one) for measure, one in differences.items()}


def _move_values(move: Move) -> dict[str, Any]:
    return {
        "report": move.report,
        "difference": move.difference,
        "relevant": move.a.relevant,
        "AP_a": move.a.average_precision,
        "AP_b": move.b.average_precision,
        "ranks_a": move.a.ranks,
        "ranks_b": move.b.ranks,
    }
