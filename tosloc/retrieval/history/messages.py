"""Find messages of a report in string literals of the code, word by word in the same order.

A message is a run of words in one line of the report. Each pair of neighbouring words must occur in
one of two forms in a literal of the file: as neighbours, or with a format field between them where
the report has the field's value.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Final, NamedTuple

import numpy as np

from tosloc.code import text
from tosloc.code.literals import PairKeys, find_words, hash_words, pair_keys
from tosloc.core.arrays import FloatArray, LongArray
from tosloc.retrieval.texts.corpus import VersionTexts
from tosloc.retrieval.texts.formulas import idf

MAX_WORDS: Final = 2_000
"""Largest number of words of a report that are searched for, from its beginning."""
MAX_VALUE_WORDS: Final = 8
"""Largest number of words in a report that may be the value of one format field, such as a path."""
MAX_FILES_ACROSS_FIELD: Final = 50
"""Largest number of files with a pair of words across a field that may join two runs of words."""
MIN_WORDS_OF_MESSAGE: Final = 3
"""Smallest number of words of a distinctive message."""
MAX_FILES_OF_MESSAGE: Final = 5
"""Largest number of files that contain the rarest pair of words of a distinctive message."""
_LINE_GAP: Final = 2 * MAX_VALUE_WORDS
"""Number of positions left free between two lines, so that no pair has words of both lines."""


class Message(NamedTuple):
    """The message that a report shares with a blob; of several messages, the rarest one."""

    rarity: float
    """Summed IDF of the message's pairs of words over the files of the version."""
    text: str
    """The message as the report writes it, with an ellipsis for each value."""
    words: int
    """Number of words in the message, without values."""
    fewest_files: int
    """Number of the version's files that contain the message's rarest pair of words."""

    @property
    def is_distinctive(self) -> bool:
        """Whether the message is long and rare enough to show that the file writes it."""
        is_long = self.words >= MIN_WORDS_OF_MESSAGE and len(set(text.terms(self.text))) > 1
        return is_long and self.fewest_files <= MAX_FILES_OF_MESSAGE


class _Run(NamedTuple):
    """A run of the report's words that match literals of one blob."""

    gain: float
    """Summed IDF of the run's pairs of words."""
    rarest: float
    """Largest IDF of a pair of words in the run."""
    pieces: tuple[tuple[int, int], ...]
    """Positions of the first and last word of each piece; values of fields are between pieces."""


class _Matches(NamedTuple):
    """Matches of the report's pairs of words in the version's blobs."""

    rows: LongArray
    """(P,) row of the blob."""
    first: LongArray
    """(P,) position of the pair's first word."""
    last: LongArray
    """(P,) position of the pair's last word."""
    gains: FloatArray
    """(P,) IDF of the pair."""


@dataclass(frozen=True, eq=False)
class _PlainRuns:
    """The longest runs of neighbouring words, ascending by blob, then by position."""

    rows: LongArray
    """(n,) row of each run's blob."""
    first: LongArray
    """(n,) position of each run's first word."""
    last: LongArray
    """(n,) position of each run's last word."""
    gains: FloatArray
    """(n,) summed IDF of the pairs of words in each run."""
    rarest: FloatArray
    """(n,) largest IDF of a pair of words in each run."""

    @classmethod
    def join(cls, matches: _Matches) -> _PlainRuns:
        """Return the runs that consist of matches of neighbouring words."""
        order = np.lexsort((matches.first, matches.rows))
        rows = matches.rows[order]
        first = matches.first[order]
        gains = matches.gains[order]
        begins = np.ones(len(rows), dtype=np.bool_)
        begins[1:] = (rows[1:] != rows[:-1]) | (first[1:] != first[:-1] + 1)
        starts = np.flatnonzero(begins)
        if not len(starts):
            return cls(starts, starts, starts, np.zeros(0), np.zeros(0))
        ends = np.append(starts[1:], len(rows)) - 1
        return cls(
            rows[starts],
            first[starts],
            first[ends] + 1,
            np.add.reduceat(gains, starts),
            np.maximum.reduceat(gains, starts),
        )

    def of_row(self, row: int) -> list[_Run]:
        """Return the runs of a blob, by position."""
        start, end = np.searchsorted(self.rows, (row, row + 1)).tolist()
        runs = []
        for number in range(start, end):
            piece = (int(self.first[number]), int(self.last[number]))
            gain = float(self.gains[number])
            runs.append(_Run(gain, float(self.rarest[number]), (piece,)))
        return runs


