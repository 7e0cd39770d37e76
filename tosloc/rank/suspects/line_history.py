"""Find the commits that last wrote the lines of a file, from patches.

Lines are compared without white space, because a commit that only indents writes nothing.

Letter in shapes: L lines of a file.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

import numpy as np

from tosloc.code.text import is_comment
from tosloc.core.answers import Function, Hit
from tosloc.core.arrays import FloatArray, LongArray
from tosloc.git.patches import FilePatch, Hunk

MAX_LINES: Final = 20_000
"""Largest number of lines of a file that are examined. A longer file was written by a program."""
_TELLING: Final = re.compile(r"(?:[^\W_][\W_]*){7}")
"""Pattern of a line with more letters and digits than "return"."""
_WHITE_SPACE: Final = dict.fromkeys(map(ord, " \t\r\f\v"))


@dataclass
class FileLines:
    """The lines of one file of the answer, and the commit that last wrote each line."""

    path: str
    position: int
    """Position of the file in the answer, from 0."""
    share: float
    """How likely the file is; the shares of all files sum to 1."""
    functions: tuple[Function, ...]
    text: str
    positions_by_text: dict[str, list[int]]
    """Text of a line without white space -> positions of the lines with it, for lines with content.

    ``is_telling`` decides which lines have content.
    """
    ranks: LongArray
    """(L,) rank of the best function that contains each line, from 1; 0 outside functions."""
    telling: FloatArray
    """(L,) 1 for a line with content (see ``is_telling``), else 0."""
    by_function: FloatArray
    """(L,) probability that each line is faulty, by its function; the sum is 1 with functions."""
    writers: dict[int, str] = field(default_factory=dict)
    """Position of a line -> commit that last wrote it, if that commit's patch was read."""

    @classmethod
    def of(cls, hit: Hit, position: int, share: float, text: str) -> FileLines:
        """Return the lines of a hit with this text; ``position`` is its position in the answer."""
        lines = text.splitlines()[:MAX_LINES]
        positions_by_text: defaultdict[str, list[int]] = defaultdict(list)
        for number, line in enumerate(without_white_space(lines)):
            if is_telling(line):
                positions_by_text[line].append(number)
        telling = np.zeros(len(lines))
        for positions in positions_by_text.values():
            telling[positions] = 1.0
        ranks = np.zeros(len(lines), dtype=np.int64)
        for rank in range(len(hit.functions), 0, -1):
            function = hit.functions[rank - 1]
            ranks[function.start - 1 : function.end] = rank
        by_function = _normalize(_weigh_functions(hit.functions, np.where(telling > 0, ranks, 0)))
        return cls(
            hit.path,
            position,
            share,
            hit.functions,
            text,
            dict(positions_by_text),
            ranks,
            telling,
            by_function,
        )

    def telling_lines(self, rank: int) -> int:
        """Return the number of lines with content in the function with this rank."""
        return int(((self.ranks == rank) & (self.telling > 0)).sum())

    def assign(self, patch: FilePatch) -> tuple[list[int], int]:
        """Record the patch's commit as writer of its added lines that no later commit wrote.

        Return the positions of these lines, and the rank of the best function that contains a line
        of the patch, changed or context; 0 if there is none. Call it for the newest patch first.
        """
        written = []
        touched: set[int] = set()
        expected_by_hunk = self._expect_positions(patch)
        for hunk, expected in zip(patch.hunks, expected_by_hunk, strict=True):
            signs = "".join(line[0] for line in hunk.lines)
            for place, text in enumerate(line_texts(hunk)):
                positions = self.positions_by_text.get(text, ())
                if not positions:
                    continue
                # Moved lines are context, also far from a change.
                if signs[max(place - 1, 0) : place + 2].strip():
                    touched.add(_nearest(positions, expected[place]))
                if signs[place] == "+":
                    free = [position for position in positions if position not in self.writers]
                    if free:
                        position = _nearest(free, expected[place])
                        self.writers[position] = patch.commit
                        written.append(position)
        ranks = self.ranks[list(touched)]
        ranks = ranks[ranks > 0]
        return written, int(ranks.min()) if len(ranks) else 0

    def find_lines(self, commit: str, diff: Sequence[str]) -> tuple[int, ...]:
        """Return the number of each line of a commit's diff in this file, from 1; 0 if not there.

        Lines that the commit last wrote are found first, then context that occurs once, then lines
        right beside a found one.
        """
        texts = without_white_space([line[1:] for line in diff])
        kept = [place for place, line in enumerate(diff) if not line.startswith("-")]
        numbers = [0] * len(diff)
        last = 0
        for place in kept:
            positions = self.positions_by_text.get(texts[place], [])
            if diff[place].startswith("+"):
                positions = [each for each in positions if self.writers.get(each) == commit]
            elif len(positions) > 1:
                continue
            later = [position + 1 for position in positions if position >= last]
            if later:
                numbers[place] = last = min(later)
        lines = without_white_space(self.text.splitlines()[:MAX_LINES])
        for step, places in ((1, kept), (-1, kept[::-1])):
            for before, place in pairwise(places):
                number = numbers[before] + step
                is_beside = numbers[before] > 0 and 0 < number <= len(lines)
                is_free = not numbers[place] and number not in numbers
                if is_beside and is_free and lines[number - 1] == texts[place]:
                    numbers[place] = number
        return tuple(numbers)

    def pass_on(self, patch: FilePatch) -> None:
        """Match the lines that a formatting patch removes with the lines that replace them.

        An earlier commit that added a removed line then counts as the writer of the new line.
        """
        for hunk in patch.hunks:
            removed = []
            added = []
            for line, text in zip(hunk.lines, line_texts(hunk), strict=True):
                if line.startswith("-"):
                    removed.append(text)
                elif line.startswith("+"):
                    added.append(self.positions_by_text.get(text, []))
            for number, text in enumerate(removed):
                # Lines that were joined or split have no partner of their own.
                partners = [added[number]] if len(added) == len(removed) else added
                if is_telling(text):
                    positions = self.positions_by_text.setdefault(text, [])
                    new = {position for partner in partners for position in partner}
                    positions += sorted(new.difference(positions))

    def _expect_positions(self, patch: FilePatch) -> list[list[int]]:
        """Return, for each line of each hunk, where it is in this file if nothing moved it.

        Lines that are only once in this file show by how much later changes moved the lines around
        them. Without such lines, a line is expected where it was in the commit's own version.
        """
        numbers_by_hunk = []
        known_numbers = []
        known_shifts = []
        for hunk in patch.hunks:
            numbers = []
            number = hunk.new_start - 1
            for line, text in zip(hunk.lines, line_texts(hunk), strict=True):
                numbers.append(number)
                positions = self.positions_by_text.get(text, ())
                if len(positions) == 1 and not line.startswith("-"):
                    known_numbers.append(number)
                    known_shifts.append(positions[0] - number)
                number += not line.startswith("-")
            numbers_by_hunk.append(numbers)
        if not known_numbers:
            return numbers_by_hunk
        result = []
        for numbers in numbers_by_hunk:
            expected = []
            for number in numbers:
                after = bisect_left(known_numbers, number)
                beside = range(max(after - 1, 0), min(after + 1, len(known_numbers)))
                anchor = min(beside, key=lambda each: abs(known_numbers[each] - number))
                expected.append(number + known_shifts[anchor])
            result.append(expected)
        return result


