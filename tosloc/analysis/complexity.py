"""Cyclomatic complexity of one source text by lizard, or by counting keywords where lizard cannot."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import Any, Final

import lizard

LIZARD: Final = f"lizard{lizard.version}"
"""lizard's release, part of every store key: its numbers change between releases."""

MAX_CHARACTERS: Final = 8_000_000
"""Longer texts are not given to lizard: they are generated, and one would hold up a whole index."""
MAX_SECONDS: Final = 60.0
"""A text that lizard has not finished in this much processor time is counted by keywords."""
_TOKENS_BETWEEN_CHECKS: Final = 4096

_BRANCH = re.compile(r"\b(?:if|for|while|case|catch|elif|except|when|elsif|foreach|unless|and|or)\b|&&|\|\||\?")
_FUNCTION = re.compile(r"\b(?:def|func|function|fun|fn|sub)\b|\)\s*\{")


@dataclass(frozen=True, slots=True)
class Complexity:
    """Complexity of one file."""

    total: int
    """Sum of the cyclomatic complexity numbers of its functions."""
    functions: int
    counted: bool
    """False if lizard failed or took too long and keywords were counted instead."""


def complexity_of(text: str, suffix: str) -> Complexity:
    """Complexity of ``text``, which a file named ``*<suffix>`` holds (``suffix`` with its dot, such as ".java").

    A suffix that lizard does not know is read as C-like, as lizard does; "" counts keywords. Never raises.
    """
    if not suffix or len(text) > MAX_CHARACTERS:
        return keyword_complexity(text)
    try:
        functions = _functions(text, f"file{suffix}")
    except Exception:  # lizard fails in its own ways on broken sources; a broken file still gets its row
        return keyword_complexity(text)
    return Complexity(sum(function.cyclomatic_complexity for function in functions), len(functions), True)


def keyword_complexity(text: str) -> Complexity:
    """Complexity by counting keywords, marked as not ``counted``."""
    functions = len(_FUNCTION.findall(text))
    return Complexity(functions + len(_BRANCH.findall(text)), functions, False)


def _functions(text: str, name: str) -> list[Any]:
    """What ``lizard.analyze_file.analyze_source_code`` finds; but it stops in time, and errors come out."""
    context = lizard.FileInfoBuilder(name)
    reader = (lizard.get_reader_for(name) or lizard.CLikeReader)(context)
    tokens = reader.generate_tokens(text)
    for processor in lizard.get_extensions([]):
        if processor is not lizard.token_counter:  # complexity does not depend on it
            tokens = processor(tokens, reader)
    deadline = time.thread_time() + MAX_SECONDS
    for number, _ in enumerate(reader(tokens, reader)):
        if number % _TOKENS_BETWEEN_CHECKS == 0 and time.thread_time() > deadline:
            raise TimeoutError(name)
    functions: list[Any] = context.fileinfo.function_list
    return functions
