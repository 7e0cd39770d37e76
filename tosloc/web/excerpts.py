"""Choose the parts of a file that the page shows: excerpts, split into pieces with a mark each.

Words and stack frames of the report are marked; all other pieces have the colours of their syntax.
"""

from __future__ import annotations

import gc
import signal
import threading
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import groupby
from typing import Final, NamedTuple, TypeAlias

from pygments.lexers import get_lexer_for_filename
from pygments.token import Comment, Keyword, Name, Number, String, _TokenType

from tosloc.core.answers import Function
from tosloc.core.io import truncate_text
from tosloc.localize.session import AnswerDetails
from tosloc.rank.explain import choose_excerpts, find_matches

MAX_LINE_CHARACTERS: Final = 240
"""Largest number of characters shown of a line of source, a title or a name."""
MAX_REPORT_CHARACTERS: Final = 20_000
"""Largest number of characters shown of a report's description."""
CPU_SECONDS: Final = 2.0
"""Limit of processor time for colouring one file, in seconds; ordinary code takes a twentieth."""
MAX_COLOURED_CHARACTERS: Final = 100_000
"""Number of characters of a file that are coloured, from its beginning.

Pygments colours a million a second.
"""
_TOKEN_KINDS: Final = {
    Keyword: "keyword",
    String: "string",
    Comment: "comment",
    Number: "number",
    Name.Function: "name",
    Name.Class: "name",
}
"""Token type of Pygments -> its name on the page; the first matching type is used."""


class Piece(NamedTuple):
    """A part of a line whose characters have the same mark."""

    text: str
    mark: str = ""
    """``word`` or ``frame`` of the report, a token kind, or "".

    A frame is marked if it names the file.
    """


class Line(NamedTuple):
    """A line of a file."""

    number: int
    """Number of the line, from 1."""
    pieces: Sequence[Piece]
    in_frame: bool
    """Whether a stack frame names the line, by the line numbers of the version that crashed."""


Excerpt: TypeAlias = Sequence[Line]
"""Consecutive lines of a file."""


def file_excerpts(
    lines: Sequence[str],
    terms: Mapping[str, float],
    functions: Sequence[Function] = (),
    framed: Sequence[int] = (),
    spans: Sequence[tuple[int, int]] = (),
    path: str = "",
    chosen: Sequence[int] = (),
) -> list[Excerpt]:
    """Return the excerpts of a file that match a report best, with their marks.

    ``tosloc.rank.explain.choose_excerpts``, which chooses the lines, explains the arguments;
    ``path`` decides the language of the colours. The lines ``chosen`` for the answer, numbered from
    1, are shown after the lines of stack frames, in the same way. Excerpts of the first function
    come first.

    >>> code = ["a", "b", "def f():", "  return cookie"]
    >>> [excerpt] = file_excerpts(code, {"cooki": 1.0}, [Function("f", 3, 4, 1.0)])
    >>> [line.number for line in excerpt]
    [3, 4]
    >>> excerpt[-1].pieces[-1]
    Piece(text='cookie', mark='word')
    """
    first_lines = list(dict.fromkeys([*framed, *chosen]))
    runs = list(choose_excerpts(lines, terms, functions, first_lines, spans))
    if not runs:
        return []
    last_position = runs[-1][-1]
    kinds = token_kinds(lines[: last_position + 1], path)
    excerpts: list[Excerpt] = []
    for run in runs:
        excerpt = []
        for position in run:
            number = position + 1
            text = truncate_text(lines[position], MAX_LINE_CHARACTERS)
            pieces = mark_words(text, terms, kinds[position])
            excerpt.append(Line(number, pieces, number in framed))
        excerpts.append(excerpt)
    if functions:
        excerpts.sort(key=lambda excerpt: not _is_in(excerpt, functions[0]))
    return excerpts


def _is_in(excerpt: Excerpt, function: Function) -> bool:
    """Return whether an excerpt shows a line of a function."""
    return excerpt[0].number <= function.end and function.start <= excerpt[-1].number


