"""Words of reasons: the report's spelling of its terms, commits' subjects and dates."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Final

from tosloc.code import text
from tosloc.retrieval.query import Query

MAX_WORDS: Final = 5
"""Largest number of words that a reason names."""
MAX_SUBJECT: Final = 100
"""Largest number of characters that are shown of a commit's subject."""
NOT_WRITTEN: Final = re.compile(r"https?://\S+|www\.\S+|<!--.*?(?:-->|\Z)", re.DOTALL)
"""Text that nobody wrote for this report: web addresses, and instructions in an issue form."""


class ReportSpelling:
    """How a report spells its terms, and which terms say what the report is about."""

    def __init__(self, query: Query) -> None:
        self._query = query
        self.by_term: dict[str, str] = {}
        """Terms of the report, each with the first spelling in the report."""
        for source in (query.text.title, query.text.prose):
            for word in text.words(NOT_WRITTEN.sub(" ", source)):
                for part in (*text.split_identifier(word), word):
                    for term in text.identifier_terms(part)[-1:]:
                        self.by_term.setdefault(term, part)

    @cached_property
    def subject_terms(self) -> frozenset[str]:
        """Terms in the summary, and terms of identifiers, which say what the report is about."""
        terms = (*self._query.summary_counts, *self._query.names.compounds)
        return frozenset(terms) & self.by_term.keys()

    def describe_match(self, report_term: str, file_term: str) -> str:
        """Return a report's term as written, and the file's matching term if it is different."""
        spelling = self.by_term.get(report_term, report_term)
        return spelling if report_term == file_term else f"{spelling} ~ {file_term}"

    def join_words(self, terms: Sequence[str]) -> str:
        """Return the first terms, joined, as the report spells them.

        A term is left out if its spelling is part of an earlier one.
        """
        words: list[str] = []
        for term in terms:
            word = self.by_term.get(term, term)
            if not any(word.lower() in other.lower() for other in words):
                words.append(word)
        return ", ".join(words[:MAX_WORDS])


def shorten(subject: str) -> str:
    """Return a commit's subject with single blanks, shortened if it is too long."""
    subject = " ".join(subject.split())
    if len(subject) <= MAX_SUBJECT:
        return subject
    return subject[: MAX_SUBJECT - 2].rstrip() + " …"
