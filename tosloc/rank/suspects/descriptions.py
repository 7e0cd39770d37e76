"""Suspect changes as an answer shows them: file, function, diff and reasons."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Final, NamedTuple

import numpy as np

from tosloc.core.answers import SuspectChange
from tosloc.core.arrays import FloatArray
from tosloc.core.errors import pluralize
from tosloc.git.patches import FilePatch, Hunk
from tosloc.rank.explain.excerpts import contained_terms
from tosloc.rank.explain.lookups import RepositoryLookups
from tosloc.rank.explain.reasons import FileReasons
from tosloc.rank.features.named_history import NamedHistory
from tosloc.rank.features.query_context import QueryContext
from tosloc.rank.suspects.candidates import Candidates
from tosloc.rank.suspects.line_history import FileLines, line_texts

MAX_PARTS: Final = 5
"""Most parts of a file, written by a suspect, that are named."""
MAX_GAP: Final = 3
"""Lines from one written line to the next of the same part, at most."""
MAX_HUNK_LINES: Final = 400
"""First lines of a hunk that may be shown."""
DIFF_LINES: Final = 6
"""Most lines of a suspect's hunk that are shown."""


def describe_suspect(
    candidates: Candidates, place: int, reasons: FileReasons, lookups: RepositoryLookups
) -> SuspectChange:
    """Return a candidate as an answer shows it."""
    commit = candidates.commits[place]
    best = _find_best_change(candidates, commit)
    if best is None:
        file = candidates.files[candidates.positions[place][0]]
        function = ""
        diff: tuple[str, ...] = ()
    else:
        file = best.file
        rank = _find_best_function(best)
        function = file.functions[rank - 1].name if rank else ""
        diff = _best_lines(best, rank)
    return SuspectChange(
        commit,
        datetime.fromtimestamp(int(candidates.times[place]), UTC),
        lookups.subject(commit) or "",
        file.path,
        function,
        tuple(_reasons_in_words(candidates, place, file, function, reasons.context)),
        diff,
        lookups.commit_url(commit),
        lines=_written_lines(file, commit),
    )


def _written_lines(file: FileLines, commit: str) -> tuple[tuple[int, int], ...]:
    """Return the first and last lines of the longest parts of a file that a commit last wrote.

    Lines that say nothing, such as brackets, belong to the part around them.
    """
    parts: list[tuple[int, int]] = []
    numbers = sorted(position + 1 for position, writer in file.writers.items() if writer == commit)
    for number in numbers:
        if parts and number - parts[-1][1] <= MAX_GAP:
            parts[-1] = (parts[-1][0], number)
        else:
            parts.append((number, number))
    longest = sorted(parts, key=lambda part: (part[0] - part[1], part))[:MAX_PARTS]
    return tuple(sorted(longest))


class _Change(NamedTuple):
    """The change of a file of the answer by a commit."""

    file: FileLines
    patch: FilePatch
    worths: list[FloatArray]
    """How much each line of each hunk says about the fault; 0 for context."""

    @property
    def worth(self) -> float:
        """How much the change says about the fault."""
        return sum(float(worths.sum()) for worths in self.worths) / (1 + self.file.position)


def _find_best_change(candidates: Candidates, commit: str) -> _Change | None:
    """Return the change of a file by a commit that says most about the fault; None if unread."""
    files = {file.path: file for file in candidates.files}
    changes = []
    for patch in candidates.patches.get(commit, ()):
        file = files[patch.path]
        worths = [_line_worths(file, commit, hunk, candidates.terms) for hunk in patch.hunks]
        changes.append(_Change(file, patch, worths))
    return max(changes, key=lambda change: change.worth, default=None)


