"""Find the functions, methods and classes of a source text, with their terms.

They are computed only when an answer needs them, apart from the other facts. The text of a function
consists of the comment that ends right above it, its decorators, annotations or attributes, and its
body. A nested function is part of the enclosing function. The text of a class does not include its
methods. The lines of a function run from the first decorator, annotation or attribute to the end.
They do not include the comment above, because changing it does not change the function. A function
without a name is part of the enclosing text, unless it is assigned to a name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tosloc.code.languages import get_language, language_name
from tosloc.code.names import RESERVED
from tosloc.code.names import dotted_name as dotted_name  # for other packages
from tosloc.code.notebooks import readable_text
from tosloc.code.text import identifier_terms
from tosloc.code.text import terms as terms_of
from tosloc.core.arrays import FloatArray, IntArray, LongArray

if TYPE_CHECKING:
    from tosloc.code.parse import Captures

FUNCTION_KINDS: Final = ("function", "method", "class")
MAX_FUNCTIONS: Final = 10_000
"""Largest number of functions of one text; the rest is left out.

The longest file of twenty projects has 1,400.
"""
MAX_DEPTH: Final = 8
"""Largest depth of nesting; deeper definitions are part of the enclosing definition."""

_WANTED: Final = ("class", "function", "scope", "around", "above", "comment", "test")
"""Names of the captures in a query that find functions.

They are definitions, scopes that only qualify names, nodes around a definition, and nodes above a
definition.
"""
_MAX_ABOVE: Final = 500
"""Largest number of comments and attributes above one definition."""
_CLASS: Final = FUNCTION_KINDS.index("class")


@dataclass
class FunctionFacts:
    """The functions and classes of one text, in order."""

    names: tuple[str, ...]
    """(J,) qualified names, Class.method; overloads have the same name."""
    kinds: npt.NDArray[np.uint8]
    """(J,) positions in FUNCTION_KINDS."""
    starts: IntArray
    """(J,) first lines, from 1."""
    ends: IntArray
    """(J,) last lines, from 1 and included."""
    terms: tuple[str, ...]
    """(V,) distinct terms, sorted."""
    offsets: LongArray
    """(J + 1,) function j has the pairs of function and term ``offsets[j]:offsets[j + 1]``."""
    places: IntArray
    """(P,) position in ``terms`` of each pair's term, ascending within a function."""
    code: npt.NDArray[np.uint8]
    """(P,) how often the term occurs in the function's code and strings, at most 255."""
    comments: npt.NDArray[np.uint8]
    """(P,) how often the term occurs in the function's comments and documentation, at most 255."""

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def rows(self) -> LongArray:
        """(P,) position of each pair's function."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    @cached_property
    def lengths(self) -> FloatArray:
        """(J,) number of terms of each function."""
        counts = self.code.astype(np.float64) + self.comments
        return np.bincount(self.rows, weights=counts, minlength=len(self)).astype(
            np.float64, copy=False
        )

    def of_terms(self, values: Mapping[str, float]) -> FloatArray:
        """Return (V,) the value of each term; 0 for a term that ``values`` does not contain."""
        return np.array([values.get(term, 0.0) for term in self.terms], dtype=np.float64)

    @cached_property
    def last_names(self) -> list[tuple[str, ...]]:
        """(J,) the last two parts of each qualified name; the first is "" if there is only one."""
        return [tuple(f".{name}".split(".")[-2:]) for name in self.names]

    @cached_property
    def name_terms(self) -> list[tuple[str, ...]]:
        """(J,) distinct terms of each qualified name's last part, in order."""
        return [tuple(dict.fromkeys(identifier_terms(name))) for _, name in self.last_names]


class _Definition(NamedTuple):
    """A function or class, with its positions in the bytes of the source."""

    begin: int
    """Beginning of the definition's text, including the comment above."""
    start: int
    """Beginning of the definition's lines: of its decorators, annotations or attributes if any."""
    end: int
    name: str
    kind: int
    """Position in FUNCTION_KINDS."""
    parent: int
    """Number of the enclosing definition; -1 if there is none."""


class _Scope(NamedTuple):
    """A definition or scope of names that is open at a position in the source."""

    end: int
    name: str
    """Qualified name."""
    definition: int
    """Number of the innermost definition; -1 if there is none."""
    is_class: bool
    """Whether functions in the scope are methods."""


