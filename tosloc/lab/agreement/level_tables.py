"""The words and cells of reproduction tables, for a terminal, for Markdown and for pages."""

from __future__ import annotations

from typing import Final

from tosloc.lab.agreement.effects import REGIONS
from tosloc.lab.agreement.levels import Reproduction
from tosloc.lab.agreement.order import PHI
from tosloc.lab.agreement.published_means import AgainstPublished

COLUMNS: Final = ("level", "measure", "baseline", "advanced", "effect")
PUBLISHED_COLUMNS: Final = ("mean of", "published", "ours", "difference", "95 % interval")
UNKNOWN: Final = "-"


def number(value: float | None, sign: bool = False) -> str:
    """A value to three places; never a minus before zero.

    >>> number(0.98765), number(-0.0001), number(-1.5, sign=True), number(None)
    ('0.988', '0.000', '-1.500', '-')
    """
    if value is None:
        return UNKNOWN
    text = f"{value:{'+' if sign else ''}.3f}"
    return "0.000" if text in ("-0.000", "+0.000") else text


def p_cell(p: float | None) -> str:
    """A p-value to as many places as say anything.

    >>> p_cell(0.0432), p_cell(1e-9), p_cell(None)
    ('0.043', '<0.001', '-')
    """
    return "<0.001" if p is not None and p < 0.001 else number(p)


def heading(result: Reproduction) -> str:
    """What was compared, in a line."""
    original, ours = result.reports
    if result.same_reports:
        return f"replication: the same {original} reports"
    return f"reproduction: {original} reports of the original, {ours} others of ours"


def rows(result: Reproduction) -> list[list[str]]:
    """The cells of the levels, from the most particular to the most general."""
    b, a = result.baseline, result.advanced
    taus = [None if one.order is None else one.order.tau for one in (b, a)]
    overlaps = [None if one.order is None else one.order.rbo for one in (b, a)]
    lines = [
        ["order", "Kendall's tau union", *map(number, taus), ""],
        ["order", f"RBO, phi {PHI:g}", *map(number, overlaps), ""],
    ]
    for measure in result.measures:
        errors = [None if one.rmse is None else one.rmse[measure] for one in (b, a)]
        lines.append(["effectiveness", f"RMSE of {measure}", *map(number, errors), ""])
    for measure, effect in result.effects.items():
        lines.append(["effect", f"ER of {measure}", "", "", number(effect.ratio)])
        lines.append(["effect", f"DeltaRI of {measure}", "", "", number(effect.delta_ri, sign=True)])
        lines.append(["effect", f"region of {measure}", "", "", str(effect.region)])
    for measure in result.measures:
        lines.append(["statistics", f"p of {measure}", p_cell(b.p[measure]), p_cell(a.p[measure]), ""])
    for measure in result.measures:
        lines.append(["mean", f"{measure}, original", *(number(one.means[measure][0]) for one in (b, a)), ""])
        lines.append(["mean", f"{measure}, ours", *(number(one.means[measure][1]) for one in (b, a)), ""])
        lines.append(["mean", f"{measure}, delta", *(number(one.delta(measure), sign=True) for one in (b, a)), ""])
    return lines


def remarks(result: Reproduction) -> list[str]:
    """Lines below the table: what the test was, what the regions say, what does not apply."""
    test = "paired" if result.same_reports else "unpaired"
    lines = [f"p: two-tailed {test} t-test of the original's scores against ours, small where they differ"]
    lines += [f"region {one}: {REGIONS[one]}" for one in sorted({effect.region for effect in result.effects.values()})]
    return [*lines, *result.notes]


def published_rows(result: AgainstPublished) -> list[list[str]]:
    """The cells of means against published ones."""
    lines = []
    named = (("baseline", result.baseline), ("advanced", result.advanced), ("improvement", result.improvement))
    for name, one in named:
        around = one.interval
        interval = UNKNOWN if around is None else f"[{number(around.low, True)}, {number(around.high, True)}]"
        lines.append([name, number(one.published), number(one.ours), number(one.difference, sign=True), interval])
    return lines


def published_remarks(result: AgainstPublished) -> list[str]:
    """Lines below that table."""
    effect = result.effect
    return [
        "interval: of ours - published, by bootstrap over our reports; what the published means vary by is not known",
        f"ER {number(effect.ratio)}, DeltaRI {number(effect.delta_ri, sign=True)}, region {effect.region}:"
        f" {REGIONS[effect.region]}",
    ]
