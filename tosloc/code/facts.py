"""Source text to facts: the terms of its fields, in the whole text and in chunks of 50 lines.

The fields are code, comments, strings and declared names. The outline comes from the syntax tree,
or from the lexer if there is no tree. Only the licence header, the package and the import lines are
dropped; text that a parser does not understand counts as code. In pages that hold script, template
and style in one file (Vue, Svelte, Astro) the scripts are parsed.

Facts depend only on text, language and version of the analyser, so they are computed once for each
blob and stored.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from itertools import chain
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tosloc.code.languages import FIELDS, get_language, language_name
from tosloc.code.literals import PairKeys, find_literal_pairs
from tosloc.code.names import RESERVED
from tosloc.code.notebooks import readable_text
from tosloc.code.parse import MAX_PARSED_BYTES, Captures, Outline, Span, capture_nodes, lex
from tosloc.code.text import identifier_terms
from tosloc.core.arrays import IntArray, LongArray

CHUNK_LINES: Final = 50
CHUNK_OVERLAP: Final = 10
"""Number of lines that a chunk shares with the next chunk."""
SPAN_KINDS: Final = {
    "comment": "comment",
    "string": "string",
    "import": "drop",
    "package": "drop",
    "test": "drop",
}
"""Name of a capture in a query -> kind of the span."""
_WANTED: Final = (*SPAN_KINDS, "method", "type", "field")
_DECLARATIONS: Final = ("method", "type", "function", "class")
_LICENCE = re.compile(
    rb"(?i)copyright|all rights reserved|licen[sc]ed (?:under|to) |SPDX-License"
    rb"|terms of the [\w /.]{0,60}licen[sc]e"
)
_LINE_COMMENT: Final = (b"//", b"#", b"--", b";", b"%", b"!", b"'")
_SCRIPT = re.compile(
    rb"\A\s*---[ \t]*\n(?P<front>.*?)(?:^---[ \t]*$|\Z)|<!--.*?(?:-->|\Z)(?P<nothing>)"
    rb"|<script\b(?:[^<>\"']{1,500}+|\"[^\"]{0,500}+\"|'[^']{0,500}+'){0,50}+>"
    rb"(?P<script>.*?)(?=</script\b|\Z)",
    re.S | re.I | re.M,
)
_MARKUP = re.compile(
    r"</?(?:a|b|blockquote|br|code|dd|div|dl|dt|em|h[1-6]|i|li|nl|ol|p|pre|span|strong|sub|sup"
    r"|table|td|th|tr|tt|ul)\s*/?>"
    r"|\{@(?:code|link|linkplain|literal|value)\b",
    re.I,
)
_ESCAPE = re.compile(r"\\(?:u+[0-9a-fA-F]{4}|.)", re.S)
_CODE, _COMMENT, _STRING, _METHOD = range(4)  # positions in FIELDS
_FIELD_OF_KIND: Final = {"comment": _COMMENT, "string": _STRING}
_NO_WORDS_OF_KIND: Final = {"comment": _MARKUP, "string": _ESCAPE}
"""Kind of span -> pattern of the parts in it that are not words of the text."""
_WORD_CHARACTERS: Final = frozenset(
    character for character in map(chr, range(128)) if character.isalnum() or character in "_$"
)
_BLANK_NO_WORDS: Final = "".join(
    character if character in _WORD_CHARACTERS else " " for character in map(chr, range(128))
)
"""Translation table that replaces ASCII characters that are not part of words by blanks."""
_NO_WORD = re.compile(r"[^\w$]")


@dataclass(slots=True)
class Facts:
    """Facts of one text, with T distinct terms, U chunks and Q pairs of a chunk and a term."""

    terms: list[str]
    """(T,) distinct terms, sorted."""
    counts: npt.NDArray[np.uint16]
    """(T, 6) how often each term occurs in each field of ``FIELDS``, at most 65,535."""
    chunk_starts: LongArray
    """(U + 1,) chunk u has the pairs ``chunk_starts[u]:chunk_starts[u + 1]``; U is at least 1."""
    chunk_terms: IntArray
    """(Q,) each pair's position in ``terms``, ascending within a chunk."""
    chunk_counts: npt.NDArray[np.uint8]
    """(Q,) how often the pair's term occurs in code, comments and strings together, at most 255."""
    lines: int = 0
    parsed: bool = True
    """False if the lexer was used instead of a parser."""
    complexity: int = 0
    """Sum of the functions' cyclomatic complexity by lizard; 0 if it was not computed."""
    literal_pairs: PairKeys = dataclass_field(default_factory=lambda: np.zeros(0, dtype=np.uint64))
    """Sorted keys of the pairs of words that follow each other in a string literal."""


