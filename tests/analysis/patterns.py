"""Regular expressions of the package, and strings that make one of them slow if any do: pieces of it, repeated."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import tosloc

ALPHABET = " a1A.-_\n\t\"'<(/*:;=#@$,\\[{x~"
"""Of a class, the first of these that it holds stand for it."""


def package_patterns() -> dict[re.Pattern[Any], str]:
    """Compiled patterns that modules hold, themselves or in a table -> where."""
    found: dict[re.Pattern[Any], str] = {}
    for module in pkgutil.walk_packages(tosloc.__path__, "tosloc."):
        if module.name.endswith("__main__"):
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            for pattern in _patterns_in(value):
                found.setdefault(pattern, f"{module.name}.{name}")
    return found


def attacks(pattern: re.Pattern[Any], most: int) -> list[tuple[str, str]]:
    """(beginning, unit) pairs: how a match begins up to some place, then what the pattern holds, to be repeated.

    ``most`` bounds how many beginnings and how many units are taken, evenly from all.
    """
    text = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    tree = parser.parse(text, pattern.flags & ~re.UNICODE if isinstance(pattern.pattern, bytes) else pattern.flags)
    beginnings: set[str] = {""}
    units: set[str] = {" ", "\n", "a"}
    _walk(tree, "", beginnings, units)
    return list(product(_some(beginnings, most), _some((units | beginnings) - {""}, most)))


def _some(texts: set[str], most: int) -> list[str]:
    ordered = sorted(texts, key=lambda text: (len(text), text))
    return ordered[:: -(-len(ordered) // most)]


def _patterns_in(value: object) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _patterns_in(inner)
    elif isinstance(value, tuple | list):
        for inner in value:
            yield from _patterns_in(inner)


def _walk(items: Sequence[Any], before: str, beginnings: set[str], units: set[str]) -> str:
    """Add what begins a match of ``items`` after ``before``, and their pieces; a short text that they match."""
    whole = ""
    for item in items:
        op, value = item
        beginnings.add(before + whole)
        if op in (codes.LITERAL, codes.NOT_LITERAL, codes.ANY, codes.IN, codes.CATEGORY):
            letters = _letters(op, value)
            units.update(letters)
            whole += letters[0]
        elif op is codes.BRANCH:
            branches = [_walk(branch, before + whole, beginnings, units) for branch in value[1]]
            units.update(branches)
            whole += branches[0]
        elif op in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
            inner = _walk(value[2], before + whole, beginnings, units)
            units.add(inner)
            whole += inner * max(value[0], 1)
        elif op is codes.SUBPATTERN:
            inner = _walk(value[3], before + whole, beginnings, units)
            units.add(inner)
            whole += inner
        elif op is codes.ATOMIC_GROUP:
            whole += _walk(value, before + whole, beginnings, units)
        elif op in (codes.ASSERT, codes.ASSERT_NOT):
            units.add(_walk(value[1], before + whole, beginnings, units))
    beginnings.add(before + whole)
    return whole


def _letters(op: object, value: Any) -> list[str]:
    """Some characters that one element of a pattern matches."""
    if op is codes.LITERAL:
        return [chr(value)]
    if op is codes.ANY:
        return ["a"]
    items = value if op is codes.IN else [(op, value)]
    negated = bool(items) and items[0][0] is codes.NEGATE
    found = [letter for letter in ALPHABET if any(_holds(item, letter) for item in items) != negated]
    return found[:6] or ["~"]


def _holds(item: Any, letter: str) -> bool:
    op, value = item
    if op in (codes.LITERAL, codes.NOT_LITERAL):
        return (ord(letter) == value) == (op is codes.LITERAL)
    if op is codes.RANGE:
        return bool(value[0] <= ord(letter) <= value[1])
    if op is codes.CATEGORY:
        kinds = {
            codes.CATEGORY_WORD: r"\w",
            codes.CATEGORY_NOT_WORD: r"\W",
            codes.CATEGORY_SPACE: r"\s",
            codes.CATEGORY_NOT_SPACE: r"\S",
            codes.CATEGORY_DIGIT: r"\d",
            codes.CATEGORY_NOT_DIGIT: r"\D",
        }
        return re.match(kinds[value], letter) is not None
    return False
