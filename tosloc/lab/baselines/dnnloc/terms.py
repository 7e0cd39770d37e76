"""DNNLOC's terms, and the vectors of term weights that its projections read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from tosloc.lab.baselines.texts import dropped, letter_parts, porter
from tosloc.lab.baselines.vsm import Counts, textbook_idf
from tosloc.records import Float32Array, FloatArray, LongArray

_WORD = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")


class DnnlocTokenizer:
    """dnn_words: words without stop words, stemmed; a compound whole and in its parts."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, ...]] = {}

    def __call__(self, text: str) -> list[str]:
        """Terms of a text, in order.

        >>> DnnlocTokenizer()("the HTMLParser2 parses; MAX_x = null")
        ['htmlparser2', 'html', 'parser', 'pars', 'max_x', 'max']
        """
        known = self._known
        terms: list[str] = []
        for word in _WORD.findall(text):
            if word not in known:
                known[word] = _terms_of(word)
            terms += known[word]
        return terms


def _terms_of(word: str) -> tuple[str, ...]:
    whole = word.lower()
    if dropped(whole):
        return ()
    parts = letter_parts(word)
    terms = [porter(whole)]
    if len(parts) > 1 or (parts and parts[0] != whole):
        terms += [porter(part) for part in parts if not dropped(part)]
    return tuple(terms)


def mentioned_words(text: str) -> set[str]:
    """Words of a text that could be a class's name, as they are written.

    >>> sorted(mentioned_words("JUnit view: icons of TestRunner_2.java"))
    ['JUnit', 'TestRunner_2', 'icons', 'java', 'view']
    """
    return {word for word in _WORD.findall(text) if len(word) > 2}


@dataclass(frozen=True, eq=False)
class TermWeighting:
    """A vocabulary with IDF, for vectors (ln f + 1) idf of one length: the root of the number of terms.

    With length 1, components would be so small that first weights and steps of a usual size drown them.
    """

    terms: tuple[str, ...]
    idf: FloatArray
    """(V,)"""

    @classmethod
    def of(cls, counts: Counts, rows: LongArray, number: int, share: float = 1.0) -> TermWeighting:
        """The ``number`` most frequent terms of those that 2 of the rows hold or more, and at most this share."""
        presence = counts.presence[rows]
        frequency = np.bincount(presence.indices, minlength=presence.shape[1])
        total = presence.shape[0]
        usable = np.flatnonzero((frequency >= 2) & (frequency <= share * total))
        names = sorted(counts.vocabulary, key=counts.vocabulary.__getitem__)
        # equally frequent terms by name, so that the order of blobs cannot matter
        best = sorted(usable.tolist(), key=lambda column: (-frequency[column], names[column]))[:number]
        return cls(tuple(names[column] for column in best), textbook_idf(total, frequency[best]))

    @cached_property
    def vocabulary(self) -> dict[str, int]:
        """Column of each term."""
        return {term: column for column, term in enumerate(self.terms)}

    @property
    def width(self) -> int:
        """V; 1 without terms, since no layer can be without inputs."""
        return max(len(self.terms), 1)

    def matrix(self, counts: Counts) -> sparse.csr_array:
        """(B, V) vectors of all texts."""
        columns = np.array([self.vocabulary.get(term, -1) for term in counts.vocabulary], dtype=np.int64)
        old = counts.matrix
        new = columns[old.indices]
        kept = new >= 0
        rows = np.repeat(np.arange(old.shape[0]), np.diff(old.indptr))[kept]
        values = (np.log(old.data[kept]) + 1.0) * self.idf[new[kept]]
        made = sparse.csr_array((values, (rows, new[kept])), shape=(old.shape[0], self.width))
        norms = np.sqrt(np.bincount(rows, values**2, minlength=old.shape[0]) / self.width)
        made.data /= np.repeat(np.where(norms > 0, norms, 1.0), np.diff(made.indptr))
        return made.astype(np.float32)

    def vector(self, terms: Sequence[str]) -> Float32Array:
        """(V,) vector of one text."""
        made = np.zeros(self.width)
        for term, number in Counter(terms).items():
            column = self.vocabulary.get(term)
            if column is not None:
                made[column] = (np.log(number) + 1.0) * self.idf[column]
        norm = np.sqrt((made**2).mean())
        return (made / norm if norm else made).astype(np.float32)
