"""Choose the single lines of a file, or of a function, that match a report best."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from tosloc.code.text import is_comment
from tosloc.core.answers import Function
from tosloc.core.arrays import BoolArray
from tosloc.rank.explain.excerpts import IMPORT, REPEATED_WORD
from tosloc.rank.explain.matching_terms import MAX_LINES, contained_terms
from tosloc.rank.explain.pointed_lines import find_name

BODY_LINES: Final = 20
"""Largest number of lines that are shown as a function's body."""
EVIDENCE_LINES: Final = 3
"""Largest number of single lines that are shown as evidence for a file."""
MIN_GAIN_OF_LINE: Final = 0.6
"""Smallest worth of a single line, as a share of the best line's worth."""
MIN_GAIN_IN_FUNCTION: Final = 0.3
"""Smallest worth of a line within one function, as a share of its best line's worth."""
IN_NAME: Final = 0.1
"""Weight of a line with the name of a listed function."""
MIN_DISTANCE: Final = 15
"""Number of lines between two single lines that are shown for their words, at least."""
_BLOCK: Final = re.compile(r"\"\"\"|'''|/\*")
"""Mark of a comment, or of documentation, that may span several lines."""
_BEFORE_BLOCK: Final = re.compile(r"\s*+[rRuU]?")
"""Text before such a mark on its line; after any other text the mark is one of code."""
_BLOCK_ENDS: Final = {'"""': '"""', "'''": "'''", "/*": "*/"}
_WORD: Final = re.compile(r"\w")


def choose_lines(
    lines: Sequence[str],
    terms: Mapping[str, float],
    functions: Sequence[Function] = (),
    framed: Sequence[int] = (),
    number: int = EVIDENCE_LINES,
) -> list[int]:
    """Return the positions of up to ``number`` lines that match a report best, in file order.

    ``choose_excerpts`` explains the arguments. Lines that stack frames name are chosen first,
    unless they contain no word. Then come the first function's lines with the report's rarest
    words, in any spelling, and one line of each further function. A line with the function's name
    counts little, because answers name the function anyway. But it is chosen for the first function
    if no other line there contains a word of the report. Chosen lines are some lines apart, to show
    different parts of a long function. Without functions, lines are chosen from the whole file.
    Comments and imports are chosen only if there are no other lines.

    >>> code = ["import http", "def health_headers(self):", "    return self.headers"]
    >>> choose_lines(code, {"health": 2.0, "header": 1.5})
    [1]
    """
    lines = lines[:MAX_LINES]
    names = [find_name(function, lines) - 1 for function in functions]
    searched = np.full(len(lines), not functions)
    for function in functions:
        searched[function.start - 1 : function.end] = True
    searched[names] = True
    framed = [line for line in framed if 1 <= line <= len(lines)]
    searched[[line - 1 for line in framed]] = True
    choice = _LineChoice(lines, terms, names, number, searched)
    for line in framed:
        if _WORD.search(lines[line - 1]):
            choice.add(line - 1)
    if not functions:
        choice.add_best(0, len(lines), number, MIN_GAIN_OF_LINE)
        return sorted(choice.places)
    for rank, function in enumerate(functions):
        start = function.start - 1
        choice.add_best(start, function.end, 1 if rank else number, MIN_GAIN_IN_FUNCTION)
        if not rank and not any(start <= place < function.end for place in choice.places):
            choice.add(names[0])
    return sorted(choice.places)


