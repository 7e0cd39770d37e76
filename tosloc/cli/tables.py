"""Results tables and their cells: runs side by side, their strata, and comparisons."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from tosloc.cli.printing import Table
from tosloc.errors import counted

if TYPE_CHECKING:
    from tosloc.evaluate.compare import Comparison, Difference
    from tosloc.evaluate.evaluate import ReportScores
    from tosloc.evaluate.statistics import Interval
    from tosloc.evaluate.tables import Results

RANKS_SHOWN: Final = 8
UNKNOWN: Final = "-"


def share(value: float | None, sign: bool = False) -> str:
    """A share of 1 as four signs, as papers print it.

    >>> share(0.6854), share(1.0), share(-0.0082), share(0.0082, sign=True), share(None)
    ('.685', '1.00', '-.008', '+.008', '-')
    """
    if value is None:
        return UNKNOWN
    text = f"{value:{'+' if sign else ''}.3f}".replace("0.", ".", 1).replace("1.000", "1.00")
    return ".000" if text in ("-.000", "+.000") else text


def count_cell(value: float | None) -> str:
    """A number of reports or files."""
    return UNKNOWN if value is None else f"{value:,}"


def with_interval(value: float | None, interval: Interval | None, sign: bool = False) -> str:
    """A mean with its interval, if there is one."""
    return share(value, sign) if interval is None else f"{share(value, sign)} {within(interval, sign)}"


def within(interval: Interval | None, sign: bool = False) -> str:
    """An interval's ends."""
    return UNKNOWN if interval is None else f"[{share(interval.low, sign)}, {share(interval.high, sign)}]"


def p_value_cell(p: float | None) -> str:
    """A p-value to as many places as say anything.

    >>> p_value_cell(0.04321), p_value_cell(0.00003), p_value_cell(None)
    ('.043', '<.001', '-')
    """
    return UNKNOWN if p is None else "<.001" if p < 0.001 else share(p)


def ranks_cell(one: ReportScores) -> str:
    """Ranks of a report's fixed files, the first few, and how many are not ranked."""
    shown = [f"{rank:,}" if rank >= 10_000 else str(rank) for rank in one.ranks[:RANKS_SHOWN]]
    for number, what in ((len(one.ranks) - RANKS_SHOWN, "more"), (one.outcome.relevant - len(one.ranks), "not ranked")):
        shown += [f"{number} {what}"] if number > 0 else []
    return ", ".join(shown)


def results_table(results: Sequence[Results]) -> Table:
    """The headline over all reports, a column for each run."""
    from tosloc.evaluate.tables import COUNTS, LENGTH, MEANS

    rows = [(name, says, [count_cell(one.summary[name]) for one in results]) for name, says in COUNTS.items()]
    for name, (_, says) in MEANS.items():
        rows.append((name, says, [with_interval(one.summary[name], one.intervals[name]) for one in results]))
    for name in results[0].measures:
        rows.append((name, "mean over all reports", [with_interval(*one.measures[name]) for one in results]))
    lengths = [one.summary["length"] for one in results]
    whole = [None if one is None else math.floor(1000 * one) / 1000 for one in lengths]  # 1.00 only if it is
    rows.append(("length", LENGTH, [share(one) for one in whole]))
    return Table(
        ["all reports", *(f"{one.name} [95 %]" for one in results)],
        [[name, *cells] for name, _, cells in rows],
        meanings=[says for _, says, _ in rows],
    )


def functions_table(results: Sequence[Results]) -> Table:
    """The function level, a row for each ranker; one of its intervals is shown."""
    rows = [
        [one.name, count_cell(one.summary["reports"])]
        + [with_interval(m.mean, m.interval if name == "Acc@5" else None) for name, m in one.measures.items()]
        for one in results
    ]
    return Table(["functions", "reports", *results[0].measures], rows)


def strata_table(results: Results) -> Table:
    """The strata of a run; a star says that the reports are few."""
    rows = []
    for row in results.strata:
        means = [with_interval(mean, row.intervals[name]) for name, mean in (("mrr", row.mrr), ("map", row.map))]
        rows.append([row.stratum, f"{count_cell(row.reports)}{'*' * row.few}", count_cell(row.relevant), *means])
    heads = ["stratum", "reports", "relevant", "MRR [95 %]", "MAP [95 %]"]
    note = " * fewer than 30 reports: the interval says little" if any(row.few for row in results.strata) else ""
    return Table(heads, rows, f" strata of {results.name}", note)


def differences_table(differences: Sequence[Difference], a: str, b: str, of: str, title: str = "") -> Table:
    """How run b stands against run a in means ``of`` something: a row for each value, a column for each measure."""
    columns = [
        {
            f"mean of {a}": share(one.a),
            f"mean of {b}": share(one.b),
            "difference": share(one.difference, sign=True),
            "... 95 % interval": within(one.interval, sign=True),
            "p, paired t-test": UNKNOWN if one.t is None else f"{p_value_cell(one.p_t)} (t = {one.t:.2f})",
            "p, paired bootstrap": p_value_cell(one.p_bootstrap),
            "p, McNemar": p_value_cell(one.p_mcnemar),
            "p, t-test, Holm": p_value_cell(one.p_t_holm),
            "p, bootstrap, Holm": p_value_cell(one.p_bootstrap_holm),
            "p, McNemar, Holm": p_value_cell(one.p_mcnemar_holm),
            f"better in {b}": count_cell(one.wins),
            "equal": count_cell(one.ties),
            f"better in {a}": count_cell(one.losses),
        }
        for one in differences
    ]
    rows = [[name, *(column[name] for column in columns)] for name in columns[0]]
    unmade = {UNKNOWN}  # in every column of a test that was not made
    shown = [row for row in rows if not row[0].endswith(("McNemar", "Holm")) or {*row[1:]} != unmade]
    return Table([of, *(repr(one.measure) for one in differences)], shown, title)


def comparison_tables(comparison: Comparison, top: int) -> list[Table]:
    """How run b stands against run a, and the ``top`` reports that rose and that fell most."""
    a, b = comparison.a, comparison.b
    number = counted(len(comparison.moves), "report")
    tables = [differences_table(comparison.differences, a, b, number, f"\n {b} against {a}")]
    for how, moves in comparison.most_moved(top).items():
        rows = [
            [
                move.report,
                share(move.a.average_precision),
                share(move.b.average_precision),
                share(move.difference, sign=True),
                ranks_cell(move.a),
                ranks_cell(move.b),
            ]
            for move in moves
        ]
        heads = ["report", "AP from", "to", "change", "ranks from", "to"]
        tables += [Table(heads, rows, f" reports that have {how} most from {a} to {b}", left=(0, 4, 5))] if rows else []
    return tables
