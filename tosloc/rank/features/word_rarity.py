"""Count the files of a version that contain the words of a report.

The counts show which words distinguish files.
"""

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
"""Words that are polite, or that only say that something is wrong.

They were chosen by reading reports, not by any result.
"""
_COMMON_SHARE: Final = 0.25
"""Share of files above which a word is common, if more than ``_MIN_FILES`` contain it."""
_HALF: Final = 0.5
"""Largest share of files that contain each of two words that together distinguish files."""
_MIN_FILES: Final = 3
"""Number of files up to which a word always distinguishes files."""


class WordRarity:
    """Words of a report, and the numbers of files of a version that contain them."""

    def __init__(self, query: Query, version: VersionIndex, matches: TextMatches) -> None:
        self._query = query
        self._texts = version.text
        self._paths = version.paths
        self._matches = matches

    @cached_property
    def common_words(self) -> frozenset[str]:
        """Everyday words, and words of the report that many files contain."""
        common = set(EVERYDAY)
        for word, files in self._files_by_word.items():
            if files > self._few_files(_COMMON_SHARE):
                common.add(word)
        return frozenset(common)

    def _few_files(self, share: float) -> float:
        """Return the number of files that is a share of all files, but at least ``_MIN_FILES``."""
        return max(share * self._paths.files, _MIN_FILES)

    @cached_property
    def _files_by_word(self) -> dict[str, int]:
        """Word of the report -> number of files that contain it, without everyday words.

        Words that no file contains are left out.
        """
        counts = self._texts.frequency[self._matches.numbers].tolist()
        files_by_word: dict[str, int] = {}
        for word, files in zip(self._matches.words, counts, strict=True):
            if files and word not in EVERYDAY:
                files_by_word[word] = files
        return files_by_word

    def _has_rare_path_word(self) -> bool:
        """Return whether few file names contain a word of the report."""
        paths = self._paths
        few = self._few_files(_COMMON_SHARE)
        for word in self._query.weights.keys() - EVERYDAY:
            term = paths.table.term_ids.get(word)
            if term is not None and 0 < paths.names.frequency[term] <= few:
                return True
        return False

    def _has_rare_name(self) -> bool:
        """Return whether the report writes a name as code that few files contain."""
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

        They do if few file names contain one of the words, if at most half of the files contain
        each of two words, or if few files contain a name written as code.
        """
        if self._has_rare_path_word():
            return True
        half = self._few_files(_HALF)
        words = [word for word, files in self._files_by_word.items() if files <= half]
        return len(words) > 1 or self._has_rare_name()
