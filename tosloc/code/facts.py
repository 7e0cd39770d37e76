"""Source text -> facts: the terms of its code, comments, strings and declared names, by field and by 50-line chunk.

First its outline is made, by its syntax tree, else by the lexer. Nothing is dropped but the licence header, the package
and the import lines: what a parser does not understand is code. Of pages that hold their script, template and style in
one file (Vue, Svelte, Astro) the scripts are parsed.

Facts are a pure function of text, language and the analyser's version, so they are made once for a blob and kept.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Final

import numpy as np
import numpy.typing as npt

from tosloc.code.languages import FIELDS, get_language, language_name
from tosloc.code.parse import MAX_PARSED_BYTES, Captures, Outline, Span, capture_nodes, lex
from tosloc.code.text import identifier_terms
from tosloc.core.records import IntArray, LongArray

CHUNK_LINES: Final = 50
CHUNK_OVERLAP: Final = 10  # lines that a chunk shares with the next one
SPAN_KINDS: Final = {"comment": "comment", "string": "string", "import": "drop", "package": "drop"}
"""Capture of a query -> kind of span."""
_WANTED: Final = (*SPAN_KINDS, "method", "type", "field")
_LICENCE = re.compile(
    rb"(?i)copyright|all rights reserved|licen[sc]ed (?:under|to) |SPDX-License|terms of the [\w /.]{0,60}licen[sc]e"
)
_LINE_COMMENT: Final = (b"//", b"#", b"--", b";", b"%", b"!", b"'")
_SCRIPT = re.compile(
    rb"\A\s*---[ \t]*\n(?P<front>.*?)(?:^---[ \t]*$|\Z)|<!--.*?(?:-->|\Z)(?P<nothing>)"
    rb"|<script\b(?:[^<>\"']{1,500}+|\"[^\"]{0,500}+\"|'[^']{0,500}+'){0,50}+>(?P<script>.*?)(?=</script\b|\Z)",
    re.S | re.I | re.M,
)
_MARKUP = re.compile(
    r"</?(?:a|b|blockquote|br|code|dd|div|dl|dt|em|h[1-6]|i|li|nl|ol|p|pre|span|strong|sub|sup|table|td|th|tr|tt|ul)\s*/?>"
    r"|\{@(?:code|link|linkplain|literal|value)\b",
    re.I,
)
_ESCAPE = re.compile(r"\\(?:u+[0-9a-fA-F]{4}|.)", re.S)
_CODE, _COMMENT, _STRING, _METHOD = range(4)  # places in FIELDS
_KINDS: Final = {"comment": (_COMMENT, _MARKUP), "string": (_STRING, _ESCAPE)}
"""Kind of span -> its field, and what of it are no words of the text."""
_BLANKED: Final = "".join(
    letter if letter.isalnum() or letter in "_$" else " " for letter in map(chr, range(128))
)
_NO_WORD = re.compile(r"[^\w$]")


@dataclass(slots=True)
class Facts:
    """Facts of one text. T distinct terms, C chunks, Q (chunk, term) pairs."""

    terms: list[str]  # (T,) distinct terms, sorted
    counts: npt.NDArray[
        np.uint16
    ]  # (T, 6) how often each term stands in each of ``FIELDS``, at most 65,535
    chunk_starts: LongArray  # (C + 1,) chunk c holds pairs ``chunk_starts[c]:chunk_starts[c + 1]``; C is at least 1
    chunk_terms: IntArray  # (Q,) positions in ``terms``, ascending in a chunk
    chunk_counts: npt.NDArray[
        np.uint8
    ]  # (Q,) counts of code, comments and strings together, at most 255
    lines: int = 0
    parsed: bool = True  # False if the lexer had to stand in for a parser
    complexity: int = 0  # sum of the cyclomatic complexity numbers of the functions, by lizard, where it was asked for


def analyse(text: str, path: str, *, parse: bool = True, lizard: bool = False) -> Facts:
    """Facts of the file with this ``text`` and ``path``, whose suffix alone matters.

    Broken, binary, empty and huge texts have facts too; nothing in a text raises. ``parse=False`` uses regular
    expressions alone, for a text that brings a parser down. Without ``lizard``, which takes long, complexity is 0.
    """
    source = text.replace("\r\n", "\n").replace("\r", "\n").encode("utf-8", "replace")
    language = get_language(language_name(path))
    facts = _counted(source, outline_source(source, language.name, parse=parse))
    if lizard and language.lizard is not None:  # else it is no program
        from tosloc.code.complexity import lizard_complexity  # lizard takes long to import

        facts.complexity = lizard_complexity(
            text, language.lizard if parse and len(text) <= MAX_PARSED_BYTES else ""
        )
    return facts


def _counted(source: bytes, outline: Outline) -> Facts:
    """Counts of the terms. Letters in names: S pieces of one field, N words, M terms of theirs, T distinct ones."""
    pieces: list[tuple[int, str]] = []  # in the order of the text, declared names behind it
    end = 0
    for span in (*outline.spans, Span(len(source), len(source), "drop")):
        pieces.append((_CODE, source[end : span.start].decode("utf-8", "replace")))
        own, end = source[span.start : span.end].decode("utf-8", "replace"), span.end
        if span.kind == "drop":
            pieces.append((_CODE, "\n" * own.count("\n")))
        else:
            field, no_words = _KINDS[span.kind]
            pieces.append(
                (field, no_words.sub(lambda found: " " + "\n" * found[0].count("\n"), own))
            )
    for field, names in enumerate((outline.methods, outline.types, outline.fields), start=_METHOD):
        pieces.append((field, " ".join(names)))
    text = " ".join(
        ["", *(piece for _, piece in pieces), ""]
    )  # a word does not go on in the next piece
    blanked = text.translate(_BLANKED) if text.isascii() else _NO_WORD.sub(" ", text)
    letters, marks = (
        np.frombuffer(one.encode("utf-32-le"), dtype=np.int32) for one in (blanked, text)
    )
    is_word, newlines = letters != ord(" "), np.flatnonzero(marks == ord("\n"))
    starts_N = np.flatnonzero(is_word[1:] & ~is_word[:-1]) + 1
    starts_S = np.cumsum([1, *(len(piece) + 1 for _, piece in pieces)])
    fields_N = np.array([field for field, _ in pieces])[
        np.searchsorted(starts_S, starts_N, side="right") - 1
    ]
    of_words = list(map(identifier_terms, blanked.split()))
    sizes_N = np.fromiter(map(len, of_words), dtype=np.int64, count=len(of_words))
    terms_M = list(chain.from_iterable(of_words))
    fields_M, lines_M = (
        np.repeat(fields_N, sizes_N),
        np.repeat(np.searchsorted(newlines, starts_N), sizes_N),
    )

    terms = sorted({*terms_M})
    T, places = len(terms), {term: place for place, term in enumerate(terms)}
    places_M = np.fromiter(map(places.__getitem__, terms_M), dtype=np.int64, count=len(terms_M))
    counts = np.bincount(places_M * len(FIELDS) + fields_M, minlength=T * len(FIELDS)).reshape(
        -1, len(FIELDS)
    )
    lines = source.count(b"\n") + (source[-1:] not in b"\n")
    C = max(
        1, -(-(lines - CHUNK_OVERLAP) // CHUNK_LINES)
    )  # a last chunk of overlap lines only is not made
    chunks_M, in_text = lines_M // CHUNK_LINES, fields_M < _METHOD
    here = in_text & (chunks_M < C)
    before = in_text & (lines_M % CHUNK_LINES < CHUNK_OVERLAP) & (chunks_M > 0)
    keys_M = chunks_M * T + places_M
    pairs, times = np.unique(np.concatenate((keys_M[here], keys_M[before] - T)), return_counts=True)
    return Facts(
        terms,
        np.minimum(counts, 65_535).astype(np.uint16),
        np.searchsorted(pairs, np.arange(C + 1) * T),
        (pairs % max(T, 1)).astype(np.int32),
        np.minimum(times, 255).astype(np.uint8),
        lines,
        outline.parsed or not source,
    )


def outline_source(source: bytes, language: str, *, parse: bool = True) -> Outline:
    """Outline of ``source``, UTF-8 text of a file of the language called so. Never raises for what it holds.

    ``parse=False`` uses regular expressions alone.
    """
    known, script, around = get_language(language), source, list[Span]()
    style = known.style
    if known.has_scripts:
        script, rest = split_component(source)
        around, style = lex(rest, style).spans, "c"
    captures = capture_nodes(script, known, _WANTED) if parse and known.grammar else None
    if captures is None:
        outline = lex(script, style)
    else:
        methods, types, fields = (
            captured_texts(script, captures, name) for name in ("method", "type", "field")
        )
        outline = Outline(captured_spans(captures, SPAN_KINDS), methods, types, fields, parsed=True)
    spans = _disjoint([*outline.spans, *around]) if around else outline.spans
    return outline._replace(
        spans=_without_headers(source, spans, all_before_package=language == "java")
    )


def captured_texts(source: bytes, captures: Captures, name: str) -> list[str]:
    """Return the texts captured as ``name``, in the order of the source, each once."""
    spans = sorted({(start, end) for start, end, _ in captures.get(name, ())})
    return [source[start:end].decode("utf-8", "replace") for start, end in spans]


def captured_spans(captures: Captures, kinds: Mapping[str, str]) -> list[Span]:
    """Return the spans of the captures that have a kind, in order.

    Of overlapping spans the first is kept, and of those with one start the longest.
    """
    spans: list[Span] = []
    for name, kind in kinds.items():
        spans += (Span(start, end, kind) for start, end, _ in captures.get(name, ()))
    return _disjoint(spans)


def _disjoint(spans: list[Span]) -> list[Span]:
    kept: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if span.start < span.end and (not kept or span.start >= kept[-1].end):
            kept.append(span)
    return kept


def split_component(source: bytes) -> tuple[bytes, bytes]:
    """The scripts of a component without the rest, and the rest without them: blanks stand where the others were.

    Both are as long as ``source``, with its lines. A script is what ``<script>`` encloses, and what stands between two
    lines of ``---`` at the beginning (Astro's).

    >>> split_component(b"<p>a</p><script>b()</script>")
    (b'                b()         ', b'<p>a</p><script>   </script>')
    """
    script, rest = bytearray(re.sub(rb"[^\n\r]", b" ", source)), bytearray(source)
    for found in _SCRIPT.finditer(source):
        start, end = found.span(found.lastgroup or 0)
        rest[start:end] = script[start:end]
        script[start:end] = source[start:end]
    return bytes(script), bytes(rest)


def _without_headers(source: bytes, spans: list[Span], *, all_before_package: bool) -> list[Span]:
    """Spans with the licence comments at the head of the file dropped.

    The head is what comes before the first thing that is neither comment, package nor import. With
    ``all_before_package`` every comment before the package or the imports is a header; other comments of the head are
    if they speak of a licence. Line comments that follow each other without a blank line stand together.
    """
    end = 3 if source.startswith(b"\xef\xbb\xbf") else 0
    blocks: list[list[Span]] = []
    for span in spans:
        if span.kind == "string" or source[end : span.start].strip(b" \t\r\n\f;"):
            break
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
        end = span.end
    package = next((number for number, block in enumerate(blocks) if block[0].kind == "drop"), 0)
    result: list[Span] = []
    for number, block in enumerate(blocks):
        licence = (all_before_package and number < package) or _LICENCE.search(
            source, block[0].start, block[-1].end
        )
        is_header = block[0].kind == "comment" and licence
        result += [span._replace(kind="drop") for span in block] if is_header else block
    return result + spans[len(result) :]
