"""Read versions in the fields of a report's form: affected, last working and installed ones.

A field consists of a key and a value in the same line, in a cell of a table, or in the line below a
heading.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from tosloc.reports.text.markup import COMMENT
from tosloc.reports.text.named_releases import RELEASE_NUMBER, ReleaseClaim
from tosloc.reports.text.verbs import VERBS, State

MAX_LINES: Final = 2_000
"""Largest number of lines that are read; forms are short."""
MAX_FIELDS: Final = 50
"""Largest number of fields with a version that are returned."""
_FIELD: Final = re.compile(
    r"[\s>|\#*_`+•-]{0,12}(?P<key>[A-Za-z@][^:=|\n]{0,80}?)[\s*_`]{0,6}"
    r"(?:[:=|]|\?(?=[\s*_`]{0,6}[Yy]es\b))[\s*_`|]{0,8}(?P<value>[^\s*_`|][^\n]{0,100})"
)
"""A key with its value: "- **Version:** 2.0.7", "| Version | 2.0.7 |", "Did it work? Yes, 2.0"."""
_BOLD_FIELD: Final = re.compile(
    r"[\s>#+-]{0,12}\*\*(?P<key>[A-Za-z@][^*:=|\n]{0,80})\*\*[ ](?P<value>[^\s*_`|][^\n]{0,100})"
)
"""A key in bold type without a colon: "**Affected version(s)** 2.0.7"."""
_HEADING: Final = re.compile(
    r"\s{0,3}(?:\#{1,6}\s{1,3}|\*\*|[-*]\s)?(?P<key>[A-Za-z`@][^\n]{0,100}?)[\s*_`]{0,6}[:?]?"
    r"[\s*_`]{0,6}"
)
"""A line with only a key, whose value is in the next line."""
_IS_HEADING: Final = re.compile(r"\s{0,3}(?:\#{1,6}\s|\*\*)|[^\n]{0,120}[:?][\s*_`]{0,6}\Z")
_COMMAND: Final = re.compile(r"[\s$>`]{0,6}(?P<key>[\w.-]{1,40})\s--?v(?:ersion)?[\s`]{0,4}")
"""A command that prints a version in the next line."""
TABLE_RULE: Final = re.compile(r"[\s|:-]{3,240}")
"""The line between the heads of a table and its rows."""
_BLANK: Final = re.compile(r"[\s`*_>|~]{0,20}(?:text|console|shell|bash|sh)?\s{0,4}")
"""A line without words, or the beginning of a fence."""
WORD: Final = re.compile(r"(?:@[\w.-]{1,60}/)?[A-Za-z][\w.+'-]{0,40}")
"""A word, or the name of a scoped npm package: @reduxjs/toolkit."""
FILLERS: Final = frozenset(
    """version versions release releases tag number the of a an which what is are was you your
    using use used do did does have running run installed current exact output in on with this bug
    issue problem happen happened occurs occurred see seeing seen software app application program
    package library product project please provide reporting or commit and i am we info information
    command affected affects s
    """.split()
)
"""Words of keys that do not name a product."""
_VERSION_WORDS: Final = frozenset("version versions release releases tag affected affects".split())
_VALUE_WORDS: Final = frozenset(
    "version v release latest stable tag is at least the yes it in".split()
)
"""Words before a version in a value that do not name a product."""
_WORKING: Final = ("work", "good", "ok", "fine", "unaffected")
_BROKEN: Final = ("broke", "break", "affect", "fail", "bad", "faulty")
_BEGINNING: Final = ("regress", "introduc", "since", "start", "first")
_PRESENT: Final = tuple("present affect happen occur appear".split())
"""Beginnings of words that say, if they are negated, that the bug was absent."""
_NEGATIONS: Final = frozenset("not no non never longer stopped stops".split())
_OTHER_FACTS: Final = tuple("fix target minim requir support milestone expect compat".split())
"""Beginnings of words in keys of versions in which nothing was observed."""
_DIGIT: Final = re.compile(r"\d")
_SYSTEMS: Final = frozenset("browser os device platform system phone smartphone desktop".split())
"""Keys before a bare "Version" that belongs to them: "- Browser: Firefox", "- Version: 98.0.1"."""
_HARDWARE: Final = frozenset(
    """device devices hardware phone smartphone tablet laptop computer machine board model gpu cpu
    processor chip chipset
    """.split()
)
"""Words in keys about hardware, whose numbers are not versions of a program."""
MAX_PRODUCT_WORDS: Final = 3


def find_version_fields(text: str) -> tuple[ReleaseClaim, ...]:
    """Return the statements about versions in the fields of a report's form, in its order.

    >>> form = "**Version:** 2.0.7\\n### Last working version\\n\\n2.0.5\\n- Python version: 3.9"
    >>> [(claim.number, claim.state, claim.products) for claim in find_version_fields(form)]
    [('2.0.7', 'used', ()), ('2.0.5', 'works', ()), ('3.9', 'used', ('python',))]
    """
    claims: dict[tuple[str, State, tuple[str, ...]], ReleaseClaim] = {}
    previous_words: Sequence[str] = ()
    for key, value in _read_fields(COMMENT.sub(" ", text)):
        words = _find_words(key)
        claim = _read_claim(words, value)
        if claim is not None and not claim.products and not _SYSTEMS.isdisjoint(previous_words):
            claim = claim._replace(products=tuple(previous_words))
        # "- OS: Windows 10" is complete: a version below it belongs to the project.
        previous_words = () if _DIGIT.search(value) else words
        if claim is not None:
            claims.setdefault(claim, claim)
    return tuple(islice(claims.values(), MAX_FIELDS))


def _find_words(text: str) -> list[str]:
    """Return the words of a key or value in lower case."""
    return [word.lower().strip(".'-") for word in WORD.findall(text)]


def _read_fields(text: str) -> Iterator[tuple[str, str]]:
    """Yield each key with its value; the value is "" for a key without one."""
    heading = ""
    previous_cells: list[str] = []
    columns: list[str] = []
    for line in islice(text.splitlines(), MAX_LINES):
        if _BLANK.fullmatch(line):
            continue
        start = line[:240]
        if "--" in start and TABLE_RULE.fullmatch(start):
            columns = previous_cells
            continue
        previous_cells = split_cells(start)
        if (
            columns
            and len(previous_cells) == len(columns)
            and RELEASE_NUMBER.match(previous_cells[0])
        ):
            yield from zip(columns, previous_cells, strict=True)
            continue
        field = _FIELD.match(start)
        if field is None or RELEASE_NUMBER.search(field["key"]):
            field = _BOLD_FIELD.match(start)
        if field is not None and not RELEASE_NUMBER.search(field["key"]):
            yield field["key"], field["value"]
            heading = ""
            continue
        if heading:
            yield heading, start
        key = _COMMAND.fullmatch(line)
        if key is None and len(line) < 140 and _IS_HEADING.match(line):
            key = _HEADING.fullmatch(line)
        heading = "" if key is None else key["key"]


def split_cells(line: str) -> list[str]:
    """Return the cells of a row of a Markdown table; any other line is returned as one cell."""
    return [cell.strip(" *_`") for cell in line.strip().strip("|").split("|")]


def _read_claim(words: Sequence[str], value: str) -> ReleaseClaim | None:
    """Return the statement of a field about a version, by the words of its key; or None."""
    match = RELEASE_NUMBER.search(value[:80])
    if match is None or any(word.startswith(_OTHER_FACTS) for word in words):
        return None
    state, products = _read_key(words)
    if state is None:
        return None
    before = [word.lower() for word in WORD.findall(value[: match.start()])]
    named = [word for word in before if word not in _VALUE_WORDS]
    if len(before) > MAX_PRODUCT_WORDS or not _NEGATIONS.isdisjoint(before):
        return None  # a sentence, or a denial: "No, it failed in 2.0, too"
    if state != "used" and any(word.startswith(VERBS) for word in _find_words(value)):
        return None  # a sentence with a statement of its own: "2.0 works, 2.1 does not"
    return ReleaseClaim(match["number"], state, products or tuple(named))


def _read_key(words: Sequence[str]) -> tuple[State | None, tuple[str, ...]]:
    """Return the state that a key states about its version, and the product that it names."""
    is_negated = not _NEGATIONS.isdisjoint(words)
    rest = [word for word in words if word not in FILLERS and word != "version"]
    if rest and _HARDWARE.issuperset(rest):
        return None, ()
    if any(word.startswith(_WORKING) for word in words):
        return ("fails" if is_negated else "works"), ()
    if is_negated and any(word.startswith(_PRESENT) for word in words):
        return "works", ()  # "the previous version in which this bug was not present"
    if "from" in words:
        return None, ()  # "Regression from version": the last good one, or the first bad one
    if any(word.startswith(_BEGINNING) for word in words):
        return "begins", ()
    if any(word.startswith(_BROKEN) for word in rest):
        return "fails", ()
    if len(rest) > MAX_PRODUCT_WORDS or (not rest and _VERSION_WORDS.isdisjoint(words)):
        return None, ()
    return "used", tuple(rest)
