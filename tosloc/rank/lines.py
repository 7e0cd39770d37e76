"""Which lines of a file a reader of an answer should see: the few stretches that say most of the report."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from tosloc.code.text import terms as terms_of
from tosloc.index.context import VersionIndex
from tosloc.index.query import Query
from tosloc.rank.text_features import rarities
from tosloc.records import Function
from tosloc.reports.text import without_addresses

STRETCHES: Final = 3  # of a file, at most
LINES: Final = 9  # of a stretch; where two meet they become one
BEFORE: Final = 3  # lines before one that a frame names
FRAMES: Final = 2  # lines that frames name and that are shown of a file, at most
LEAST_GAIN: Final = 0.35  # a stretch that says less than this part of what the best one says is left out
AGAIN: Final = 0.3  # what a word counts that another stretch has shown already
IN_FUNCTION: Final = 1.5  # how much more a line counts within one of the functions that the answer names
TERMS: Final = 16  # words of a report that are marked, at most
COMMON, EVERYWHERE = 0.25, 0.5
"""Words are marked where at most so large a part of the files has them; those of the summary by the second bound."""
IN_REASON: Final = 3.0  # the same within the function that a reason names: what it says should be seen
MOST_LINES: Final = 50_000  # lines of a file that are looked at; what is longer was made by a program


def telling_terms(query: Query, version: VersionIndex) -> dict[str, float]:
    """The report's words that tell files from another, as terms, with what they count; all where none does."""
    weights = query.weights_of(without_addresses(query.prose))
    rare, common = rarities(version, weights), {True: np.log(1 / EVERYWHERE), False: np.log(1 / COMMON)}
    telling = [term for term, rarity in rare.items() if rarity >= common[term in query.summary_counts]] or rare
    gains = {term: weights[term] * rare[term] for term in telling}
    strong = query.summary_counts.keys() | query.compounds  # what the report is about, as reasons have it
    first = sorted(gains, key=lambda term: (term not in strong, -gains[term], term))[:TERMS]
    return {term: gains[term] for term in first}


def framed_lines(query: Query, version: VersionIndex, files: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """File -> lines of it that the report's frames and links name, the innermost first."""
    found: defaultdict[int, dict[int, None]] = defaultdict(dict)
    for place in chain(*query.locations.traces, query.locations.links):
        for row in version.paths.rows_of_location(place.path, place.qualified) if place.line > 0 else ():
            found[row][place.line] = None
    return {file: tuple(found[int(version.paths.path_ids[file])]) for file in files}


def telling_lines(
    lines: Sequence[str],
    terms: Mapping[str, float],
    functions: Sequence[Function] = (),
    framed: Sequence[int] = (),
    told: Sequence[tuple[int, int]] = (),
    stretches: int = STRETCHES,
    length: int = LINES,
) -> Iterator[list[int]]:
    """The stretches of a file's lines that say most of a report, in the order of the file: places, from 0.

    ``terms`` are the report's with what they count, ``functions`` those of the file that the answer names, ``framed``
    the lines that frames name, ``told`` the first and last lines that reasons speak of.

    >>> list(telling_lines(["a", "b", "def f():", "    return cookie"], {"cooki": 1.0}, [Function("f", 3, 4, 1.0)]))
    [[2, 3]]
    """
    lines = lines[:MOST_LINES]
    held: Any = np.array([[term in found for term in terms] for found in map(frozenset, map(terms_of, lines))])
    shown, inside = np.zeros(len(lines), dtype=np.bool_), np.ones((len(lines), 1))
    for function in functions:
        inside[function.start - 1 : function.end] = IN_FUNCTION
    for start, end in told:
        inside[start - 1 : end] = IN_REASON
    named = [number for number in framed[:FRAMES] if 1 <= number <= len(lines)][:stretches]
    for number in named:
        start = max(0, number - 1 - BEFORE)
        shown[start : start + min(2 * BEFORE + 1, length)] = True
    gains, most, of_stretch = np.array([*terms.values()]), 0.0, _highest(held * inside, length)
    begins = np.append(held.any(axis=1)[1:], False)  # a stretch begins a line before one that has a word
    begins[0] |= held[0].any()
    seen = np.zeros(len(terms), dtype=np.bool_)
    for _ in range(stretches - len(named)):
        worth = of_stretch @ (gains * np.where(seen, AGAIN, 1.0)) * (begins & ~_highest(shown, length))
        worth = worth.round(9)  # of equal ones the first, however they were added
        start = int(worth.argmax())
        if not worth[start] or worth[start] < LEAST_GAIN * most:
            break
        most = most or float(worth[start])
        shown[start : start + length] = True
        seen |= held[start : start + length].any(axis=0)
    if functions and not shown.any():
        shown[functions[0].start - 1 : min(functions[0].start - 1 + length, functions[0].end)] = True
    shown[1:-1] |= shown[:-2] & shown[2:]  # a single line between two
    places = np.flatnonzero(shown)
    for run in np.split(places, np.flatnonzero(np.diff(places) > 1) + 1):
        written = [place for place in run.tolist() if lines[place].strip()]
        if written:
            yield list(range(written[0], written[-1] + 1))


def _highest(values: npt.NDArray[Any], length: int) -> Any:
    """(n, ...) of each place the largest value of so many from it on."""
    padded = np.concatenate((values, np.zeros((length - 1, *values.shape[1:]), values.dtype)))
    return sliding_window_view(padded, length, axis=0).max(axis=-1)
