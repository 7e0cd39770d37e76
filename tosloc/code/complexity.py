"""Cyclomatic complexity of one source text by lizard, as the paper has it; by counting keywords where lizard cannot.

Nothing else imports lizard, and nothing imports this before lizard's numbers are asked for.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from typing import Final

import lizard

MAX_SECONDS: Final = (
    30.0  # a text that lizard has not finished in this much processor time is counted by keywords
)
MAX_STEPS: Final = 20_000_000
"""Of one regular expression of lizard's over one ``<``, which nothing can stop."""
_TOKENS_BETWEEN_CHECKS: Final = 64

_BRANCH = re.compile(
    r"\b(?:if|for|while|case|catch|elif|except|when|elsif|foreach|unless|and|or)\b|&&|\|\||\?"
)
_FUNCTION = re.compile(r"\b(?:def|func|function|fun|fn|sub)\b|\)\s*\{")
_WILDCARDS = re.compile(r"<([\w\s,.?]*+)[^<>]*+")


def keyword_complexity(text: str) -> int:
    """Complexity by counting keywords."""
    return len(_FUNCTION.findall(text)) + len(_BRANCH.findall(text))


def lizard_complexity(text: str, suffix: str) -> int:
    """Sum of the cyclomatic complexity numbers of the functions of a file named ``*<suffix>`` (with its dot).

    With a suffix that lizard does not know keywords are counted. Never raises.
    """
    # wildcards are told from comparisons by all that comes before the next < or >, each "extends" in two ways
    steps = (
        one[0].count("?") * len(one[0]) << min(one[1].count("extends"), 60)
        for one in _WILDCARDS.finditer(text)
    )
    language = lizard.get_reader_for(f"file{suffix}")
    if language is None or max(steps, default=0) > MAX_STEPS:
        return keyword_complexity(text)
    try:
        context = _Builder(f"file{suffix}")
        reader = language(context)
        tokens = _in_time(reader.generate_tokens(text))
        for processor in lizard.get_extensions([]):
            tokens = processor(tokens, reader)
        for _ in reader(tokens, reader):
            pass
    except (
        Exception
    ):  # lizard fails in its own ways on broken sources; a broken file still gets its row
        return keyword_complexity(text)
    return sum(function.cyclomatic_complexity for function in context.fileinfo.function_list)


class _Builder(lizard.FileInfoBuilder):  # type: ignore[misc]
    """lizard's record of a file, with short names: its own are those of all functions around, twice as long each."""

    def with_namespace(self, name: str) -> str:
        return f".{name}" if any(outer.name_in_space for outer in self.nesting_stack) else name


def _in_time(tokens: Iterable[str]) -> Iterator[str]:
    deadline = time.thread_time() + MAX_SECONDS
    for number, token in enumerate(tokens):
        if number % _TOKENS_BETWEEN_CHECKS == 0 and time.thread_time() > deadline:
            raise TimeoutError
        yield token
