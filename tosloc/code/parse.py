"""Compute the outline of a source text: from its syntax tree by a query, or by a lexer.

Another process makes the trees, within limits on memory and time (``tosloc.code.trees``). That
process starts with the first text that is parsed, and parses all later texts. Texts of languages
without a grammar are read by a lexer, which consists of regular expressions.
"""

from __future__ import annotations

import atexit
import os
import pickle
import re
import signal
import subprocess
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Final, NamedTuple, TypeAlias

from tosloc.code.languages import Language
from tosloc.core.processes import start_python

MAX_PARSED_BYTES: Final = 2_000_000
"""Largest text that is parsed, in bytes; a tree takes up to 240 times as much memory.

Of 35,000 source files of eleven projects five are larger, none of them written by hand.
"""
_TRIES: Final = 3
_OUT_OF_TIME: Final = -signal.SIGPROF
_OUT_OF_MEMORY: Final = frozenset({-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS})
"""Exit codes of a parser that ran out of memory, because libraries use memory they did not get."""

Captures: TypeAlias = Mapping[str, list[tuple[int, int, str]]]
"""Name of a query's capture -> start, end and name of each captured node, in bytes of the text.
Only definitions have a name."""


def capture_nodes(source: bytes, language: Language, wanted: tuple[str, ...]) -> Captures | None:
    """Return the nodes that the language's query captures as one of ``wanted``.

    Return None if there is no tree: the text is too large or no program, or parsing it needs too
    much memory or time. Raise BrokenProcessPool if something else kills the parser repeatedly.
    """
    if len(source) > MAX_PARSED_BYTES:
        return None
    return _PARSER.captures(source, language.grammar, wanted)


class _Parser:
    """The process that makes syntax trees for this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._is_registered = False
        self._owner = 0  # a process that is forked from this one needs a parser of its own

    def captures(self, source: bytes, grammar: str, wanted: tuple[str, ...]) -> Captures | None:
        """Return the captures that ``trees.find_captures`` finds in the parser process.

        Return None if the text takes too much memory or time. A process that has already parsed
        other texts has less memory left. If such a process fails, a new one tries again, so that
        the result depends on the text alone.
        """
        request = pickle.dumps((source, grammar, wanted))
        with self._lock:
            for _ in range(_TRIES):
                is_new = self._process is None or self._owner != os.getpid()
                if is_new:
                    self._start()
                try:
                    return self._answer(request)
                except EOFError:
                    code = self._close()
                if code == _OUT_OF_TIME or (is_new and code in _OUT_OF_MEMORY):
                    return None
        from concurrent.futures.process import BrokenProcessPool  # few processes need it

        raise BrokenProcessPool("the process that parses source files is killed at every file")

    def close(self) -> None:
        """End the process; the next text starts a new process."""
        with self._lock:
            if self._owner == os.getpid():
                self._close()

    def _start(self) -> None:
        self._process = start_python(
            "tosloc.code.trees", "answer_requests", stderr=subprocess.DEVNULL
        )
        self._owner = os.getpid()
        if not self._is_registered:
            atexit.register(self.close)
            self._is_registered = True

    def _answer(self, request: bytes) -> Captures | None:
        """Return the process's answer to a request. Raise EOFError if the process ends instead."""
        assert self._process is not None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(request)
            self._process.stdin.flush()
            answer = pickle.load(self._process.stdout)
        except (EOFError, BrokenPipeError, pickle.UnpicklingError):
            raise EOFError from None
        except BaseException:
            self._close()  # its answer would be taken for that to the next request
            raise
        if isinstance(answer, Exception):
            raise answer
        return answer  # type: ignore[no-any-return]

    def _close(self) -> int | None:
        """Kill the process unless it has ended. Return its exit code; None without a process."""
        process = self._process
        self._process = None
        if process is None:
            return None
        process.kill()
        with suppress(BrokenPipeError), process:
            pass
        return process.wait()


_PARSER: Final = _Parser()


class Span(NamedTuple):
    """A piece of a file that is not plain code, as byte offsets into its UTF-8 text."""

    start: int
    end: int
    kind: str
    """Kind in an outline: comment, string, or drop for imports, the package and licences."""


class Outline(NamedTuple):
    """The declared names of a file, and its comments and strings."""

    spans: list[Span]
    """Spans in ascending order, without overlaps; everything between them is code."""
    methods: list[str]
    types: list[str]
    fields: list[str]
    parsed: bool
    """False if the lexer was used instead of a parser."""


_STRINGS: Final = (
    rb"""(?P<string>\"{3}.*?(?:\"{3}|\Z)|`(?:\\.|[^`\\])*+(?:`|\\?\Z))|(?P<quote>["'])"""
)
_QUOTED: Final = {
    quote: re.compile(rb"%s(?:\\.|[^%s\\\n])*+(?P<closed>%s)?" % (quote, quote, quote), re.S)
    for quote in (b'"', b"'")
}
"""Quote -> pattern of a string on one line; without a closing quote it ends with the line."""
_IMPORT: Final = (
    rb"(?P<drop>(?m:^)[ \t]*(?:package[ \t]+[\w.]+|c?import[ \t]+[^\n;(]*;?|\#[ \t]*include[^\n]*"
    rb"|from[ \t]+[\w.]+[ \t]+c?import[^\n]*|using[ \t]++[\w.=<> ]++;|use[ \t]++[\w:\\][^\n;]*+;"
    rb"|local[ \t]+[\w, \t]{1,200}=[ \t]*require\b[^\n]*"
    rb"|(?:pub[ \t]+)?const[ \t]+\w{1,200}[ \t]*=[ \t]*@import\([^\n;]*;?"
    rb"|(?:alias|require|use)[ \t]+[A-Z][\w.]{0,200}[^\n]*))"
)


