"""What stage one needs to know of a source text: its terms by field and by 50-line chunk, its types, its complexity.

Facts are a pure function of text, language and the analyser's version, so they are made once for a blob and kept.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from tosloc.analysis.analyser import FIELDS, TEXT_FIELDS
from tosloc.analysis.complexity import Complexity, keyword_complexity
from tosloc.analysis.languages import language_named, language_of
from tosloc.analysis.outline import Outline, Span
from tosloc.analysis.syntax import outline_of
from tosloc.analysis.text import identifier_compounds, identifier_terms, words
from tosloc.records import IntArray, LongArray

CHUNK_LINES: Final = 50
CHUNK_OVERLAP: Final = 10
"""Lines that a chunk shares with the next one."""

_ESCAPE = re.compile(r"\\(?:u+[0-9a-fA-F]{4}|.)", re.S)
_MARKUP = re.compile(
    r"</?(?:a|b|blockquote|br|code|dd|div|dl|dt|em|h[1-6]|i|li|nl|ol|p|pre|span|strong|sub|sup|table|td|th|tr|tt|ul)\s*/?>"
    r"|\{@(?:code|link|linkplain|literal|value)\b",
    re.I,
)


@dataclass(slots=True)
class Facts:
    """Facts of one text. T distinct terms, C chunks, Q (chunk, term) pairs."""

    terms: list[str] = field(default_factory=list)
    """(T,) distinct terms, sorted."""
    counts: npt.NDArray[np.uint16] = field(default_factory=lambda: np.zeros((0, len(FIELDS)), dtype=np.uint16))
    """(T, 6) how often each term stands in each of ``FIELDS``, at most 65,535."""
    chunk_starts: LongArray = field(default_factory=lambda: np.zeros(2, dtype=np.int64))
    """(C + 1,) chunk c holds pairs ``chunk_starts[c]:chunk_starts[c + 1]``; C is at least 1."""
    chunk_terms: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    """(Q,) positions in ``terms``, ascending in a chunk."""
    chunk_counts: npt.NDArray[np.uint8] = field(default_factory=lambda: np.zeros(0, dtype=np.uint8))
    """(Q,) counts of code, comments and strings together, at most 255."""
    types: tuple[str, ...] = ()
    """Simple names of the declared types, in order, each once."""
    package: str = ""
    """Dotted name of the package or namespace; "" if there is none."""
    complexity: int = 0
    """Sum of the cyclomatic complexity numbers of the functions."""
    functions: int = 0
    lines: int = 0
    length: int = 0
    """Terms of code, comments and strings, each time they occur."""
    compounds: int = 0
    """Those of ``length`` that are compounds of an identifier."""
    parsed: bool = True
    """False if the lexer had to stand in for a parser."""
    counted: bool = True
    """False if keywords were counted for the complexity, where there is no grammar or no program."""


class _Section(NamedTuple):
    """Words of one field in one piece of a file.

    Pieces are lines 0-9, 10-49, 50-59, 60-99, 100-109 and so on: piece 2c is what chunk c shares with chunk c - 1,
    piece 2c + 1 the rest of chunk c's first 50 lines.
    """

    piece: int
    field: str
    """One of ``TEXT_FIELDS``."""
    words: list[str]


class _Numbering(dict[str, int]):
    """Gives each new key the next number."""

    def __missing__(self, key: str) -> int:
        number = self[key] = len(self)
        return number


def analyse(text: str, path_suffix: str, *, parse: bool = True, lizard: bool = False) -> Facts:
    """Facts of a file with this ``text`` whose path ends in ``path_suffix`` (with its dot, such as ".java").

    Broken, binary, empty and huge texts have facts too; nothing in a text raises. ``parse=False`` uses regular
    expressions alone, for a text that brings a parser down. With ``lizard`` complexity is lizard's number, else that of
    the syntax tree.
    """
    language = language_named(language_of(path_suffix))
    text = text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
    source = text.encode("utf-8", "replace")
    outline = outline_of(source, language.name, parse=parse)
    facts = Facts(types=tuple(dict.fromkeys(outline.types)), package=outline.package, parsed=outline.parsed)
    facts.lines = text.count("\n") + (not text.endswith("\n") and bool(text))
    _count_terms(facts, source, outline)
    if language.lizard is not None:
        by_lizard = language.lizard if lizard and parse else None
        measured = outline.complexity if by_lizard is None else _lizard_complexity(text, by_lizard)
        measured = measured or keyword_complexity(text)
        facts.complexity, facts.functions, facts.counted = measured.total, measured.functions, measured.counted
    return facts


def _lizard_complexity(text: str, suffix: str) -> Complexity:
    from tosloc.analysis.lizard_complexity import lizard_complexity  # lizard takes long to import

    return lizard_complexity(text, suffix)


def _chunk_count(lines: int) -> int:
    """How many chunks a text has; a last one of overlap lines only is not made.

    >>> [_chunk_count(lines) for lines in (0, 1, 60, 61, 110, 111)]
    [1, 1, 1, 2, 2, 3]
    """
    return max(1, -(-(lines - CHUNK_OVERLAP) // CHUNK_LINES))


def _count_terms(facts: Facts, source: bytes, outline: Outline) -> None:
    """Fill in the terms, the counts and the chunks.

    Each distinct identifier is expanded to its terms once, so terms are counted by products of sparse matrices.
    S sections, I identifiers, T terms, C chunks.
    """
    C = _chunk_count(facts.lines)
    sections = list(_sections(source, outline.spans, C))
    identifiers = _Numbering()
    tokens = [[identifiers[word] for word in section.words] for section in sections]
    declared = [
        [identifiers[word] for name in names for word in words(name)]
        for names in (outline.methods, outline.types, outline.fields)
    ]
    expanded = [identifier_terms(identifier) for identifier in identifiers]
    facts.terms = sorted({term for terms in expanded for term in terms})
    if not facts.terms:
        facts.chunk_starts = np.zeros(C + 1, dtype=np.int64)
        return
    term_number = {term: number for number, term in enumerate(facts.terms)}
    terms_IT = _counts([[term_number[term] for term in terms] for terms in expanded], len(term_number))
    tokens_SI = _counts(tokens, len(identifiers))
    tokens_SI.sum_duplicates()
    terms_ST = tokens_SI @ terms_IT

    by_field = [[number for number, section in enumerate(sections) if section.field == name] for name in TEXT_FIELDS]
    text_3T = (_counts(by_field, len(sections)) @ terms_ST).toarray()
    declared_3T = (_counts(declared, len(identifiers)) @ terms_IT).toarray()
    counts = np.concatenate((text_3T, declared_3T)).T
    facts.counts = np.ascontiguousarray(np.minimum(counts, np.iinfo(np.uint16).max).astype(np.uint16))
    facts.length = int(terms_ST.sum())
    compounds_I = np.array([len(identifier_compounds(identifier)) for identifier in identifiers])
    facts.compounds = int((tokens_SI @ compounds_I).sum())

    chunks_CT = _counts(_sections_of_chunks(sections, C), len(sections)) @ terms_ST
    chunks_CT.sort_indices()
    facts.chunk_starts = chunks_CT.indptr.astype(np.int64)
    facts.chunk_terms = chunks_CT.indices.astype(np.int32)
    facts.chunk_counts = np.minimum(chunks_CT.data, np.iinfo(np.uint8).max).astype(np.uint8)


def _counts(rows: Sequence[Sequence[int]], width: int) -> csr_array:
    """Sparse matrix that holds in row r how often each number occurs in ``rows[r]``."""
    starts = np.cumsum([0, *map(len, rows)])
    columns = np.fromiter((column for row in rows for column in row), dtype=np.int64, count=int(starts[-1]))
    return csr_array((np.ones(len(columns), dtype=np.int64), columns, starts), shape=(len(rows), width))


def _sections_of_chunks(sections: Sequence[_Section], chunks: int) -> list[list[int]]:
    """Numbers of each chunk's sections. Overlap lines stand in two chunks, but for the first and the last ones."""
    found: list[list[int]] = [[] for _ in range(chunks)]
    for number, section in enumerate(sections):
        chunk = section.piece // 2
        if chunk < chunks:
            found[chunk].append(number)
        if section.piece % 2 == 0 and chunk > 0:
            found[chunk - 1].append(number)
    return found


