"""What must hold, and what mostly does, between the means of a truncated run; beside what the paper found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tosloc.evaluation.truncation import FIRST_TEN, TRUTHS, WHOLE, Cut, Truncation, Truth

PAPER: Final[dict[tuple[Truth, str], tuple[float | None, float | None]]] = {
    ("cleaned", "0.1"): (5.35, 17.26),
    ("cleaned", "0.2"): (3.19, None),
    ("cleaned", "0.3"): (2.15, None),
    ("cleaned", "0.4"): (1.60, None),
    ("cleaned", "0.5"): (1.20, None),
    ("cleaned", "0.6"): (0.86, None),
    ("cleaned", "0.7"): (0.63, None),
    ("cleaned", "0.8"): (0.44, None),
    ("cleaned", "0.9"): (0.24, None),
    ("cleaned", "1.0"): (0.05, None),
    ("cleaned", "k = 10"): (18.53, 55.63),
    ("bloated", "0.1"): (9.3, 21.60),  # .398 and .435, three digits
    ("bloated", "1.0"): (3.66, None),
    ("bloated", "k = 10"): (None, 71.59),
}
"""Truth and cut -> overestimation in percent with undefined set to 0, and with undefined dropped: BugLocator on
Bench4BL (Hirsch and Hofer, tables III and V, sections VI-C to VI-E)."""


@dataclass(frozen=True, slots=True)
class Invariant:
    """A sentence about a run, and whether it holds; a law holds for every run."""

    text: str
    holds: bool
    law: bool


def invariants(result: Truncation) -> list[Invariant]:
    """The laws, then what the paper expects and no law ensures."""
    found = [
        Invariant(
            "seen-relevant is never below textbook", all(row.seen >= row.textbook for row in result.rows), law=True
        ),
        Invariant("textbook never rises when rankings are cut shorter", _textbook_never_rises(result), law=True),
        Invariant(
            "dropping undefined reports never lowers a mean",
            all(row.seen_dropped >= row.seen and row.textbook_dropped >= row.textbook for row in result.rows),
            law=True,
        ),
        Invariant(
            "listing files that do not exist never raises textbook and leaves seen-relevant as it is",
            _bloat_lowers_textbook_only(result),
            law=True,
        ),
    ]
    whole = result.at("cleaned", WHOLE)
    if result.unranked == 0:
        text = "uncut and cleaned, where every fixed file is ranked, both are equal"
        found.append(Invariant(text, whole.seen == whole.textbook, law=True))
    overs = [row.over for row in result.fractions("cleaned")]
    known = [over for over in overs if over is not None]
    growing = len(known) == len(overs) and known == sorted(known, reverse=True) and known[0] > known[-1]
    text = "the overestimate (cleaned) grows from 1.0 to 0.1 and shrinks at no step between, as in the paper"
    found.append(Invariant(text, growing, law=False))
    text = f"no report's seen-relevant value falls when its ranking is cut shorter (equation 16); {result.falling} do"
    found.append(Invariant(text, result.falling == 0, law=False))
    return found


def direction(result: Truncation) -> str:
    """A sentence: how far seen-relevant is above textbook here, and in the paper."""
    parts = []
    for cut in (WHOLE, Cut(5, "tenths"), Cut(1, "tenths"), FIRST_TEN):
        here, paper = result.at("cleaned", cut).over, PAPER["cleaned", cut.name][0]
        parts.append(f"{_percent(here)} at {cut.name} (paper {_percent(paper)})")
    dropped = result.at("cleaned", FIRST_TEN).over_dropped
    parts.append(f"{_percent(dropped)} with undefined dropped (paper {_percent(PAPER['cleaned', FIRST_TEN.name][1])})")
    return "cleaned, seen-relevant against textbook: " + ", ".join(parts)


def _textbook_never_rises(result: Truncation) -> bool:
    rises = False
    for truth in TRUTHS:
        values = [row.textbook for row in result.fractions(truth)]
        rises |= (
            values != sorted(values) or max(result.at(truth, FIRST_TEN).textbook, values[-1]) > result.baseline[truth]
        )
    return not rises


def _bloat_lowers_textbook_only(result: Truncation) -> bool:
    pairs = [(result.at("cleaned", row.cut), row) for row in result.rows if row.truth == "bloated"]
    return all(bloated.textbook <= cleaned.textbook and bloated.seen == cleaned.seen for cleaned, bloated in pairs)


def _percent(value: float | None) -> str:
    return "undefined" if value is None else f"{value:+.2f} %"
