"""Which lines of a file a reader of an answer should see: the few stretches that say most of the report."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

import numpy as np

from tosloc.code.text import terms as terms_of
from tosloc.index.context import VersionIndex
from tosloc.index.query import Query
from tosloc.records import FloatArray, Function
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
    view = version.text
    numbers = view.corpus.terms
    weights = query.weights_of(without_addresses(query.prose))
    known = [term for term in weights if term in numbers]
    idf = view.idf(np.array([numbers[term] for term in known], dtype=np.int64)).tolist()
    gains = {term: weights[term] * rarity for term, rarity in zip(known, idf, strict=True)}
    telling = {
        term: gains[term]
        for term, rarity in zip(known, idf, strict=True)
        if rarity >= np.log(1 / (EVERYWHERE if term in query.summary_counts else COMMON))
    }
    found = telling or gains
    strong = query.summary_counts.keys() | query.compounds  # what the report is about, as reasons have it
    return {
        term: found[term] for term in sorted(found, key=lambda term: (term not in strong, -found[term], term))[:TERMS]
    }


def framed_lines(query: Query, version: VersionIndex, files: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """File -> lines of it that the report's frames and links name, the innermost first."""
    file_of = {int(version.paths.path_ids[file]): file for file in files}
    found: dict[int, dict[int, None]] = {}
    for place in (
        place for trace in (*query.locations.traces, query.locations.links) for place in trace if place.line > 0
    ):
        for row in version.paths.rows_of_location(place.path, place.qualified):
            if row in file_of:
                found.setdefault(file_of[row], {})[place.line] = None
    return {file: tuple(lines) for file, lines in found.items()}


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
    held = [frozenset(terms_of(line)).intersection(terms) for line in lines]
    shown: dict[int, None] = {}  # places, from 0
    named = [number for number in framed[:FRAMES] if 1 <= number <= len(lines)][:stretches]
    for number in named:
        start = max(0, number - 1 - BEFORE)
        shown.update(dict.fromkeys(range(start, min(start + min(2 * BEFORE + 1, length), len(lines)))))
    inside = np.ones(len(lines))
    for function in functions:
        inside[function.start - 1 : function.end] = IN_FUNCTION
    for start, end in told:
        inside[start - 1 : end] = IN_REASON
    for start in islice(_best(held, terms, inside, shown, length), stretches - len(named)):
        shown.update(dict.fromkeys(range(start, min(start + length, len(lines)))))
    if not shown and functions:
        first = functions[0]
        shown.update(dict.fromkeys(range(first.start - 1, min(first.start - 1 + length, first.end, len(lines)))))
    return _runs(shown, lines)


def _best(
    held: Sequence[frozenset[str]], terms: Mapping[str, float], inside: FloatArray, shown: Container[int], length: int
) -> Iterator[int]:
    """Places where the stretches begin that say most, the best first; ``inside`` (lines,) is what a line counts."""
    seen: set[str] = set()
    taken = {place for place in range(len(held)) if place in shown}
    best = 0.0
    while True:
        counts = {term: gain * (AGAIN if term in seen else 1.0) for term, gain in terms.items()}
        gains: dict[int, float] = {}
        for place in (place for place, found in enumerate(held) if found):
            start = max(0, place - 1)
            places = range(start, min(start + length, len(held)))
            if taken.isdisjoint(places):
                most: dict[str, float] = {}
                for other in places:
                    for term in held[other]:
                        most[term] = max(most.get(term, 0.0), counts[term] * inside[other])
                gains[start] = sum(most.values())
        if not gains:
            return
        start = max(gains, key=lambda one: (gains[one], -one))
        if gains[start] < LEAST_GAIN * best:
            return
        best = best or gains[start]
        places = range(start, min(start + length, len(held)))
        taken.update(places)
        seen.update(*(held[place] for place in places))
        yield start


def _runs(shown: Iterable[int], lines: Sequence[str]) -> Iterator[list[int]]:
    """Places that follow each other, without blank lines at either end; a single line between two of them is shown."""
    places = set(shown)
    places |= {place for place in range(len(lines)) if place - 1 in places and place + 1 in places}
    run: list[int] = []
    for place in [*sorted(places), -1]:
        if run and place != run[-1] + 1:
            while run and not lines[run[-1]].strip():
                run.pop()
            if run:
                yield run
            run = []
        if run or lines[place].strip():
            run.append(place)