def _sections(source: bytes, spans: Sequence[Span], chunks: int) -> Iterator[_Section]:
    """The words of the text's code, comments and strings, piece by piece."""
    ends = _piece_ends(source, chunks)
    texts: defaultdict[tuple[int, str], list[bytes]] = defaultdict(list)
    for start, end, kind in _with_code(spans, len(source)):
        while start < end and kind != "drop":
            piece = bisect_right(ends, start)
            stop = min(end, ends[piece])
            texts[piece, kind].append(source[start:stop])
            start = stop
    for (piece, kind), parts in texts.items():
        text = b" ".join(parts).decode("utf-8", "replace")
        if kind == "string" and "\\" in text:
            text = _ESCAPE.sub(" ", text)
        elif kind == "comment" and ("<" in text or "{@" in text):
            text = _MARKUP.sub(" ", text)
        yield _Section(piece, kind, words(text))


def _piece_ends(source: bytes, chunks: int) -> list[int]:
    """Where each piece of lines ends in the source."""
    newlines = np.flatnonzero(np.frombuffer(source, dtype=np.uint8) == ord("\n"))
    pieces = np.arange(1, 2 * chunks + 1)
    first_lines = (pieces // 2) * CHUNK_LINES + (pieces % 2) * CHUNK_OVERLAP
    first_lines = first_lines[first_lines <= len(newlines)]
    return [*(newlines[first_lines - 1] + 1).tolist(), len(source)]


def _with_code(spans: Sequence[Span], size: int) -> Iterator[Span]:
    """The spans with the code between them."""
    end = 0
    for span in (*spans, Span(size, size, "code")):
        yield Span(end, span.start, "code")
        yield span
        end = span.end
