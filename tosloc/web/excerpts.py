"""What of a file a reader of an answer should see: a few stretches of lines, the report's words and frames marked, the
rest in the colours of its syntax.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import PurePosixPath
from typing import Any, Final, NamedTuple

from tosloc.code.facts import apart
from tosloc.code.languages import language_named, language_of
from tosloc.code.parse import syntax_tree
from tosloc.code.text import identifier_terms
from tosloc.rank.lines import telling_lines
from tosloc.records import Function
from tosloc.session import Told

LONGEST_LINE: Final = 240
LONGEST_REPORT: Final = 20_000
"""Letters of a report's description that are shown."""
_WORD: Final = re.compile(r"[\w$]+")
_KIND: Final = re.compile(
    r"(?P<plain>(?:\w+_)?interpolation|template_substitution|interpolated_expression)"  # code within a string
    r"|(?P<comment>\w*comment)"
    r"|(?P<string>(?:\w+_)?(?:string|char|character|rune|regex)(?:_literal)?|interpolated_string_expression"
    r"|heredoc_body|nowdoc_string)"
    r"|(?P<number>number|integer|float|(?:\w+_)?(?:number|integer|int|float|real|point)_literal)"
    r"|(?P<keyword>true|false|none|null|nil|this|super|self|(?:null|nil|boolean)_literal|boolean|modifier"
    r"|(?:predefined|primitive|void|boolean)_type)"
    r"|(?P<name>type_identifier)"
)
"""Kinds of named nodes, as the grammars call them."""
_DEFINITION: Final = re.compile(
    r"(?:singleton_)?method|class|module|function_declarator"
    r"|\w*(?:function|method|constructor|class|interface|enum|record|struct|object|trait|type)\w*_"
    r"(?:definition|declaration|item|signature|spec)"
)
"""Kinds of nodes that name a function or a type."""


class Piece(NamedTuple):
    """A part of a line."""

    text: str
    mark: str = ""
    """``word`` of the report, ``frame`` of it that names one of the files, else what ``syntax`` says, or empty."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file."""

    number: int
    """From 1."""
    pieces: tuple[Piece, ...]
    framed: bool
    """Whether a frame of the report names it; the frame's line is that of the version that crashed."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Lines that follow each other."""

    lines: tuple[Line, ...]
    function: str
    """The innermost of the answer's functions that holds the first of them; else empty."""


def stretches(
    lines: Sequence[str],
    terms: Mapping[str, float],
    functions: Sequence[Function] = (),
    framed: Sequence[int] = (),
    named: Sequence[tuple[int, int]] = (),
    path: str = "",
) -> tuple[Stretch, ...]:
    """The stretches of a file's lines that say most of a report, see ``telling_lines``; ``path`` tells the language.

    >>> [one] = stretches(["a", "b", "def f():", "  return cookie"], {"cooki": 1.0}, [Function("f", 3, 4, 1.0)])
    >>> one.function, [line.number for line in one.lines], one.lines[-1].pieces[-1]
    ('f', [3, 4], Piece(text='cookie', mark='word'))
    """
    found, runs = [], list(telling_lines(lines, terms, functions, framed, named))
    kinds = syntax(lines, path, [place for run in runs for place in run])
    for run in runs:
        holding = [function for function in functions if function.start <= run[0] + 1 <= function.end]
        made = []
        for place in run:
            text = lines[place] if len(lines[place]) <= LONGEST_LINE else f"{lines[place][:LONGEST_LINE]}…"
            made.append(Line(place + 1, marked(text, terms, kinds.get(place, ())), place + 1 in framed))
        innermost = min(holding, key=lambda one: one.end - one.start).name if holding else ""
        found.append(Stretch(tuple(made), innermost))
    return tuple(found)


def marked(text: str, terms: Container[str], kinds: Sequence[str] = ()) -> tuple[Piece, ...]:
    """A text in pieces: words of which a term is among ``terms``; between them ``kinds`` says of each character what
    it is, if anything does.
    """
    marks = [*kinds[: len(text)]] or [""] * len(text)
    for word in _WORD.finditer(text):
        if any(term in terms for term in identifier_terms(word[0])):
            marks[slice(*word.span())] = ["word"] * len(word[0])
    runs = groupby(zip(marks, text, strict=True), itemgetter(0))
    return tuple(Piece("".join(letter for _, letter in run), mark) for mark, run in runs)


def marked_report(text: str, told: Told) -> tuple[Piece, ...]:
    """The description of a report, its words marked, and what in it names one of the files."""
    paths = told.version.paths
    rows = {int(paths.path_ids[file]) for file in told.files}
    before = len(told.query.report.summary) + 1  # offsets are those of both
    named = told.query.locations
    found = sorted(
        (place.offset - before, place.end - before)
        for place in (*(one for trace in named.traces for one in trace), *named.links, *named.paths)
        if not rows.isdisjoint(paths.rows_of_location(place.path, place.qualified))
    )
    pieces: list[Piece] = []
    end = 0
    for start, stop in found:
        if end <= start < stop <= len(text):
            pieces += [*marked(text[end:start], told.terms), Piece(text[start:stop], "frame")]
            end = stop
    return (*pieces, *marked(text[end:], told.terms))


def syntax(lines: Sequence[str], path: str, rows: Sequence[int]) -> dict[int, list[str]]:
    """Row of a file -> what each of its characters is, by the tree of its grammar: ``keyword``, ``string``,
    ``comment``, ``number``, ``name`` of a function or type, or "". Of ``rows``, from 0, ascending; of none where there
    is no grammar, or the parser gives up.

    >>> syntax(["def f(): 1"], "a.py", [0])[0][:5], syntax(["def f(): 1"], "a.txt", [0])
    (['keyword', 'keyword', 'keyword', '', 'name'], {})
    """
    language = language_named(language_of(PurePosixPath(path).suffix))
    source = re.sub(r"[^\x00-\x7f]", "a", "\n".join(lines)).encode("ascii")  # so that a byte is a character
    root = syntax_tree(apart(source)[0] if language.has_scripts else source, language) if language.grammar else None
    kinds = {row: [""] * len(lines[row]) for row in rows} if root is not None else {}
    nodes: list[tuple[Any, str | None]] = [(root, None)] if root is not None else []
    while nodes:
        node, kind = nodes.pop()
        first, last = node.start_point, node.end_point
        held = rows[bisect_left(rows, first.row) : bisect_left(rows, last.row + 1)]
        for row in held if kind is not None else ():
            start = first.column if row == first.row else 0
            end = last.column if row == last.row else len(kinds[row])
            kinds[row][start:end] = [kind] * (end - start)
        if held:
            name = None
            if node.is_named and _DEFINITION.fullmatch(node.type):
                name = node.child_by_field_name("declarator" if node.type == "function_declarator" else "name")
            nodes += [(child, "name" if child == name else _kind_of(child)) for child in node.children]
    return kinds


def _kind_of(node: Any) -> str | None:
    if not node.is_named:
        return "keyword" if node.type.isalpha() else None
    found = _KIND.fullmatch(node.type)
    return None if found is None else "" if found["plain"] else found.lastgroup
