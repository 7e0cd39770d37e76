"""Runs against each other on the same judged reports: differences with their tests, wins, and what moved most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any, Final, TypeAlias

import numpy as np

from tosloc.errors import RunError
from tosloc.evaluate.evaluate import Evaluation
from tosloc.evaluate.measures import AP, RR, YES_OR_NO, Measure, ReportScores
from tosloc.evaluate.statistics import SAME, Interval, exact_mean, holm, mcnemar, paired
from tosloc.records import FloatArray

COMPARED: Final = (AP, RR)
Named: TypeAlias = tuple[str, Evaluation]  # an evaluation after the name of its run


@dataclass(slots=True)
class Difference:
    """How run b stands against run a on one measure, over the same reports. What a test cannot say is None."""

    measure: Measure
    a: float
    b: float
    difference: float  # mean of b - a; above are the means of either run
    interval: Interval | None
    t: float | None
    p_t: float | None
    p_bootstrap: float | None
    p_mcnemar: float | None  # only for a measure that says no more than yes or no of a report
    wins: int  # reports where b is better; ties are equal to 1e-12
    ties: int
    losses: int
    p_t_holm: float | None = None  # adjusted for all pairs compared; None for a single pair
    p_bootstrap_holm: float | None = None
    p_mcnemar_holm: float | None = None


@dataclass(frozen=True, slots=True)
class Move:
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
    differences: tuple[Difference, ...]
    only_a: int = 0  # reports that only a judges, left out
    only_b: int = 0

    @property
    def other_searched(self) -> list[str]:
        """Reports for which the runs searched different numbers of files."""
        return [one.report for one in self.moves if one.a.searched != one.b.searched]

    def most_moved(self, n: int) -> dict[str, list[Move]]:
        """The up to ``n`` reports whose average precision has ``risen`` most from a to b, and those ``fallen`` most."""
        risen = sorted((one for one in self.moves if one.difference > SAME), key=lambda m: (-m.difference, m.report))
        fallen = sorted((one for one in self.moves if one.difference < -SAME), key=lambda m: (m.difference, m.report))
        return {"risen": risen[:n], "fallen": fallen[:n]}


def compare(a: Named, b: Named, common: bool = False, measures: Sequence[Measure] = COMPARED) -> Comparison:
    """Comparison of two evaluations; with ``common``, only of the reports that both judge. Raises RunError when the two
    judge different reports (or, with ``common``, no report together), and when they take different files of a report to
    be fixed: then nothing is comparable.
    """
    (name_a, of_a), (name_b, of_b) = a, b
    mine, other = ({one.report: one for one in of.per_report} for of in (of_a, of_b))
    only_a, only_b, both = mine.keys() - other.keys(), other.keys() - mine.keys(), sorted(mine.keys() & other.keys())
    if not both or ((only_a or only_b) and not common):
        raise RunError(
            f"{name_a} and {name_b} judge different reports ({len(only_a)} only the first, {len(only_b)} only the "
            f"second, such as {min(only_a | only_b)}); --common compares those that both judge, here {len(both)}"
        )
    moves = tuple(Move(mine[report], other[report]) for report in both)
    for move in moves:
        fixed_a, fixed_b = set(move.a.judgement.fixed), set(move.b.judgement.fixed)
        if fixed_a != fixed_b:
            path = min(fixed_a ^ fixed_b)
            has, lacks = (name_a, name_b) if path in fixed_a else (name_b, name_a)
            raise RunError(
                f"report {move.report}: {path} is a fixed file for {has} but not for {lacks}; "
                "judge both by the same file, with --qrels"
            )
    return replace(compared(name_a, name_b, moves, measures), only_a=len(only_a), only_b=len(only_b))


def compared(a: str, b: str, moves: Sequence[Move], measures: Sequence[Measure] = COMPARED) -> Comparison:
    """Comparison of the runs ``a`` and ``b`` on reports that both judge alike, of one project or of several."""
    of_a, of_b = Evaluation(tuple(move.a for move in moves)), Evaluation(tuple(move.b for move in moves))
    differences = [
        difference(one, of_a.values(one), of_b.values(one), yes_or_no=one.name in YES_OR_NO) for one in measures
    ]
    return Comparison(a, b, tuple(moves), tuple(differences))


def compare_all(
    runs: Mapping[str, Evaluation],
    common: bool = False,
    all_pairs: bool = False,
    measures: Sequence[Measure] = COMPARED,
) -> list[Comparison]:
    """Every run against the first, or with ``all_pairs`` against each before it; p-values adjusted over the pairs: the
    family of an adjustment is one measure with one test over all pairs. Raises RunError as ``compare`` does.
    """
    named = list(runs.items())
    pairs = list(combinations(named, 2)) if all_pairs else [(named[0], other) for other in named[1:]]
    found = [compare(a, b, common, measures) for a, b in pairs]
    for of_measure in zip(*(one.differences for one in found), strict=True) if len(found) > 1 else ():
        for test in ("p_t", "p_bootstrap", "p_mcnemar"):
            for one, adjusted in zip(of_measure, holm([getattr(one, test) for one in of_measure]), strict=True):
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
        "measures": {repr(one.measure): difference_values(one) for one in comparison.differences},
        **{how: [_move_values(move) for move in moves] for how, moves in comparison.most_moved(top).items()},
    }


def difference_values(one: Difference) -> dict[str, Any]:
    """One measure's difference as plain values for JSON."""
    return {key: value for key, value in asdict(one).items() if key != "measure"}


def _move_values(move: Move) -> dict[str, Any]:
    values = {"report": move.report, "difference": move.difference, "relevant": move.a.relevant}
    average_precisions = {"AP_a": move.a.average_precision, "AP_b": move.b.average_precision}
    return values | average_precisions | {"ranks_a": move.a.ranks, "ranks_b": move.b.ranks}


def difference(measure: Measure, a: FloatArray, b: FloatArray, *, yes_or_no: bool) -> Difference:
    """How the (N,) values of b stand against those of a; with McNemar's test where they are ``yes_or_no``."""
    wins, losses = int(np.count_nonzero(b - a > SAME)), int(np.count_nonzero(b - a < -SAME))
    p_mcnemar = mcnemar(wins, losses) if yes_or_no else None
    found = exact_mean(a), exact_mean(b), *paired(a, b)
    return Difference(measure, *found, p_mcnemar, wins, len(a) - wins - losses, losses)
