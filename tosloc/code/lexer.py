"""Source text -> its comments, strings, imports and declared names by regular expressions, for any language."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

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
STYLES: Final[dict[str, re.Pattern[bytes] | None]] = {
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
    "plain": None,
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


class Span(NamedTuple):
    """A piece of a file that is not plain code, as byte offsets into its UTF-8 text."""

    start: int
    end: int
    kind: str
    """Of an outline: ``comment``, ``string``, or ``drop`` for what gives no terms (imports, the package, licences)."""


@dataclass(slots=True)
class Outline:
    """What a file declares, and where its comments and strings are."""

    spans: list[Span] = field(default_factory=list)
    """Ascending, not overlapping; everything else is code."""
    methods: list[str] = field(default_factory=list)
    types: list[str] = field(default_factory=list)
    fields: list[str] = field(default_factory=list)
    parsed: bool = True
    """False if the lexer was used."""


def lex(source: bytes, style: str) -> Outline:
    """Outline of ``source`` by the lexer of ``style``: declared names are those that follow the usual keywords."""
    lexer = STYLES[style]
    outline = Outline(parsed=False)
    if lexer is None:
        return outline
    for kind, match in _tokens(lexer, source):
        outline.spans.append(Span(match.start(), match.end(), kind))
    if style != "markup":
        _find_names(outline, source)
    return outline


def _tokens(lexer: re.Pattern[bytes], source: bytes) -> Iterator[tuple[str, re.Match[bytes]]]:
    """Comments, strings and imports in order. A quote that nothing closes on its line is code."""
    position = 0
    unclosed = dict.fromkeys(_QUOTED, 0)  # no quote before this place is closed: where one is not, none after it is
    while found := lexer.search(source, position):
        position = found.end()
        kind = found.lastgroup or ""
        if kind == "quote":
            quote = found.group()
            if found.start() < unclosed[quote]:
                continue
            found = _QUOTED[quote].match(source, found.start())
            assert found is not None
            if found["closed"] is None:
                unclosed[quote] = found.end()
                continue
            position, kind = found.end(), "string"
        yield kind, found


def _find_names(outline: Outline, source: bytes) -> None:
    """Fill in the names that the code of ``source`` declares, by what stands around them."""
    code = bytearray(source)
    for span in outline.spans:
        code[span.start : span.end] = b" " * (span.end - span.start)
    methods = [match[match.lastindex or 0] for match in _METHOD_NAMES.finditer(code)]
    outline.methods = [name.decode() for name in methods if bytes(name) not in _NOT_METHODS]
    outline.types = [match[1].decode() for match in _TYPE_NAMES.finditer(code)]
    outline.fields = [match[1].decode() for match in _FIELD_NAMES.finditer(code)]
