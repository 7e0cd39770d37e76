"""Cyclomatic complexity of one source text: the decisions of its functions, from its syntax tree or by keywords.

T. J. McCabe, A Complexity Measure, IEEE Transactions on Software Engineering SE-2(4), 1976: a function's is one more
than the decisions in its course.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

_BRANCH = re.compile(r"\b(?:if|for|while|case|catch|elif|except|when|elsif|foreach|unless|and|or)\b|&&|\|\||\?")
_FUNCTION = re.compile(r"\b(?:def|func|function|fun|fn|sub)\b|\)\s*\{")


@dataclass(frozen=True, slots=True)
class Complexity:
    """Complexity of one file."""

    total: int
    """Sum of the cyclomatic complexity numbers of its functions."""
    functions: int
    counted: bool
    """False if keywords were counted, for want of a syntax tree (or of lizard's answer)."""


def tree_complexity(functions: Sequence[tuple[int, int]], branches: Sequence[int]) -> Complexity:
    """Complexity of a file from where its functions begin and end, and where it branches; a place for each decision.

    A decision counts once, however many functions stand around it, and not at all outside of any.

    >>> tree_complexity([(10, 50), (20, 30), (60, 70)], [5, 25, 40])
    Complexity(total=5, functions=3, counted=True)
    """
    places = sorted(branches)
    inside = end = 0
    for first, last in sorted(functions):
        if last > end:
            inside += bisect_left(places, last) - bisect_left(places, max(first, end))
            end = last
    return Complexity(len(functions) + inside, len(functions), True)


def keyword_complexity(text: str) -> Complexity:
    """Complexity by counting keywords, marked as not ``counted``."""
    functions = len(_FUNCTION.findall(text))
    return Complexity(functions + len(_BRANCH.findall(text)), functions, False)
