"""Source text -> facts: the terms of its code, comments, strings and declared names, by field and by 50-line chunk.

First its outline is made, by its syntax tree, else by the lexer. Nothing is dropped but the licence header, the package
and the import lines: what a parser does not understand is code. Of pages that hold their script, template and style in
one file (Vue, Svelte, Astro) the scripts are parsed.

Facts are a pure function of text, language and the analyser's version, so they are made once for a blob and kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from tosloc.code.languages import language_named, language_of
from tosloc.code.parse import MAX_PARSED, Captures, Outline, Span, captures_of, lex
from tosloc.code.terms import Facts, SourceText, count_terms

SPAN_KINDS: Final = {"comment": "comment", "string": "string", "import": "drop", "package": "drop"}
"""Capture of a query -> kind of span."""
_WANTED: Final = (*SPAN_KINDS, "method", "type", "field")
_LICENCE = re.compile(
    rb"(?i)copyright|all rights reserved|licen[sc]ed (?:under|to) |SPDX-License|terms of the [\w /.]{0,60}licen[sc]e"
)
_LINE_COMMENT: Final = (b"//", b"#", b"--", b";", b"%", b"!", b"'")
_OPENING = re.compile(
    rb"<!--.*?(?:-->|\Z)|(?P<script><script\b(?:[^<>\"']{1,500}+|\"[^\"]{0,500}+\"|'[^']{0,500}+'){0,50}+>)",
    re.S | re.I,
)
_CLOSING = re.compile(rb"</script\b", re.I)
_FRONT = re.compile(rb"\s*---[ \t]*\n(?P<code>.*?)(?:^---[ \t]*$|\Z)", re.S | re.M)
_BLANKED: Final = bytes(code if code in b"\n\r" else ord(" ") for code in range(256))


def analyse(text: str, path_suffix: str, *, parse: bool = True, lizard: bool = False) -> Facts:
    """Facts of a file with this ``text`` whose path ends in ``path_suffix`` (with its dot, such as ".java").

    Broken, binary, empty and huge texts have facts too; nothing in a text raises. ``parse=False`` uses regular
    expressions alone, for a text that brings a parser down. Without ``lizard``, which takes long, complexity is 0.
    """
    return analyse_all([(text, path_suffix)], parse=parse, lizard=lizard)[0]


def analyse_all(files: Sequence[tuple[str, str]], *, parse: bool = True, lizard: bool = False) -> list[Facts]:
    """Facts of each (text, suffix), as ``analyse`` makes them, in less time."""
    texts = []
    for text, suffix in files:
        source = (text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text).encode("utf-8", "replace")
        lines = source.count(b"\n") + (bool(source) and not source.endswith(b"\n"))
        texts.append(SourceText(source, lines, outline_of(source, language_of(suffix), parse=parse)))
    made = count_terms(texts)
    if lizard:
        from tosloc.code.complexity import lizard_complexity  # lizard takes long to import

        for (text, suffix), facts in zip(files, made, strict=True):
            if (read_as := language_named(language_of(suffix)).lizard) is not None:  # else it is no program
                facts.complexity = lizard_complexity(text, read_as if parse and len(text) <= MAX_PARSED else "")
    return made


def outline_of(source: bytes, language: str, *, parse: bool = True) -> Outline:
    """Outline of ``source``, UTF-8 text of a file of the language called so. Never raises for what it holds.

    ``parse=False`` uses regular expressions alone.
    """
    known, script, around = language_named(language), source, list[Span]()
    if known.has_scripts:
        script, rest = apart(source)
        around, known = lex(rest, known.style).spans, replace(known, style="c")
    captures = captures_of(script, known, _WANTED) if parse and known.grammar else None
    if captures is None:
        outline = lex(script, known.style)
    else:
        methods, types, fields = (names_of(script, captures, name) for name in ("method", "type", "field"))
        outline = Outline(spans_of(captures, SPAN_KINDS), methods, types, fields)
    if around:
        spans, outline.spans, end = sorted((*outline.spans, *around)), [], 0
        for span in spans:
            if span.start >= end:  # what is no page at all may be read in two ways
                outline.spans.append(span)
                end = span.end
    outline.spans = _without_headers(source, outline.spans, all_before_package=language == "java")
    return outline


def names_of(source: bytes, captures: Captures, name: str) -> list[str]:
    """Texts of the nodes captured as ``name``, in the order of the source, each once."""
    spans = sorted({(node.start_byte, node.end_byte) for node in captures.get(name, ())})
    return [source[start:end].decode("utf-8", "replace") for start, end in spans]


def spans_of(captures: Captures, kinds: Mapping[str, str]) -> list[Span]:
    """Spans of the captures that have a kind, in order; of overlapping ones the first, from one start the longest."""
    found = ((node, number) for number, name in enumerate(kinds) for node in captures.get(name, ()))
    spans = sorted((node.start_byte, -node.end_byte, number) for node, number in found)
    names = list(kinds.values())
    kept: list[Span] = []
    end = 0
    for start, minus_stop, number in spans:
        if start >= end and start < -minus_stop:
            end = -minus_stop
            kept.append(Span(start, end, names[number]))
    return kept


def apart(source: bytes) -> tuple[bytes, bytes]:
    """The scripts of a component without the rest, and the rest without them: blanks stand where the others were.

    Both are as long as ``source``, with its lines. A script is what ``<script>`` encloses, and what stands between two
    lines of ``---`` at the beginning (Astro's).

    >>> apart(b"<p>a</p><script>b()</script>")
    (b'                b()         ', b'<p>a</p><script>   </script>')
    """
    script, rest = bytearray(source.translate(_BLANKED)), bytearray(source)
    for start, end in _scripts(source):
        rest[start:end] = script[start:end]
        script[start:end] = source[start:end]
    return bytes(script), bytes(rest)


def _scripts(source: bytes) -> Iterator[tuple[int, int]]:
    """Where the scripts begin and end."""
    front = _FRONT.match(source)
    end = 0
    if front is not None:
        yield front.span("code")
        end = front.end()
    while opening := _OPENING.search(source, end):
        end = opening.end()
        if opening["script"] is not None:
            closing = _CLOSING.search(source, end)
            start, end = end, len(source) if closing is None else closing.start()
            yield start, end


def _without_headers(source: bytes, spans: list[Span], *, all_before_package: bool) -> list[Span]:
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
