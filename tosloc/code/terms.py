"""The terms of source texts, counted by field and by 50-line chunk, for many texts at once.

All words of a batch become one array of numbers, so that what costs the same for a short text and a long one is paid
once a batch. What comes out for a text does not depend on the others.
"""

from __future__ import annotations

import re
import threading
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tosloc.code.languages import FIELDS
from tosloc.code.lexer import Outline, Span
from tosloc.code.text import expand_identifier, words
from tosloc.records import IntArray, LongArray

CHUNK_LINES: Final = 50
CHUNK_OVERLAP: Final = 10
"""Lines that a chunk shares with the next one."""

_CODE, _COMMENT, _STRING, _METHOD, _TYPE, _FIELD = range(len(FIELDS))
_KINDS: Final = {"comment": _COMMENT, "string": _STRING}
_NO_NUMBERS: Final = np.zeros(0, dtype=np.int32)
_BETWEEN: Final = "|"
"""Stands between pieces: no word, and nothing that a piece holds beside its words."""
_MARKS: Final = {_CODE: (), _COMMENT: (b"<", b"{@"), _STRING: (b"\\",)}
_ESCAPE = re.compile(r"\\(?:u+[0-9a-fA-F]{4}|.)", re.S)
_MARKUP = re.compile(
    r"</?(?:a|b|blockquote|br|code|dd|div|dl|dt|em|h[1-6]|i|li|nl|ol|p|pre|span|strong|sub|sup|table|td|th|tr|tt|ul)\s*/?>"
    r"|\{@(?:code|link|linkplain|literal|value)\b",
    re.I,
)
_BLANKED: Final = bytes(code if chr(code).isalnum() or chr(code) in "_$" else ord(" ") for code in range(128)).ljust(
    256
)
"""What stands for a byte of ASCII where only words matter."""
_MAX_WORDS: Final = 400_000
"""Words numbered in a process, about 100 MB; then numbering starts again."""

# F texts, S pieces, N words, M terms of theirs, V distinct ones, P (text, term) pairs, Q (chunk, term) pairs


class SourceText(NamedTuple):
    """A text to be counted."""

    source: bytes
    """UTF-8."""
    lines: int
    outline: Outline


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
    lines: int = 0
    parsed: bool = True
    """False if the lexer had to stand in for a parser."""
    complexity: int = 0
    """Sum of the cyclomatic complexity numbers of the functions, by lizard, where it was asked for."""


class _Numbers(dict[str, int]):
    """Number of each word; a new one gets the next, and its terms go to the lexicon."""

    def __init__(self, lexicon: _Lexicon) -> None:
        self._lexicon = lexicon

    def __missing__(self, word: str) -> int:
        self._lexicon.learn(word)
        number = self[word] = len(self)
        return number


class _Lexicon:
    """The words that this process has met, with the terms that each stands for."""

    def __init__(self) -> None:
        self.numbers = _Numbers(self)
        self.terms: list[str] = []
        self._numbers: dict[str, int] = {}
        self._starts = array("q", [0])
        self._terms = array("i")

    def learn(self, word: str) -> None:
        """Keep the terms of the next word."""
        for term in expand_identifier(word)[0]:
            number = self._numbers.setdefault(term, len(self.terms))
            if number == len(self.terms):
                self.terms.append(term)
            self._terms.append(number)
        self._starts.append(len(self._terms))

    def arrays(self) -> tuple[LongArray, IntArray]:
        """Where each word's terms start in the second array, of numbers of terms."""
        # copies, since an array that is looked at cannot grow
        return np.array(self._starts), np.array(self._terms, dtype=np.int32)


_lexicon = _Lexicon()
_lock = threading.Lock()  # of the lexicon


def count_terms(texts: Sequence[SourceText]) -> list[Facts]:
    """Counts of each text."""
    with _lock:
        return _count_terms(texts)


