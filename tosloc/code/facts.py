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
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tosloc.code.languages import FIELDS, get_language, language_name
from tosloc.code.literals import PairKeys, find_literal_pairs
from tosloc.code.names import RESERVED
from tosloc.code.notebooks import readable_text
from tosloc.code.parse import MAX_PARSED_BYTES, Captures, Outline, Span, capture_nodes, lex
from tosloc.code.vocabulary import Vocabulary
from tosloc.core.arrays import IntArray, LongArray
from tosloc.core.patterns import lazy_pattern

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
_LICENCE = lazy_pattern(
    rb"(?i)copyright|all rights reserved|licen[sc]ed (?:under|to) |SPDX-License"
    rb"|terms of the [\w /.]{0,60}licen[sc]e"
)
_LINE_COMMENT: Final = (b"//", b"#", b"--", b";", b"%", b"!", b"'")
_SCRIPT = lazy_pattern(
    rb"\A\s*---[ \t]*\n(?P<front>.*?)(?:^---[ \t]*$|\Z)|<!--.*?(?:-->|\Z)(?P<nothing>)"
    rb"|<script\b(?:[^<>\"']{1,500}+|\"[^\"]{0,500}+\"|'[^']{0,500}+'){0,50}+>"
    rb"(?P<script>.*?)(?=</script\b|\Z)",
    re.S | re.I | re.M,
)
_MARKUP = lazy_pattern(
    rb"</?(?:a|b|blockquote|br|code|dd|div|dl|dt|em|h[1-6]|i|li|nl|ol|p|pre|span|strong|sub|sup"
    rb"|table|td|th|tr|tt|ul)\s*/?>"
    rb"|\{@(?:code|link|linkplain|literal|value)\b",
    re.I,
)
_ESCAPE = lazy_pattern(rb"\\(?:u+[0-9a-fA-F]{4}|[\x00-\x7f]|[\x80-\xff][\x80-\xbf]*)")
_CODE, _COMMENT, _STRING, _METHOD = range(4)  # positions in FIELDS
_FIELD_OF_KIND: Final = {"drop": _CODE, "comment": _COMMENT, "string": _STRING}
_NO_WORDS_OF_KIND: Final = {"comment": _MARKUP, "string": _ESCAPE}
"""Kind of span -> pattern of the parts in it that are not words of the text."""
_BLANK: Final = ord(" ")
_LINE_BREAK: Final = ord("\n")
_BLANK_NO_WORDS: Final = bytes(
    byte if byte >= 128 or chr(byte).isalnum() or chr(byte) in "_$" else _BLANK
    for byte in range(256)
)
"""Translation table that replaces ASCII characters that are not part of words by blanks."""
_NO_WORD = lazy_pattern(r"[^\w$\x00-\x7f]+")
"""Characters beyond ASCII that are not part of words."""
_VOCABULARY: Final = Vocabulary()


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
    """The W words of a text in order, followed by its declared names."""

    words: list[bytes]
    fields: npt.NDArray[np.uint8]
    """Position in FIELDS of the field of each word and declared name."""
    starts: LongArray
    """(W,) offset of each word in the text; declared names have none."""


