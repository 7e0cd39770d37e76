"""The cells of results tables, the same on a terminal and in Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tosloc.evaluate.compare import Difference
    from tosloc.evaluate.evaluate import ReportScores
    from tosloc.evaluate.statistics import Interval, TTest

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


def t_test(test: TTest) -> str:
    """A t-test's p-value with its statistic."""
    return UNKNOWN if test.t is None else f"{p_value_cell(test.p)} (t = {test.t:.2f})"


def of_difference(one: Difference, a: str, b: str) -> dict[str, str]:
    """What a comparison of runs named ``a`` and ``b`` says of one measure: names with their cells."""
    interval = one.paired.interval
    found = {
        f"mean of {a}": share(one.a),
        f"mean of {b}": share(one.b),
        "difference": share(one.paired.mean, sign=True),
        "... 95 % interval": UNKNOWN if interval is None else within(interval, sign=True),
        "p, paired t-test": t_test(one.paired.t_test),
        "p, paired bootstrap": p_value_cell(one.paired.bootstrap_p),
    }
    if one.mcnemar is not None:
        found["p, McNemar"] = p_value_cell(one.mcnemar)
    if one.holm_t is not None or one.holm_bootstrap is not None:
        found |= {"p, t-test, Holm": p_value_cell(one.holm_t), "p, bootstrap, Holm": p_value_cell(one.holm_bootstrap)}
    if one.holm_mcnemar is not None:
        found["p, McNemar, Holm"] = p_value_cell(one.holm_mcnemar)
    return found | {
        f"better in {b}": count_cell(one.wins),
        "equal": count_cell(one.ties),
        f"better in {a}": count_cell(one.losses),
    }


def ranks_cell(one: ReportScores) -> str:
    """Ranks of a report's fixed files, the first few, and how many are not ranked."""
    shown = ", ".join(f"{rank:,}" if rank >= 10_000 else str(rank) for rank in one.ranks[:RANKS_SHOWN])
    more = len(one.ranks) - RANKS_SHOWN
    unranked = one.outcome.relevant - len(one.ranks)
    parts = [shown, f"{more} more" if more > 0 else "", f"{unranked} not ranked" if unranked else ""]
    return ", ".join(part for part in parts if part)
