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
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tosloc.code.languages import FIELDS
from tosloc.code.parse import Outline, Span
from tosloc.code.text import expand_identifier, words
from tosloc.records import IntArray, LongArray

CHUNK_LINES: Final = 50
CHUNK_OVERLAP: Final = 10  # lines that a chunk shares with the next one

_CODE, _COMMENT, _STRING, _METHOD, _TYPE, _FIELD = range(len(FIELDS))
_KINDS: Final = {"comment": _COMMENT, "string": _STRING, "drop": -1}
_ESCAPE = re.compile(r"\\(?:u+[0-9a-fA-F]{4}|.)", re.S)
_MARKUP = re.compile(
    r"</?(?:a|b|blockquote|br|code|dd|div|dl|dt|em|h[1-6]|i|li|nl|ol|p|pre|span|strong|sub|sup|table|td|th|tr|tt|ul)\s*/?>"
    r"|\{@(?:code|link|linkplain|literal|value)\b",
    re.I,
)
_NO_WORDS: Final = {"comment": (("<", "{@"), _MARKUP), "string": (("\\",), _ESCAPE), "drop": ((), _ESCAPE)}
"""Kind of span -> what of it are no words of the text, and what that begins with."""
_BLANK: Final = ord(" ")
_BLANKED: Final = bytes(code if chr(code).isalnum() or chr(code) in "_$" else _BLANK for code in range(128)).ljust(256)
"""What stands for a byte of ASCII where only words matter."""
_NO_WORD = re.compile(r"[^\w$]")
_MAX_WORDS: Final = 400_000  # words numbered in a process, about 100 MB; then numbering starts again

# F texts, S pieces of them, N words, M terms of theirs, V distinct ones, P (text, term) pairs, Q (chunk, term) pairs


class SourceText(NamedTuple):
    """A text to be counted."""

    source: bytes  # UTF-8
    lines: int
    outline: Outline


@dataclass(slots=True)
class Facts:
    """Facts of one text. T distinct terms, C chunks, Q (chunk, term) pairs."""

    terms: list[str] = field(default_factory=list)  # (T,) distinct terms, sorted
    counts: npt.NDArray[np.uint16] = field(default_factory=lambda: np.zeros((0, len(FIELDS)), dtype=np.uint16))
    """(T, 6) how often each term stands in each of ``FIELDS``, at most 65,535."""
    chunk_starts: LongArray = field(default_factory=lambda: np.zeros(2, dtype=np.int64))
    """(C + 1,) chunk c holds pairs ``chunk_starts[c]:chunk_starts[c + 1]``; C is at least 1."""
    chunk_terms: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    """(Q,) positions in ``terms``, ascending in a chunk."""
    chunk_counts: npt.NDArray[np.uint8] = field(default_factory=lambda: np.zeros(0, dtype=np.uint8))
    """(Q,) counts of code, comments and strings together, at most 255."""
    lines: int = 0
    parsed: bool = True  # False if the lexer had to stand in for a parser
    complexity: int = 0  # sum of the cyclomatic complexity numbers of the functions, by lizard, where it was asked for


class _Lexicon(dict[str, int]):
    """Number of each word that this process has met; a new one gets the next, and its terms are kept."""

    def __init__(self) -> None:
        super().__init__()
        self.terms: list[str] = []
        self._numbers: dict[str, int] = {}
        self._starts = array("q", [0])
        self._terms = array("i")

    def __missing__(self, word: str) -> int:
        for term in expand_identifier(word)[0]:
            number = self._numbers.setdefault(term, len(self.terms))
            if number == len(self.terms):
                self.terms.append(term)
            self._terms.append(number)
        self._starts.append(len(self._terms))
        self[word] = len(self)
        return self[word]

    def arrays(self) -> tuple[LongArray, IntArray]:
        """Where each word's terms start in the second array, of numbers of terms."""
        # copies, since an array that is looked at cannot grow
        return np.array(self._starts), np.array(self._terms, dtype=np.int32)


_lexicon = _Lexicon()
_lock = threading.Lock()  # of the lexicon


def count_terms(texts: Sequence[SourceText]) -> list[Facts]:
    """Counts of each text."""
    global _lexicon
    if not texts:
        return []
    letters, pieces, newlines = _laid_out(texts)
    is_word = letters != _BLANK
    starts_N = np.flatnonzero(is_word[1:] & ~is_word[:-1]) + 1
    tokens = letters.tobytes().decode("ascii" if letters.itemsize == 1 else "utf-32-le").split()
    pieces_N = np.searchsorted(pieces.starts, starts_N, side="right") - 1
    kept = pieces.fields[pieces_N] >= 0
    lines_N = np.searchsorted(newlines, starts_N)
    lines_N -= np.searchsorted(newlines, pieces.text_starts)[pieces.files[pieces_N]]
    with _lock:
        if len(_lexicon) >= _MAX_WORDS:
            _lexicon = _Lexicon()
        words_N = np.fromiter(map(_lexicon.__getitem__, tokens), dtype=np.int32, count=len(tokens))
        return _counted(texts, words_N[kept], pieces_N[kept], lines_N[kept], pieces)