def _count_terms(source: bytes, outline: Outline) -> Facts:
    """Return the facts of a text from its UTF-8 bytes and outline, without complexity."""
    words = _split_words(source, outline)
    terms, positions, sizes = _VOCABULARY.number_terms(words.words)
    cells = positions * len(FIELDS) + np.repeat(words.fields, sizes)
    counts = np.bincount(cells, minlength=len(terms) * len(FIELDS)).reshape(-1, len(FIELDS))

    line_breaks = np.flatnonzero(np.frombuffer(source, dtype=np.uint8) == _LINE_BREAK)
    number_of_lines = len(line_breaks) + (source[-1:] not in b"\n")
    # The last chunk has lines that are not overlap of the one before.
    chunks = max(1, -(-(number_of_lines - CHUNK_OVERLAP) // CHUNK_LINES))
    breaks_before = line_breaks[CHUNK_LINES - 1 :: CHUNK_LINES][: chunks - 1]
    breaks_after = line_breaks[CHUNK_LINES + CHUNK_OVERLAP - 1 :: CHUNK_LINES][: chunks - 1]
    term_starts = np.concatenate(([0], np.cumsum(sizes)))
    starts = term_starts[[0, *np.searchsorted(words.starts, breaks_before).tolist()]].tolist()
    last_words = np.searchsorted(words.starts, breaks_after).tolist()
    ends = term_starts[[*last_words, len(words.starts)]].tolist()
    # Small numbers are sorted several times as fast as large ones.
    positions = positions.astype(np.min_scalar_type(chunks * len(terms)))
    in_chunks = []
    for number, (start, end) in enumerate(zip(starts, ends, strict=True)):
        in_chunks.append(positions[start:end] + number * len(terms))
    occurrences = np.concatenate(in_chunks)
    occurrences.sort()
    is_first = np.ones(len(occurrences), dtype=np.bool_)
    np.not_equal(occurrences[1:], occurrences[:-1], out=is_first[1:])
    first_positions = np.flatnonzero(is_first)
    pairs = occurrences[first_positions]
    frequencies = np.diff(first_positions, append=len(occurrences))
    return Facts(
        terms,
        np.minimum(counts, 65_535).astype(np.uint16),
        np.searchsorted(pairs, np.arange(chunks + 1) * len(terms)),
        (pairs % max(len(terms), 1)).astype(np.int32),
        np.minimum(frequencies, 255).astype(np.uint8),
        number_of_lines,
        outline.parsed or not source,
    )


def _split_words(source: bytes, outline: Outline) -> _Words:
    """Return the words of a text's code, comments and strings, and its declared names.

    No word crosses the edge of a span.
    """
    blanked = _blank_no_words(source)
    edges = [0]
    fields = [_CODE]
    for start, end, kind in outline.spans:
        edges += (start, end)
        fields += (_FIELD_OF_KIND[kind], _CODE)
        if kind == "drop":
            blanked[start:end] = b" " * (end - start)
        # To look for a backslash is faster than to start a search, and most strings have none.
        elif kind == "comment" or source.find(b"\\", start, end) >= 0:
            for match in _NO_WORDS_OF_KIND[kind].finditer(source, start, end):
                blanked[match.start() : match.end()] = b" " * len(match[0])
    edges.append(len(source))
    characters = np.frombuffer(blanked, dtype=np.uint8)
    is_word = np.zeros(len(source) + 2, dtype=np.bool_)  # with a blank before and after the text
    np.not_equal(characters, _BLANK, out=is_word[1:-1])
    is_start = is_word[1:] > is_word[:-1]
    # A parser may have been given a line break more than the text has.
    all_edges = np.minimum(edges, len(source))
    cuts = all_edges[is_word[all_edges] & is_word[all_edges + 1]]
    if len(cuts):
        cuts = np.unique(cuts)
        is_start[cuts] = True
        characters = np.insert(characters, cuts, _BLANK)
    starts = np.flatnonzero(is_start)
    words = characters.tobytes().split()
    numbers_of_words = np.diff(np.searchsorted(starts, all_edges)).tolist()
    for field, names in enumerate((outline.methods, outline.types, outline.fields), start=_METHOD):
        name_words = bytes(_blank_no_words(" ".join(names).encode("utf-8", "replace"))).split()
        words += name_words
        fields.append(field)
        numbers_of_words.append(len(name_words))
    return _Words(words, np.repeat(np.array(fields, dtype=np.uint8), numbers_of_words), starts)


def _blank_no_words(source: bytes) -> bytearray:
    """Return a text of UTF-8 with blanks in place of all characters that are not part of words."""
    if not source.isascii():
        source = _NO_WORD.sub(_blanks_as_long, source.decode("utf-8", "replace")).encode()
    return bytearray(source.translate(_BLANK_NO_WORDS))


def _blanks_as_long(match: re.Match[str]) -> str:
    """Return as many blanks as the UTF-8 of a match has bytes."""
    return " " * len(match[0].encode())


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
