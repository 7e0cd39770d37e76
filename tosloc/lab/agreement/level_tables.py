"""The words and cells of reproduction tables, for a terminal, for Markdown and for pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tosloc.lab.agreement.effects import REGIONS
from tosloc.lab.agreement.levels import Reproduction
from tosloc.lab.agreement.order import PHI
from tosloc.lab.agreement.published_means import AgainstPublished

LEVEL_HEADS: Final = ("level", "measure", "baseline", "advanced", "effect")
PUBLISHED_HEADS: Final = ("mean of", "published", "ours", "difference", "95 % interval")
_UNKNOWN: Final = "-"


def number(value: float | None, sign: bool = False) -> str:
    """A value to three places; never a minus before zero.

    >>> number(0.98765), number(-0.0001), number(-1.5, sign=True), number(None)
    ('0.988', '0.000', '-1.500', '-')
    """
    if value is None:
        return _UNKNOWN
    text = f"{value:{'+' if sign else ''}.3f}"
    return "0.000" if text in ("-0.000", "+0.000") else text


def p_cell(p: float | None) -> str:
    """A p-value to as many places as say anything.

    >>> p_cell(0.0432), p_cell(1e-9), p_cell(None)
    ('0.043', '<0.001', '-')
    """
    return "<0.001" if p is not None and p < 0.001 else number(p)


@dataclass(frozen=True)
class AgreementTable:
    """A table with a title above and remarks below it."""

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    remarks: Sequence[str]


def levels_table(result: Reproduction) -> AgreementTable:
    """The levels from the most particular to the most general; below, what was tested and what does not apply."""
    original, ours = result.reports
    title = f"reproduction: {original} reports of the original, {ours} others of ours"
    if result.same_reports:
        title = f"replication: the same {original} reports"
    test = "paired" if result.same_reports else "unpaired"
    remarks = [f"p: two-tailed {test} t-test of the original's scores against ours, small where they differ"]
    remarks += [
        f"region {one}: {REGIONS[one]}" for one in sorted({effect.region for effect in result.effects.values()})
    ]
    return AgreementTable(title, LEVEL_HEADS, _level_rows(result), [*remarks, *result.notes])


def _level_rows(result: Reproduction) -> list[list[str]]:
    b, a = result.baseline, result.advanced
    taus = [None if one.order is None else one.order.tau for one in (b, a)]
    overlaps = [None if one.order is None else one.order.rbo for one in (b, a)]
    rows = [
        ["order", "Kendall's tau union", *map(number, taus), ""],
        ["order", f"RBO, phi {PHI:g}", *map(number, overlaps), ""],
    ]
    for measure in result.measures:
        errors = [None if one.rmse is None else one.rmse[measure] for one in (b, a)]
        rows.append(["effectiveness", f"RMSE of {measure}", *map(number, errors), ""])
    for measure, effect in result.effects.items():
        rows.append(["effect", f"ER of {measure}", "", "", number(effect.ratio)])
        rows.append(["effect", f"DeltaRI of {measure}", "", "", number(effect.delta_ri, sign=True)])
        rows.append(["effect", f"region of {measure}", "", "", str(effect.region)])
    for measure in result.measures:
        rows.append(["statistics", f"p of {measure}", p_cell(b.p[measure]), p_cell(a.p[measure]), ""])
    for measure in result.measures:
        rows.append(["mean", f"{measure}, original", *(number(one.means[measure][0]) for one in (b, a)), ""])
        rows.append(["mean", f"{measure}, ours", *(number(one.means[measure][1]) for one in (b, a)), ""])
        rows.append(["mean", f"{measure}, delta", *(number(one.delta(measure), sign=True) for one in (b, a)), ""])
    return rows


def published_table(result: AgainstPublished) -> AgreementTable:
    """Our means against published ones."""
    rows = []
    for name, one in result.differences.items():
        around = one.interval
        interval = _UNKNOWN if around is None else f"[{number(around.low, True)}, {number(around.high, True)}]"
        rows.append([name, number(one.published), number(one.ours), number(one.difference, sign=True), interval])
    effect = result.effect
    remarks = [
        "interval: of ours - published, by bootstrap over our reports; what the published means vary by is not known",
        f"ER {number(effect.ratio)}, DeltaRI {number(effect.delta_ri, sign=True)}, region {effect.region}:"
        f" {REGIONS[effect.region]}",
    ]
    title = f"our {result.reports} reports against published means of {result.measure}"
    return AgreementTable(title, PUBLISHED_HEADS, rows, remarks)