def _count_terms(texts: Sequence[SourceText]) -> list[Facts]:
    global _lexicon
    if len(_lexicon.numbers) >= _MAX_WORDS:
        _lexicon = _Lexicon()
    chunks = np.array([_chunk_count(text.lines) for text in texts], dtype=np.int64)
    pieces = _Pieces()
    of_texts = [pieces.add(text, count) for text, count in zip(texts, chunks.tolist(), strict=True)]
    numbers = np.concatenate([_NO_NUMBERS, *pieces.numbers])
    between = numbers == _lexicon.numbers[_BETWEEN]
    is_word = ~between
    return _counted(
        texts,
        numbers[is_word],
        np.cumsum(between, dtype=np.int32)[is_word],
        np.repeat(np.arange(len(texts)), of_texts),
        *np.divmod(np.array(pieces.places, dtype=np.int64), len(FIELDS)),
        chunks,
    )


def _chunk_count(lines: int) -> int:
    """How many chunks a text has; a last one of overlap lines only is not made.

    >>> [_chunk_count(lines) for lines in (0, 1, 60, 61, 110, 111)]
    [1, 1, 1, 2, 2, 3]
    """
    return max(1, -(-(lines - CHUNK_OVERLAP) // CHUNK_LINES))


class _Pieces:
    """Pieces of texts, blank but for their words: of one field each, none of which goes over the end of a run of lines.

    Runs are lines 0-9, 10-49, 50-59, 60-99, 100-109 and so on: run 2c is what chunk c shares with chunk c - 1, run
    2c + 1 the rest of chunk c's first 50 lines.
    """

    def __init__(self) -> None:
        self.numbers: list[IntArray] = []
        """Those of the words of each text's pieces, and that of ``_BETWEEN`` after each piece."""
        self.places: list[int] = []
        """Run of lines of each piece (0 for declared names) times the number of fields, and its field."""

    def add(self, text: SourceText, chunks: int) -> int:
        """Take a text apart; the number of its pieces."""
        texts: list[str] = []
        source, outline = text.source, text.outline
        blanked = source.translate(_BLANKED).decode() if source.isascii() else None
        marks_of = {field: [mark for mark in marks if mark in source] for field, marks in _MARKS.items()}
        ends, width = _run_ends(source, chunks), len(FIELDS)
        run = 0
        for start, stop, of_field in _with_code(outline.spans, len(source)):
            while start < stop:
                while ends[run] <= start:
                    run += 1
                end = stop if stop <= ends[run] else ends[run]
                more_than_words = blanked is None
                for mark in marks_of[of_field]:
                    more_than_words = more_than_words or source.find(mark, start, end) >= 0
                if blanked is None or more_than_words:
                    piece = " ".join(words(_plain(source[start:end].decode("utf-8", "replace"), of_field)))
                else:
                    piece = blanked[start:end]
                texts.append(piece)
                self.places.append(run * width + of_field)
                start = end
        for of_field, names in ((_METHOD, outline.methods), (_TYPE, outline.types), (_FIELD, outline.fields)):
            texts.append(" ".join(words(" ".join(names))))
            self.places.append(of_field)
        texts.append("")
        tokens = f" {_BETWEEN} ".join(texts).split()
        # a text at a time: its words are looked up while they are at hand
        numbers = map(_lexicon.numbers.__getitem__, tokens)
        self.numbers.append(np.fromiter(numbers, dtype=np.int32, count=len(tokens)))
        return len(texts) - 1


def _with_code(spans: Sequence[Span], size: int) -> list[tuple[int, int, int]]:
    """Start, end and field of the spans that have words, and of the code between them all."""
    found = []
    end = 0
    for start, after, kind in spans:
        stop = min(after, size)  # what a parser calls a string that does not end may go one byte too far
        if end < start:
            found.append((end, start, _CODE))
        if kind != "drop":
            found.append((start, stop, _KINDS[kind]))
        end = stop
    if end < size:
        found.append((end, size, _CODE))
    return found


def _run_ends(source: bytes, chunks: int) -> list[int]:
    """Where each run of lines ends in the source."""
    newlines = np.flatnonzero(np.frombuffer(source, dtype=np.uint8) == ord("\n"))
    runs = np.arange(1, 2 * chunks + 1)
    first_lines = (runs // 2) * CHUNK_LINES + (runs % 2) * CHUNK_OVERLAP
    first_lines = first_lines[first_lines <= len(newlines)]
    return [*(newlines[first_lines - 1] + 1).tolist(), len(source)]


def _plain(text: str, field: int) -> str:
    """A string without its escapes, a comment without its markup."""
    if field == _STRING:
        return _ESCAPE.sub(" ", text)
    return _MARKUP.sub(" ", text) if field == _COMMENT else text


def _counted(
    texts: Sequence[SourceText],
    words_N: IntArray,
    pieces_N: IntArray,
    files_S: LongArray,
    runs_S: LongArray,
    fields_S: LongArray,
    chunks_F: LongArray,
) -> list[Facts]:
    """Counts of F texts from the numbers of the words, and the S pieces that they stand in: of which text, which run of
    lines and which field each is."""
    F = len(texts)
    first, of_words = _lexicon.arrays()
    lengths_N = np.diff(first)[words_N]

    # each word's terms
    ends_N = np.cumsum(lengths_N)
    places = np.arange(ends_N[-1] if len(ends_N) else 0) + np.repeat(first[words_N] - (ends_N - lengths_N), lengths_N)
    terms_M = of_words[places]
    pieces_M = np.repeat(pieces_N, lengths_N)

    # numbered by their order in the batch, and then in each text
    used = np.zeros(len(_lexicon.terms), dtype=bool)
    used[terms_M] = True
    in_order = sorted(np.flatnonzero(used).tolist(), key=_lexicon.terms.__getitem__)
    V = len(in_order)
    rank = np.zeros(len(used), dtype=np.int32)
    rank[in_order] = np.arange(V)
    keys_M = (files_S * V)[pieces_M] + rank[terms_M]
    has = np.zeros(F * V, dtype=bool)
    has[keys_M] = True
    pairs_P = np.flatnonzero(has)
    starts_F = np.searchsorted(pairs_P, np.arange(F + 1) * V)
    pairs_M = (np.cumsum(has, dtype=np.int32) - 1)[keys_M]
    P = len(pairs_P)
    occurrences = np.bincount(pairs_M * len(FIELDS) + fields_S[pieces_M], minlength=P * len(FIELDS))
    counts = np.minimum(occurrences, np.iinfo(np.uint16).max).astype(np.uint16).reshape(-1, len(FIELDS))

    first_chunks_F = np.cumsum(chunks_F) - chunks_F
    chunks_S = first_chunks_F[files_S] + runs_S // 2
    in_text_S = fields_S <= _STRING
    here = np.flatnonzero((in_text_S & (runs_S // 2 < chunks_F[files_S]))[pieces_M])
    # overlap lines stand in two chunks, but for the first and the last ones
    before = np.flatnonzero((in_text_S & (runs_S % 2 == 0) & (runs_S > 0))[pieces_M])
    chunks = np.concatenate((chunks_S[pieces_M[here]], chunks_S[pieces_M[before]] - 1))
    pairs = np.concatenate((pairs_M[here], pairs_M[before]))
    chunk_starts, chunk_pairs, chunk_counts = _by_chunk(chunks, pairs, int(chunks_F.sum()), P)

    terms_P = [_lexicon.terms[in_order[number]] for number in (pairs_P % max(V, 1)).tolist()]
    found = []
    each = zip(texts, first_chunks_F.tolist(), chunks_F.tolist(), strict=True)
    for file, (text, chunk, size) in enumerate(each):
        own = slice(*starts_F[file : file + 2].tolist())
        bounds = chunk_starts[chunk : chunk + size + 1]
        part = slice(int(bounds[0]), int(bounds[-1]))
        found.append(
            Facts(
                terms=terms_P[own],
                counts=counts[own],
                chunk_starts=bounds - bounds[0],
                chunk_terms=(chunk_pairs[part] - own.start).astype(np.int32),
                chunk_counts=chunk_counts[part],
                lines=text.lines,
                parsed=text.outline.parsed or not text.source,
            )
        )
    return found


def _by_chunk(
    chunks: LongArray, pairs: LongArray, C: int, P: int
) -> tuple[LongArray, LongArray, npt.NDArray[np.uint8]]:
    """Of C chunks the P pairs that occur in each: where each chunk's begin, the pairs, and how often each occurs."""
    postings = chunks * P + pairs
    postings.sort()
    new = np.flatnonzero(np.diff(postings, prepend=-1))
    counts = np.minimum(np.diff(new, append=len(postings)), np.iinfo(np.uint8).max).astype(np.uint8)
    postings = postings[new]
    return np.searchsorted(postings, np.arange(C + 1) * P), postings % max(P, 1), counts
