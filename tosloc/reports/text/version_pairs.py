"""Read pairs of versions in lists and tables: before and after, old and new, from and to.

Something worked in the first version of such a pair, and fails in the second one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

from tosloc.core.patterns import lazy_pattern
from tosloc.reports.text.forms import is_form_heading
from tosloc.reports.text.named_releases import NUMBER, ReleaseClaim, split_number
from tosloc.reports.text.project_names import is_scoped_package
from tosloc.reports.text.relations import DOWNGRADE, UNITS, UPGRADE
from tosloc.reports.text.verbs import VERBS
from tosloc.reports.text.version_fields import (
    FILLERS,
    MAX_LINES,
    TABLE_RULE,
    WORD,
    split_cells,
)

MAX_PAIRS: Final = 20
"""Largest number of pairs that are returned."""
MAX_LINE: Final = 240
"""Largest number of characters of a line with a pair."""
_SECOND_KEYS: Final = {
    "before": ("after", "now"),
    "old": ("new", "current", "latest"),
    "older": ("newer", "current", "latest"),
    "from": ("to",),
    "previous": ("new", "current", "latest"),
    "working": ("broken", "failing"),
    "works": ("broken", "fails"),
    "good": ("bad",),
}
"""Keys of the first version of a pair, each with the keys of the second version."""
_KEY: Final = (
    r"(?P<key>before|after|now|old|older|new|newer|current|latest|from|to|previous|working|works"
    r"|broken|failing|fails|good|bad)"
    r"(?:[ ](?:the|upgrad(?:e|ing)|updat(?:e|ing)|migrati(?:on|ng)|versions?|releases?)){0,3}"
)
_VERSION: Final = (
    r"(?P<words>(?:(?:@[\w.-]{1,60}/)?[A-Za-z][\w.-]{0,60}[\s@^~=`*]{1,4}){0,3})[\^~`*]{0,3}"
    rf"v?(?P<number>{NUMBER})(?![\w/-]|\.\d)"
)
_ITEM: Final = lazy_pattern(
    rf"(?i)(?<![\w.-]){_KEY}[\s*_`]{{0,4}}[:=|(][\s*_`|]{{0,6}}{_VERSION}(?=(?P<rest>[^\n]{{0,30}}))"
)
"""A key with its version: "Before: 1.9.5", "| Old version | 1.9.5 |", "After (2.8.2)"."""
_KEY_LINE: Final = lazy_pattern(rf"(?i)[\s>#*_`+-]{{0,12}}{_KEY}[\s*_`]{{0,4}}:?[\s*_`]{{0,4}}")
"""A line with only a key, whose version is in the next line."""
_COLUMN: Final = lazy_pattern(rf"(?i){_KEY}")
_CELL: Final = lazy_pattern(rf"(?i)[\s>*_`+-]{{0,12}}{_VERSION}(?P<rest>[^\n]{{0,30}})")
"""A version alone in a cell or a line."""
_ARROW: Final = lazy_pattern(
    rf"(?i)(?P<before>[^\n]{{0,80}}?)(?<![\w./@-])v?(?P<first>{NUMBER})[\s`*_]{{0,4}}"
    rf"(?:->|=>|-->|→)[\s`*_]{{0,4}}v?(?P<second>{NUMBER})(?![\w/-]|\.\d)[\s`*_|.)]{{0,9}}"
)
"""A line with only a pair: "`@reduxjs/toolkit`: 1.9.5 -> 2.8.2"."""
_SEPARATORS: Final = ",;/|(→>:"
"""Characters before a key that is no word of a sentence."""
_MARKS: Final = " \t#*_`>|+-•(:"
_NO_PRODUCTS: Final = (*UPGRADE, *DOWNGRADE, *VERBS)
"""Beginnings of words before "1.9.5 -> 2.8.2" that are verbs; sentences are read elsewhere."""


class VersionPairs(NamedTuple):
    """The pairs of versions in a text."""

    claims: tuple[ReleaseClaim, ...]
    rest: str
    """The text, with the lines of the pairs left empty."""


class _Item(NamedTuple):
    """One version of a pair."""

    key: str
    number: str
    products: tuple[str, ...]
    line: int
    """Number of the item's line, from 0."""
    key_line: int
    """Number of the line with the item's key, from 0."""


def read_version_pairs(text: str) -> VersionPairs:
    """Return the statements of a text in pairs of versions, and the rest of the text.

    >>> pairs = read_version_pairs("Before: 1.9.5\\nAfter: 2.8.2\\n\\nIt hangs.")
    >>> [claim[:2] for claim in pairs.claims], pairs.rest
    ([('1.9.5', 'works'), ('2.8.2', 'fails')], '\\n\\n\\nIt hangs.')
    >>> [claim.products for claim in read_version_pairs("react: 18.2.0 -> 19.0.0").claims]
    [('react',), ('react',)]
    """
    lines = text.split("\n")
    claims: dict[ReleaseClaim, None] = {}
    pairs = (*_read_items(lines), *_read_tables(lines), *_read_arrows(lines))
    for first, second in pairs[:MAX_PAIRS]:
        for line in (first.key_line, first.line, second.key_line, second.line):
            lines[line] = ""
        if split_number(first.number) < split_number(second.number):
            # Otherwise it is a downgrade, or no pair of versions.
            claims[ReleaseClaim(first.number, "works", first.products)] = None
            claims[ReleaseClaim(second.number, "fails", second.products)] = None
    return VersionPairs(tuple(claims), "\n".join(lines))


