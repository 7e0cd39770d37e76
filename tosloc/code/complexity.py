"""Cyclomatic complexity of one source text by lizard, as the paper has it; by counting keywords where lizard cannot.

Nothing else imports lizard, and nothing imports this before lizard's numbers are asked for.
"""

from __future__ import annotations

import re
import time
from typing import Final

import lizard

MAX_WASTE: Final = 20_000_000
"""Characters that lizard may read in search of the ends of strings and comments that have none."""
MAX_DEPTH: Final = 200
"""Brackets inside each other. Some of lizard's readers call themselves for each: time by the square of the depth."""
MAX_SECONDS: Final = 60.0  # a text that lizard has not finished in this much processor time is counted by keywords
_TOKENS_BETWEEN_CHECKS: Final = 4096

_PAIRS: Final = (("/*", "*/"), ('R"(', ')"'))  # what begins and what ends a comment or string that may go over lines
_BRACKETS: Final = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}
_WITH_REGEX: Final = frozenset({".js", ".jsx", ".ts", ".tsx", ".vue", ".rb"})
"""Languages with literal regular expressions, where an open bracket is looked for to the end of its line."""
_PHP = re.compile(r"<\?(?:(?!\?>).)*+", re.S)
_BRANCH = re.compile(r"\b(?:if|for|while|case|catch|elif|except|when|elsif|foreach|unless|and|or)\b|&&|\|\||\?")
_FUNCTION = re.compile(r"\b(?:def|func|function|fun|fn|sub)\b|\)\s*\{")
_WILDCARDS = re.compile(r"<(?=[^<>?]*+\?)([\w\s,.?]*+)([^<>]*+)")


def keyword_complexity(text: str) -> int:
    """Complexity by counting keywords."""
    return len(_FUNCTION.findall(text)) + len(_BRANCH.findall(text))


def lizard_complexity(text: str, suffix: str) -> int:
    """Sum of the cyclomatic complexity numbers of the functions of a file named ``*<suffix>`` (with its dot).

    A suffix that lizard does not know is read as C-like, as lizard does; "" counts keywords. Never raises.
    """
    if not suffix or _waste(text, suffix) > MAX_WASTE:
        return keyword_complexity(text)
    try:
        return _counted(text, f"file{suffix}")
    except Exception:  # lizard fails in its own ways on broken sources; a broken file still gets its row
        return keyword_complexity(text)


def _waste(text: str, suffix: str) -> int:
    """About how many characters lizard's regular expressions would read in vain: again from every beginning that has
    no end. 0 or little for a program.
    """
    if suffix == ".php":
        return sum(_waste(block, "") for block in _PHP.findall(text))
    size = len(text)
    waste = 0
    for begin, end in _PAIRS:
        last = text.rfind(end) + 1
        waste += text.count(begin, last) * (size - last)
    for quote in "\"'":
        place, escaped = text.rfind(quote), 0
        while place > 0 and text[place - 1] == "\\":
            place, escaped = text.rfind(quote, 0, place), escaped + 1
        waste += escaped * (size - place)
    if suffix == ".py":
        waste += (text.count('\\"""') + text.count("\\'''")) * size
    if "?" in text and "<" in text:  # wildcards are told from comparisons by all that comes before the next < or >
        for types, rest in _WILDCARDS.findall(text):
            waste += (types + rest).count("?") * len(types + rest) << min(types.count("extends"), 60)
    if suffix in _WITH_REGEX and "/[" in text:
        for line in text.splitlines():
            last = line.rfind("]") + 1
            waste += line.count("/[", last) * (len(line) - last)
    return waste


class _Builder(lizard.FileInfoBuilder):  # type: ignore[misc]
    """lizard's record of a file, with short names: its own are those of all functions around, twice as long each."""

    def with_namespace(self, name: str) -> str:
        return f".{name}" if any(outer.name_in_space for outer in self.nesting_stack) else name


def _counted(text: str, name: str) -> int:
    """The sum of what ``lizard.analyze_file.analyze_source_code`` finds; but it stops in time, and errors come out."""
    context = _Builder(name)
    reader = (lizard.get_reader_for(name) or lizard.CLikeReader)(context)
    tokens = reader.generate_tokens(text)
    for processor in lizard.get_extensions([]):
        tokens = processor(tokens, reader)
    deadline = time.thread_time() + MAX_SECONDS
    depth = 0
    for number, token in enumerate(reader(tokens, reader)):
        if token in _BRACKETS:
            depth = max(depth + _BRACKETS[token], 0)
            if depth > MAX_DEPTH:
                raise RecursionError(name)
        if number % _TOKENS_BETWEEN_CHECKS == 0 and time.thread_time() > deadline:
            raise TimeoutError(name)
    return sum(function.cyclomatic_complexity for function in context.fileinfo.function_list)
