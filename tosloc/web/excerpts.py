"""What of a file a reader of an answer should see: a few stretches of lines, the report's words and frames marked."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Final, NamedTuple

from tosloc.code.text import identifier_terms
from tosloc.index.context import VersionIndex
from tosloc.index.query import Query
from tosloc.rank.lines import telling_lines
from tosloc.records import Function
from tosloc.web.syntax import syntax

LONGEST_LINE: Final = 240
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
    lines = text.removesuffix("\n").split("\n")
    found = []
    runs = list(telling_lines(lines, terms, functions, framed, told))
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
