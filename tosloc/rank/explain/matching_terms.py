"""Find the words of a report that distinguish files, and where lines contain them."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from tosloc.code.text import identifier_terms
from tosloc.code.text import terms as terms_of
from tosloc.rank.features.text_features import rarities
from tosloc.retrieval.query import Query
from tosloc.retrieval.version_index import VersionIndex

MAX_TERMS: Final = 16
"""Largest number of words of a report that are marked."""
MAX_FREQUENCY: Final = 0.25
"""Largest share of files that contain a word that is marked."""
MAX_FREQUENCY_OF_SUMMARY: Final = 0.5
"""Largest share of files that contain a word of the summary that is marked."""
LINE_END: Final = re.compile("\n")
_OTHER_LAST_LETTERS: Final = "eilς"
"""Last letters of terms in whose place a line may have another letter.

Porter's algorithm makes "probe" of "probing" and "anywai" of "anyway", and ends stems of "-bility"
in "bl". A Greek sigma is lowered to another letter at the end of a word.
"""
_IDENTIFIER: Final = re.compile(r"[\w$]+")
MAX_LINES: Final = 50_000
"""Largest number of lines of a file that are searched. A longer file was written by a program."""


def distinctive_terms(query: Query, version: VersionIndex) -> dict[str, float]:
    """Return the report's terms that distinguish files, with their weights, the best first.

    If no term distinguishes files, all of the report's terms are used.
    """
    weights = query.text_weights(query.text.told)
    rarity_of = rarities(version, weights)
    rare: list[str] = []
    for term, rarity in rarity_of.items():
        in_summary = term in query.summary_counts
        bound = MAX_FREQUENCY_OF_SUMMARY if in_summary else MAX_FREQUENCY
        if rarity >= np.log(1 / bound):
            rare.append(term)
    gains = {term: weights[term] * rarity_of[term] for term in rare or rarity_of}
    # Reasons prefer words of the summary and compound names, too.
    strong = query.summary_counts.keys() | query.names.compounds
    best = sorted(gains, key=lambda term: (term not in strong, -gains[term], term))
    return {term: gains[term] for term in best[:MAX_TERMS]}


def contained_terms(lines: Sequence[str], terms: Mapping[str, float]) -> Any:
    """Return (L, T) whether each line contains each term.

    Most lines contain no term, so a line is split into terms only if it contains a term's text. A
    compound has no separators, and a last letter in ``_OTHER_LAST_LETTERS`` does not count.

    >>> contained_terms(["probing", "other", "anyway"], {"probe": 1.0, "anywai": 1.0}).tolist()
    [[True, False], [False, False], [False, True]]
    """
    contained = np.zeros((len(lines), len(terms)), dtype=np.bool_)
    if not terms or not lines:
        return contained
    text = "\n".join(lines).lower().replace("_", "").replace("$", "")
    numbers: set[int] = set()
    beginnings = {term[:-1] if term[-1] in _OTHER_LAST_LETTERS else term for term in terms}
    for beginning in beginnings:
        # Searching for one string after the other is several times as fast as one pattern of all.
        number = 0
        line_start = 0
        while (place := text.find(beginning, line_start)) >= 0:
            number += text.count("\n", line_start, place)
            numbers.add(number)
            line_start = text.find("\n", place) + 1
            if not line_start:
                break
            number += 1
    columns = {term: column for column, term in enumerate(terms)}
    for number in numbers:
        for term in terms_of(lines[number]):
            if term in columns:
                contained[number, columns[term]] = True
    return contained


def find_matches(text: str, terms: Container[str]) -> Iterator[tuple[int, int]]:
    """Yield the first character, and the one after the last, of each word with one of the terms.

    >>> list(find_matches("return self.cookie_path", {"cooki"}))
    [(12, 23)]
    """
    for word in _IDENTIFIER.finditer(text):
        if any(term in terms for term in identifier_terms(word[0])):
            yield word.span()