class _Pieces(NamedTuple):
    """Pieces of one field that texts are made of, in their order; declared names stand after their text."""

    starts: LongArray  # (S,) where each begins in the letters
    files: LongArray  # (S,) numbers of texts
    fields: LongArray  # (S,) places in FIELDS; -1 for what gives no terms
    text_starts: LongArray  # (F,) where each text begins in the letters


def _laid_out(texts: Sequence[SourceText]) -> tuple[npt.NDArray[np.unsignedinteger[Any]], _Pieces, LongArray]:
    """The letters of all texts, with blanks for what is no word; the pieces; where lines end in the letters."""
    parts: list[str] = [""]
    starts: list[int] = []
    fields: list[int] = []
    counts: list[int] = []
    text_starts: list[int] = []
    newlines: list[LongArray] = []
    gone: list[tuple[int, int]] = []
    size = 1  # a blank stands before each part, and at the end
    for source, _, outline in texts:
        spans, text = outline.spans, source.decode("utf-8", "replace")
        codes = np.frombuffer(source, dtype=np.uint8)
        ends = np.flatnonzero(codes == ord("\n"))
        if source.isascii():
            parts.append(source.translate(_BLANKED).decode())
        else:
            parts.append(_NO_WORD.sub(" ", text))
            place = np.concatenate(([0], np.cumsum((codes & 0xC0) != 0x80)))  # of a byte among the letters
            spans = [Span(int(place[start]), int(place[min(end, len(codes))]), kind) for start, end, kind in spans]
            ends = place[ends]
        newlines.append(ends + size)
        text_starts.append(size)
        before = len(starts)
        starts.append(size)
        fields.append(_CODE)
        for start, end, kind in spans:
            end = min(end, len(text))  # what a parser calls a string that does not end may go one byte too far
            starts += (size + start, size + end)
            fields += (_KINDS[kind], _CODE)
            marks, no_words = _NO_WORDS[kind]
            if any(text.find(mark, start, end) >= 0 for mark in marks):
                gone += [(size + found.start(), size + found.end()) for found in no_words.finditer(text, start, end)]
        for of_field, names in ((_METHOD, outline.methods), (_TYPE, outline.types), (_FIELD, outline.fields)):
            size += len(parts[-1]) + 1
            starts.append(size)
            fields.append(of_field)
            parts.append(" ".join(words(" ".join(names))))
        size += len(parts[-1]) + 1
        counts.append(len(starts) - before)
    joined = " ".join([*parts, ""])
    letters: npt.NDArray[np.unsignedinteger[Any]] = (
        np.frombuffer(joined.encode("ascii"), dtype=np.uint8)
        if joined.isascii()
        else np.frombuffer(joined.encode("utf-32-le"), dtype=np.uint32)
    ).copy()
    for start, end in gone:
        letters[start:end] = _BLANK
    places, lines, begins = np.array(starts), np.concatenate(newlines), np.array(text_starts)
    # a word does not go on in the next piece
    cut = np.unique(places[(letters[places - 1] != _BLANK) & (letters[places] != _BLANK)])
    letters = np.insert(letters, cut, _BLANK)
    places, lines, begins = (some + np.searchsorted(cut, some, side="right") for some in (places, lines, begins))
    files = np.repeat(np.arange(len(texts)), counts)
    return letters, _Pieces(places, files, np.array(fields), begins), lines


def _counted(
    texts: Sequence[SourceText], words_N: IntArray, pieces_N: LongArray, lines_N: LongArray, pieces: _Pieces
) -> list[Facts]:
    """Counts of F texts from the numbers of the words, the piece and the line that each stands in."""
    F = len(texts)
    files_S, fields_S = pieces.files, pieces.fields
    # a last chunk of overlap lines only is not made
    chunks_F = np.array([max(1, -(-(text.lines - CHUNK_OVERLAP) // CHUNK_LINES)) for text in texts], dtype=np.int64)
    # of lines 0-9, 10-49, 50-59, 60-99 and so on: run 2c is what chunk c shares with chunk c - 1, run 2c + 1 the rest
    # of chunk c's first 50 lines
    runs_N = 2 * (lines_N // CHUNK_LINES) + (lines_N % CHUNK_LINES >= CHUNK_OVERLAP)
    lengths_N, terms_M = _terms_of(words_N)
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
    # overlap lines stand in two chunks, but for the first and the last ones; declared names in none
    chunk_N, in_text_N = runs_N // 2, fields_S[pieces_N] <= _STRING
    here = np.flatnonzero(np.repeat(in_text_N & (chunk_N < chunks_F[files_S[pieces_N]]), lengths_N))
    before = np.flatnonzero(np.repeat(in_text_N & (runs_N % 2 == 0) & (runs_N > 0), lengths_N))
    chunks_M = np.repeat(first_chunks_F[files_S[pieces_N]] + chunk_N, lengths_N)
    chunks = np.concatenate((chunks_M[here], chunks_M[before] - 1))
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


def _terms_of(words_N: IntArray) -> tuple[LongArray, IntArray]:
    """How many terms each word has, and the terms of all of them."""
    first, of_words = _lexicon.arrays()
    lengths_N = np.diff(first)[words_N]
    ends_N = np.cumsum(lengths_N)
    places = np.arange(ends_N[-1] if len(ends_N) else 0) + np.repeat(first[words_N] - (ends_N - lengths_N), lengths_N)
    return lengths_N, of_words[places]


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