def find_functions(text: str, path: str) -> FunctionFacts:
    """Return the functions and classes of a file with this text and path.

    Only the suffix of the path is used. The result is empty for a language without a grammar, and
    for a text that is not a program. No text raises an error.

    >>> text = "class A:\\n    @property\\n    def size(self):\\n        return self.items"
    >>> facts = find_functions(text, ".py")
    >>> facts.names, facts.starts.tolist(), facts.ends.tolist()
    (('A', 'A.size'), [1, 2], [4, 4])
    """
    language = get_language(language_name(path))
    source = readable_text(text, path).encode("utf-8", "replace")
    if not language.grammar:
        return _facts(source, _sections(source, path), ())
    # Known functions need no parser, so these are imported here.
    from tosloc.code.facts import split_component, without_tests
    from tosloc.code.parse import capture_nodes

    if language.has_scripts:
        source = split_component(source)[0]
    captures = without_tests(capture_nodes(source, language, _WANTED) or {})
    comments = _spans(source, captures, "comment")
    return _facts(source, _definitions(source, captures, comments), comments)


def _spans(source: bytes, captures: Captures, name: str) -> list[tuple[int, int]]:
    """Return start and end of each node captured as ``name``, without a line break at the end."""
    captured = captures.get(name, ())
    return sorted({(start, end - source.endswith(b"\n", 0, end)) for start, end, _ in captured})


def _definitions(
    source: bytes, captures: Captures, comments: Sequence[tuple[int, int]]
) -> list[_Definition]:
    """Return the named functions and classes in order; any two are nested or apart."""
    comments_by_end = {end: start for start, end in comments}
    above_by_end = {end: start for start, end in _spans(source, captures, "above")}
    definitions: list[_Definition] = []
    scopes: list[_Scope] = []
    around: tuple[int, int] | None = None
    last_end = 0
    for role, name, start, end in _nodes(captures):
        if role == "around":
            if around is None or around[1] <= start:
                around = (start, end)
            continue
        if around is not None:
            if end <= around[1] <= end + 2:  # a semicolon and a line break
                start, end = around
            around = None
        while scopes and scopes[-1].end <= start:
            scopes.pop()
        outer = scopes[-1] if scopes else _Scope(0, "", -1, False)
        if not name or name.rpartition(".")[2] in RESERVED or len(scopes) == MAX_DEPTH:
            continue
        qualified = f"{outer.name}.{name}" if outer.name else name
        if role == "scope":
            scopes.append(_Scope(end, qualified, outer.definition, True))
            continue
        start = _attached_start(source, start, above_by_end)
        begin = _attached_start(source, start, comments_by_end)
        if outer.definition >= 0:
            begin = max(begin, definitions[outer.definition].begin)
        begin = max(begin, min(last_end, start))
        is_class = role == "class"
        kind = _CLASS if is_class else int(outer.is_class or "." in name)
        definitions.append(_Definition(begin, start, end, qualified, kind, outer.definition))
        scopes.append(_Scope(end, qualified, len(definitions) - 1, is_class))
        if outer.definition < 0:
            last_end = end
        if len(definitions) == MAX_FUNCTIONS:
            break
    return definitions


def _sections(source: bytes, path: str) -> list[_Definition]:
    """Return the sections of a configuration file as definitions; empty for any other file.

    A section that contains other sections counts as a class.
    """
    from tosloc.code.sections import find_sections  # only configuration needs it

    text = source.decode("utf-8")
    sections = find_sections(text, path)[:MAX_FUNCTIONS]
    line_starts = [0, *(match.end() for match in re.finditer(b"\n", source)), len(source)]
    definitions: list[_Definition] = []
    open_sections: list[tuple[int, int]] = []  # end and number of the definition
    for section in sections:
        while open_sections and open_sections[-1][0] <= section.start:
            open_sections.pop()
        if len(open_sections) == MAX_DEPTH:
            continue
        parent = open_sections[-1][1] if open_sections else -1
        name = section.name
        if parent >= 0:
            outer = definitions[parent]
            definitions[parent] = outer._replace(kind=_CLASS)
            name = f"{outer.name}.{name}"
        start = line_starts[section.start]
        end = line_starts[section.end]
        open_sections.append((section.end, len(definitions)))
        definitions.append(_Definition(start, start, end, name, int(parent >= 0), parent))
    return definitions