def analyse(text: str, path: str, *, parse: bool = True, lizard: bool = False) -> Facts:
    """Compute the facts of a file with this text and path, of which only the suffix is used.

    Broken, binary, empty and huge texts also have facts; no text raises an error. With
    ``parse=False`` only regular expressions are used, for a text that makes a parser crash. Without
    ``lizard``, which takes long, complexity is 0.
    """
    text = readable_text(text.replace("\r\n", "\n").replace("\r", "\n"), path)
    language = get_language(language_name(path))
    source = text.encode("utf-8", "replace")
    outline = outline_source(source, language.name, parse=parse)
    facts = _count_terms(source, outline)
    facts.literal_pairs = find_literal_pairs(source, outline.spans)
    if lizard and language.lizard is not None:  # otherwise it is no program
        from tosloc.code.complexity import lizard_complexity  # lizard takes long to import

        is_parsed = parse and len(text) <= MAX_PARSED_BYTES
        facts.complexity = lizard_complexity(text, language.lizard if is_parsed else "")
    return facts


class _Words(NamedTuple):
    """The W words of a text."""

    words: list[str]
    fields: LongArray
    """(W,) position in FIELDS of each word's field."""
    lines: LongArray
    """(W,) line of each word, from 0. Declared names have the numbers after the last line."""


