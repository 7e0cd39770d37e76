"""What stage one needs to know of a source text: its terms by field and by 50-line chunk.

Facts are a pure function of text, language and the analyser's version, so they are made once for a blob and kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from tosloc.analysis.analyser import FIELDS
from tosloc.analysis.complexity import keyword_complexity
from tosloc.analysis.languages import language_named, language_of
from tosloc.analysis.syntax import MAX_PARSED, outline_of
from tosloc.analysis.term_counts import SourceText, count_terms
from tosloc.records import IntArray, LongArray


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
    complexity: int = 0
    """Sum of the cyclomatic complexity numbers of the functions, by lizard, where it was asked for."""
    lines: int = 0
    parsed: bool = True
    """False if the lexer had to stand in for a parser."""


def analyse(text: str, path_suffix: str, *, parse: bool = True, lizard: bool = False) -> Facts:
    """Facts of a file with this ``text`` whose path ends in ``path_suffix`` (with its dot, such as ".java").

    Broken, binary, empty and huge texts have facts too; nothing in a text raises. ``parse=False`` uses regular
    expressions alone, for a text that brings a parser down. Without ``lizard``, which takes long, complexity is 0.
    """
    return analyse_all([(text, path_suffix)], parse=parse, lizard=lizard)[0]


def analyse_all(files: Sequence[tuple[str, str]], *, parse: bool = True, lizard: bool = False) -> list[Facts]:
    """Facts of each (text, suffix), as ``analyse`` makes them, in less time."""
    sources = [_source(text, suffix, parse) for text, suffix in files]
    facts = []
    for (text, suffix), source, counted in zip(files, sources, count_terms(sources), strict=True):
        complexity = _complexity(text, suffix, parse) if lizard else 0
        facts.append(Facts(*counted[:5], complexity, source.lines, source.outline.parsed or not text))
    return facts


def _source(text: str, suffix: str, parse: bool) -> SourceText:
    text = text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
    source = text.encode("utf-8", "replace")
    lines = text.count("\n") + (not text.endswith("\n") and bool(text))
    return SourceText(source, lines, outline_of(source, language_of(suffix), parse=parse))


def _complexity(text: str, suffix: str, parse: bool) -> int:
    """By lizard, else by keywords; none of what is no program."""
    read_as = language_named(language_of(suffix)).lizard
    if read_as is None:
        return 0
    measured = None
    if parse and len(text) <= MAX_PARSED:
        from tosloc.analysis.lizard_complexity import lizard_complexity  # lizard takes long to import

        measured = lizard_complexity(text, read_as)
    return (measured or keyword_complexity(text)).total
