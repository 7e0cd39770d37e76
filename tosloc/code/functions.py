"""The functions, methods and classes of a source text, with the terms of each: facts of their own, made when asked for.

A function's text is its comment (that which ends right above it), its decorators, annotations or attributes, and its
body; a nested function is part of the one around it. A class is what is left of it without its methods. Lines are from
the first decorator, annotation or attribute to the end; a comment above is not among them, since a change of it is
no change of the function. Functions without a name are part of what is around them, unless they are assigned to one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tosloc.code.languages import get_language, language_name
from tosloc.code.text import identifier_terms
from tosloc.code.text import terms as terms_of
from tosloc.core.records import FloatArray, IntArray, LongArray

if TYPE_CHECKING:
    from tosloc.code.parse import Captures

FUNCTION_KINDS: Final = ("function", "method", "class")
MAX_FUNCTIONS: Final = 10_000
"""Of one text; what follows is left out. The longest file of twenty projects has 1,400."""
MAX_DEPTH: Final = 8  # definitions that stand deeper are part of what is around them

_WANTED: Final = ("class", "function", "scope", "around", "above", "comment")
"""Captures of a query: definitions, what is only a scope of names, nodes around a definition, what stands above one."""
_MAX_ABOVE: Final = 500  # comments and attributes above one definition


@dataclass
class FunctionFacts:
    """The functions and classes of one text, in the order of their beginnings. N functions, T terms, Q pairs."""

    names: tuple[str, ...]  # (N,) qualified names, Class.method; overloads have the same
    kinds: npt.NDArray[np.uint8]  # (N,) places in KINDS
    starts: IntArray  # (N,) first lines, from 1
    ends: IntArray  # (N,) last lines
    terms: tuple[str, ...]  # (T,) distinct terms, sorted
    offsets: LongArray  # (N + 1,) function n holds pairs ``offsets[n]:offsets[n + 1]``
    places: IntArray  # (Q,) places in ``terms``, ascending in a function
    code: npt.NDArray[
        np.uint8
    ]  # (Q,) how often the term stands in the function's code and strings, at most 255
    comments: npt.NDArray[
        np.uint8
    ]  # (Q,) how often it stands in its comments and documentation, at most 255

    def __len__(self) -> int:
        return len(self.names)

    # what questions share, each made when it is first wanted

    @cached_property
    def rows(self) -> LongArray:
        """(Q,) the function of each pair."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    @cached_property
    def lengths(self) -> FloatArray:
        """(N,) how many terms each function has."""
        counts = self.code.astype(np.float64) + self.comments
        return np.bincount(self.rows, weights=counts, minlength=len(self)).astype(
            np.float64, copy=False
        )

    def of_terms(self, values: Mapping[str, float]) -> FloatArray:
        """(T,) the value of each term, 0 for those that have none."""
        return np.array([values.get(term, 0.0) for term in self.terms], dtype=np.float64)

    @cached_property
    def last_names(self) -> list[tuple[str, ...]]:
        """(N,) the last part but one of each name, "" where it stands alone, and the last."""
        return [tuple(f".{name}".split(".")[-2:]) for name in self.names]

    @cached_property
    def name_terms(self) -> list[tuple[str, ...]]:
        """(N,) distinct terms of the last part of each name, in order."""
        return [tuple(dict.fromkeys(identifier_terms(name))) for _, name in self.last_names]


class _Definition(NamedTuple):
    """A function or class, in bytes of the source."""

    begin: int  # where its text begins: that of the comment above it
    start: int  # where it begins itself, with decorators, annotations or attributes
    end: int
    name: str
    kind: int  # place in KINDS
    parent: int  # number of the definition around it; -1 if there is none


def find_functions(text: str, path: str) -> FunctionFacts:
    """Functions and classes of the file with this ``text`` and ``path``, whose suffix alone matters.

    None of a language without a grammar and of what is no program; nothing in a text raises.

    >>> facts = find_functions("class A:\\n    @property\\n    def size(self):\\n        return self.items", ".py")
    >>> facts.names, facts.starts.tolist(), facts.ends.tolist()
    (('A', 'A.size'), [1, 2], [4, 4])
    """
    language = get_language(language_name(path))
    source = text.encode("utf-8", "replace")
    if not language.grammar:
        return NO_FUNCTIONS
    from tosloc.code.facts import split_component  # here: what is known needs no parser
    from tosloc.code.parse import capture_nodes

    if language.has_scripts:
        source = split_component(source)[0]
    captures = capture_nodes(source, language, _WANTED) or {}
    comments = _spans(source, captures, "comment")
    return _facts(source, _definitions(source, captures, comments), comments)


def _spans(source: bytes, captures: Captures, name: str) -> list[tuple[int, int]]:
    """Return starts and ends of what is captured as ``name``, without a line break at the end."""
    captured = captures.get(name, ())
    return sorted({(start, end - source.endswith(b"\n", 0, end)) for start, end, _ in captured})


# Definitions