def _nodes(captures: Captures) -> Iterator[tuple[str, str, int, int]]:
    """Yield role, name, start and end of the captured nodes, outer nodes first, each span once."""
    nodes: dict[tuple[int, int], tuple[str, str]] = {}
    for role in ("class", "function", "scope", "around"):
        for start, end, name in captures.get(role, ()):
            nodes.setdefault((start, -end), (role, name))
    for start, minus_end in sorted(nodes):
        role, name = nodes[start, minus_end]
        yield role, name, start, -minus_end


def _attached_start(source: bytes, start: int, by_end: Mapping[int, int]) -> int:
    """Return the start of the comments and attributes that end right above ``start``.

    There may be no blank line between them. ``by_end`` maps the end of each comment or attribute to
    its start. Return ``start`` itself if none ends there.
    """
    for _ in range(_MAX_ABOVE):
        end = start
        while end > 0 and source[end - 1] in b" \t\r\n":
            end -= 1
        if end not in by_end or source.count(b"\n", end, start) > 1:
            break
        start = by_end[end]
    return start


def _facts(
    source: bytes, definitions: Sequence[_Definition], comments: Sequence[tuple[int, int]]
) -> FunctionFacts:
    """Return the definitions with their lines and the terms of their texts."""
    code_terms, comment_terms = _count_terms(source, definitions, comments)
    terms = sorted(set().union(*code_terms, *comment_terms))
    place_of = {term: place for place, term in enumerate(terms)}
    rows: list[tuple[int, int, int]] = []
    offsets = [0]
    for code, comment in zip(code_terms, comment_terms, strict=True):
        for term in sorted(code | comment):
            rows.append((place_of[term], code[term], comment[term]))
        offsets.append(len(rows))
    places, code_counts, comment_counts = np.array(rows, dtype=np.int32).reshape(-1, 3).T
    line_breaks = np.flatnonzero(np.frombuffer(source, dtype=np.uint8) == ord("\n"))
    starts = [definition.start for definition in definitions]
    last_bytes = [max(definition.end - 1, definition.start) for definition in definitions]
    return FunctionFacts(
        names=tuple(definition.name for definition in definitions),
        kinds=np.array([definition.kind for definition in definitions], dtype=np.uint8),
        starts=(np.searchsorted(line_breaks, starts) + 1).astype(np.int32),
        ends=(np.searchsorted(line_breaks, last_bytes) + 1).astype(np.int32),
        terms=tuple(terms),
        offsets=np.array(offsets, dtype=np.int64),
        places=places,
        code=np.minimum(code_counts, 255).astype(np.uint8),
        comments=np.minimum(comment_counts, 255).astype(np.uint8),
    )


def _count_terms(
    source: bytes, definitions: Sequence[_Definition], comments: Sequence[tuple[int, int]]
) -> tuple[list[Counter[str]], list[Counter[str]]]:
    """Return the terms of each definition's code, and the terms of its comments.

    A piece of the source counts for its innermost definition and for the functions around that
    definition, but not for a class around it.
    """
    cuts = {cut for definition in definitions for cut in (definition.begin, definition.end)}
    cuts = cuts.union(*comments)
    ordered = sorted(cuts)
    position_of = {cut: position for position, cut in enumerate(ordered)}
    innermost = np.full(len(ordered), -1)
    for number, definition in enumerate(definitions):  # inner ones overwrite outer ones
        innermost[position_of[definition.begin] : position_of[definition.end]] = number
    is_comment = np.zeros(len(ordered), dtype=bool)
    for start, end in comments:
        is_comment[position_of[start] : position_of[end]] = True
    code_terms: list[Counter[str]] = [Counter() for _ in definitions]
    comment_terms: list[Counter[str]] = [Counter() for _ in definitions]
    pieces = zip(pairwise(ordered), innermost.tolist(), is_comment.tolist(), strict=False)
    for (start, end), holder, in_comment in pieces:
        if holder < 0:
            continue
        terms = terms_of(source[start:end].decode("utf-8", "replace"))
        counters = comment_terms if in_comment else code_terms
        counters[holder].update(terms)
        outer = definitions[holder].parent
        while outer >= 0 and definitions[outer].kind != _CLASS:
            counters[outer].update(terms)
            outer = definitions[outer].parent
    return code_terms, comment_terms


NO_FUNCTIONS: Final = _facts(b"", (), ())
