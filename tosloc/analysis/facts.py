"""What stage one needs to know of a source text: its terms by field and by 50-line chunk, its types, its complexity.

Facts are a pure function of text, language and ``ANALYSER``, so they are made once for a blob and kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Final

import numpy as np
import numpy.typing as npt

from tosloc.analysis.code import LANGUAGES, SOURCE_SUFFIXES, Outline, grammar_release, language, language_of, outline
from tosloc.analysis.complexity import LIZARD, complexity, estimate
from tosloc.analysis.text import identifier_compounds, identifier_terms, words
from tosloc.records import IntArray, LongArray

__all__ = ["ANALYSER", "FIELDS", "LANGUAGES", "SOURCE_SUFFIXES", "Facts", "analyse", "analyser", "language_of"]

FIELDS: Final = ("code", "comment", "string", "method", "type", "field")
"""Columns of the counts. The first three make up the whole text; the others, declared names, are also in ``code``."""

ANALYSER: Final = f"facts1+{LIZARD}"
"""Version of what is computed here, with lizard's release."""


@cache
def analyser(name: str) -> str:
    """The maker of facts of the language called ``name``, for store keys: ``ANALYSER`` and its grammar's release."""
    return "+".join((ANALYSER, *grammar_release(name)))


CHUNK_LINES: Final = 50
CHUNK_OVERLAP: Final = 10

_DENSE: Final = 4_000_000
"""Tables up to this many cells are counted in place, larger ones by sorting."""

_KINDS: Final = {"code": 0, "comment": 1, "string": 2}
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
    """False if keywords were counted because lizard failed or does not know the language."""


class _Numbering(dict[str, int]):
    """Gives each new key the next number."""

    def __missing__(self, key: str) -> int:
        number = self[key] = len(self)
        return number


def analyse(text: str, path_suffix: str, *, parse: bool = True) -> Facts:
    """Facts of a file with this ``text`` whose path ends in ``path_suffix`` (with its dot, such as ".java").

    Broken, binary, empty and huge texts have facts too; nothing in a text raises. ``parse=False`` uses regular
    expressions alone, for a text that brings a parser down.
    """
    name = language_of(path_suffix)
    text = text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
    source = text.encode("utf-8", "replace")
    seen = outline(source, name, parse=parse)
    facts = Facts(types=tuple(dict.fromkeys(seen.types)), package=seen.package, parsed=seen.parsed)
    facts.lines = text.count("\n") + (not text.endswith("\n") and bool(text))
    _count(source, seen, facts)
    reader = language(name).lizard
    if reader is not None:
        measured = complexity(text, reader) if parse else estimate(text)
        facts.complexity, facts.functions, facts.counted = measured.total, measured.functions, measured.counted
    return facts


