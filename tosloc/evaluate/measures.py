"""Measures by name, of one report. A name tells its denominator; means come elsewhere, and so does coverage@k.

The measures themselves are in ``tosloc.metrics``; coverage@k, which sums over reports, is in ``Evaluation``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Self

from tosloc.errors import RunError
from tosloc.metrics import (
    all_within,
    average_precision,
    bpref,
    hit_at,
    ndcg,
    others_above,
    precision_at,
    recall_at,
    reciprocal_rank,
)


@dataclass(frozen=True, slots=True)
class Others:
    """The files judged as not fixed, where only some of the searched files are judged."""

    above: tuple[int, ...]
    """How many of them stand above each ranked fixed file, in order of rank."""
    ranked: int
    """How many of them are ranked."""
    judged: int
    """How many there are, ranked or not."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What any measure needs to know of one ranked report."""

    ranks: tuple[int, ...]
    """Ranks of the fixed files that are ranked, ascending."""
    relevant: int
    ranked: int | None
    """Length of the ranking; None where only the fixed files' ranks are known."""
    searched: int | None
    """Files of the searched version; None if not known, and then those ranked stand for them."""
    others: Others | None = None
    """The files judged as not fixed; None where those are all searched files but the fixed ones."""

    @property
    def above(self) -> Sequence[int]:
        """How many files judged as not fixed stand above each ranked fixed file, in order of rank."""
        return others_above(self.ranks) if self.others is None else self.others.above

    @property
    def nonrelevant(self) -> int:
        """Number of files judged as not fixed. Raises RunError when nothing tells it."""
        if self.others is not None:
            return self.others.judged
        if self.searched is not None:
            return self.searched - self.relevant
        return self.nonrelevant_retrieved

    @property
    def nonrelevant_retrieved(self) -> int:
        """Number of those that are ranked. Raises RunError when nothing tells it."""
        if self.others is not None:
            return self.others.ranked
        ranked = self.ranked if self.ranked is not None else self.searched
        if ranked is None:
            raise RunError("bpref counts the other files, and how many were searched is not known")
        return ranked - len(self.ranks)


_ALWAYS: Final[dict[str, Callable[[Outcome], float]]] = {
    "AP": lambda one: average_precision(one.ranks, one.relevant),
    "RR": lambda one: reciprocal_rank(one.ranks),
    "nDCG": lambda one: ndcg(one.ranks, one.relevant),
    "AP_found": lambda one: average_precision(one.ranks, one.relevant, over="found"),
    "bpref": lambda one: bpref(one.above, one.relevant, one.nonrelevant),
    "old_bpref": lambda one: bpref(one.above, one.relevant, one.nonrelevant_retrieved),
}
_WITHIN: Final[dict[str, Callable[[Outcome, int], float]]] = {
    "AP": lambda one, k: average_precision(one.ranks, one.relevant, k),
    "AP_reachable": lambda one, k: average_precision(one.ranks, one.relevant, k, "reachable"),
    "AP_found": lambda one, k: average_precision(one.ranks, one.relevant, k, "found"),
    "RR": lambda one, k: reciprocal_rank(one.ranks, k),
    "P": lambda one, k: precision_at(one.ranks, k),
    "R": lambda one, k: recall_at(one.ranks, one.relevant, k),
    "Hit": lambda one, k: float(hit_at(one.ranks, k)),
    "nDCG": lambda one, k: ndcg(one.ranks, one.relevant, k),
    "Acc": lambda one, k: float(all_within(one.ranks, one.relevant, k)),
}
YES_OR_NO: Final = frozenset(["Hit", "Acc"])
"""Measures that are 1 or 0 for every report."""
MEASURE_MEANINGS: Final = {
    "AP": "average precision over all fixed files (textbook)",
    "RR": "reciprocal rank of the first fixed file",
    "nDCG": "normalised discounted cumulative gain, binary",
    "AP_found": "average precision over the fixed files found (diagnostic: grows when a ranking is cut)",
    "AP_reachable": "average precision over min(k, fixed files)",
    "P": "fixed files within the first k, over k",
    "R": "fixed files within the first k, over all fixed files",
    "Hit": "1 if any fixed file is within the first k",
    "Acc": "1 if all fixed files are within the first k",
    "bpref": "binary preference over all files judged as not fixed (trec_eval 8.0 and later)",
    "old_bpref": "the faulty binary preference, over those of them that are ranked (before trec_eval 8.0)",
}


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
            raise RunError(f"measure {self.name}@{self.k}: a cut-off is 1 or more")
        if self.name not in (_ALWAYS if self.k is None else _WITHIN):
            without, within = ", ".join(_ALWAYS), ", ".join(f"{name}@k" for name in _WITHIN)
            raise RunError(f"no measure {self!r}; known are {without}, and with a cut-off {within}")

    def __repr__(self) -> str:
        return self.name if self.k is None else f"{self.name}@{self.k}"

    def __call__(self, outcome: Outcome) -> float:
        """The measure's value for one report."""
        return _ALWAYS[self.name](outcome) if self.k is None else _WITHIN[self.name](outcome, self.k)

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