class ReportMessages:
    """The words of a report, and the best message that each blob of a version shares with it."""

    def __init__(self, lines: Iterable[str], view: VersionTexts) -> None:
        """Find the messages of a report's ``lines`` in the literals of a version's files."""
        self._files = view.files
        self._lines: list[str] = []
        self._words: dict[int, tuple[int, int, int]] = {}
        """Position -> number of the word's line, its start and its end there."""
        words: list[str] = []
        position = 0
        for number, line in enumerate(lines):
            self._lines.append(line)
            for match in islice(find_words(line), MAX_WORDS - len(words)):
                words.append(match[0])
                self._words[position] = (number, *match.span())
                position += 1
            position += _LINE_GAP
            if len(words) >= MAX_WORDS:
                break
        checksums = hash_words(words)
        positions = np.fromiter(self._words, np.int64, len(self._words))
        self._plain_runs = _PlainRuns.join(_match_neighbours(checksums, positions, view))
        self._runs_across_fields = self._join_across_fields(
            _match_across_fields(checksums, positions, view)
        )
        self.rarity: FloatArray = np.zeros(len(view.corpus))
        """(B,) summed IDF of the pairs of each blob's best message; 0 without one."""
        np.maximum.at(self.rarity, self._plain_runs.rows, self._plain_runs.gains)
        for row, run in self._runs_across_fields.items():
            self.rarity[row] = max(self.rarity[row], run.gain)

    def _join_across_fields(self, matches: _Matches) -> dict[int, _Run]:
        """Return row of a blob -> its best run that contains a value of a format field.

        Blobs without such a run are left out.
        """
        fields_by_row: defaultdict[int, list[tuple[int, int, float]]] = defaultdict(list)
        columns = (column.tolist() for column in matches)
        for row, first, last, gain in zip(*columns, strict=True):
            fields_by_row[row].append((first, last, gain))
        best: dict[int, _Run] = {}
        for row, fields in fields_by_row.items():
            run = _best_run(self._plain_runs.of_row(row), fields)
            if run is not None:
                best[row] = run
        return best

    @cached_property
    def _idf_by_files(self) -> FloatArray:
        """(F,) IDF of a pair of words, by the number of files that contain it, from 1 to F."""
        return idf(self._files, np.arange(1, self._files + 1))

    def find(self, row: int) -> Message | None:
        """Return the best message that a row's blob shares with the report; None without any."""
        runs = self._plain_runs.of_row(row)
        if row in self._runs_across_fields:
            runs.append(self._runs_across_fields[row])
        if not runs:
            return None
        best = max(runs, key=lambda run: run.gain)
        texts: list[str] = []
        words = 0
        for first, last in best.pieces:
            number, start, _ = self._words[first]
            texts.append(self._lines[number][start : self._words[last][2]])
            words += last - first + 1
        fewest_files = int((self._idf_by_files >= best.rarest - 1e-9).sum())
        return Message(best.gain, " … ".join(texts), words, fewest_files)


def _best_run(plain_runs: Sequence[_Run], fields: Iterable[tuple[int, int, float]]) -> _Run | None:
    """Return the best run with a value in it that can be joined from runs of one blob.

    ``fields`` are the first and last position and the IDF of pairs of words across a format field.
    Return None if no field joins anything.
    """
    # Events go from left to right, so all that ends before a field is known.
    events = list(plain_runs)
    for first, last, gain in fields:
        events.append(_Run(gain, gain, ((first, first), (last, last))))
    ended: dict[int, _Run] = {}
    """Position -> the best run whose last word is there."""
    joined: list[_Run] = []
    for run in sorted(events, key=lambda event: event.pieces[0][0]):
        before = ended.get(run.pieces[0][0])
        if before is not None:
            last_piece = (before.pieces[-1][0], run.pieces[0][1])
            pieces = (*before.pieces[:-1], last_piece, *run.pieces[1:])
            run = _Run(before.gain + run.gain, max(before.rarest, run.rarest), pieces)
        end = run.pieces[-1][1]
        if end not in ended or run.gain > ended[end].gain:
            ended[end] = run
        if len(run.pieces) > 1:
            joined.append(run)
    return max(joined, key=lambda run: run.gain, default=None)


def _match_neighbours(checksums: PairKeys, places: LongArray, view: VersionTexts) -> _Matches:
    """Return the matches of words that follow each other directly."""
    adjacent = places[1:] == places[:-1] + 1
    first = places[:-1][adjacent]
    keys = pair_keys(checksums[:-1], checksums[1:])[adjacent]
    return _match(keys, first, first + 1, view)


def _match_across_fields(checksums: PairKeys, places: LongArray, view: VersionTexts) -> _Matches:
    """Return the matches of words that have up to ``MAX_VALUE_WORDS`` words between them."""
    keys: list[PairKeys] = [np.zeros(0, dtype=np.uint64)]
    first: list[LongArray] = [np.zeros(0, dtype=np.int64)]
    last: list[LongArray] = [np.zeros(0, dtype=np.int64)]
    for distance in range(2, MAX_VALUE_WORDS + 2):
        in_line = places[distance:] == places[:-distance] + distance
        in_pair = pair_keys(checksums[:-distance], checksums[distance:], across_field=True)
        keys.append(in_pair[in_line])
        first.append(places[:-distance][in_line])
        last.append(places[distance:][in_line])
    return _match(
        np.concatenate(keys),
        np.concatenate(first),
        np.concatenate(last),
        view,
        MAX_FILES_ACROSS_FIELD,
    )


def _match(
    keys: PairKeys,
    first: LongArray,
    last: LongArray,
    view: VersionTexts,
    most_files: int | None = None,
) -> _Matches:
    """Return the matches of pairs of words, leaving out pairs in more than ``most_files`` files.

    ``keys`` are the pairs' keys (T,), ``first`` and ``last`` the positions of their words.
    """
    corpus = view.corpus
    starts = np.searchsorted(corpus.literal_pairs, keys, side="left")
    sizes = np.searchsorted(corpus.literal_pairs, keys, side="right") - starts
    pair = np.repeat(np.arange(len(keys)), sizes)
    offsets = np.arange(len(pair)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    rows = corpus.literal_rows[starts[pair] + offsets].astype(np.int64)
    multiplicity = view.multiplicity[rows]
    files = np.bincount(pair, multiplicity, len(keys)).astype(np.int64)
    is_kept = multiplicity > 0
    if most_files is not None:
        is_kept &= files[pair] <= most_files
    pair = pair[is_kept]
    gains = idf(view.files, files)
    return _Matches(rows[is_kept], first[pair], last[pair], gains[pair])
