"""Measures by name, of one report. A name tells its denominator; means come elsewhere, and so does coverage@k.

The measures themselves are in ``tosloc.metrics``; coverage@k, which sums over reports, is in ``Evaluation``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from tosloc.errors import RunError
from tosloc.metrics import average_precision, bpref, found_at, ndcg, reciprocal_rank


@dataclass(frozen=True, slots=True)
class Outcome:
    """What any measure needs to know of one ranked report."""

    ranks: tuple[int, ...]  # ranks of the fixed files that are ranked, ascending
    relevant: int
    ranked: int | None  # length of the ranking; None where only the fixed files' ranks are known
    searched: int | None  # files of the searched version; None if not known, and then those ranked stand for them


def _bpref(one: Outcome, retrieved: bool) -> float:
    """Over all files that are not fixed, or over those ``retrieved``. Raises RunError where nothing tells how many."""
    above = [rank - place for place, rank in enumerate(one.ranks, start=1)]
    if not retrieved and one.searched is not None:
        return bpref(above, one.relevant, one.searched - one.relevant)
    files = one.searched if one.ranked is None else one.ranked
    if files is None:
        raise RunError("bpref counts the other files, and how many were searched is not known")
    return bpref(above, one.relevant, files - len(one.ranks))


MEASURE_MEANINGS: Final[Mapping[str, str]] = {
    "AP": "average precision over all fixed files (textbook)",
    "RR": "reciprocal rank of the first fixed file",
    "nDCG": "normalised discounted cumulative gain, binary",
    "AP_found": "average precision over the fixed files found (diagnostic: grows when a ranking is cut)",
    "AP_reachable": "average precision over min(k, fixed files)",
    "P": "fixed files within the first k, over k",
    "R": "fixed files within the first k, over all fixed files",
    "Hit": "1 if any fixed file is within the first k",
    "Acc": "1 if all fixed files are within the first k",
    "bpref": "binary preference over all files that are not fixed (trec_eval 8.0 and later)",
    "old_bpref": "the faulty binary preference, over those of them that are ranked (before trec_eval 8.0)",
}
_VALUES: Final[Mapping[str, Callable[[Outcome, Any], float]]] = {
    "AP": lambda one, k: average_precision(one.ranks, one.relevant, k),
    "RR": lambda one, k: reciprocal_rank(one.ranks, k),
    "nDCG": lambda one, k: ndcg(one.ranks, one.relevant, k),
    "AP_found": lambda one, k: average_precision(one.ranks, one.relevant, k, "found"),
    "AP_reachable": lambda one, k: average_precision(one.ranks, one.relevant, k, "reachable"),
    "P": lambda one, k: found_at(one.ranks, k) / k,
    "R": lambda one, k: found_at(one.ranks, k) / (one.relevant or 1),
    "Hit": lambda one, k: float(found_at(one.ranks, k) > 0),
    "Acc": lambda one, k: float(0 < one.relevant == found_at(one.ranks, k)),
    "bpref": lambda one, _: _bpref(one, retrieved=False),
    "old_bpref": lambda one, _: _bpref(one, retrieved=True),
}
_ALWAYS_CUT: Final = {"AP_reachable", "P", "R", "Hit", "Acc"}
_NEVER_CUT: Final = {"bpref", "old_bpref"}
YES_OR_NO: Final = {"Hit", "Acc"}  # measures that are 1 or 0 for every report


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure by name: ``AP``, ``RR``, ``nDCG@10``, ``AP_found@10`` and the like. Its repr is what ``parse`` reads.

    >>> Measure.parse("nDCG@10")(Outcome((1, 3), relevant=2, ranked=20, searched=20)) == ndcg([1, 3], 2, 10)
    True
    >>> Measure.parse("P@5")
    P@5
    """

    name: str
    k: int | None = None

    def __post_init__(self) -> None:
        if self.k is not None and self.k < 1:
            raise RunError(f"measure {self!r}: a cut-off is 1 or more")
        if self.name not in _VALUES.keys() - (_ALWAYS_CUT if self.k is None else _NEVER_CUT):
            without = ", ".join(name for name in _VALUES if name not in _ALWAYS_CUT)
            within = ", ".join(f"{name}@k" for name in _VALUES if name not in _NEVER_CUT)
            raise RunError(f"no measure {self!r}; known are {without}, and with a cut-off {within}")

    def __repr__(self) -> str:
        return self.name if self.k is None else f"{self.name}@{self.k}"

    def __call__(self, outcome: Outcome) -> float:
        """The measure's value for one report."""
        return _VALUES[self.name](outcome, self.k)

    @classmethod
    def parse(cls, text: str) -> Self:
        """The measure that ``text`` names. Raises RunError, with the names there are."""
        found = re.fullmatch(r"(\w+?)(?:@(\d+))?", text.strip())
        if found is None:
            raise RunError(f"{text!r} is not the name of a measure, such as AP, RR or nDCG@10")
        name = {"mrr": "RR", "map": "AP"}.get(found[1].lower(), found[1])  # as tables call their means
        return cls(name, int(found[2]) if found[2] else None)


AP: Final = Measure("AP")
RR: Final = Measure("RR")
