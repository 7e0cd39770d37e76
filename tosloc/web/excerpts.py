"""What of a file a reader of an answer should see: a few stretches of lines, the report's words and frames marked."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from operator import itemgetter
from typing import Final, NamedTuple

import numpy as np

from tosloc.code.text import identifier_terms
from tosloc.code.text import terms as terms_of
from tosloc.index.context import VersionIndex
from tosloc.index.query import Query
from tosloc.records import FloatArray, Function
from tosloc.reports.text import without_addresses
from tosloc.web.syntax import syntax

STRETCHES: Final = 3
"""Of a file, at most."""
LINES: Final = 9
"""Of a stretch; where two meet they become one."""
BEFORE: Final = 3
"""Lines before one that a frame names."""
FRAMES: Final = 2
"""Lines that frames name and that are shown of a file, at most."""
LEAST_GAIN: Final = 0.35
"""A stretch that says less than this part of what the best one says is left out."""
AGAIN: Final = 0.3
"""What a word counts that another stretch has shown already."""
IN_FUNCTION: Final = 1.5
"""How much more a line counts within one of the functions that the answer names."""
TERMS: Final = 16
"""Words of a report that are marked, at most."""
COMMON, EVERYWHERE = 0.25, 0.5
"""Words are marked where at most so large a part of the files has them; those of the summary by the second bound."""
IN_REASON: Final = 3.0
"""The same within the function that a reason names: what it says should be seen."""
LONGEST_LINE: Final = 240
MOST_LINES: Final = 50_000
"""Lines of a file that are looked at; what is longer was made by a program."""
LONGEST_REPORT: Final = 20_000
"""Letters of a report's description that are shown."""
_WORD: Final = re.compile(r"[\w$]+")


class Piece(NamedTuple):
    """A part of a line."""

    text: str
    mark: str = ""
    """``word`` of the report, ``frame`` of it that names one of the files, else what ``syntax`` says, or empty."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file."""

    number: int
    """From 1."""
    pieces: tuple[Piece, ...]
    framed: bool
    """Whether a frame of the report names it; the frame's line is that of the version that crashed."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Lines that follow each other."""

    lines: tuple[Line, ...]
    function: str
    """The innermost of the answer's functions that holds the first of them; else empty."""


def telling_terms(query: Query, version: VersionIndex) -> dict[str, float]:
    """The report's words that tell files from another, as terms, with what they count; all where none does."""
    view = version.text
    numbers = view.corpus.term_ids
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


def stretches(
    text: str,
    terms: Mapping[str, float],
    functions: Sequence[Function] = (),
    framed: Sequence[int] = (),
    told: Sequence[tuple[int, int]] = (),
    path: str = "",
) -> tuple[Stretch, ...]:
    """The stretches of a file's text that say most of a report, in the order of the file.

    ``terms`` are the report's with what they count, ``functions`` those of the file that the answer names, ``framed``
    the lines that frames name, ``told`` the first and last lines that reasons speak of; ``path`` tells the language.

    >>> [one] = stretches("a\\nb\\ndef f():\\n    return cookie\\n", {"cooki": 1.0}, [Function("f", 3, 4, 1.0)])
    >>> one.function, [line.number for line in one.lines], one.lines[-1].pieces[-1]
    ('f', [3, 4], Piece(text='cookie', mark='word'))
    """
    text = text.replace("\r\n", "\n").expandtabs(4)
    lines = text.removesuffix("\n").split("\n")[:MOST_LINES]
    held = [frozenset(terms_of(line)).intersection(terms) for line in lines]
    shown: dict[int, None] = {}  # places, from 0
    for number in framed[:FRAMES]:
        if 1 <= number <= len(lines):
            start = max(0, number - 1 - BEFORE)
            shown.update(dict.fromkeys(range(start, min(start + 2 * BEFORE + 1, len(lines)))))
    inside = np.ones(len(lines))
    for function in functions:
        inside[function.start - 1 : function.end] = IN_FUNCTION
    for start, end in told:
        inside[start - 1 : end] = IN_REASON
    wanted = max(1, STRETCHES - len(framed[:FRAMES]))
    for start in islice(_best(held, terms, inside, shown), wanted):
        shown.update(dict.fromkeys(range(start, min(start + LINES, len(lines)))))
    if not shown and functions:
        first = functions[0]
        shown.update(dict.fromkeys(range(first.start - 1, min(first.start - 1 + LINES, first.end, len(lines)))))
    found = []
    runs = list(_runs(shown, lines))
    kinds = syntax(text, path, [place for run in runs for place in run])
    for run in runs:
        holding = [function for function in functions if function.start <= run[0] + 1 <= function.end]
        innermost = min(holding, key=lambda one: one.end - one.start).name if holding else ""
        made = []
        for place in run:
            line = lines[place]
            cut = line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}…"
            made.append(Line(place + 1, marked(cut, terms, kinds.get(place, ())), place + 1 in framed))
        found.append(Stretch(tuple(made), innermost))
    return tuple(found)


def marked(text: str, terms: Container[str], kinds: Sequence[str] = ()) -> tuple[Piece, ...]:
    """A text in pieces: words of which a term is among ``terms``; between them ``kinds`` says of each character what
    it is, if anything does.
    """
    marks = [*kinds[: len(text)]] or [""] * len(text)
    for word in _WORD.finditer(text):
        if any(term in terms for term in identifier_terms(word[0])):
            marks[slice(*word.span())] = ["word"] * len(word[0])
    runs = groupby(zip(marks, text, strict=True), itemgetter(0))
    return tuple(Piece("".join(letter for _, letter in run), mark) for mark, run in runs)


def marked_report(
    query: Query, terms: Container[str], version: VersionIndex, files: Sequence[int]
) -> tuple[Piece, ...]:
    """The description of a report, its words marked, and what in it names one of the files."""
    text = query.report.description[:LONGEST_REPORT]
    rows = {int(version.paths.path_ids[file]) for file in files}
    before = len(query.report.summary) + 1  # offsets are those of both
    named = query.locations
    found = sorted(
        (place.offset - before, place.end - before)
        for place in (*(one for trace in named.traces for one in trace), *named.links, *named.paths)
        if not rows.isdisjoint(version.paths.rows_of_location(place.path, place.qualified))
    )
    pieces: list[Piece] = []
    end = 0
    for start, stop in found:
        if end <= start < stop <= len(text):
            pieces += [*marked(text[end:start], terms), Piece(text[start:stop], "frame")]
            end = stop
    return (*pieces, *marked(text[end:], terms))


def _best(
    held: Sequence[frozenset[str]], terms: Mapping[str, float], inside: FloatArray, shown: Container[int]
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
            places = range(start, min(start + LINES, len(held)))
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
        places = range(start, min(start + LINES, len(held)))
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
