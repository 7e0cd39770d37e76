"""Source text -> what stands where in it: by its language's query over its syntax tree, or by regular expressions.

One file of ``queries/`` a grammar says what is a comment, a string, an import, a declared name, a function and so on.
A grammar's module is imported when the first file of its language is parsed. Languages without one are lexed.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

import tree_sitter

from tosloc.code.languages import Language

MAX_PARSED: Final = 2_000_000
"""Bytes of a text that is parsed; a tree takes up to 240 times as much memory. Of 35,000 source files of eleven
projects five have more, none of them written by hand."""
_MAX_RUBBLE: Final = 2_000
"""A text that falls to this many pieces is no program; a query over them takes time by the square of their number."""
_MAX_DEPTHS: Final = 1_000_000_000
"""Depths of all nodes of a tree together: in each, a query looks at all that the nodes around it wait for. Two million
bytes of a program have 40 million."""
_STRIDE: Final = 256  # of so many nodes the depth of one is looked at
_READ_BYTES: Final = 4096
_FREE_STEPS: Final = 1000
_STEPS_PER_BYTE: Final = 0.5
_FREE_READS: Final = 200
_READS_PER_BYTE: Final = 20 / _READ_BYTES
"""How often a parser may report progress and read a piece of the text, before the lexer takes its place: both counts
depend on the text alone. Programs need a tenth of that; recovery from errors can take the square of the length."""
_WINDOW: Final = 2048
_PIECE: Final = 12
_OPENS, _CLOSES = frozenset(b"<([{=:?!*/%+-&|^~@"), frozenset(b",;)}")
_NEEDS_LINE_END: Final = "tree_sitter_kotlin"
"""Its scanner looks for the end of a line, and not of the text: for ever, where there is none."""
_CAPTURE = re.compile(r"@(\w+)")

Captures: TypeAlias = Mapping[str, list[tree_sitter.Node]]  # name of a query's capture -> its nodes


def captures_of(source: bytes, language: Language, wanted: tuple[str, ...]) -> Captures | None:
    """The nodes that the language's query captures as one of ``wanted``; None if there is nothing to be had from it.

    That is: no tree, or one with errors in which no declaration was recovered, where declarations are wanted.
    """
    root = syntax_tree(source, language)
    if root is None:
        return None
    try:
        found = tree_sitter.QueryCursor(_query(language.grammar, wanted)).captures(root)
    except (ValueError, RecursionError, MemoryError):
        return None
    lost = "method" in wanted and root.has_error and not (found.get("type") or found.get("method"))
    return None if lost else found


def syntax_tree(source: bytes, language: Language) -> tree_sitter.Node | None:
    """Root of the syntax tree of ``source``; None if parser or queries would fail, or work out of all proportion."""
    if len(source) > MAX_PARSED or _repeats_an_opening(source):
        return None
    if language.grammar == _NEEDS_LINE_END and not source.endswith(b"\n"):
        source += b"\n"
    most_steps = _FREE_STEPS + len(source) * _STEPS_PER_BYTE
    most_reads = _FREE_READS + len(source) * _READS_PER_BYTE
    steps = reads = 0
    parsed = False  # from then on queries read, names that they compare

    def read(offset: int, _: object) -> bytes:
        nonlocal reads
        reads += 1
        piece = source[offset : offset + _READ_BYTES]
        # within one step a scanner may read the rest of a line again from each of its characters: let the rest be one
        # word. A text that ends before a place where it was read already makes tree-sitter crash.
        return piece if reads <= most_reads or parsed else b"a" * len(piece)

    def too_much(_: int, __: bool) -> bool:
        nonlocal steps
        steps += 1
        return steps > most_steps or reads > most_reads

    try:
        root = parser_of(language).parse(read, progress_callback=too_much).root_node
    except (ValueError, RecursionError, MemoryError):
        return None
    parsed = True
    return None if reads > most_reads or _is_no_program(root) else root


def parser_of(language: Language) -> tree_sitter.Parser:
    """A parser of a language, which must have a grammar."""
    return tree_sitter.Parser(_grammar(language.grammar))


@cache
def _grammar(name: str) -> tree_sitter.Language:
    module, _, function = name.partition(" ")
    return tree_sitter.Language(getattr(importlib.import_module(module), function or "language")())


@cache
def _query(grammar: str, wanted: tuple[str, ...]) -> tree_sitter.Query:
    """The patterns of the grammar's query that capture one of ``wanted``."""
    name = grammar.partition(" ")[0].removeprefix("tree_sitter_")
    text = Path(__file__).with_name("queries").joinpath(f"{name}.scm").read_text("ascii")
    query = tree_sitter.Query(_grammar(grammar), text)
    for number in range(query.pattern_count):
        pattern = text[query.start_byte_for_pattern(number) : query.end_byte_for_pattern(number)]
        if set(wanted).isdisjoint(_CAPTURE.findall(pattern)):
            query.disable_pattern(number)
    return query


def _is_no_program(root: tree_sitter.Node) -> bool:
    """Whether a tree is of rubble, or nested so deeply that a query over it would not end."""
    if root.type == "ERROR" and root.child_count > _MAX_RUBBLE:
        return True
    cursor, left = root.walk(), _MAX_DEPTHS // _STRIDE
    for node in range(0, root.descendant_count, _STRIDE):
        cursor.goto_descendant(node)
        left -= cursor.depth
        if left < 0:
            return True
    return False


