"""How many of a version's files have the words of a report, and which words distinguish files."""

from __future__ import annotations

from functools import cached_property
from typing import Final

from tosloc.code import text
from tosloc.retrieval.query import Query
from tosloc.retrieval.text_matches import TextMatches
from tosloc.retrieval.version_index import VersionIndex

EVERYDAY: Final = frozenset(
    text.terms(
        """add app application bad behavior behaviour broken bug change click code correct crash
        error exception expect fail failure fine fix found good great happen hello help hi
        incorrect instal issue know like love make need new nice nothing now old open please
        problem program project question release report reproduce run say seem show slow software
        someone something sometimes start still stop strange support system thank thing think time
        today try update upgrade use user version want way weird well work wrong yesterday"""
    )
)
"""Words that are polite, or only say that something is wrong.

They were chosen by reading, not by any result."""
_COMMON_SHARE: Final = 0.25
"""A word that a larger share of the files has, and more than ``_MIN_FILES``, is common."""
_HALF: Final = 0.5
"""Two words distinguish files if no larger share of the files has either."""
_MIN_FILES: Final = 3
"""A word that no more files have distinguishes files, however few files there are."""


class WordRarity:
    """Which words of a report few files of a version have."""

    def __init__(self, query: Query, version: VersionIndex, matches: TextMatches) -> None:
        self._query = query
        self._texts = version.text
        self._paths = version.paths
        self._matches = matches

    @cached_property
    def common_words(self) -> frozenset[str]:
        """Everyday words, and words of the report that many files have."""
        common = set(EVERYDAY)
        for word, files in self._files_by_word.items():
            if files > self._few_files(_COMMON_SHARE):
                common.add(word)
        return frozenset(common)

    def _few_files(self, share: float) -> float:
        """Return how many files a share of them is, at least ``_MIN_FILES``."""
        return max(share * self._paths.files, _MIN_FILES)

    @cached_property
    def _files_by_word(self) -> dict[str, int]:
        """Number of files with each word of the report, without everyday words and absent ones."""
        counts = self._texts.frequency[self._matches.numbers].tolist()
        files_by_word: dict[str, int] = {}
        for word, files in zip(self._matches.words, counts, strict=True):
            if files and word not in EVERYDAY:
                files_by_word[word] = files
        return files_by_word

    def _has_rare_path_word(self) -> bool:
        """Return whether a word of the report is in few file names."""
        paths = self._paths
        few = self._few_files(_COMMON_SHARE)
        for word in self._query.weights.keys() - EVERYDAY:
            term = paths.table.term_ids.get(word)
            if term is not None and 0 < paths.name_frequency[term] <= few:
                return True
        return False

    def _has_rare_name(self) -> bool:
        """Return whether the report writes a name as code that few files have."""
        rare = self._files_by_word.keys() - self.common_words
        if not rare.isdisjoint(self._query.names.compounds):
            return True
        for name, _ in self._query.names.identifiers:
            if not rare.isdisjoint(text.identifier_terms(name.written)):
                return True
        return False

    @property
    def distinguishes_files(self) -> bool:
        """Whether the words of the report distinguish files.

        This is a word that few file names have, two words that at most half of the files have, or
        a name written as code that few files have.
        """
        if self._has_rare_path_word():
            return True
        half = self._few_files(_HALF)
        words = [word for word, files in self._files_by_word.items() if files <= half]
        return len(words) > 1 or self._has_rare_name()
