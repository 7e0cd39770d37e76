"""Read stack frames of Java, Kotlin, Scala and Groovy, in traces and in debuggers."""

from __future__ import annotations

import re
from typing import Final

from tosloc.core.patterns import lazy_pattern
from tosloc.reports.traces.frame import Frame

_SOURCE: Final = r"""(?:Native\s+Method|Unknown\s+Source|(?:Inlined\s+)?Compiled\s+Code
    |<generated>|<eval>
    # a blank may stand anywhere: mail programs broke long lines, and the breaks became blanks
    |(?P<ja_file>(?:[\w$.\-]\s?){1,200}\.\s?(?:j\s?a\s?v\s?a|k\s?t\s?s?|s\s?c\s?a\s?l\s?a|groovy|clj|aj|j\s?s\s?p\s?x?|tag))
     (?:\s*:\s*(?P<ja_line>-?(?:\d\s?){1,9}))?)"""
JAVA: Final = rf"""
    [Aa]t \s+ (?=[^\s()]{{1,400}}\.) (?P<ja_where>[^\s()]{{1,400}}) \s?
    \( \s* {_SOURCE} \s* \)
    (?: \s* ~? \[ [^\]\s]{{1,100}} \] )?"""
DEBUGGER: Final = r"""
    (?<![\w$.]) (?=[\w$.]++[(<>])  # Most words are left here.
    (?P<db_runtime>[\w$.]{1,200}) (?: \( (?P<db_declaring>[\w$.]{1,200}) \) )?
    \. (?P<db_method>[\w$<>]{1,100}) \( [^()\n]{0,200} \) \s+ line: \s* (?P<db_line>\d{1,9})
    (?: \s* \[ [^\]\n]{0,40} \] )?"""
_HIDDEN_CLASS: Final = lazy_pattern(r"/(?:0x)?[0-9a-f]+$")
"""The number of a hidden class after its name: "a.B$$Lambda/0x0012"."""

_CLASS: Final = r"(?<![\w$./@])(?:[a-z_][\w$]{0,100}\.){1,20}[A-Z][\w$]{0,200}"
_LEVEL: Final = (
    "(?:SEVERE|WARNING|WARN|INFO|INFORMATION|ERROR|FATAL|DEBUG|TRACE|CONFIG|FINE|FINER|FINEST"
    "|SCHWERWIEGEND|WARNUNG|GRAVE)"
)
_HEADER: Final = lazy_pattern(
    rf"(?:\d{{1,2}}:\d{{2}}:\d{{2}}(?:[.,]\d{{1,6}})?(?:\s?[AaPp]\.?[Mm]\b\.?)?(?:\s[A-Z]{{3,4}}(?=\s))?|\b{_LEVEL}\b:?)"
    rf"(?:\s+(?:{_LEVEL}\b:?|\[[^\]\n]{{0,100}}\]|\([^)\n]{{0,100}}\)|-)){{0,8}}"
    rf"\s+\[?(?P<timed>{_CLASS})"
    rf"|(?P<levelled>{_CLASS})\s+[\w$<>]{{1,100}}\s+{_LEVEL}\b"
)
_THROWN: Final = lazy_pattern(
    rf"(?P<thrown>{_CLASS}(?:Exception|Error|Throwable|Failure)(?![\w$]))(?=\s*(?::|$|at\s|\n))"
)


def read_java(match: re.Match[str]) -> Frame:
    """Return the frame for a match of ``JAVA``."""
    qualified_class, _, method = match["ja_where"].rpartition(".")
    # "java.base/" or "app//" before the class are module and loader.
    qualified_class = _HIDDEN_CLASS.sub("", qualified_class).rpartition("/")[2]
    file = "".join((match["ja_file"] or "").split())
    line = "".join((match["ja_line"] or "0").split())
    return _frame(match, qualified_class, method, file, max(int(line), 0))


def read_debugger(match: re.Match[str]) -> Frame:
    """Return the frame for a match of ``DEBUGGER``."""
    qualified_class = match["db_declaring"] or match["db_runtime"]
    return _frame(match, qualified_class, match["db_method"], "", int(match["db_line"]))


def find_classes(text: str) -> list[tuple[int, str]]:
    """Return offset and qualified name of the classes in log headers and thrown exceptions.

    A class is in a header if it follows a time or a level, or precedes a method and a level.
    Exceptions count if they precede a message or a frame.
    """
    classes = []
    for match in (*_HEADER.finditer(text), *_THROWN.finditer(text)):
        name = match.lastgroup or ""
        classes.append((match.start(name), _outermost_class(match[name])))
    return classes


def _frame(match: re.Match[str], name: str, method: str, file: str, line: int) -> Frame:
    """Return a frame in a class; if ``file`` is empty, it is guessed from the class."""
    outermost = _outermost_class(name)
    simple = outermost.rpartition(".")[2]
    if not file and simple and not simple.startswith("$"):
        file = f"{simple}.java"
    return Frame(match.start(), match.end(), line, method, type=outermost, file=file)


def _outermost_class(name: str) -> str:
    """Return a qualified name without inner classes, but with a leading ``$``, as in proxies."""
    package, dot, simple = name.rpartition(".")
    head = simple[:1] + simple[1:].partition("$")[0]
    return f"{package}{dot}{head}"
