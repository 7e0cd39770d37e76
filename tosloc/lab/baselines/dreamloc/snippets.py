"""DreamLoc's snippets: the first words of each file in pieces of equal length, as rows of one table of vectors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tosloc.lab.baselines.dreamloc.words import WordVectors, code_text, tokens_of, word_and_parts
from tosloc.lab.baselines.parsed_source import ParsedSource
from tosloc.records import Float32Array, IntArray, LongArray


class CodeVocabulary:
    """Rows of the words of code in a table of vectors, which gets a row for each word that training never saw."""

    def __init__(self, vectors: WordVectors) -> None:
        self.vectors = vectors
        self._rows_of_token: dict[str, tuple[int, ...]] = {}
        self._unseen: dict[tuple[str, tuple[str, ...]], int] = {}
        self._unseen_vectors: list[Float32Array] = []

    def first_rows(self, text: str, number: int) -> IntArray:
        """Rows of the first ``number`` words of a text, those of compounds before their parts."""
        rows: list[int] = []
        for token in tokens_of(text):
            if token not in self._rows_of_token:
                self._rows_of_token[token] = self._rows_of(token)
            rows += self._rows_of_token[token]
            if len(rows) >= number:
                break
        return np.array(rows[:number], dtype=np.int32)

    def _rows_of(self, token: str) -> tuple[int, ...]:
        whole, parts = word_and_parts(token)
        first = (self._row(whole, parts),) if whole else ()
        return (*first, *(self._row(part, ()) for part in parts))

    def _row(self, word: str, parts: tuple[str, ...]) -> int:
        row = self.vectors.row_of_word.get(word)
        if row is not None:
            return row
        if (word, parts) not in self._unseen:
            self._unseen[word, parts] = len(self.vectors.words) + len(self._unseen)
            self._unseen_vectors.append(self.vectors.unknown(word, parts))
        return self._unseen[word, parts]

    def table(self) -> Float32Array:
        """(V, d) vectors of all words so far."""
        width = self.vectors.vectors.shape[1]
        unseen = np.array(self._unseen_vectors, dtype=np.float32).reshape(-1, width)
        return np.concatenate([self.vectors.vectors, unseen])


class Snippets:
    """The snippets of every blob; each holds its distinct words and how often each one stands in it."""

    def __init__(self, sources: Sequence[ParsedSource], vectors: WordVectors, length: int, most: int) -> None:
        """At most ``most`` snippets of ``length`` words a blob."""
        vocabulary = CodeVocabulary(vectors)
        words: list[npt.NDArray[np.int32]] = []
        logs: list[Float32Array] = []
        sizes: list[int] = []
        for source in sources:
            own = vocabulary.first_rows(code_text(source), length * most)
            for start in range(0, len(own), length):
                distinct, counts = np.unique(own[start : start + length], return_counts=True)
                words.append(distinct)
                logs.append(np.log(counts).astype(np.float32))
            sizes.append(-(-len(own) // length))
        self.sizes: LongArray = np.array(sizes, dtype=np.int64)
        """(B,) snippets of each blob."""
        self._first_snippet = np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)
        self._words = np.concatenate(words) if words else np.zeros(0, dtype=np.int32)
        self._log_counts = np.concatenate(logs) if logs else np.zeros(0, dtype=np.float32)
        self._lengths = np.array([len(distinct) for distinct in words], dtype=np.int64)
        self._first_word = np.concatenate([[0], np.cumsum(self._lengths)]).astype(np.int64)
        self.table: Float32Array = vocabulary.table()
        """(V, d) vectors of all words of code."""

    def of_rows(self, rows: npt.NDArray[np.integer]) -> LongArray:
        """Numbers of the snippets of blobs, in their order."""
        sizes = self.sizes[rows]
        ends = np.cumsum(sizes)
        return np.repeat(self._first_snippet[rows] - (ends - sizes), sizes) + np.arange(ends[-1] if len(ends) else 0)

    def padded(self, snippets: LongArray) -> tuple[LongArray, Float32Array]:
        """(s, L) words of snippets and the logs of their counts, -inf where a snippet has no more."""
        lengths = self._lengths[snippets]
        columns = np.arange(int(lengths.max()))
        real = columns < lengths[:, None]
        at = np.where(real, self._first_word[snippets][:, None] + columns, 0)
        return self._words[at].astype(np.int64), np.where(real, self._log_counts[at], -np.inf).astype(np.float32)