def mark_words(text: str, terms: Container[str], marks: Sequence[str] = ()) -> list[Piece]:
    """Split a text into pieces, and mark the words that contain one of the ``terms``.

    ``marks`` contains a mark for each character, used outside of these words; by default there are
    none. Words within a ``frame`` keep the mark ``frame``.
    """
    new_marks = list(marks[: len(text)]) or [""] * len(text)
    for start, end in find_matches(text, terms):
        if "frame" not in new_marks[start:end]:
            new_marks[start:end] = ["word"] * (end - start)
    return _split_by_mark(text, new_marks)


def _split_by_mark(text: str, marks: Sequence[str]) -> list[Piece]:
    """Split a text into pieces of characters with the same mark; ``marks`` has one for each."""
    pieces = []
    start = 0
    for mark, run in groupby(marks):
        end = start + len(list(run))
        pieces.append(Piece(text[start:end], mark))
        start = end
    return pieces


def mark_report(text: str, details: AnswerDetails) -> list[Piece]:
    """Return a report's description in pieces, with its important words and locations marked.

    A location is marked if it matches a listed file.
    """
    marks = [""] * len(text)
    paths = details.version.paths
    listed_rows = {int(paths.path_ids[file]) for file in details.files}
    # Locations count their offsets from the beginning of the summary.
    description_offset = len(details.query.report.summary) + 1
    for place in details.query.places.locations.places():
        start = place.offset - description_offset
        end = place.end - description_offset
        if not 0 <= start < end <= len(text):
            continue
        matching_rows = paths.find_by_place(place)
        if not listed_rows.isdisjoint(matching_rows):
            marks[start:end] = ["frame"] * (end - start)
    return mark_words(text, details.terms, marks)


def token_kinds(lines: Sequence[str], path: str) -> list[list[str]]:
    """Return the token kind of each character of each line.

    Kinds are ``keyword``, ``string``, ``comment``, ``number``, ``name`` of a function or type, and
    "" for everything else. All kinds are "" if Pygments does not know the language, or fails. On
    some texts its lexers raise errors, or take time that grows with the cube of the length.

    >>> token_kinds(["def f(): 1"], "a.py")[0][:5]
    ['keyword', 'keyword', 'keyword', '', 'name']
    >>> token_kinds(["def"], "a.unheard-of")
    [['', '', '']]
    """
    source = "".join(f"{line}\n" for line in lines)
    kinds = [""] * len(source)
    try:
        lexer = get_lexer_for_filename(path)
        with _cpu_limit(CPU_SECONDS):
            tokens = lexer.get_tokens_unprocessed(source[:MAX_COLOURED_CHARACTERS])
            for start, token_type, text in tokens:
                kinds[start : start + len(text)] = [_token_kind(token_type)] * len(text)
    except (Exception, _LimitReached):  # A lexer may raise anything; the text is shown plain.
        kinds = [""] * len(source)
    kinds_by_line = []
    start = 0
    for line in lines:
        kinds_by_line.append(kinds[start : start + len(line)])
        start += len(line) + 1
    return kinds_by_line


@cache
def _token_kind(token_type: _TokenType) -> str:
    """Return the name of a token type on the page; "" if it has none."""
    for known_type, name in _TOKEN_KINDS.items():
        if token_type in known_type:
            return name
    return ""


class _LimitReached(BaseException):
    """Signal that a block has used up its processor time.

    It does not derive from Exception, because a lexer might catch that.
    """


@contextmanager
def _cpu_limit(seconds: float) -> Iterator[None]:
    """Raise _LimitReached in the block once this process has computed for that long.

    Only the main thread can be interrupted, so in other threads _LimitReached is raised at once.
    """
    if threading.current_thread() is not threading.main_thread():
        raise _LimitReached

    def stop(*_: object) -> None:
        raise _LimitReached

    previous_handler = signal.signal(signal.SIGVTALRM, stop)
    # Python drops exceptions that are raised while a finalizer runs, so the garbage collector,
    # which calls finalizers at any time, is paused.
    collector_was_enabled = gc.isenabled()
    gc.disable()
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    finally:
        if collector_was_enabled:
            gc.enable()
        signal.signal(signal.SIGVTALRM, previous_handler)