def _line_worths(
    file: FileLines, commit: str, hunk: Hunk, terms: Mapping[str, float]
) -> FloatArray:
    """Return for each line of a commit's hunk how much it says about the fault; 0 for context.

    Lines of likely functions count by their likelihood, less if a later commit wrote them again.
    Words of the report count beside. Of long hunks only the first lines count.
    """
    worths = np.zeros(len(hunk.lines))
    lines = hunk.lines[:MAX_HUNK_LINES]
    gains = np.array([*terms.values()])
    words = contained_terms([line[1:] for line in lines], terms) @ gains
    words /= max(float(gains.sum()), 1e-9)
    texts = line_texts(hunk._replace(lines=lines))
    for number, (line, text) in enumerate(zip(lines, texts, strict=True)):
        if line.startswith(" "):
            continue
        likelihood = 0.0
        for position in file.positions_by_text.get(text, ()):
            is_current = file.writers.get(position) == commit
            factor = 1.0 if is_current else 0.3
            likelihood = max(likelihood, factor * float(file.by_function[position]))
        worths[number] = 0.001 + 0.1 * words[number] + likelihood
    return worths


def _find_best_function(change: _Change) -> int:
    """Return the rank of the listed function that a change is most about; 0 if of none."""
    worth_by_rank: defaultdict[int, float] = defaultdict(float)
    for hunk, worths in zip(change.patch.hunks, change.worths, strict=True):
        # Lines of context say in which function a line was removed.
        for rank, worth in zip(change.file.line_ranks(hunk), worths.tolist(), strict=True):
            worth_by_rank[rank] += worth + 1e-6
    worth_by_rank.pop(0, None)
    return max(worth_by_rank, key=lambda rank: (worth_by_rank[rank], -rank), default=0)


def _best_lines(change: _Change, function: int) -> tuple[str, ...]:
    """Return the neighbouring lines of a change that say most, at most ``DIFF_LINES``.

    They come from the hunks that have a line of the function with this rank; 0 for all hunks.
    """
    best: tuple[str, ...] = ()
    best_worth = -1.0
    for hunk, worths in zip(change.patch.hunks, change.worths, strict=True):
        if function and function not in change.file.line_ranks(hunk):
            continue
        sums = np.convolve(worths, np.ones(DIFF_LINES))[DIFF_LINES - 1 :]
        start = int(sums.round(9).argmax())
        start = max(0, min(start, len(worths) - DIFF_LINES))
        if sums[start] > best_worth + 1e-9:
            best_worth = float(sums[start])
            best = hunk.lines[start : start + DIFF_LINES]
    return best


def _named_in_report(history: NamedHistory, commit: str) -> Iterator[str]:
    """Yield the reason that the report blames or names a commit, if it does."""
    for blamed in history.blamed:
        if blamed.commit == commit:
            yield "the report blames it"
            return
        if commit in blamed.brought:
            yield f"brought by merge {blamed.commit[:10]}, which the report blames"
            return
    for change in history.changes:
        if change.commit == commit:
            yield f"the report names {change.written}"


def _reasons_in_words(
    candidates: Candidates, place: int, file: FileLines, function: str, context: QueryContext
) -> Iterator[str]:
    """Yield why a candidate is suspect, the strongest reason first."""
    commit = candidates.commits[place]
    history = context.named_history
    yield from _named_in_report(history, commit)
    bounds = history.bounds
    is_blamed = commit in history.blamed_ids
    if not is_blamed and bounds.range is not None and commit in bounds.range:
        yield bounds.words if bounds.bad else f"{bounds.words}, which worked"
    name = file.path.rpartition("/")[2]
    written = [position for position, writer in file.writers.items() if writer == commit]
    if function:
        names = [item.name for item in file.functions]
        rank = 1 + names.index(function)
        lines = int((file.ranks[written] == rank).sum())
        if lines:
            yield f"last changed {lines} of the {file.telling_lines(rank)} lines of `{function}`"
        else:
            yield f"changed `{function}`"
    elif written:
        yield f"last changed {pluralize(len(written), 'line')} of {name}"
    if candidates.feature(place, "order") == 1:
        yield f"newest change of {name}"