def _chunks(lines: int) -> int:
    """How many chunks a text has; a last one of overlap lines only is not made.

    >>> [_chunks(lines) for lines in (0, 1, 60, 61, 110, 111)]
    [1, 1, 1, 2, 2, 3]
    """
    return max(1, -(-(lines - CHUNK_OVERLAP) // CHUNK_LINES))


def _count(source: bytes, seen: Outline, facts: Facts) -> None:
    """Fill in the terms, the counts and the chunks.

    Word tokens are numbered, counted as numbers, and only then expanded to their terms.
    """
    identifiers = _Numbering()
    chunks = _chunks(facts.lines)
    tokens: list[int] = []
    sizes: list[int] = []  # of the runs of tokens that have the same piece and kind
    runs: list[int] = []  # 3 * piece + kind
    number = identifiers.__getitem__
    for place, texts in enumerate(_pieces(source, seen, chunks)):
        for column, parts in enumerate(texts):
            if parts:
                part = b" ".join(parts).decode("utf-8", "replace")
                if column == 2 and "\\" in part:
                    part = _ESCAPE.sub(" ", part)
                elif column == 1 and ("<" in part or "{@" in part):
                    part = _MARKUP.sub(" ", part)
                found = words(part)
                tokens += map(number, found)
                sizes.append(len(found))
                runs.append(3 * place + column)
    declared = [
        [number(name) for found in names for name in words(found)] for names in (seen.methods, seen.types, seen.fields)
    ]

    terms = _Numbering()
    number = terms.__getitem__
    expanded = [list(map(number, identifier_terms(identifier))) for identifier in identifiers]
    T = len(terms)
    if not T:
        facts.chunk_starts = np.zeros(chunks + 1, dtype=np.int64)
        return
    widths = np.array([len(parts) for parts in expanded], dtype=np.int64)
    starts = np.cumsum(widths) - widths
    flat = np.array([term for parts in expanded for term in parts], dtype=np.int64)
    order = sorted(terms)
    rank = np.empty(T, dtype=np.int64)
    rank[[terms[term] for term in order]] = np.arange(T)
    flat = rank[flat]

    # Every (run, identifier) once with its count, then every (run, term) of those.
    token = np.array(tokens, dtype=np.int64)
    run = np.repeat(np.array(runs, dtype=np.int64), sizes)
    keys, times = _totals(run * len(identifiers) + token, None, 3 * (2 * chunks + 1) * len(identifiers))
    run, token = np.divmod(keys, len(identifiers))
    width = widths[token]
    ends = np.cumsum(width)
    inner = np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - width, width)
    term = flat[np.repeat(starts[token], width) + inner]
    times, run = np.repeat(times, width), np.repeat(run, width)
    piece, kind = np.divmod(run, 3)

    counts = np.zeros((T, len(FIELDS)), dtype=np.int64)
    counts[:, :3] = np.bincount(term * 3 + kind, weights=times, minlength=3 * T).reshape(T, 3)
    for column, names in enumerate(declared, start=3):
        declared_terms = np.array([rank[t] for name in names for t in expanded[name]], dtype=np.int64)
        counts[:, column] = np.bincount(declared_terms, minlength=T)
    facts.terms = order
    facts.counts = np.minimum(counts, np.iinfo(np.uint16).max).astype(np.uint16)
    facts.length = int(times.sum())
    paired = np.array([len(identifier_compounds(identifier)) for identifier in identifiers], dtype=np.int64)
    facts.compounds = int(paired[tokens].sum())

    # Piece 2c is the overlap at the head of chunk c (and the tail of chunk c - 1), piece 2c + 1 the rest of its lines.
    chunk = piece // 2
    shared = (piece % 2 == 0) & (chunk > 0)
    last = chunk >= chunks  # overlap lines of the last chunk
    chunk_keys = np.concatenate((chunk[~last] * T + term[~last], (chunk[shared] - 1) * T + term[shared]))
    chunk_times = np.concatenate((times[~last], times[shared]))
    pairs, totals = _totals(chunk_keys, chunk_times, chunks * T)
    facts.chunk_starts = np.searchsorted(pairs, np.arange(chunks + 1) * T).astype(np.int64)
    facts.chunk_terms = (pairs % T).astype(np.int32)
    facts.chunk_counts = np.minimum(totals, 255).astype(np.uint8)


def _totals(keys: LongArray, weights: LongArray | None, size: int) -> tuple[LongArray, LongArray]:
    """Distinct ``keys`` (all below ``size``), ascending, and the sum of ``weights`` of each, or how often it occurs."""
    if size <= _DENSE:
        totals = np.bincount(keys, weights=weights, minlength=1).astype(np.int64)
        found = np.flatnonzero(totals)
        return found, totals[found]
    found, inverse = np.unique(keys, return_inverse=True)
    return found, np.bincount(inverse, weights=weights).astype(np.int64)


def _pieces(source: bytes, seen: Outline, chunks: int) -> Iterator[tuple[list[bytes], list[bytes], list[bytes]]]:
    """For each piece of lines its code, comments and strings: lines 0-9, 10-49, 50-59, 60-99, 100-109 and so on."""
    newlines = np.flatnonzero(np.frombuffer(source, dtype=np.uint8) == 10)
    marks = np.arange(1, 2 * chunks + 1)
    lines = (marks // 2) * CHUNK_LINES + (marks % 2) * CHUNK_OVERLAP  # first line of each piece after the first
    lines = lines[lines <= len(newlines)]
    cuts = [*(newlines[lines - 1] + 1).tolist(), len(source)]
    spans = iter([*seen.spans, (len(source), len(source), "code")])
    start, end, kind = next(spans)
    at = 0
    for cut in cuts:
        texts: tuple[list[bytes], list[bytes], list[bytes]] = ([], [], [])
        while at < cut:
            if at < start:
                stop = min(start, cut)
                texts[0].append(source[at:stop])
            else:
                stop = min(end, cut)
                if kind != "drop":
                    texts[_KINDS[kind]].append(source[at:stop])
            at = stop
            if at >= end and at < len(source):
                start, end, kind = next(spans)
        yield texts
