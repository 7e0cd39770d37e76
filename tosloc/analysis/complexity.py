"""Cyclomatic complexity of one source text by keywords, where lizard does not answer.

T. J. McCabe, A Complexity Measure, IEEE Transactions on Software Engineering SE-2(4), 1976: a function's is one more
than the decisions in its course.
"""

from __future__ import annotations

import re
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
    """False if keywords were counted, for want of lizard's answer."""


def keyword_complexity(text: str) -> Complexity:
    """Complexity by counting keywords, marked as not ``counted``."""
    functions = len(_FUNCTION.findall(text))
    return Complexity(functions + len(_BRANCH.findall(text)), functions, False)
