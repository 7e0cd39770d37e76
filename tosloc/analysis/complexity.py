"""Cyclomatic complexity of one source text: lizard's numbers, counted with only the processors that they need."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import lizard

LIZARD: Final = f"lizard{lizard.version}"
"""lizard's release, part of every store key: its numbers change between releases."""

MAX_CHARACTERS: Final = 8_000_000
"""Longer texts are not given to lizard: they are generated, and one would hold up a whole index."""
MAX_SECONDS: Final = 60.0
"""A text that lizard has not finished in this much processor time is counted by keywords."""

_BRANCH = re.compile(r"\b(?:if|for|while|case|catch|elif|except|when|elsif|foreach|unless|and|or)\b|&&|\|\||\?")
_FUNCTION = re.compile(r"\b(?:def|func|function|fun|fn|sub)\b|\)\s*\{")
_C_READERS: Final = frozenset(("JavaReader", "CLikeReader"))
_NESTING_WAKES: Final = frozenset(("template", ".", "struct", "class", "namespace", "union", "{", "}"))
"""Tokens at which lizard's nesting states leave their resting state or act in it; they pass over all others."""


@dataclass(frozen=True, slots=True)
class Complexity:
    """Complexity of one file."""

    total: int
    """Sum of the cyclomatic complexity numbers of its functions."""
    functions: int
    counted: bool
    """False if lizard failed or took too long and keywords were counted instead."""


def complexity(text: str, suffix: str) -> Complexity:
    """Complexity of ``text``, which a file named ``*<suffix>`` holds (``suffix`` with its dot, such as ".java").

    A suffix that lizard does not know is read as C-like, as lizard does; "" counts keywords. Never raises.
    """
    if not suffix or len(text) > MAX_CHARACTERS:
        return estimate(text)
    try:
        functions = _functions(text, f"file{suffix}")
    except Exception:  # lizard fails in its own ways on broken sources; a broken file still gets its row
        return estimate(text)
    return Complexity(sum(function.cyclomatic_complexity for function in functions), len(functions), True)


def _functions(text: str, name: str) -> list[Any]:
    """lizard's function list: ``FileAnalyzer.analyze_source_code``, without what only other metrics need."""
    context = lizard.FileInfoBuilder(name)
    reader = (lizard.get_reader_for(name) or lizard.CLikeReader)(context)
    tokens = reader.generate_tokens(text)
    deadline = time.thread_time() + MAX_SECONDS
    if type(reader).__name__ in _C_READERS:
        states = reader.parallel_states
        first, nesting, rest = states[0], states[1], tuple(states[2:])
        asleep = nesting._state_global
        awake = False
        for place, token in enumerate(_c_tokens(tokens, reader)):
            first(token)
            if awake or token in _NESTING_WAKES:
                nesting(token)
                awake = nesting._state != asleep
            for state in rest:
                state(token)
            if not place & 0xFFF and time.thread_time() > deadline:
                raise TimeoutError(name)
        for state in states:
            state.statemachine_before_return()
        reader.eof()
    else:
        for processor in lizard.get_extensions([]):
            tokens = processor(tokens, reader)
        for place, _ in enumerate(reader(tokens, reader)):
            if not place & 0xFFF and time.thread_time() > deadline:
                raise TimeoutError(name)
    functions: list[Any] = context.fileinfo.function_list
    return functions


def _c_tokens(tokens: Iterator[str], reader: Any) -> Iterator[str]:
    """lizard's preprocessing, comment, line and condition counters for C-like languages in one pass.

    Lines and tokens are not counted; everything that reaches the state machines is the same, token for token.
    """
    context, conditions = reader.context, reader.conditions
    tilde = False
    for token in tokens:
        first = token[0]
        if tilde:
            tilde = False
            token = "~" + token
        elif first.isspace():
            continue
        elif first == "/":
            if token.startswith(("/*", "//")):
                if _comment_ends_file(token[2:], context):
                    return
                continue
        elif first == "~":
            tilde = True
            continue
        elif first == "#" and (macro := reader.macro_pattern.match(token)):
            if macro.group(1) in ("if", "ifdef", "elif"):
                context.add_condition()
            elif macro.group(1) == "include":
                yield "#include"
                target = macro.group(2) or '""'
                if not target.startswith(("/*", "//")):
                    yield target
                elif _comment_ends_file(target[2:], context):
                    return
            continue
        if token in conditions:
            context.add_condition()
        yield token


def _comment_ends_file(comment: str, context: Any) -> bool:
    """Obey lizard's marks in a comment; True if it declares the rest of the file generated."""
    if "#lizard forgive" in comment:
        stripped = comment.strip()
        if stripped.startswith("#lizard forgive global"):
            context.forgive_global = True
        elif stripped.startswith("#lizard forgive") and not stripped.startswith("#lizard forgives("):
            context.forgive = True
    return "GENERATED CODE" in comment


def estimate(text: str) -> Complexity:
    """Complexity by counting keywords, marked as not ``counted``."""
    functions = sum(1 for _ in _FUNCTION.finditer(text))
    return Complexity(functions + sum(1 for _ in _BRANCH.finditer(text)), functions, False)
