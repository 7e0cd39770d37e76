"""Runs against each other on the same judged reports: differences with their tests, wins, and what moved most."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Final

import numpy as np

from tosloc.errors import RunError
from tosloc.evaluate.evaluate import Evaluation, ReportScores
from tosloc.evaluate.measures import AP, RR, YES_OR_NO, Measure
from tosloc.evaluate.runs import Order, Run
from tosloc.evaluate.statistics import SAME, Paired, holm, mcnemar, paired
from tosloc.records import FloatArray, IntArray

COMPARED: Final = (AP, RR)


@dataclass(frozen=True, slots=True)
class Difference:
    """How run b stands against run a on one measure, over the same reports."""

    measure: Measure
    a: float
    """Mean of run a."""
    b: float
    """Mean of run b."""
    paired: Paired
    """Mean of b - a with interval and tests."""
    wins: int
    """Reports where b is better."""
    ties: int
    """Reports where both are equal, to 1e-12."""
    losses: int
    """Reports where a is better."""
    mcnemar: float | None = None
    """p-value of McNemar's exact test, for a measure that says only yes or no of a report; None for another."""
    holm_t: float | None = None
    """p-value of the t-test, adjusted for all pairs compared; None for a single pair."""
    holm_bootstrap: float | None = None
    """p-value of the bootstrap, adjusted likewise."""
    holm_mcnemar: float | None = None
    """p-value of McNemar's test, adjusted likewise."""


@dataclass(frozen=True, slots=True)
class Move:
    """One report in both runs."""

    a: ReportScores
    b: ReportScores

    @property
    def report(self) -> str:
        """Id of the report."""
        return self.a.report

    @property
    def difference(self) -> float:
        """Average precision in b minus that in a."""
        return self.b.average_precision - self.a.average_precision


@dataclass(frozen=True)
class Comparison:
    """Run b against run a."""

    a: str
    b: str
    """Names of the runs."""
    moves: tuple[Move, ...]
    """The reports compared, by id."""
    differences: tuple[Difference, ...]
    only_a: int
    """Reports that only a judges, left out."""
    only_b: int
    other_searched: tuple[str, ...]
    """Reports for which the runs searched different numbers of files."""

    def risen(self, n: int) -> list[Move]:
        """The up to ``n`` reports whose average precision rose most from a to b, best first."""
        return sorted((one for one in self.moves if one.difference > SAME), key=lambda m: (-m.difference, m.report))[:n]

    def fallen(self, n: int) -> list[Move]:
        """The up to ``n`` reports whose average precision fell most from a to b, worst first."""
        return sorted((one for one in self.moves if one.difference < -SAME), key=lambda m: (m.difference, m.report))[:n]


def compare(
    a: tuple[str, Evaluation], b: tuple[str, Evaluation], common: bool = False, measures: Sequence[Measure] = COMPARED
) -> Comparison:
    """Comparison of two evaluations, each with its name; with ``common``, only of the reports that both judge.

    Raises RunError when the two judge different reports (or, with ``common``, no report together), and when they take
    different files of a report to be fixed: then nothing is comparable.
    """
    (name_a, of_a), (name_b, of_b) = a, b
    mine, other = of_a.by_report, of_b.by_report
    only_a, only_b, both = mine.keys() - other.keys(), other.keys() - mine.keys(), sorted(mine.keys() & other.keys())
    if not both:
        raise RunError(f"{name_a} and {name_b} judge no report together; compare runs on the same labelled reports")
    if (only_a or only_b) and not common:
        first = min(only_a | only_b)
        raise RunError(
            f"{name_a} and {name_b} judge different reports ({len(only_a)} only the first, {len(only_b)} only the "
            f"second, such as {first}); compare the {len(both)} that both judge with --common"
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
    sides = [Evaluation(tuple(side)) for side in zip(*((move.a, move.b) for move in moves), strict=True)]
    return Comparison(
        a,
        b,
        tuple(moves),
        tuple(
            difference(measure, *(side.values(measure) for side in sides), yes_or_no=measure.name in YES_OR_NO)
            for measure in measures
        ),
        0,
        0,
        tuple(one.report for one in moves if one.a.outcome.searched != one.b.outcome.searched),
    )


def compare_all(
    runs: Mapping[str, Evaluation],
    common: bool = False,
    all_pairs: bool = False,
    measures: Sequence[Measure] = COMPARED,
) -> list[Comparison]:
    """Every run against the first, or with ``all_pairs`` against each before it; p-values adjusted over the pairs.

    The family of an adjustment is one measure with one test over all pairs. Raises RunError as ``compare`` does.
    """
    named = list(runs.items())
    pairs = list(combinations(named, 2)) if all_pairs else [(named[0], other) for other in named[1:]]
    compared = [compare(a, b, common, measures) for a, b in pairs]
    if len(compared) < 2:
        return compared
    adjusted = []  # by measure, then by pair
    for of_measure in zip(*(one.differences for one in compared), strict=True):
        t = holm([one.paired.t_test.p for one in of_measure])
        bootstrap = holm([one.paired.bootstrap_p for one in of_measure])
        exact = holm([one.mcnemar for one in of_measure])
        adjusted.append(
            [
                replace(one, holm_t=p, holm_bootstrap=q, holm_mcnemar=r)
                for one, p, q, r in zip(of_measure, t, bootstrap, exact, strict=True)
            ]
        )
    of_pairs = zip(*adjusted, strict=True)
    return [replace(one, differences=of_pair) for one, of_pair in zip(compared, of_pairs, strict=True)]


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
        "risen": [_move_values(move) for move in comparison.risen(top)],
        "fallen": [_move_values(move) for move in comparison.fallen(top)],
    }