def _nearest(positions: Sequence[int], expected: int) -> int:
    """Return the position that is nearest to an expected one; of equally near ones the first."""
    return min(positions, key=lambda position: abs(position - expected))


def _weigh_functions(functions: Sequence[Function], ranks: LongArray) -> FloatArray:
    """Return (L,) the softmax of function scores, divided among the lines of each function."""
    weights = np.zeros(len(ranks))
    if functions:
        scores = np.array([function.score for function in functions])
        likely = np.exp(scores - scores.max())
        for rank in range(1, len(functions) + 1):
            positions = np.flatnonzero(ranks == rank)
            weights[positions] = likely[rank - 1] / max(len(positions), 1)
    return weights


def _normalize(values: FloatArray) -> FloatArray:
    """Return the values divided by their sum."""
    total = float(values.sum())
    return values / total if total > 0 else values


def line_texts(hunk: Hunk) -> list[str]:
    """Return the lines of a hunk without signs and white space."""
    return without_white_space([line[1:] for line in hunk.lines])


def without_white_space(lines: Sequence[str]) -> list[str]:
    """Return lines without blanks and tabs.

    >>> without_white_space(["  return cart", "}"])
    ['returncart', '}']
    """
    return "\n".join(lines).translate(_WHITE_SPACE).split("\n") if lines else []


def is_telling(text: str) -> bool:
    """Return whether a line without white space has content: more than a bracket or a keyword.

    Comments have no content.

    >>> is_telling("returnself.cart"), is_telling("}else{"), is_telling("#thecartisempty")
    (True, False, False)
    """
    return _TELLING.search(text) is not None and not is_comment(text)


def without_moves(patches: Sequence[FilePatch]) -> list[FilePatch]:
    """Return the patches of one commit with lines that the commit only moves as unchanged.

    A line is moved if the commit adds and removes its text, in the same file or in two files.
    """
    texts_by_patch = [[line_texts(hunk) for hunk in patch.hunks] for patch in patches]
    added: set[str] = set()
    removed: set[str] = set()
    for patch, hunk_texts in zip(patches, texts_by_patch, strict=True):
        for hunk, texts in zip(patch.hunks, hunk_texts, strict=True):
            for line, text in zip(hunk.lines, texts, strict=True):
                if line[0] == "+":
                    added.add(text)
                elif line[0] == "-":
                    removed.add(text)
    moved = added & removed
    if not moved:
        return list(patches)
    result = []
    for patch, hunk_texts in zip(patches, texts_by_patch, strict=True):
        hunks = []
        for hunk, texts in zip(patch.hunks, hunk_texts, strict=True):
            kept = _keep_moved_lines(hunk, texts, moved)
            if any(line[0] != " " for line in kept.lines):
                hunks.append(kept)
        if hunks:
            result.append(patch._replace(hunks=tuple(hunks)))
    return result


def _keep_moved_lines(hunk: Hunk, texts: Sequence[str], moved: set[str]) -> Hunk:
    """Return a hunk in which added lines that were moved are context, and removed ones left out."""
    lines = []
    for line, text in zip(hunk.lines, texts, strict=True):
        if line[0] == " " or text not in moved:
            lines.append(line)
        elif line[0] == "+":
            lines.append(f" {line[1:]}")
    return hunk._replace(lines=tuple(lines))