def _definitions(
    source: bytes, captures: Captures, comments: Sequence[tuple[int, int]]
) -> list[_Definition]:
    """The named functions and classes, in the order of their beginnings; one lies inside another or outside it."""
    comments_by_end = {end: start for start, end in comments}
    above_by_end = {end: start for start, end in _spans(source, captures, "above")}
    definitions: list[_Definition] = []
    scopes: list[tuple[int, str, int, bool]] = []
    """Of what is open: end, qualified name, number of the innermost definition, whether functions are methods in it."""
    roles: dict[tuple[int, int], tuple[str, str]] = {}  # role and name of each span
    for role in ("class", "function", "scope", "around"):
        for start, end, name in captures.get(role, ()):
            roles.setdefault((start, -end), (role, name))
    wrapped: tuple[int, int] | None = None
    last_end = 0
    for start, minus_end in sorted(roles):  # outer ones first
        role, name = roles[start, minus_end]
        end = -minus_end
        if role == "around":
            if wrapped is None or wrapped[1] <= start:
                wrapped = (start, end)
            continue
        if wrapped is not None:
            if end <= wrapped[1] <= end + 2:  # a semicolon and a line break
                start, end = wrapped
            wrapped = None
        while scopes and scopes[-1][0] <= start:
            scopes.pop()
        _, outer, parent, in_class = scopes[-1] if scopes else (0, "", -1, False)
        if not name or len(scopes) == MAX_DEPTH:
            continue
        qualified = f"{outer}.{name}" if outer else name
        if role == "scope":
            scopes.append((end, qualified, parent, True))
            continue
        start = _attached(source, start, above_by_end)
        begin = max(
            _attached(source, start, comments_by_end),
            definitions[parent].begin if parent >= 0 else 0,
        )
        begin = max(begin, min(last_end, start))
        kind = 2 if role == "class" else int(in_class or "." in name)
        definitions.append(_Definition(begin, start, end, qualified, kind, parent))
        scopes.append((end, qualified, len(definitions) - 1, kind == 2))
        last_end = end if parent < 0 else last_end
        if len(definitions) == MAX_FUNCTIONS:
            break
    return definitions


def _attached(source: bytes, start: int, by_end: Mapping[int, int]) -> int:
    """Where the spans begin that end right above ``start``, with no blank line between; ``start`` without any."""
    for _ in range(_MAX_ABOVE):
        end = start
        while end > 0 and source[end - 1] in b" \t\r\n":
            end -= 1
        if end not in by_end or source.count(b"\n", end, start) > 1:
            break
        start = by_end[end]
    return start


# Terms


def _facts(
    source: bytes, definitions: Sequence[_Definition], comments: Sequence[tuple[int, int]]
) -> FunctionFacts:
    """The definitions with their lines and the terms of their texts."""
    cuts = sorted({place for one in definitions for place in (one.begin, one.end)}.union(*comments))
    number_of = {cut: place for place, cut in enumerate(cuts)}
    innermost, is_comment = (
        np.full(len(cuts), -1),
        np.zeros(len(cuts), dtype=bool),
    )  # of the pieces between cuts
    for place, one in enumerate(definitions):  # inner ones last
        innermost[number_of[one.begin] : number_of[one.end]] = place
    for begin, end in comments:
        is_comment[number_of[begin] : number_of[end]] = True
    held = [
        (Counter[str](), Counter[str]()) for _ in definitions
    ]  # terms of its code, of its comments
    for (start, end), holder, kind in zip(
        pairwise(cuts), innermost.tolist(), is_comment.tolist(), strict=False
    ):
        found = terms_of(source[start:end].decode("utf-8", "replace")) if holder >= 0 else []
        number = holder
        while number >= 0 and (
            number == holder or definitions[number].kind != 2
        ):  # and the functions around it
            held[number][kind].update(found)
            number = definitions[number].parent
    terms = sorted(set().union(*chain.from_iterable(held)))
    place_of = {term: number for number, term in enumerate(terms)}
    counts = [
        (place_of[term], code[term], said[term])
        for code, said in held
        for term in sorted(code | said)
    ]
    places, code, said = np.array(counts, dtype=np.int32).reshape(-1, 3).T
    lines = np.flatnonzero(np.frombuffer(source, dtype=np.uint8) == ord("\n"))
    starts, last = (
        [one.start for one in definitions],
        [max(one.end - 1, one.start) for one in definitions],
    )
    return FunctionFacts(
        names=tuple(one.name for one in definitions),
        kinds=np.array([one.kind for one in definitions], dtype=np.uint8),
        starts=(np.searchsorted(lines, starts) + 1).astype(np.int32),
        ends=(np.searchsorted(lines, last) + 1).astype(np.int32),
        terms=tuple(terms),
        offsets=np.cumsum([0, *(len(code | said) for code, said in held)], dtype=np.int64),
        places=places,
        code=np.minimum(code, 255).astype(np.uint8),
        comments=np.minimum(said, 255).astype(np.uint8),
    )


NO_FUNCTIONS: Final = _facts(b"", (), ())