def _read_items(lines: Sequence[str]) -> Iterator[tuple[_Item, _Item]]:
    """Yield the pairs of a text whose versions are in the same line or in successive lines."""
    pending: _Item | None = None
    products: tuple[str, ...] = ()
    heading: tuple[str, int] | None = None
    for number, line in enumerate(islice(lines, MAX_LINES)):
        if not line.strip() or len(line) > MAX_LINE or TABLE_RULE.fullmatch(line):
            continue
        items = list(_items_of_line(line, number, products))
        if heading is not None and not items:
            version = _read_version(_CELL.match(line), products)
            if version is not None:
                items = [_Item(heading[0], *version, number, heading[1])]
        key = _KEY_LINE.fullmatch(line)
        heading = None if key is None else (key["key"].lower(), number)
        if heading is None and not items:
            pending = None
            products = _products_of_heading(line)
        for item in items:
            if pending is not None and item.key in _SECOND_KEYS[pending.key]:
                yield pending, item
            pending = item if item.key in _SECOND_KEYS else None


def _items_of_line(line: str, number: int, products: tuple[str, ...]) -> Iterator[_Item]:
    """Yield the keys with a version in a line; ``products`` are those of the lines above."""
    end = 0
    for match in _ITEM.finditer(line):
        before = line[: match.start()].rstrip(" \t*_`")
        if before.strip(_MARKS) and before[-1] not in _SEPARATORS and match.start() != end:
            continue  # a word of a sentence
        if end == 0:
            own_products = _products_of_heading(before) if before.endswith(":") else ()
            products = own_products or _packages(before) or products
        end = match.end()
        version = _read_version(match, products)
        if version is not None:
            yield _Item(match["key"].lower(), *version, number, number)


def _read_tables(lines: Sequence[str]) -> Iterator[tuple[_Item, _Item]]:
    """Yield the pairs of tables that have a column for each version of a pair."""
    columns: list[str] = []
    previous_cells: list[str] = []
    for number, line in enumerate(islice(lines, MAX_LINES)):
        if "-" in line and TABLE_RULE.fullmatch(line[:MAX_LINE]):
            columns = previous_cells
            continue
        previous_cells = split_cells(line[:MAX_LINE])
        if len(previous_cells) != len(columns):
            columns = []
            continue
        keys = [_COLUMN.fullmatch(column) for column in columns]
        items = []
        for position, (key, cell) in enumerate(zip(keys, previous_cells, strict=True)):
            version = _read_version(_CELL.fullmatch(cell), _products(previous_cells[0]))
            if key is not None and version is not None:
                own_products = () if position == 0 else version[1]
                items.append(_Item(key["key"].lower(), version[0], own_products, number, number))
        for position, first in enumerate(items):
            for second in items[position + 1 :]:
                if second.key in _SECOND_KEYS.get(first.key, ()):
                    yield first, second


def _read_arrows(lines: Sequence[str]) -> Iterator[tuple[_Item, _Item]]:
    """Yield the pairs of lines that contain only a pair with an arrow and the name of a product."""
    for number, line in enumerate(islice(lines, MAX_LINES)):
        match = _ARROW.fullmatch(line) if len(line) <= MAX_LINE else None
        if match is None:
            continue
        words = [word.lower() for word in WORD.findall(match["before"])]
        if len(words) > 3 or any(word.startswith(_NO_PRODUCTS) for word in words):
            continue
        products = _products(match["before"])
        yield (
            _Item("", match["first"], products, number, number),
            _Item("", match["second"], products, number, number),
        )


def _read_version(
    match: re.Match[str] | None, products: tuple[str, ...]
) -> tuple[str, tuple[str, ...]] | None:
    """Return the number of a matched version and its products; None for a quantity.

    ``products`` are the products if the version does not name its own.
    """
    if match is None:
        return None
    following = match["rest"].lstrip(" `*_)").lower()
    if following.startswith("%") or (following and following.split()[0].strip(".") in UNITS):
        return None
    return match["number"], _products(match["words"]) or products


def _products_of_heading(line: str) -> tuple[str, ...]:
    """Return the products that a line above a pair names; empty for a line of a sentence."""
    words = WORD.findall(line)
    packages = _packages(line)
    if packages and len(words) <= 6:
        return packages
    is_heading = line.lstrip()[:1] in ("#", "*", "-", "`") or line.rstrip(" *_`").endswith(":")
    if len(words) > 3 or not is_heading or is_form_heading(line):
        return ()
    return _products(line)


def _packages(text: str) -> tuple[str, ...]:
    """Return the scoped npm packages that a text names, in lower case."""
    return tuple(word.lower() for word in WORD.findall(text) if is_scoped_package(word))


def _products(text: str) -> tuple[str, ...]:
    """Return the words of a text that may name a product, in lower case."""
    words = (word.lower() for word in WORD.findall(text))
    return tuple(word for word in words if word not in FILLERS and word != "v")
