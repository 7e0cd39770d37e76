"""What of a file a reader of an answer should see: a few excerpts of lines, the report's words and frames marked, the
rest in the colours of its syntax.
"""

from __future__ import annotations

import gc
import re
import signal
import threading
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import Final, NamedTuple, TypeAlias

from pygments.lexers import get_lexer_for_filename
from pygments.token import Comment, Keyword, Name, Number, String, _TokenType

from tosloc.code.text import identifier_terms
from tosloc.core.io import truncate_text
from tosloc.core.records import Function
from tosloc.localize.session import AnswerDetails
from tosloc.rank.excerpts import choose_excerpts

LONGEST_LINE: Final = 240
LONGEST_REPORT: Final = 20_000
"""Letters of a report's description that are shown."""
CPU_SECONDS: Final = 2.0
"""Time limit for colouring one file; ordinary code takes a twentieth of it."""
MOST_COLOURED: Final = 100_000
"""Letters of a file that are coloured, from its beginning; Pygments reads a million in a second."""
_WORD: Final = re.compile(r"[\w$]+")
_KINDS: Final = {
    Keyword: "keyword",
    String: "string",
    Comment: "comment",
    Number: "number",
    Name.Function: "name",
    Name.Class: "name",
}


class Piece(NamedTuple):
    """A part of a line."""

    text: str
    mark: str = ""
    """``word`` of the report, ``frame`` of it that names one of the files, else what ``syntax`` says, or empty."""


class Line(NamedTuple):
    """A line of a file."""

    number: int
    """From 1."""
    pieces: Sequence[Piece]
    framed: bool
    """Whether a frame of the report names it; the frame's line is that of the version that crashed."""


Excerpt: TypeAlias = Sequence[Line]
"""Lines that follow each other."""


def excerpts(
    lines: Sequence[str],
    terms: Mapping[str, float],
    functions: Sequence[Function] = (),
    framed: Sequence[int] = (),
    named: Sequence[tuple[int, int]] = (),
    path: str = "",
) -> list[Excerpt]:
    """The excerpts of a file's lines that say most of a report, see ``choose_excerpts``; ``path`` tells the language.

    >>> [one] = excerpts(["a", "b", "def f():", "  return cookie"], {"cooki": 1.0}, [Function("f", 3, 4, 1.0)])
    >>> [line.number for line in one], one[-1].pieces[-1]
    ([3, 4], Piece(text='cookie', mark='word'))
    """
    runs = [*choose_excerpts(lines, terms, functions, framed, named)]
    kinds = syntax(lines[: runs[-1][-1] + 1], path) if runs else []
    return [
        [
            Line(
                place + 1,
                marked(truncate_text(lines[place], LONGEST_LINE), terms, kinds[place]),
                place + 1 in framed,
            )
            for place in run
        ]
        for run in runs
    ]


def marked(text: str, terms: Container[str], kinds: Sequence[str] = ()) -> list[Piece]:
    """A text in pieces: words of which a term is among ``terms``; for the rest, and within frames, ``kinds`` says of
    each character what it is, if anything does.
    """
    marks = [*kinds[: len(text)]] or [""] * len(text)
    for word in _WORD.finditer(text):
        place = slice(*word.span())
        if "frame" not in marks[place] and any(term in terms for term in identifier_terms(word[0])):
            marks[place] = ["word"] * len(word[0])
    runs = groupby(zip(marks, text, strict=True), itemgetter(0))
    return [Piece("".join(letter for _, letter in run), mark) for mark, run in runs]


def marked_report(text: str, details: AnswerDetails) -> list[Piece]:
    """The description of a report, its words marked, and what in it names one of the files."""
    paths, marks = details.version.paths, [""] * len(text)
    rows = {int(paths.path_ids[file]) for file in details.files}
    before = len(details.query.report.summary) + 1  # offsets are those of both
    named = details.query.locations
    for place in (*chain(*named.traces), *named.links, *named.paths):
        start, end = place.offset - before, place.end - before
        if 0 <= start < end <= len(text) and not rows.isdisjoint(
            paths.find_by_location(place.path, place.qualified)
        ):
            marks[start:end] = ["frame"] * (end - start)
    return marked(text, details.terms, marks)


def syntax(lines: Sequence[str], path: str) -> list[list[str]]:
    """Return what each character of each line is: ``keyword``, ``string``, ``comment``, ``number``, ``name`` of a
    function or type, or "".

    All are "" if Pygments does not know the language, or fails: its lexers are made for honest text, and on some texts
    they raise, or take time that grows with the cube of the length.

    >>> syntax(["def f(): 1"], "a.py")[0][:5], syntax(["def"], "a.unheard-of")
    (['keyword', 'keyword', 'keyword', '', 'name'], [['', '', '']])
    """
    source = "".join(f"{line}\n" for line in lines)
    marks = [""] * len(source)
    try:
        lexer = get_lexer_for_filename(path)
        with _cpu_limit(CPU_SECONDS):
            for start, kind, text in lexer.get_tokens_unprocessed(source[:MOST_COLOURED]):
                marks[start : start + len(text)] = [_name_of(kind)] * len(text)
    except (Exception, _LimitReached):  # whatever a lexer raises: the text is shown all the same
        marks = [""] * len(source)
    rest = iter(marks)
    return [list(islice(rest, len(line) + 1))[:-1] for line in lines]


@cache
def _name_of(kind: _TokenType) -> str:
    """Return what characters of a kind of token are called."""
    return next((name for known, name in _KINDS.items() if kind in known), "")


class _LimitReached(BaseException):
    """The block's processor time is used up; no Exception, for a lexer might catch that."""


@contextmanager
def _cpu_limit(seconds: float) -> Iterator[None]:
    """Raise _LimitReached in the block once this process has computed for that long.

    Only the main thread can be interrupted, so that in others it is raised at once.
    """
    if threading.current_thread() is not threading.main_thread():
        raise _LimitReached

    def end(*_: object) -> None:
        raise _LimitReached

    before = signal.signal(signal.SIGVTALRM, end)
    # Python drops what is raised while a finalizer runs, so none of the collector's may.
    collects = gc.isenabled()
    gc.disable()
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    finally:
        if collects:
            gc.enable()
        signal.signal(signal.SIGVTALRM, before)