def difference_values(one: Difference) -> dict[str, Any]:
    """One measure's difference as plain values for JSON."""
    interval = one.paired.interval
    return {
        "a": one.a,
        "b": one.b,
        "difference": one.paired.mean,
        "interval": None if interval is None else [interval.low, interval.high],
        "t": one.paired.t_test.t,
        "p_t": one.paired.t_test.p,
        "p_bootstrap": one.paired.bootstrap_p,
        **({} if one.mcnemar is None else {"p_mcnemar": one.mcnemar}),
        "p_t_holm": one.holm_t,
        "p_bootstrap_holm": one.holm_bootstrap,
        **({} if one.holm_mcnemar is None else {"p_mcnemar_holm": one.holm_mcnemar}),
        "wins": one.wins,
        "ties": one.ties,
        "losses": one.losses,
    }


def _move_values(move: Move) -> dict[str, Any]:
    sides = {"a": move.a, "b": move.b}
    return {
        "report": move.report,
        "difference": move.difference,
        "relevant": move.a.outcome.relevant,
        **{f"AP_{side}": one.average_precision for side, one in sides.items()},
        **{f"ranks_{side}": list(one.ranks) for side, one in sides.items()},
    }


def difference(measure: Measure, a: FloatArray, b: FloatArray, *, yes_or_no: bool) -> Difference:
    """How the (N,) values of b stand against those of a; with McNemar's test where they are ``yes_or_no``."""
    change = b - a
    wins, losses = int(np.count_nonzero(change > SAME)), int(np.count_nonzero(change < -SAME))
    return Difference(
        measure,
        math.fsum(a) / len(a),
        math.fsum(b) / len(b),
        paired(a, b),
        wins,
        len(change) - wins - losses,
        losses,
        mcnemar(wins, losses) if yes_or_no else None,
    )


def first_difference(a: Run, b: Run) -> str | None:
    """What tells two runs apart, as the end of a sentence that begins with a report; None if every ranking is the same.

    The same: the same reports, each with the same files in the same order (or at the same known ranks). Scores may
    differ.
    """
    numbers = np.array([b.numbers.get(name, -1) for name in a.names], dtype=np.int32)
    for report in sorted(a.orders.keys() | b.orders.keys()):
        if report not in a.orders or report not in b.orders:
            return f"report {report} is ranked only in the {'first' if report in a.orders else 'second'}"
        mine, other = a.orders[report], b.orders[report]
        files = numbers[mine.files]
        shared = min(len(files), len(other.files))
        unequal = (files[:shared] != other.files[:shared]) | (_ranks(mine)[:shared] != _ranks(other)[:shared])
        if unequal.any():
            place = int(np.argmax(unequal))
            sides = (
                f"{run.names[order.files[place]]} at rank {_ranks(order)[place]}"
                for run, order in ((a, mine), (b, other))
            )
            return f"report {report} differs first: {' against '.join(sides)}"
        if len(files) != len(other.files) or (mine.known_ranks is None) != (other.known_ranks is None):
            return f"report {report} has {_extent(mine)} in the first and {_extent(other)} in the second"
    return None


def _ranks(order: Order) -> IntArray:
    return np.arange(1, len(order.files) + 1, dtype=np.int32) if order.known_ranks is None else order.known_ranks


def _extent(order: Order) -> str:
    return f"{len(order.files)} {'files' if order.known_ranks is None else 'known ranks'}"