class _LineChoice:
    """Lines of a file, up to a number, that are chosen one after the other."""

    def __init__(
        self,
        lines: Sequence[str],
        terms: Mapping[str, float],
        names: Sequence[int],
        number: int,
        searched: BoolArray,
    ) -> None:
        """Start without lines.

        ``names`` are the positions of lines with names of functions, and ``searched`` (L,) says
        which lines may be added.
        """
        self.places: list[int] = []
        """Positions of the chosen lines."""
        self._number = number
        self._contained = np.zeros((len(lines), len(terms)), dtype=np.bool_)
        searched_lines = [lines[place] for place in np.flatnonzero(searched).tolist()]
        self._contained[searched] = contained_terms(searched_lines, terms)
        self._worth = self._contained * np.array([*terms.values()])
        """(L, T) what each term is worth in each line."""
        matches: BoolArray = np.any(self._contained, axis=1)
        says_nothing = matches & are_prose(lines, matches)
        if says_nothing.any() and (
            (matches & ~says_nothing).any() or _is_any_code(lines, contained_terms(lines, terms))
        ):
            self._worth[says_nothing] = 0.0
        self._worth[names] *= IN_NAME
        self._is_free = np.ones(len(lines), dtype=np.bool_)
        """(L,) whether no chosen line is near."""

    def add(self, place: int) -> None:
        """Add a line, unless there are enough lines or the line was added before."""
        if len(self.places) < self._number and place not in self.places:
            self.places.append(place)
            self._is_free[max(place - MIN_DISTANCE, 0) : place + MIN_DISTANCE + 1] = False
            self._worth[:, self._contained[place]] *= REPEATED_WORD

    def add_best(self, start: int, end: int, number: int, min_gain: float) -> None:
        """Add lines until ``number`` lines of a range are chosen, rarest words first.

        Lines that are worth less than ``min_gain`` times the first added line are left out.
        """
        most = 0.0
        for _ in range(number - sum(start <= place < end for place in self.places)):
            worth = self._worth[start:end].sum(axis=1) * self._is_free[start:end]
            worth = worth.round(9)  # of equal lines the first wins
            if not worth.any() or worth.max() < min_gain * most:
                break
            most = most or float(worth.max())
            self.add(start + int(worth.argmax()))


def are_prose(lines: Sequence[str], wanted: BoolArray | None = None) -> BoolArray:
    """Return (L,) whether each line is a comment, documentation in quotes, or an import.

    ``wanted`` (L,) are the lines to decide on; others may be False anyway. None means all lines.

    >>> are_prose(["import os", "def f():", "    # see g", "    return g()"]).tolist()
    [True, False, True, False]
    """
    result = np.zeros(len(lines), dtype=np.bool_)
    for first, last in _find_blocks(lines):
        result[first : last + 1] = True
    others = ~result if wanted is None else wanted & ~result
    for position in np.flatnonzero(others).tolist():
        line = lines[position]
        result[position] = is_comment("".join(line.split())) or bool(IMPORT.match(line))
    return result


def _find_blocks(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the positions of the first and the last line of each block of prose.

    A block is a comment or documentation that begins on a line of its own.
    """
    text = "\n".join(lines)
    line_start = 0
    position = 0
    while mark := _BLOCK.search(text, line_start):
        position += text.count("\n", line_start, mark.start())
        line_start = max(line_start, text.rfind("\n", line_start, mark.start()) + 1)
        end = mark.end()
        if _BEFORE_BLOCK.fullmatch(text, line_start, mark.start()):
            end = text.find(_BLOCK_ENDS[mark[0]], end)
            end = len(text) if end < 0 else end
            last = position + text.count("\n", mark.end(), end)
            yield position, last
            position = last
        line_start = text.find("\n", end) + 1
        position += 1
        if not line_start:
            return


def _is_any_code(lines: Sequence[str], contained: BoolArray) -> bool:
    """Return whether any line of code contains a term; ``contained`` (L, T) says which ones do."""
    matches: BoolArray = np.any(contained, axis=1)
    return bool((matches & ~are_prose(lines, matches)).any())


def choose_body(
    lines: Sequence[str],
    terms: Mapping[str, float],
    function: Function,
    framed: Sequence[int] = (),
    length: int = BODY_LINES,
) -> list[int]:
    """Return the positions of up to ``length`` lines of a function; comment blocks are left out.

    They are the function's first lines. If the best matching line of a longer function is further
    down, they are the lines around that line. ``choose_lines`` explains the arguments.

    >>> choose_body(["x = 1", "", "def f():", "    return x"], {}, Function("f", 3, 4, 1.0))
    [2, 3]
    """
    start = function.start - 1
    end = min(function.end, len(lines))
    within = [line for line in framed if start < line <= end]
    [place] = choose_lines(lines, terms, [function], within, number=1)
    says_nothing = are_prose(lines[start:end])
    in_block = np.zeros(end - start, dtype=np.bool_)
    in_block[1:] = says_nothing[1:] & says_nothing[:-1]
    in_block[:-1] |= in_block[1:]
    body = [start + offset for offset in np.flatnonzero(~in_block).tolist()]
    before = bisect_left(body, place)
    first = 0
    if before >= length:
        first = min(before - length // 2, len(body) - length)
    shown = body[first : first + length]
    while shown and not lines[shown[-1]].strip():
        shown.pop()
    return shown
