"""The outline of a source text: its comments, strings and declared names, and which of its comments are headers."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final, NamedTuple

_LICENCE = re.compile(
    rb"(?i)copyright|all rights reserved|licen[sc]ed (?:under|to) |SPDX-License|terms of the [\w /.]{0,60}licen[sc]e"
)
_LINE_COMMENT: Final = (b"//", b"#", b"--", b";", b"%", b"!", b"'")


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
    package: str = ""
    parsed: bool = True
    """False if the lexer was used."""


def without_headers(source: bytes, spans: list[Span], *, all_before_package: bool) -> list[Span]:
    """Spans with the licence comments at the head of the file dropped.

    The head is what comes before the first thing that is neither comment, package nor import. With
    ``all_before_package`` every comment before the package or the imports is a header; other comments of the head are
    if they speak of a licence.
    """
    size = _head_size(source, spans)
    first_drop = next((number for number, span in enumerate(spans[:size]) if span.kind == "drop"), 0)
    result: list[Span] = []
    for block in _blocks(source, spans[:size]):
        before_package = all_before_package and len(result) < first_drop
        licence = before_package or _LICENCE.search(source, block[0].start, block[-1].end)
        if block[0].kind == "comment" and licence:
            block = [span._replace(kind="drop") for span in block]
        result += block
    return result + spans[size:]


def _head_size(source: bytes, spans: list[Span]) -> int:
    """How many of the spans stand in the head of the file."""
    end = 3 if source.startswith(b"\xef\xbb\xbf") else 0
    for number, span in enumerate(spans):
        if span.kind == "string" or source[end : span.start].strip(b" \t\r\n\f;"):
            return number
        end = span.end
    return len(spans)


def _blocks(source: bytes, spans: list[Span]) -> list[list[Span]]:
    """Spans in their order; line comments that follow each other without a blank line stand together."""
    blocks: list[list[Span]] = []
    for span in spans:
        before = blocks[-1][-1] if blocks else None
        if (
            before is not None
            and before.kind == span.kind == "comment"
            and source.startswith(_LINE_COMMENT, before.start)
            and source.startswith(_LINE_COMMENT, span.start)
            and source.count(b"\n", before.end - 1, span.start) < 2
        ):
            blocks[-1].append(span)
        else:
            blocks.append([span])
    return blocks
