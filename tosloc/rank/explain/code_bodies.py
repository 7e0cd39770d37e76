"""Cut out the code of a file that matches a report best: functions, then excerpts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from tosloc.core.answers import Function
from tosloc.core.arrays import FloatArray
from tosloc.rank.explain.excerpts import LINES, choose_excerpts, weigh_by_place
from tosloc.rank.explain.matching_terms import MAX_LINES, contained_terms

FADING: Final = 0.8
"""Factor of a line's worth for each line of distance, in ``weigh_lines``."""
MAX_BODIES: Final = 2
"""Largest number of a file's functions whose bodies are cut out."""


def weigh_lines(
    lines: Sequence[str], terms: Mapping[str, float], pointed: Sequence[int] = ()
) -> FloatArray:
    """Return (L,) how well each line, with the lines near it, matches a report.

    ``terms`` are the report's terms with their weights. ``pointed`` are the lines, from 1, that
    frames and messages mean; these are worth most. A line adds its worth to lines near it, a fifth
    less with each line of distance.

    >>> weigh_lines(["a", "b", "return cookie"], {"cooki": 1.0}).round(2).tolist()
    [0.64, 0.8, 1.0]
    """
    worth: FloatArray = np.zeros(len(lines))
    head = lines[:MAX_LINES]
    contained = contained_terms(head, terms)
    gains = np.array([*terms.values()])
    worth[: len(head)] = (contained * weigh_by_place(head, contained, (), ())) @ gains
    most = max(float(worth.max(initial=0.0)), 1.0)
    for line in pointed:
        if 1 <= line <= len(lines):
            worth[line - 1] += most
    distances = np.abs(np.arange(-LINES, LINES + 1))
    summed: FloatArray = np.convolve(worth, FADING**distances)
    return summed[LINES : LINES + len(lines)]


class CodeBody(NamedTuple):
    """Code of a file that matches the report well."""

    function: str
    """Name of the function with this body; "" for lines outside the other bodies."""
    lines: list[tuple[int, str]]
    """Numbers and texts of the lines, without blank lines."""
    weights: list[float]
    """How well each line, with the lines near it, matches the report."""


def cut_bodies(
    lines: Sequence[str],
    terms: Mapping[str, float],
    functions: Sequence[Function],
    pointed: Sequence[int] = (),
) -> list[CodeBody]:
    """Return the code of a file that matches a report best, the best code first.

    It consists of the bodies of up to ``MAX_BODIES`` of the ``functions`` that do not overlap,
    followed by excerpts of the other lines. The first line of a function weighs most, because it
    contains the name. ``weigh_lines`` explains the other arguments.
    """
    if not lines:
        return []
    weights = weigh_lines(lines, terms, pointed)
    bodies: list[CodeBody] = []
    free = set(range(len(lines)))
    for function in functions:
        places = range(function.start - 1, min(function.end, len(lines)))
        if len(bodies) == MAX_BODIES or not places or not free.issuperset(places):
            continue
        free.difference_update(places)
        bodies.append(_body(function.name, places, lines, weights))
        bodies[-1].weights[0] = math.inf
    others: list[int] = []
    for excerpt in choose_excerpts(lines, terms, functions, pointed):
        others += [place for place in excerpt if place in free]
    if others:
        bodies.append(_body("", others, lines, weights))
    return bodies


def _body(
    function: str, places: Sequence[int], lines: Sequence[str], weights: FloatArray
) -> CodeBody:
    """Return the lines of a file at some positions, from 0."""
    written = [place for place in places if lines[place].strip()]
    numbered = [(place + 1, lines[place]) for place in written]
    return CodeBody(function, numbered, weights[written].tolist())
