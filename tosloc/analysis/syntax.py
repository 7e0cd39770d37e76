"""Source text -> its outline: by tree-sitter where a grammar is at hand, else by the lexer.

Nothing is dropped but the licence header, the package and the import lines: what a parser does not understand is code.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, TypeAlias

import tree_sitter

from tosloc.analysis import grammars
from tosloc.analysis.components import SCRIPT_OF, apart
from tosloc.analysis.grammars import GRAMMARS
from tosloc.analysis.languages import language_named
from tosloc.analysis.lexer import lex
from tosloc.analysis.outline import Outline, Span, without_headers

_SPAN_KINDS: Final = {"comment": "comment", "string": "string", "drop": "drop", "package": "drop"}
"""Capture of a query -> kind of span."""
MAX_PARSED: Final = 2_000_000
"""Bytes of a text that is parsed; a tree takes up to 240 times as much memory. Of 35,000 source files of eleven
projects five have more, none of them written by hand."""
_MAX_RUBBLE: Final = 2_000
"""A text that falls to this many pieces is no program; a query over them takes time by the square of their number."""
_MAX_DEPTHS: Final = 1_000_000_000
"""Depths of all nodes of a tree together: in each, a query looks at all that the nodes around it wait for. Two million
bytes of a program have 40 million."""
_STRIDE: Final = 256
"""Of so many nodes the depth of one is looked at."""
_READ_BYTES: Final = 4096
_FREE_STEPS: Final = 1000
_STEPS_PER_BYTE: Final = 0.5
_FREE_READS: Final = 200
_READS_PER_BYTE: Final = 20 / _READ_BYTES
"""How often a parser may report progress and read a piece of the text, before the lexer takes its place: both counts
depend on the text alone. Programs need a tenth of that; recovery from errors can take the square of the length."""
_STRETCH: Final = 2048
_PIECE: Final = 12
_OPENS, _CLOSES = frozenset(b"<([{=:?!*/%+-&|^~@"), frozenset(b",;)}")
_PACKAGE = re.compile(rb"\bpackage\s+([\w.\s]+)")


Captures: TypeAlias = Mapping[str, list[tree_sitter.Node]]
"""Name of a query's capture -> its nodes."""


def outline_of(source: bytes, language: str, *, parse: bool = True) -> Outline:
    """Outline of ``source``, UTF-8 text of a file of the language called so. Never raises for what it holds.

    ``parse=False`` uses regular expressions alone.
    """
    if language in SCRIPT_OF:
        outline = _component_outline(source, language, parse)
    else:
        outline = _outline(source, language, parse)
    outline.spans = without_headers(source, outline.spans, all_before_package=language == "java")
    return outline


def _outline(source: bytes, language: str, parse: bool) -> Outline:
    """Outline with the comments at its head."""
    outline = _parsed_outline(source, language) if parse and language in GRAMMARS else None
    return lex(source, language_named(language).style) if outline is None else outline


def _component_outline(source: bytes, language: str, parse: bool) -> Outline:
    """That of its scripts, with the comments and the quoted attributes around them."""
    script, rest = apart(source)
    outline = _outline(script, SCRIPT_OF[language], parse)
    spans = outline.spans
    around = lex(rest, language_named(language).style).spans
    end, outline.spans = 0, []
    for span in sorted((*spans, *around)):
        if span.start >= end:  # what is no page at all may be read in two ways
            outline.spans.append(span)
            end = span.end
    return outline


def syntax_tree(source: bytes, language: str) -> tree_sitter.Node | None:
    """Root of the syntax tree of ``source``; None if parser or queries would fail, or work out of all proportion."""
    if len(source) > MAX_PARSED or _repeats_an_opening(source):
        return None
    if not source.endswith(GRAMMARS[language].end):
        source += GRAMMARS[language].end
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

    parser = grammars.parser(language)
    try:
        root = parser.parse(read, progress_callback=too_much).root_node
    except (ValueError, RecursionError, MemoryError):
        parser.reset()  # else it goes on with this text
        return None
    parsed = True
    return None if reads > most_reads or _is_no_program(root) else root


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


def captures_of(root: tree_sitter.Node, language: str, query: str) -> Captures | None:
    """Capture name -> nodes; None if no declaration was recovered from a text that could not be parsed."""
    try:
        captures = tree_sitter.QueryCursor(grammars.query(language, query)).captures(root)
    except (ValueError, RecursionError, MemoryError):
        return None
    return captures if captures.get("type") or captures.get("method") or not root.has_error else None


def names_of(source: bytes, captures: Captures, name: str) -> list[str]:
    """Texts of the nodes captured as ``name``, in the order of the source, each once."""
    spans = sorted({(node.start_byte, node.end_byte) for node in captures.get(name, ())})
    return [source[start:end].decode("utf-8", "replace") for start, end in spans]


def spans_of(captures: Captures, kinds: Mapping[str, str]) -> list[Span]:
    """Spans of the captures that have a kind, in order; of overlapping ones the first, from one start the longest."""
    order = [(name, number) for number, name in enumerate(kinds) if name in captures]
    spans = [(node.start_byte, -node.end_byte, number) for name, number in order for node in captures[name]]
    spans.sort()
    names = list(kinds.values())
    kept: list[Span] = []
    end = 0
    for start, minus_stop, number in spans:
        if start >= end and start < -minus_stop:
            end = -minus_stop
            kept.append(Span(start, end, names[number]))
    return kept


def _repeats_an_opening(source: bytes) -> bool:
    """Whether a stretch of the text is the same short piece over and over, which opens and never closes: ``A<A<A<``.

    At its end a parser tries all ways to understand it, in one step that nothing can stop; a few thousand characters
    can take gigabytes.
    """
    for start in range(0, len(source) - _STRETCH + 1, _STRETCH):
        middle, end = start + _STRETCH // 2, start + _STRETCH
        piece = source[middle : middle + _PIECE]
        if source.count(piece, start, end) > _STRETCH // (4 * _PIECE) and not _OPENS.isdisjoint(piece):
            if _CLOSES.isdisjoint(source[start:end]):
                return True
    return False


def _parsed_outline(source: bytes, language: str) -> Outline | None:
    """Outline by tree-sitter; None if there is nothing to be had from it."""
    root = syntax_tree(source, language)
    if root is None:
        return None
    captures = captures_of(root, language, GRAMMARS[language].outline)
    if captures is None:
        return None
    return Outline(
        spans=spans_of(captures, _SPAN_KINDS),
        methods=names_of(source, captures, "method"),
        types=names_of(source, captures, "type"),
        fields=names_of(source, captures, "field"),
        package=_package(source, captures),
    )


def _package(source: bytes, captures: Captures) -> str:
    """Dotted name of the first package or namespace (PHP's have backslashes), without blanks; "" if there is none."""
    clauses = [source[node.start_byte : node.end_byte] for node in captures.get("package", ())]
    names = [found[1] for clause in clauses if (found := _PACKAGE.search(clause))]
    names += [source[node.start_byte : node.end_byte] for node in captures.get("namespace", ())]
    dotted = ("".join(name.decode("utf-8", "replace").split()).replace("\\", ".") for name in names)
    return next((name for name in dotted if name), "")
