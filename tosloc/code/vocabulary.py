"""Numbers of the words that a process has read and of their terms, so that arrays count them.

A project repeats its words. Each distinct word is split into terms once, and after that a text
costs a look-up for each of its words.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Final

import numpy as np

from tosloc.code.text import split_into_terms
from tosloc.core.arrays import IntArray, sorted_unique

_MAX_WORDS: Final = 400_000
"""Number of words from which the next text starts with an empty vocabulary, in about 100 MB."""


class Vocabulary(dict[bytes, int]):
    """Word (UTF-8) -> its number, for every word of the texts; looking up a new word adds it."""

    def __init__(self) -> None:
        super().__init__()
        self._terms: dict[str, int] = {}
        """Term -> its number."""
        self._names: list[str] = []
        """The terms by number."""
        self._starts = array("i", [0])
        """Word w has the terms from starts[w] to starts[w + 1] of ``_terms_of_words``."""
        self._terms_of_words = array("i", [0])
        """Numbers of the terms of all words, one word after the other; the last is unused."""
        self._positions: IntArray = np.zeros(0, dtype=np.int32)
        """Position of each term among the terms of the text that was numbered last."""

    def __missing__(self, word: bytes) -> int:
        number = self[word] = len(self)
        last = self._terms_of_words.pop()
        for term in split_into_terms(word.decode("utf-8", "replace")):
            term_number = self._terms.setdefault(term, len(self._names))
            if term_number == len(self._names):
                self._names.append(term)
            self._terms_of_words.append(term_number)
        self._starts.append(len(self._terms_of_words))
        self._terms_of_words.append(last)
        return number

    def number_terms(self, words: Sequence[bytes]) -> tuple[list[str], IntArray, IntArray]:
        """Return the sorted distinct terms of words (W,), and the terms of each word.

        The second value contains the terms of all words, one word after the other, as positions in
        the first value. The third (W,) is the number of terms of each word.
        """
        if len(self) > _MAX_WORDS:
            self.clear()
            Vocabulary.__init__(self)
        numbers = np.fromiter(map(self.__getitem__, words), np.int64, len(words))
        starts_of_words = np.frombuffer(self._starts, dtype=np.int32)
        starts = starts_of_words[numbers]
        sizes = starts_of_words[numbers + 1] - starts
        ends = np.cumsum(sizes, dtype=np.int32)
        number_of_terms = int(ends[-1]) if len(ends) else 0
        places = np.arange(number_of_terms, dtype=np.int32) + np.repeat(
            starts - ends + sizes, sizes
        )
        terms = np.frombuffer(self._terms_of_words, dtype=np.int32)[places]
        names = sorted(map(self._names.__getitem__, sorted_unique(terms).tolist()))
        numbers_in_order = np.fromiter(map(self._terms.__getitem__, names), np.int64, len(names))
        if len(self._positions) < len(self._names):
            self._positions = np.zeros(2 * len(self._names), dtype=np.int32)
        self._positions[numbers_in_order] = np.arange(len(names), dtype=np.int32)
        return names, self._positions[terms], sizes