def _repeats_an_opening(source: bytes) -> bool:
    """Whether a part of the text is the same short piece over and over, which opens and never closes: ``A<A<A<``.

    At its end a parser tries all ways to understand it, in one step that nothing can stop; a few thousand characters
    can take gigabytes.
    """
    for start in range(0, len(source) - _WINDOW + 1, _WINDOW):
        middle, end = start + _WINDOW // 2, start + _WINDOW
        piece = source[middle : middle + _PIECE]
        often = source.count(piece, start, end) > _WINDOW // (4 * _PIECE)
        if often and not _OPENS.isdisjoint(piece) and _CLOSES.isdisjoint(source[start:end]):
            return True
    return False


# Without a grammar


class Span(NamedTuple):
    """A piece of a file that is not plain code, as byte offsets into its UTF-8 text."""

    start: int
    end: int
    kind: str  # of an outline: comment, string, or drop for what gives no terms (imports, the package, licences)


class Outline(NamedTuple):
    """What a file declares, and where its comments and strings are."""

    spans: list[Span]  # ascending, not overlapping; everything else is code
    methods: list[str]
    types: list[str]
    fields: list[str]
    parsed: bool  # False if the lexer was used


_STRINGS: Final = rb"""(?P<string>\"{3}.*?(?:\"{3}|\Z)|`(?:\\.|[^`\\])*+(?:`|\\?\Z))|(?P<quote>["'])"""
_QUOTED: Final = {
    quote: re.compile(rb"%s(?:\\.|[^%s\\\n])*+(?P<closed>%s)?" % (quote, quote, quote), re.S) for quote in (b'"', b"'")
}
"""A string on one line, or what follows a quote without a partner up to the end of the line."""
_IMPORT: Final = (
    rb"(?P<drop>(?m:^)[ \t]*(?:package[ \t]+[\w.]+|c?import[ \t]+[^\n;(]*;?|\#[ \t]*include[^\n]*"
    rb"|from[ \t]+[\w.]+[ \t]+c?import[^\n]*|using[ \t]++[\w.=<> ]++;|use[ \t]++[\w:\\][^\n;]*+;))"
)


def _lexer(comment: bytes, *, strings: bytes = _STRINGS, imports: bytes = _IMPORT) -> re.Pattern[bytes]:
    return re.compile(b"|".join(part for part in (b"(?P<comment>" + comment + b")", strings, imports) if part), re.S)


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
        rb"<!--.*?(?:-->|\Z)|<%--.*?(?:--%>|\Z)", strings=rb"""(?P<string>"[^"<>\n]*"|'[^'<>\n]*')""", imports=b""
    ),
    "plain": re.compile(rb"(?!)"),
}

_NOT_METHODS: Final = frozenset(
    b"if for while switch catch return synchronized else do try new function func fun def when match using lock"
    b" foreach".split()
)
_TYPE_NAMES = re.compile(
    rb"\b(?:class|interface|enum|struct|trait|object|protocol|record|union|module|defmodule|type)[ \t]+"
    rb"([A-Za-z_]\w{0,200})"
)
_METHOD_NAMES = re.compile(
    rb"\b(?:def|func|function|fun|fn|sub|procedure|defn)[ \t]+(?:[\w.]{1,100}\.)?([A-Za-z_]\w{0,200})"
    rb"|\bcp?def[ \t]+(?!class\b)[\w.*&\[\], \t]{0,100}?([A-Za-z_]\w{0,200})[ \t]*\("
    rb"|\b([A-Za-z_]\w{0,200})[ \t]{0,20}\([^;{}()]{0,2000}\)[\s\w.,]{0,200}\{"
)
_FIELD_NAMES = re.compile(
    rb"(?m)^[ \t]*(?:(?:private|public|protected|internal|static|final|readonly|const|val|var|let|lateinit|override)"
    rb"[ \t]+)+"
    rb"(?:[\w.<>\[\]?]{1,200}[ \t]+)?([A-Za-z_]\w{0,200})[ \t]*[=;:]"
)


def lex(source: bytes, style: str) -> Outline:
    """Outline of ``source`` by the lexer of ``style``: declared names are those that follow the usual keywords."""
    spans, position = list[Span](), 0
    unclosed = dict.fromkeys(_QUOTED, 0)  # no quote before this place is closed: where one is not, none after it is
    while found := STYLES[style].search(source, position):
        position, kind = found.end(), found.lastgroup or ""
        if kind == "quote":  # one that nothing closes on its line is code
            quote, start = found.group(), found.start()
            if start < unclosed[quote]:
                continue
            found = _QUOTED[quote].match(source, start)
            assert found is not None
            if found["closed"] is None:
                unclosed[quote] = found.end()
                continue
            position, kind = found.end(), "string"
        spans.append(Span(found.start(), position, kind))
    code = bytearray(b"" if style in ("markup", "plain") else source)
    for start, end, _ in spans if code else ():
        code[start:end] = b" " * (end - start)
    methods = [match[match.lastindex or 0] for match in _METHOD_NAMES.finditer(code)]
    return Outline(
        spans,
        [name.decode() for name in methods if bytes(name) not in _NOT_METHODS],
        [match[1].decode() for match in _TYPE_NAMES.finditer(code)],
        [match[1].decode() for match in _FIELD_NAMES.finditer(code)],
        parsed=False,
    )