def _count_terms(source: bytes, outline: Outline) -> Facts:
    """Return the facts of a text from its UTF-8 bytes and outline, without complexity."""
    words = _split_words(_pieces(source, outline))
    terms_of_words = [identifier_terms(word) for word in words.words]
    number_of_terms = np.fromiter(map(len, terms_of_words), np.int64, len(terms_of_words))
    all_terms = list(chain.from_iterable(terms_of_words))
    fields = np.repeat(words.fields, number_of_terms)
    lines = np.repeat(words.lines, number_of_terms)

    terms = sorted(set(all_terms))
    position_of = {term: position for position, term in enumerate(terms)}
    positions = np.fromiter(map(position_of.__getitem__, all_terms), np.int64, len(all_terms))
    cells = positions * len(FIELDS) + fields
    counts = np.bincount(cells, minlength=len(terms) * len(FIELDS)).reshape(-1, len(FIELDS))

    number_of_lines = source.count(b"\n") + (source[-1:] not in b"\n")
    # The last chunk has lines that are not overlap of the one before.
    chunks = max(1, -(-(number_of_lines - CHUNK_OVERLAP) // CHUNK_LINES))
    chunk = lines // CHUNK_LINES
    in_text = fields < _METHOD
    in_own_chunk = in_text & (chunk < chunks)
    in_chunk_before = in_text & (lines % CHUNK_LINES < CHUNK_OVERLAP) & (chunk > 0)
    keys = chunk * len(terms) + positions
    occurrences = np.concatenate((keys[in_own_chunk], keys[in_chunk_before] - len(terms)))
    pairs, frequencies = np.unique(occurrences, return_counts=True)
    return Facts(
        terms,
        np.minimum(counts, 65_535).astype(np.uint16),
        np.searchsorted(pairs, np.arange(chunks + 1) * len(terms)),
        (pairs % max(len(terms), 1)).astype(np.int32),
        np.minimum(frequencies, 255).astype(np.uint8),
        number_of_lines,
        outline.parsed or not source,
    )


def _pieces(source: bytes, outline: Outline) -> list[tuple[int, str]]:
    """Return field and text of each piece of a source in order, then of the declared names.

    Each piece contains the line breaks of its part of the source, so that lines can be counted.
    """
    pieces: list[tuple[int, str]] = []
    end = 0
    for span in (*outline.spans, Span(len(source), len(source), "drop")):
        pieces.append((_CODE, source[end : span.start].decode("utf-8", "replace")))
        text = source[span.start : span.end].decode("utf-8", "replace")
        end = span.end
        if span.kind == "drop":
            pieces.append((_CODE, "\n" * text.count("\n")))
        else:
            words = _NO_WORDS_OF_KIND[span.kind].sub(_keep_line_breaks, text)
            pieces.append((_FIELD_OF_KIND[span.kind], words))
    for field, names in enumerate((outline.methods, outline.types, outline.fields), start=_METHOD):
        pieces.append((field, " ".join(names)))
    return pieces


def _keep_line_breaks(match: re.Match[str]) -> str:
    return " " + "\n" * match[0].count("\n")


def _split_words(pieces: Sequence[tuple[int, str]]) -> _Words:
    """Split pieces of a text into words, with the field and the line of each word.

    The characters of the whole text are one array, which is much quicker than a loop over words.
    """
    # The blanks end words at the ends of pieces.
    text = " ".join(["", *(piece for _, piece in pieces), ""])
    blanked = text.translate(_BLANK_NO_WORDS) if text.isascii() else _NO_WORD.sub(" ", text)
    is_word = np.frombuffer(blanked.encode("utf-32-le"), dtype=np.int32) != ord(" ")
    characters = np.frombuffer(text.encode("utf-32-le"), dtype=np.int32)
    line_breaks = np.flatnonzero(characters == ord("\n"))
    word_starts = np.flatnonzero(is_word[1:] & ~is_word[:-1]) + 1
    piece_starts = np.cumsum([1, *(len(piece) + 1 for _, piece in pieces)])
    piece_of_word = np.searchsorted(piece_starts, word_starts, side="right") - 1
    field_of_piece = np.array([field for field, _ in pieces])
    lines = np.searchsorted(line_breaks, word_starts)
    return _Words(blanked.split(), field_of_piece[piece_of_word], lines)


def outline_source(source: bytes, language: str, *, parse: bool = True) -> Outline:
    """Return the outline of a file in a language, from its UTF-8 text.

    With ``parse=False`` only regular expressions are used. No text raises an error.
    """
    analysed = get_language(language)
    script = source
    style = analysed.style
    spans_around: list[Span] = []
    if analysed.has_scripts:
        script, rest = split_component(source)
        spans_around = lex(rest, style).spans
        style = "c"
    captures = None
    if parse and analysed.grammar:
        captures = capture_nodes(script, analysed, _WANTED)
    if captures is None:
        outline = lex(script, style)
    else:
        captures = without_tests(captures)
        outline = Outline(
            captured_spans(captures, SPAN_KINDS),
            captured_texts(script, captures, "method"),
            captured_texts(script, captures, "type"),
            captured_texts(script, captures, "field"),
            parsed=True,
        )
    spans = outline.spans
    if spans_around:
        spans = _without_overlaps([*spans, *spans_around])
    spans = _drop_licences(source, spans, all_before_package=language == "java")
    return outline._replace(spans=spans)


def without_tests(captures: Captures) -> Captures:
    """Return the captures without those inside the tests that a source file contains.

    A file with more tests than other declarations is one of tests, which keeps them.
    """
    if not captures.get("test"):
        return captures
    tests = captured_spans(captures, {"test": "drop"})
    starts = [span.start for span in tests]

    def is_outside(start: int, end: int) -> bool:
        place = bisect_right(starts, start) - 1
        return place < 0 or end > tests[place].end

    kept = {"test": captures["test"]}
    for name, nodes in captures.items():
        if name != "test":
            kept[name] = [node for node in nodes if is_outside(node[0], node[1])]
    declarations = {node[0] for name in _DECLARATIONS for node in kept.get(name, ())}
    if len(declarations) < len(tests):
        return {name: nodes for name, nodes in captures.items() if name != "test"}
    return kept


def captured_texts(source: bytes, captures: Captures, name: str) -> list[str]:
    """Return the texts captured as ``name`` in the order of the source, without repetitions."""
    spans = sorted({(start, end) for start, end, _ in captures.get(name, ())})
    texts = [source[start:end].decode("utf-8", "replace") for start, end in spans]
    return [text for text in texts if text not in RESERVED]


def captured_spans(captures: Captures, kinds: Mapping[str, str]) -> list[Span]:
    """Return the spans of the captures whose name is a key of ``kinds``, in order.

    Of overlapping spans the first is kept; of spans with the same start, the longest.
    """
    spans: list[Span] = []
    for name, kind in kinds.items():
        spans += (Span(start, end, kind) for start, end, _ in captures.get(name, ()))
    return _without_overlaps(spans)


def _without_overlaps(spans: list[Span]) -> list[Span]:
    kept: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if span.start < span.end and (not kept or span.start >= kept[-1].end):
            kept.append(span)
    return kept


def split_component(source: bytes) -> tuple[bytes, bytes]:
    """Return a component's scripts and its other text, each with the other part blanked.

    Both are as long as ``source``, with the same lines. A script is the content of ``<script>``,
    and the text between two lines of ``---`` at the beginning (Astro).

    >>> split_component(b"<p>a</p><script>b()</script>")
    (b'                b()         ', b'<p>a</p><script>   </script>')
    """
    script = bytearray(re.sub(rb"[^\n\r]", b" ", source))
    rest = bytearray(source)
    for match in _SCRIPT.finditer(source):
        start, end = match.span(match.lastgroup or 0)
        rest[start:end] = script[start:end]
        script[start:end] = source[start:end]
    return bytes(script), bytes(rest)


def _drop_licences(source: bytes, spans: list[Span], *, all_before_package: bool) -> list[Span]:
    """Return the spans, with the licence comments at the head of the file marked as dropped.

    The head is everything before the first text that is neither comment, package nor import. With
    ``all_before_package`` every comment before the package or the imports counts as a licence;
    other comments of the head count as a licence if they mention one.
    """
    blocks = _head_blocks(source, spans)
    first_statement = 0
    for number, block in enumerate(blocks):
        if block[0].kind == "drop":
            first_statement = number
            break
    result: list[Span] = []
    for number, block in enumerate(blocks):
        is_licence = block[0].kind == "comment" and (
            (all_before_package and number < first_statement)
            or _LICENCE.search(source, block[0].start, block[-1].end) is not None
        )
        if is_licence:
            block = [span._replace(kind="drop") for span in block]
        result += block
    return result + spans[len(result) :]


def _head_blocks(source: bytes, spans: Sequence[Span]) -> list[list[Span]]:
    """Return the spans at the head of a file, grouped into blocks.

    Line comments that follow each other without a blank line are in one block.
    """
    end = 3 if source.startswith(b"\xef\xbb\xbf") else 0
    blocks: list[list[Span]] = []
    for span in spans:
        if span.kind == "string" or source[end : span.start].strip(b" \t\r\n\f;"):
            break
        if blocks and _continues(source, blocks[-1][-1], span):
            blocks[-1].append(span)
        else:
            blocks.append([span])
        end = span.end
    return blocks


def _continues(source: bytes, before: Span, span: Span) -> bool:
    """Return whether two spans are line comments with no blank line between them."""
    return (
        before.kind == span.kind == "comment"
        and source.startswith(_LINE_COMMENT, before.start)
        and source.startswith(_LINE_COMMENT, span.start)
        and source.count(b"\n", before.end - 1, span.start) < 2
    )
