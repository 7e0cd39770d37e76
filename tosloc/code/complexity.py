"""Compute the cyclomatic complexity of a source text with lizard, as in the paper.

Keywords are counted in texts that lizard cannot analyse. No other module imports lizard, and this
module is imported only when lizard's numbers are needed.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from typing import Final

import lizard

MAX_SECONDS: Final = 30.0
"""Processor time for lizard, in seconds; after that, keywords are counted instead."""
MAX_STEPS: Final = 20_000_000
"""Largest number of steps of lizard's regular expression at one ``<``: nothing can interrupt it."""
_TOKENS_BETWEEN_CHECKS: Final = 64

_BRANCH = re.compile(
    r"\b(?:if|for|while|case|catch|elif|except|when|elsif|foreach|unless|and|or)\b|&&|\|\||\?"
)
_FUNCTION = re.compile(r"\b(?:def|func|function|fun|fn|sub)\b|\)\s*\{")
_WILDCARDS = re.compile(r"<([\w\s,.?]*+)[^<>]*+")


def keyword_complexity(text: str) -> int:
    """Return the number of keywords that begin a function or a branch."""
    return len(_FUNCTION.findall(text)) + len(_BRANCH.findall(text))


def lizard_complexity(text: str, suffix: str) -> int:
    """Return the sum of the cyclomatic complexities of the functions in a file with this suffix.

    The suffix includes its dot. If lizard does not know the suffix, or takes too long, return the
    number of keywords instead. No text raises an error.
    """
    language = lizard.get_reader_for(f"file{suffix}")
    if language is None or _wildcard_steps(text) > MAX_STEPS:
        return keyword_complexity(text)
    try:
        context = _Builder(f"file{suffix}")
        reader = language(context)
        tokens = _in_time(reader.generate_tokens(text))
        for processor in lizard.get_extensions([]):
            tokens = processor(tokens, reader)
        for _ in reader(tokens, reader):
            pass
    except Exception:  # lizard raises anything on broken sources
        return keyword_complexity(text)
    return sum(function.cyclomatic_complexity for function in context.fileinfo.function_list)


def _wildcard_steps(text: str) -> int:
    """Return the largest number of steps that lizard needs to recognize wildcards.

    Lizard's regular expression tries all texts before the next < or >, and each "extends" in two
    ways.
    """
    most = 0
    for match in _WILDCARDS.finditer(text):
        attempts = match[0].count("?") * len(match[0])
        doublings = min(match[1].count("extends"), 60)
        most = max(most, attempts << doublings)
    return most


class _Builder(lizard.FileInfoBuilder):  # type: ignore[misc]
    """Lizard's record of a file, with short names of functions.

    In lizard's own record, names repeat those of all enclosing functions, and double in length at
    each level.
    """

    def with_namespace(self, name: str) -> str:
        return f".{name}" if any(outer.name_in_space for outer in self.nesting_stack) else name


def _in_time(tokens: Iterable[str]) -> Iterator[str]:
    deadline = time.thread_time() + MAX_SECONDS
    for number, token in enumerate(tokens):
        if number % _TOKENS_BETWEEN_CHECKS == 0 and time.thread_time() > deadline:
            raise TimeoutError
        yield token
