"""Find the lines of files that stack frames, links and messages of a report point to."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain, pairwise
from typing import Final, NamedTuple

from tosloc.code.literals import find_words
from tosloc.core.answers import Function
from tosloc.rank.explain.matching_terms import LINE_END, MAX_LINES
from tosloc.reports.traces import Frame, Place
from tosloc.retrieval.query import Query
from tosloc.retrieval.version_index import VersionIndex

_QUOTE: Final = re.compile("[\"'`]")


class FrameLine(NamedTuple):
    """A line that a stack frame or a link names."""

    line: int
    """Number of the line, from 1, in the version that the report is about."""
    method: str
    """Name of the frame's function without its class; "" if it is not known."""


def frame_lines(
    query: Query, version: VersionIndex, files: Sequence[int]
) -> dict[int, tuple[FrameLine, ...]]:
    """Return file -> lines that stack frames and links name, the innermost frame first."""
    lines: defaultdict[int, dict[int, FrameLine]] = defaultdict(dict)
    locations = query.places.locations
    places: Iterable[Frame | Place] = chain(*locations.traces, locations.links)
    for place in places:
        if place.line <= 0:
            continue
        method = place.method if isinstance(place, Frame) else ""
        for path_id in version.paths.find_by_place(place):
            lines[path_id].setdefault(place.line, FrameLine(place.line, method))
    path_ids = version.paths.path_ids
    return {file: tuple(lines[int(path_ids[file])].values()) for file in files}


def find_current_line(
    frame_line: FrameLine, functions: Iterable[Function], lines: Sequence[str]
) -> int:
    """Return the line that a frame means in the searched version.

    This is the frame's own line, unless its function is among the listed ``functions`` and does not
    contain that line. Then it is the first line of the function that contains the function's name.

    >>> code = ["", "@Override", "void open() {", "  turn();", "}"]
    >>> function = Function("Door.open", 2, 5, 1.0)
    >>> find_current_line(FrameLine(4, "open"), [function], code)
    4
    >>> find_current_line(FrameLine(12, "open"), [function], code)
    3
    >>> find_current_line(FrameLine(12, "shut"), [function], code)
    12
    """
    line = frame_line.line
    namesakes = [item for item in functions if item.name.rpartition(".")[2] == frame_line.method]
    if not namesakes or any(item.start <= line <= item.end for item in namesakes):
        return line
    return find_name(namesakes[0], lines)


def find_name(function: Function, lines: Sequence[str]) -> int:
    """Return the first line of a function that contains its name, or its first line; from 1."""
    name = function.name.rpartition(".")[2]
    for number, text in enumerate(lines[function.start - 1 : function.end], start=function.start):
        if name in text:
            return number
    return function.start


def find_message_line(lines: Sequence[str], message: str) -> int | None:
    """Return the line, from 1, with most neighbouring words of a message; None if none has any.

    Of equally good lines, the first one with a quotation mark is returned.

    >>> find_message_line(["# no file", "x = 1", "fail('no such file')"], "No such file")
    3
    """
    words = [re.escape(match[0].lower()) for match in find_words(message)]
    if len(words) < 2:
        return None
    pairs = [rf"{word}(?=[^\w\n]+{after}\b)" for word, after in pairwise(words)]
    pattern = re.compile(rf"\b(?:{'|'.join(pairs)})")
    text = "\n".join(lines[:MAX_LINES]).lower()
    line_ends = [match.start() for match in LINE_END.finditer(text)]
    matches: Counter[int] = Counter()
    for match in pattern.finditer(text):
        matches[bisect_left(line_ends, match.start())] += 1
    if not matches:
        return None

    def worth(line: int) -> tuple[int, bool, int]:
        return matches[line], _QUOTE.search(lines[line]) is not None, -line

    return max(matches, key=worth) + 1
