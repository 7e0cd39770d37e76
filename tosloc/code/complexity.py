"""Cyclomatic complexity of one source text by lizard, as the paper has it; by counting keywords where lizard cannot.

Nothing else imports lizard, and nothing imports this before lizard's numbers are asked for.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import Any, Final

import lizard

MAX_CHARACTERS: Final = 8_000_000
"""Longer texts are not given to lizard: they are generated, and one would hold up a whole index."""
MAX_WASTE: Final = 20_000_000
"""Characters that lizard may read in search of the ends of strings and comments that have none."""
MAX_DEPTH: Final = 200
"""Brackets inside each other. Some of lizard's readers call themselves for each: time by the square of the depth."""
MAX_SECONDS: Final = 60.0
"""A text that lizard has not finished in this much processor time is counted by keywords."""
_TOKENS_BETWEEN_CHECKS: Final = 4096

_PAIRS: Final = (("/*", "*/"), ('R"(', ')"'))
_MORE_PAIRS: Final[dict[str, tuple[tuple[str, str], ...]]] = {
    ".lua": (("[[", "]]"), ("[=", "]")),
    ".rb": (("%", ")"), ("%", "]"), ("%", "}"), ("%", ">"), ('"#{', '"')),
    ".st": (("/*", "*///"),),  # lizard joins the first two of its patterns there
    ".vue": (("<", ">"),),
}
"""What begins and what ends a comment or string that may go over lines: of every language, and of those by suffix."""
_BRACKETS: Final = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}
_WITH_REGEX: Final = frozenset({".js", ".jsx", ".ts", ".tsx", ".vue", ".rb"})
"""Languages with literal regular expressions, where an open bracket is looked for to the end of its line."""
_PHP = re.compile(r"<\?(?:(?!\?>).)*+", re.S)
_BRANCH = re.compile(r"\b(?:if|for|while|case|catch|elif|except|when|elsif|foreach|unless|and|or)\b|&&|\|\||\?")
_FUNCTION = re.compile(r"\b(?:def|func|function|fun|fn|sub)\b|\)\s*\{")
_WILDCARDS = re.compile(r"<(?=[^<>?]*+\?)([\w\s,.?]*+)([^<>]*+)")


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


def lizard_complexity(text: str, suffix: str) -> Complexity:
    """Complexity of ``text``, which a file named ``*<suffix>`` holds (``suffix`` with its dot, such as ".java").

    A suffix that lizard does not know is read as C-like, as lizard does; "" counts keywords. Never raises.
    """
    if not suffix or len(text) > MAX_CHARACTERS or _waste(text, suffix) > MAX_WASTE:
        return keyword_complexity(text)
    try:
        functions = _functions(text, f"file{suffix}")
    except Exception:  # lizard fails in its own ways on broken sources; a broken file still gets its row
        return keyword_complexity(text)
    return Complexity(sum(function.cyclomatic_complexity for function in functions), len(functions), True)


def _waste(text: str, suffix: str) -> int:
    """About how many characters lizard's regular expressions would read in vain: again from every beginning that has
    no end. 0 or little for a program."""
    if suffix == ".php":
        return sum(_waste(block, "") for block in _PHP.findall(text))
    size = len(text)
    waste = 0
    for begin, end in (*_PAIRS, *_MORE_PAIRS.get(suffix, ())):
        last = text.rfind(end) + 1
        waste += text.count(begin, last) * (size - last)
    for quote in "\"'":
        place, escaped = text.rfind(quote), 0
        while place > 0 and text[place - 1] == "\\":
            place, escaped = text.rfind(quote, 0, place), escaped + 1
        waste += escaped * (size - place)
    if suffix == ".py":
        waste += (text.count('\\"""') + text.count("\\'''")) * size
    if suffix == ".swift":
        waste += sum(len(marks) ** 2 for marks in re.findall("#{99,}", text))
    if "?" in text and "<" in text:  # wildcards are told from comparisons by all that comes before the next < or >
        for types, rest in _WILDCARDS.findall(text):
            waste += (types + rest).count("?") * len(types + rest) << min(types.count("extends"), 60)
    if suffix in _WITH_REGEX and "/[" in text:
        for line in text.splitlines():
            last = line.rfind("]") + 1
            waste += line.count("/[", last) * (len(line) - last)
    return waste


class _Function(lizard.FunctionInfo):  # type: ignore[misc]
    """A function whose names do not grow: readers look at their ends alone, and none of them is wanted here."""

    full_parameters = property(lambda _: [""], lambda _, __: None)

    def add_to_function_name(self, app: str) -> None:
        self.name = self.long_name = f":{app}"

    def add_to_long_name(self, app: str) -> None:
        self.long_name = app

    def add_parameter(self, token: str) -> None:
        self.long_name = token


class _Nesting(lizard.NestingStack):  # type: ignore[misc]
    """lizard's stack of namespaces and functions; lizard's own joins all their names for every new one.

    A name is a function's outer names and its own, so its length doubles with each ``def`` inside another.
    """

    def __init__(self) -> None:
        super().__init__()
        self._functions: list[lizard.FunctionInfo] = []
        self._named = 0

    def with_namespace(self, name: str) -> str:
        return f".{name}" if self._named else name

    def add_namespace(self, token: str) -> None:
        super().add_namespace(token)
        self._named += bool(token)

    def _create_nesting(self) -> lizard.Nesting:
        made = super()._create_nesting()
        if isinstance(made, lizard.FunctionInfo):
            self._functions.append(made)
            self._named += 1
        return made

    def pop_nesting(self) -> lizard.Nesting | None:
        ended = super().pop_nesting()
        if isinstance(ended, lizard.FunctionInfo):
            self._functions.pop()
            self._named -= 1
        elif isinstance(ended, lizard.Namespace):
            self._named -= bool(ended.name)
        return ended

    @property
    def last_function(self) -> lizard.FunctionInfo | None:
        return self._functions[-1] if self._functions else None


class _Builder(lizard.FileInfoBuilder):  # type: ignore[misc]
    """lizard's record of a file, in time that grows with the file's length alone."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.decorate_nesting_stack(lambda _: _Nesting())

    def try_new_function(self, name: str) -> None:
        self.current_function = _Function(self.with_namespace(name), self.fileinfo.filename, self.current_line)
        self.current_function.top_nesting_level = self.current_nesting_level


def _functions(text: str, name: str) -> list[Any]:
    """What ``lizard.analyze_file.analyze_source_code`` finds; but it stops in time, and errors come out."""
    context = _Builder(name)
    reader = (lizard.get_reader_for(name) or lizard.CLikeReader)(context)
    tokens = reader.generate_tokens(text)
    for processor in lizard.get_extensions([]):
        if processor is not lizard.token_counter:  # complexity does not depend on it
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
    functions: list[Any] = context.fileinfo.function_list
    return functions
