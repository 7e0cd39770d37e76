"""Measures of one report from the ranks of its fixed files. A name tells its denominator; means come elsewhere.

``ranks`` are the ranks, from 1, of the fixed files that the ranking holds; ``relevant`` counts all fixed files.
A report without fixed files has the value 0 everywhere. coverage@k, which sums over reports, is in ``Evaluation``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Self, TypeAlias

from tosloc.errors import RunError

Over: TypeAlias = Literal["relevant", "reachable", "found"]
"""What average precision is divided by: all fixed files (the textbook's), as many of them as k ranks can hold, or
only those found within the first k ("at seen relevant documents": a diagnostic, never a result)."""


def average_precision(ranks: Iterable[int], relevant: int, k: int | None = None, over: Over = "relevant") -> float:
    """Sum of the precision at each fixed file's rank (within the first ``k``), divided by what ``over`` says.

    The textbook divides by all fixed files, so that one that is not ranked adds 0 (Manning et al. 2008, section 8.4;
    Buckley and Voorhees 2000). The other two are AP1@K (found) and AP2@K (reachable) of the field's papers; the former
    is undefined where nothing is found, and 0 here.

    Cut shorter, the textbook's never rises. AP1@K is the textbook's times ``relevant / found``, a factor that never
    falls; itself it never falls where precision does not rise from one fixed file to the next, but ``[3, 4]`` at 4 is
    .417 and at 3 is .333.

    >>> round(average_precision([1, 2, 5, 12, 15], relevant=5), 3)
    0.653
    >>> [round(average_precision([1, 2, 5, 12, 15], 5, 10, over), 3) for over in ("relevant", "reachable", "found")]
    [0.52, 0.52, 0.867]
    """
    found = [rank for rank in sorted(ranks) if k is None or rank <= k]
    gain = math.fsum(number / rank for number, rank in enumerate(found, start=1))
    share = {"relevant": relevant, "reachable": _reachable(relevant, k), "found": len(found)}[over]
    return gain / share if share else 0.0


def _reachable(relevant: int, k: int | None) -> int:
    return relevant if k is None else min(relevant, k)


def reciprocal_rank(ranks: Iterable[int], k: int | None = None) -> float:
    """One divided by the rank of the first fixed file; 0 if none is ranked (within the first ``k``).

    >>> reciprocal_rank([4, 9]), reciprocal_rank([4, 9], k=3)
    (0.25, 0.0)
    """
    first = min(ranks, default=math.inf)
    return 1 / first if k is None or first <= k else 0.0


def hit_at(ranks: Iterable[int], k: int) -> bool:
    """Whether any fixed file stands within the first ``k``; the share of such reports is printed as top1 or any50.

    >>> hit_at([4, 9], 5), hit_at([4, 9], 3)
    (True, False)
    """
    return any(rank <= k for rank in ranks)


def found_at(ranks: Iterable[int], k: int) -> int:
    """Number of fixed files within the first ``k``; summed and divided by all fixed files it is coverage@k.

    >>> found_at([4, 9, 60], 50)
    2
    """
    return sum(rank <= k for rank in ranks)


def precision_at(ranks: Iterable[int], k: int) -> float:
    """Fixed files within the first ``k``, divided by ``k``, also when fewer files are ranked.

    >>> precision_at([1, 3, 9], 5)
    0.4
    """
    return found_at(ranks, k) / k


def recall_at(ranks: Iterable[int], relevant: int, k: int) -> float:
    """Fixed files within the first ``k``, divided by all fixed files.

    >>> recall_at([1, 3, 9], relevant=4, k=5)
    0.5
    """
    return found_at(ranks, k) / relevant if relevant else 0.0


def ndcg(ranks: Iterable[int], relevant: int, k: int | None = None) -> float:
    """Discounted gain ``sum 1 / log2(rank + 1)`` of the fixed files, divided by that of an ideal ranking.

    Gains are 1 and 0; the ideal ranking has all fixed files first, as many as ``k`` holds (Järvelin and Kekäläinen
    2002, with the discount that trec_eval uses).

    >>> round(ndcg([1, 3], relevant=2), 4)
    0.9197
    """
    gain = math.fsum(1 / math.log2(rank + 1) for rank in sorted(ranks) if k is None or rank <= k)
    ideal = math.fsum(1 / math.log2(place + 1) for place in range(1, _reachable(relevant, k) + 1))
    return gain / ideal if ideal else 0.0


def above(ranks: Iterable[int]) -> list[int]:
    """How many other files stand above each fixed file, ascending: what bpref counts where every file is judged.

    >>> above([1, 4, 5])
    [0, 2, 2]
    """
    return [rank - place for place, rank in enumerate(sorted(ranks), start=1)]


def bpref(nonrelevant_above: Sequence[int], relevant: int, nonrelevant: int) -> float:
    """Share of pairs (fixed, judged as not fixed) that are in the right order; trec_eval from 8.0 on.

    ``nonrelevant_above`` counts, for each *retrieved* fixed file, the judged others above it; ``nonrelevant`` counts
    **all** judged others, retrieved or not. Each adds ``1 - min(above, relevant) / min(nonrelevant, relevant)``.
    Raises ValueError when more stand above than are judged.

    >>> bpref([1, 1, 1, 1], relevant=6, nonrelevant=4)
    0.5
    """
    return _preferences(nonrelevant_above, relevant, nonrelevant)


def old_bpref(nonrelevant_above: Sequence[int], relevant: int, nonrelevant_retrieved: int) -> float:
    """The faulty bpref of trec_eval before 8.0, which counts only the *retrieved* judged others; for old results only.

    >>> old_bpref([1, 1, 1, 1], relevant=6, nonrelevant_retrieved=1)
    0.0
    """
    return _preferences(nonrelevant_above, relevant, nonrelevant_retrieved)


def _preferences(nonrelevant_above: Sequence[int], relevant: int, nonrelevant: int) -> float:
    if max(nonrelevant_above, default=0) > nonrelevant:
        raise ValueError(f"{max(nonrelevant_above)} files judged as not fixed stand above, but there are {nonrelevant}")
    if not relevant:
        return 0.0
    most = min(nonrelevant, relevant)
    return math.fsum(1 - min(n, relevant) / most if n else 1.0 for n in nonrelevant_above) / relevant


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
        return above(self.ranks) if self.others is None else self.others.above

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
    "old_bpref": lambda one: old_bpref(one.above, one.relevant, one.nonrelevant_retrieved),
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
}
MEANINGS: Final = {
    "AP": "average precision over all fixed files (textbook)",
    "RR": "reciprocal rank of the first fixed file",
    "nDCG": "normalised discounted cumulative gain, binary",
    "AP_found": "average precision over the fixed files found (diagnostic: grows when a ranking is cut)",
    "AP_reachable": "average precision over min(k, fixed files)",
    "P": "fixed files within the first k, over k",
    "R": "fixed files within the first k, over all fixed files",
    "Hit": "1 if any fixed file is within the first k",
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

    @property
    def meaning(self) -> str:
        """What it measures, in a line."""
        return MEANINGS[self.name]

    @classmethod
    def parse(cls, text: str) -> Self:
        """The measure that ``text`` names. Raises RunError, with the names there are."""
        found = re.fullmatch(r"(\w+?)(?:@(\d+))?", text.strip())
        if found is None:
            raise RunError(f"{text!r} is not the name of a measure, such as AP, RR or nDCG@10")
        return cls(found[1], int(found[2]) if found[2] else None)


AP: Final = Measure("AP")
RR: Final = Measure("RR")
