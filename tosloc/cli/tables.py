"""Results tables and their cells: runs side by side, their strata, and comparisons."""

from __future__ import annotations

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
FUNCTION_INTERVAL: Final = "Acc@5"
"""The measure of functions whose interval a table shows."""
FEW_NOTE: Final = " * fewer than 30 reports: the interval says little"


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


def length_cell(value: float | None) -> str:
    """Ranking length over files searched: 1.00 only if it is.

    >>> length_cell(1.0), length_cell(0.99999), length_cell(0.5)
    ('1.00', '.9999', '.5000')
    """
    if value is None or abs(value - 1) <= 1e-9:
        return share(value)
    return f"{int(value * 10_000) / 10_000:.4f}".replace("0.", ".", 1)


def with_interval(value: float | None, interval: Interval | None) -> str:
    """A mean with its interval, if there is one."""
    return share(value) if interval is None else f"{share(value)} {within(interval)}"


def within(interval: Interval, sign: bool = False) -> str:
    """An interval's ends."""
    return f"[{share(interval.low, sign)}, {share(interval.high, sign)}]"


def p_value_cell(p: float | None) -> str:
    """A p-value to as many places as say anything.

    >>> p_value_cell(0.04321), p_value_cell(0.00003), p_value_cell(None)
    ('.043', '<.001', '-')
    """
    return UNKNOWN if p is None else "<.001" if p < 0.001 else share(p)


def ranks_cell(one: ReportScores) -> str:
    """Ranks of a report's fixed files, the first few, and how many are not ranked."""
    shown = ", ".join(f"{rank:,}" if rank >= 10_000 else str(rank) for rank in one.ranks[:RANKS_SHOWN])
    more = len(one.ranks) - RANKS_SHOWN
    unranked = one.outcome.relevant - len(one.ranks)
    parts = [shown, f"{more} more" if more > 0 else "", f"{unranked} not ranked" if unranked else ""]
    return ", ".join(part for part in parts if part)


def results_table(results: Sequence[Results]) -> Table:
    """The headline over all reports, a column for each run."""
    from tosloc.evaluate.tables import COUNTS, LENGTH, MEANS

    rows = [(name, says, [count_cell(one.summary[name]) for one in results]) for name, says in COUNTS.items()]
    for name, (_, says) in MEANS.items():
        rows.append((name, says, [with_interval(one.summary[name], one.intervals[name]) for one in results]))
    for name in results[0].measures:
        means = [one.measures[name] for one in results]
        rows.append((name, "mean over all reports", [with_interval(one.value, one.interval) for one in means]))
    lengths = [length_cell(one.summary["length"]) for one in results]
    rows.append(("length", LENGTH, lengths))
    return Table(
        ["all reports", *(f"{one.name} [95 %]" for one in results)],
        [[name, *cells] for name, _, cells in rows],
        meanings=[says for _, says, _ in rows],
        by_column=True,
    )


def functions_table(results: Sequence[Results]) -> Table:
    """The function level, a row for each ranker."""
    rows = [
        [one.name, count_cell(one.summary["reports"])]
        + [
            with_interval(mean.value, mean.interval if name == FUNCTION_INTERVAL else None)
            for name, mean in one.measures.items()
        ]
        for one in results
    ]
    return Table(["functions", "reports", *results[0].measures], rows)


def strata_table(results: Results) -> Table:
    """The strata of a run; a star says that the reports are few."""
    rows = []
    for row in results.strata:
        reports = count_cell(row.reports) + ("*" if row.few and row.reports else "")
        means = [UNKNOWN if one is None else with_interval(one.value, one.interval) for one in (row.mrr, row.map)]
        rows.append([row.name, reports, count_cell(row.relevant), *means])
    few = any(row.few and row.reports for row in results.strata)
    heads = ["stratum", "reports", "relevant", "MRR [95 %]", "MAP [95 %]"]
    return Table(heads, rows, f" strata of {results.name}", FEW_NOTE if few else "")


def differences_table(differences: Sequence[Difference], a: str, b: str, of: str, title: str = "") -> Table:
    """How run b stands against run a in means ``of`` something: a row for each value, a column for each measure."""
    rows: dict[str, list[str]] = {}
    for one in differences:
        test, interval = one.paired.t_test, one.paired.interval
        cells = {
            f"mean of {a}": share(one.a),
            f"mean of {b}": share(one.b),
            "difference": share(one.paired.mean, sign=True),
            "... 95 % interval": UNKNOWN if interval is None else within(interval, sign=True),
            "p, paired t-test": UNKNOWN if test.t is None else f"{p_value_cell(test.p)} (t = {test.t:.2f})",
            "p, paired bootstrap": p_value_cell(one.paired.bootstrap_p),
            "p, McNemar": p_value_cell(one.mcnemar),
            "p, t-test, Holm": p_value_cell(one.holm_t),
            "p, bootstrap, Holm": p_value_cell(one.holm_bootstrap),
            "p, McNemar, Holm": p_value_cell(one.holm_mcnemar),
            f"better in {b}": count_cell(one.wins),
            "equal": count_cell(one.ties),
            f"better in {a}": count_cell(one.losses),
        }
        for name, cell in cells.items():
            rows.setdefault(name, []).append(cell)
    shown = [
        [name, *cells]
        for name, cells in rows.items()
        if not name.endswith(("McNemar", "Holm")) or set(cells) != {UNKNOWN}  # tests that were not made
    ]
    return Table([of, *(repr(one.measure) for one in differences)], shown, title)


def comparison_tables(comparison: Comparison, top: int) -> list[Table]:
    """How run b stands against run a, and the ``top`` reports that rose and that fell most."""
    a, b = comparison.a, comparison.b
    number = counted(len(comparison.moves), "report")
    tables = [differences_table(comparison.differences, a, b, number, f"\n {b} against {a}")]
    for moves, word in ((comparison.risen(top), "risen"), (comparison.fallen(top), "fallen")):
        if moves:
            heads = ["report", "AP from", "to", "change", "ranks from", "to"]
            rows = []
            for move in moves:
                values = [share(side.average_precision) for side in (move.a, move.b)]
                ranks = [ranks_cell(side) for side in (move.a, move.b)]
                rows.append([move.report, *values, share(move.difference, sign=True), *ranks])
            tables.append(Table(heads, rows, f" reports that have {word} most from {a} to {b}", left=(0, 4, 5)))
    return tables