def _lexer(
    comment: bytes, *, strings: bytes = _STRINGS, imports: bytes = _IMPORT
) -> re.Pattern[bytes]:
    return re.compile(
        b"|".join(part for part in (b"(?P<comment>" + comment + b")", strings, imports) if part),
        re.S,
    )


_BLOCK: Final = rb"/\*.*?(?:\*/|\Z)"
STYLES: Final[dict[str, re.Pattern[bytes]]] = {
    "c": _lexer(_BLOCK + rb"|//[^\n]*"),
    "hash": _lexer(rb"\#[^\n]*|(?m:^)=(?:begin|pod|head)\b.*?(?:\n=(?:end|cut)\b|\Z)"),
    "dash": _lexer(rb"--\[\[.*?(?:\]\]|\Z)|--[^\n]*|\{-.*?(?:-\}|\Z)|" + _BLOCK),
    "semicolon": _lexer(rb";[^\n]*", strings=rb'(?P<string>"(?:\\.|[^"\\])*+(?:"|\\?\Z))'),
    "percent": _lexer(rb"%[^\n]*"),
    "bang": _lexer(rb"![^\n]*|(?m:^)[cC*][^\n]*"),
    "apostrophe": _lexer(rb"'[^\n]*", strings=rb'(?P<string>"[^"\n]*")'),
    "markup": _lexer(
        rb"<!--.*?(?:-->|\Z)|<%--.*?(?:--%>|\Z)",
        strings=rb"""(?P<string>"[^"<>\n]*"|'[^'<>\n]*')""",
        imports=b"",
    ),
    "hcl": _lexer(rb"\#[^\n]*|//[^\n]*|" + _BLOCK, imports=b""),
    "nix": _lexer(
        rb"\#[^\n]*|" + _BLOCK,
        strings=rb"""(?P<string>''.*?(?:''(?![$'\\])|\Z))|(?P<quote>")""",
        imports=b"",
    ),
    "style": _lexer(
        _BLOCK + rb"|(?<![:\w])//[^\n]*",
        imports=rb"(?P<drop>(?m:^)[ \t]*@(?:import|use|forward|charset)\b[^\n;]*;?)",
    ),
    "plain": re.compile(rb"(?!)"),
}

_NOT_METHODS: Final = frozenset(
    b"if for while switch catch return synchronized else do try new function func fun def when"
    b" match using lock foreach".split()
)
_TYPE_NAMES = re.compile(
    rb"\b(?:class|interface|enum|struct|trait|object|protocol|record|union|module|defmodule|type)"
    rb"[ \t]+([A-Za-z_]\w{0,200})"
)
_METHOD_NAMES = re.compile(
    rb"\b(?:def|func|function|fun|fn|sub|procedure|defn)[ \t]+(?:[\w.]{1,100}\.)?"
    rb"([A-Za-z_]\w{0,200})"
    rb"|\bcp?def[ \t]+(?!class\b)[\w.*&\[\], \t]{0,100}?([A-Za-z_]\w{0,200})[ \t]*\("
    rb"|\b([A-Za-z_]\w{0,200})[ \t]{0,20}\([^;{}()]{0,2000}\)[\s\w.,]{0,200}\{"
)
_FIELD_NAMES = re.compile(
    rb"(?m)^[ \t]*(?:(?:private|public|protected|internal|static|final|readonly|const|val|var|let"
    rb"|lateinit|override)[ \t]+)+"
    rb"(?:[\w.<>\[\]?]{1,200}[ \t]+)?([A-Za-z_]\w{0,200})[ \t]*[=;:]"
)


def lex(source: bytes, style: str) -> Outline:
    """Return the outline of a text by the lexer of a style.

    Declared names are the names that follow the usual keywords.
    """
    spans: list[Span] = []
    position = 0
    # No quote before this position is closed on its line: if one quote of a line is not closed, no
    # later one is.
    unclosed_until = dict.fromkeys(_QUOTED, 0)
    while match := STYLES[style].search(source, position):
        position = match.end()
        start = match.start()
        kind = match.lastgroup or ""
        if kind == "quote":
            quote = match.group()
            if start < unclosed_until[quote]:
                continue
            string = _QUOTED[quote].match(source, start)
            assert string is not None
            if string["closed"] is None:  # a quote that nothing closes on its line is code
                unclosed_until[quote] = string.end()
                continue
            position = string.end()
            kind = "string"
        spans.append(Span(start, position, kind))
    code = bytearray(b"" if style in ("markup", "plain") else source)
    if code:
        for span in spans:
            code[span.start : span.end] = b" " * (span.end - span.start)
    methods = [match[match.lastindex or 0] for match in _METHOD_NAMES.finditer(code)]
    return Outline(
        spans,
        [name.decode() for name in methods if bytes(name) not in _NOT_METHODS],
        [match[1].decode() for match in _TYPE_NAMES.finditer(code)],
        [match[1].decode() for match in _FIELD_NAMES.finditer(code)],
        parsed=False,
    )
