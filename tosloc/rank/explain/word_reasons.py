"""Reasons from words that a report shares with the text or the name of a file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from tosloc.code import text
from tosloc.code.functions import FunctionFacts
from tosloc.core.answers import Function, Reason
from tosloc.rank.explain.functions import find_best_holder
from tosloc.rank.explain.wording import MAX_WORDS, ReportSpelling
from tosloc.rank.features.query_context import QueryContext
from tosloc.retrieval.paths import file_stem

COMMON_SHARE: Final = 0.25
"""Share of the files from which on a single word does not distinguish files; two words do."""
MAX_NAMED_SHARE: Final = 0.5
"""Largest share of files that contain a word that a reason names."""
RARE_SHARE: Final = 0.1
"""Largest share of files with a word that a reason names although the summary does not have it."""
MIN_RARE_WORDS: Final = 3
"""Number of rare words in the description that distinguish files without a word of the summary."""


class WordReasons:
    """Words that a report shares with files; a file is given by its number in the version."""

    def __init__(self, context: QueryContext, spelling: ReportSpelling) -> None:
        self._context = context
        self._paths = context.version.paths
        self._spelling = spelling

    def shared(self, file: int) -> tuple[list[str], bool]:
        """Return the terms that the report and the file share, and whether they are rare enough.

        They are rare enough if few other files contain them, so that they say something about this
        file. The terms that contribute most to the score come first.
        """
        rarity_by_term = self._shared_terms(file)
        subject_terms = []
        other_terms = []
        for term, rarity in rarity_by_term.items():
            if term in self._spelling.subject_terms:
                if rarity >= np.log(1 / MAX_NAMED_SHARE):
                    subject_terms.append(term)
            elif rarity >= np.log(1 / RARE_SHARE):
                other_terms.append(term)
        has_rare_subject = any(
            rarity_by_term[term] >= np.log(1 / COMMON_SHARE) for term in subject_terms
        )
        has_rare_others = len(other_terms) >= MIN_RARE_WORDS
        if len(subject_terms) > 1 or has_rare_subject or has_rare_others:
            missing = max(0, MIN_RARE_WORDS - len(subject_terms))
            return subject_terms + other_terms[:missing], True
        return [*rarity_by_term], False

    def _shared_terms(self, file: int) -> dict[str, float]:
        """Return term -> IDF for terms that the report and the file share, best score first."""
        rarity_by_term = self._context.matches.rarity_in_file(file)
        spelled = self._spelling.by_term
        return {term: rarity for term, rarity in rarity_by_term.items() if term in spelled}

    def describe(
        self, words: Sequence[str], functions: FunctionFacts | None, listed: Sequence[Function]
    ) -> Reason:
        """Return shared words as a reason.

        If ``listed`` functions of the file contain some of the words, the reason names the function
        with most of them, and only the words in it.
        """
        shown = list(words[:MAX_WORDS])
        holder = None
        if functions is not None:
            holder = find_best_holder(functions, shown, listed)
        if functions is None or holder is None:
            return Reason("words", f"Matching words: {self._spelling.join_words(words)}")
        number, contained = holder
        inside = self._spelling.join_words([word for word in shown if word in contained])
        lines = int(functions.starts[number]), int(functions.ends[number])
        return Reason(
            "words", f"Matching words in {functions.names[number]}: {inside}", lines=lines
        )

    def in_name(self, file: int) -> list[str]:
        """Return the words in the file's name that the report is about, by decreasing weight.

        Words that many file names contain are left out.
        """
        path = self._paths.table.paths[int(self._paths.path_ids[file])]
        stem_terms = frozenset(text.terms(file_stem(path)))
        term_ids = self._paths.table.term_ids
        weights = self._context.query.weights
        rare = []
        for term in stem_terms & self._spelling.subject_terms:
            if self._paths.names.idf[term_ids[term]] >= np.log(1 / RARE_SHARE):
                rare.append(term)
        return sorted(rare, key=lambda term: (-weights.get(term, 0.0), term))
