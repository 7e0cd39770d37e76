"""Describe suspect changes for an answer: their file, function, diff and reasons."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from tosloc.code.functions import find_functions
from tosloc.core.answers import SuspectChange
from tosloc.core.arrays import FloatArray
from tosloc.core.errors import pluralize
from tosloc.core.patterns import lazy_pattern
from tosloc.git.patches import FilePatch, Hunk
from tosloc.git.repository import Repository
from tosloc.rank.explain.lookups import RepositoryLookups
from tosloc.rank.explain.matching_terms import contained_terms
from tosloc.rank.explain.reasons import FileReasons
from tosloc.rank.features.named_history import NamedHistory
from tosloc.rank.features.query_context import QueryContext
from tosloc.rank.suspects.candidates import Candidates
from tosloc.rank.suspects.changed_functions import enclosing_functions
from tosloc.rank.suspects.line_history import FileLines, line_texts

MAX_PARTS: Final = 5
"""Largest number of parts of a file, last written by a suspect, that are named."""
MAX_GAP: Final = 3
"""Largest distance in lines between two written lines of the same part."""
MAX_HUNK_LINES: Final = 400
"""Number of lines of a hunk, from its beginning, that may be shown."""
WORD_WORTH: Final = 0.1
"""Worth of a line with all words of the report; lines of functions are worth up to 1 together."""
GUARD_WORTH: Final = 0.5
"""Worth of a removed check or lock."""
_GUARD: Final = lazy_pattern(
    r"(?i)\b(?:if|unless|assert\w{0,20}|guard|require|ensure|check\w{0,20}|valid\w{0,20}"
    r"|(?:un)?lock\w{0,20}|mutex\w{0,20}|synchronized|try|catch|except|throw|raise|null|nil)\b"
)
"""Words of checks and locks."""
DIFF_LINES: Final = 6
"""Largest number of lines of a suspect's hunk that are shown."""


_Names: TypeAlias = list[list[Sequence[str]]]
"""Names of the functions that contain each line of each hunk; see ``enclosing_functions``."""


def describe_suspect(
    repository: Repository,
    candidates: Candidates,
    place: int,
    reasons: FileReasons,
    lookups: RepositoryLookups,
) -> SuspectChange:
    """Return the candidate at a position in the form that answers contain."""
    commit = candidates.commits[place]
    if not candidates.positions[place]:
        return _describe_by_text(candidates, place, reasons, lookups)
    best = _find_best_change(candidates, commit)
    if best is None:
        file = candidates.files[candidates.positions[place][0]]
        function = ""
        diff: tuple[str, ...] = ()
        place_of_diff: tuple[str, ...] = ()
    else:
        file = best.file
        enclosing = enclosing_functions(repository, file, best.patch)
        function = _find_best_function(best, enclosing)
        diff = _best_lines(best, enclosing, function)
        place_of_diff = _place_of_diff(best.patch)
    diff_lines = file.find_lines(commit, diff)
    return SuspectChange(
        commit,
        lookups.committed(commit, int(candidates.times[place])),
        lookups.subject(commit) or "",
        file.path,
        function,
        (*_reasons_in_words(candidates, place, file, function, reasons.context), *place_of_diff),
        diff,
        lookups.commit_url(commit),
        lines=_written_lines(file, commit, function, diff_lines),
        diff_lines=diff_lines,
    )


def _place_of_diff(patch: FilePatch) -> tuple[str, ...]:
    """Return a reason with the file of a diff, if the file had another name or lines came from it.

    A file that was only moved to another folder needs no such reason.
    """
    name = patch.path.rpartition("/")[2]
    if patch.path_then.rpartition("/")[2] == name:
        return ()
    return (f"its most relevant change is in {patch.path_then}",)


def _written_lines(
    file: FileLines, commit: str, function: str, shown: Sequence[int]
) -> tuple[tuple[int, int], ...]:
    """Return first and last line of up to MAX_PARTS parts of a file that a commit wrote last.

    Parts with ``shown`` lines come first, then those in the listed ``function``, then the longest
    ones. Lines without content, such as brackets, belong to the part around them.
    """
    spans = [(listed.start, listed.end) for listed in file.functions if listed.name == function]
    parts: list[tuple[int, int]] = []
    numbers = sorted(position + 1 for position, writer in file.writers.items() if writer == commit)
    for number in numbers:
        if parts and number - parts[-1][1] <= MAX_GAP:
            parts[-1] = (parts[-1][0], number)
        else:
            parts.append((number, number))

    def order(part: tuple[int, int]) -> tuple[bool, bool, int, tuple[int, int]]:
        first, last = part
        is_shown = any(first <= number <= last for number in shown)
        is_inside = any(start <= last and first <= end for start, end in spans)
        return not is_shown, not is_inside, first - last, part

    return tuple(sorted(sorted(parts, key=order)[:MAX_PARTS]))


def _describe_by_text(
    candidates: Candidates, place: int, reasons: FileReasons, lookups: RepositoryLookups
) -> SuspectChange:
    """Describe a candidate that touched no file of the answer by its best matching lines."""
    commit = candidates.commits[place]
    path = ""
    diff: tuple[str, ...] = ()
    best_worth = 0.0
    for patch in candidates.range_changes.patches[commit]:
        worths = [_word_worths(hunk, candidates.terms) for hunk in patch.hunks]
        worth = sum(float(hunk_worths.sum()) for hunk_worths in worths)
        if worth > best_worth:
            best_worth = worth
            path = patch.path
            diff = _best_window(patch.hunks, worths)
    bounds = reasons.context.named_history.bounds
    words = [bounds.words]
    if candidates.feature(place, "range_text") == 1:
        words.append("its changed lines share most words with the report")
    else:
        words.append("its changed lines share words with the report")
    return SuspectChange(
        commit,
        lookups.committed(commit, int(candidates.times[place])),
        lookups.subject(commit) or "",
        path,
        "",
        tuple(words),
        diff,
        lookups.commit_url(commit),
        diff_lines=(0,) * len(diff),
    )


class _Change(NamedTuple):
    """The change of a file of the answer by a commit."""

    file: FileLines
    patch: FilePatch
    worths: list[FloatArray]
    """Worth of each line of each hunk as evidence of the bug; 0 for context."""

    @property
    def worth(self) -> float:
        """Worth of the change as evidence of the bug."""
        return sum(float(worths.sum()) for worths in self.worths) / (1 + self.file.position)


def _find_best_change(candidates: Candidates, commit: str) -> _Change | None:
    """Return the commit's change of a file with the largest worth; None if no patch was read."""
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
    """Return the worth of each line of a commit's hunk as evidence of the bug; 0 for context.

    A line is worth the likelihood of its function, but less if a later commit wrote the line again.
    Words of the report are added. Only the first lines of long hunks count.
    """
    worths = _word_worths(hunk, terms)
    lines = hunk.lines[:MAX_HUNK_LINES]
    texts = line_texts(hunk._replace(lines=lines))
    for number, (line, text) in enumerate(zip(lines, texts, strict=True)):
        if line.startswith(" "):
            continue
        likelihood = 0.0
        for position in file.positions_by_text.get(text, ()):
            is_current = file.writers.get(position) == commit
            factor = 1.0 if is_current else 0.3
            likelihood = max(likelihood, factor * float(file.by_function[position]))
        worths[number] += likelihood
    return worths


def _word_worths(hunk: Hunk, terms: Mapping[str, float]) -> FloatArray:
    """Return the worth of the words in each line of a hunk; 0 for context.

    A check or lock is worth more if the hunk removes more of them than it adds.
    """
    worths = np.zeros(len(hunk.lines))
    lines = hunk.lines[:MAX_HUNK_LINES]
    gains = np.array([*terms.values()])
    words = contained_terms([line[1:] for line in lines], terms) @ gains
    words /= max(float(gains.sum()), 1e-9)
    guards = [number for number, line in enumerate(lines) if _GUARD.search(line[1:])]
    removed = [number for number in guards if lines[number].startswith("-")]
    added = [number for number in guards if lines[number].startswith("+")]
    for number, line in enumerate(lines):
        if not line.startswith(" "):
            worths[number] = 0.001 + WORD_WORTH * words[number]
    if len(removed) > len(added):
        worths[removed] += GUARD_WORTH
    return worths


def _find_best_function(change: _Change, enclosing: _Names) -> str:
    """Return the name of the function with most of a change's worth; "" if there is none.

    Functions that the answer lists come first, and the best of those that contain the same line.
    Other functions count if the searched version has them, the innermost of a line. ``enclosing``
    are the names of the functions that contain each line of each hunk.
    """
    listed = [function.name for function in change.file.functions]
    best = _most_worth(change, enclosing, listed)
    if best:
        return best
    names = find_functions(change.file.text, change.file.path).names
    # A function follows the functions and classes that contain it.
    return _most_worth(change, enclosing, names[::-1])


def _most_worth(change: _Change, enclosing: _Names, names: Sequence[str]) -> str:
    """Return the function of ``names`` whose changed lines are worth most; "" if none was changed.

    A line in several of them counts for the first. Removed lines only decide between functions
    without added lines, because lines that are rewritten elsewhere are removed, too.
    """
    order = {name: number for number, name in enumerate(dict.fromkeys(names))}
    worth_by_name: defaultdict[str, float] = defaultdict(float)
    for hunk, worths, names_of_lines in zip(
        change.patch.hunks, change.worths, enclosing, strict=True
    ):
        for line, worth, around in zip(hunk.lines, worths.tolist(), names_of_lines, strict=True):
            of_line = [name for name in around if name in order]
            if of_line:
                factor = 1.0 if line.startswith("+") else 1e-6
                worth_by_name[min(of_line, key=order.__getitem__)] += factor * worth
    return max(worth_by_name, key=lambda name: (worth_by_name[name], -order[name]), default="")


def _best_lines(change: _Change, enclosing: _Names, function: str) -> tuple[str, ...]:
    """Return the neighbouring lines of a change with the largest worth, at most ``DIFF_LINES``.

    They come from the hunks that change a line of ``function``; "" means all hunks.
    """
    hunks = []
    worths_of_hunks = []
    for hunk, worths, names in zip(change.patch.hunks, change.worths, enclosing, strict=True):
        if not function or any(function in around for around in names):
            hunks.append(hunk)
            worths_of_hunks.append(worths)
    return _best_window(hunks, worths_of_hunks)


def _best_window(hunks: Sequence[Hunk], worths_of_hunks: Sequence[FloatArray]) -> tuple[str, ...]:
    """Return neighbouring lines of some hunks with the largest worth, at most ``DIFF_LINES``."""
    best: tuple[str, ...] = ()
    best_worth = -1.0
    for hunk, worths in zip(hunks, worths_of_hunks, strict=True):
        sums = np.convolve(worths, np.ones(DIFF_LINES))[DIFF_LINES - 1 :]
        start = int(sums.round(9).argmax())
        start = max(0, min(start, len(worths) - DIFF_LINES))
        if sums[start] > best_worth + 1e-9:
            best_worth = float(sums[start])
            best = _without_blank_ends(hunk.lines[start : start + DIFF_LINES])
    return best


def _without_blank_ends(lines: Sequence[str]) -> tuple[str, ...]:
    """Return lines of a hunk without unchanged blank lines before and after the others."""
    kept = list(lines)
    while kept and not kept[0].strip():
        del kept[0]
    while kept and not kept[-1].strip():
        del kept[-1]
    return tuple(kept)


def _named_in_report(history: NamedHistory, commit: str) -> Iterator[str]:
    """Yield the reason that the report blames or names a commit, if it does."""
    for blamed in history.blamed:
        if blamed.commit == commit:
            yield SuspectChange.BLAMED
            return
        if commit in blamed.brought:
            yield f"brought by merge {blamed.commit[:10]}, which the report blames"
            return
    for change in history.changes:
        # Under a blamed number the report means the blamed commit, not others with the number.
        if change.commit == commit and history.find_blamed(change) is None:
            yield f"the report names {change.written}"


def _newest_change(context: QueryContext, path: str) -> str:
    """Return the newest known commit that changed a file of the searched version.

    Commits count even if they cannot be suspects, such as those after a commit that the report
    blames. The commit with the largest committer time is the newest.
    """
    number = context.version.snapshot.path_names.ids[path]
    touching = []
    for view in (context.history.commits, context.history.large):
        documents = view.documents
        for document in documents.find_by_file(number).tolist():
            if view.known[document]:
                at = int(documents.times[document])
                touching.append(
                    (at, int(documents.commits[document]), documents.commit_ids[document])
                )
    return max(touching, default=(0, 0, ""))[2]


def _reasons_in_words(
    candidates: Candidates, place: int, file: FileLines, function: str, context: QueryContext
) -> Iterator[str]:
    """Yield the reasons why a candidate is suspect, as text, the strongest first."""
    commit = candidates.commits[place]
    history = context.named_history
    yield from _named_in_report(history, commit)
    name = file.path.rpartition("/")[2]
    written = [position for position, writer in file.writers.items() if writer == commit]
    if function:
        lines = 0
        for rank, listed in enumerate(file.functions, start=1):
            if listed.name == function:
                lines = int((file.ranks[written] == rank).sum())
                break
        if lines:
            yield f"last changed {lines} of the {file.telling_lines(rank)} lines of `{function}`"
        else:
            yield f"changed `{function}`"
    elif written:
        yield f"last changed {pluralize(len(written), 'line')} of {name}"
    if commit == _newest_change(context, file.path):
        yield f"newest change of {name}"
    bounds = history.bounds
    is_blamed = commit in history.blamed_ids
    if not is_blamed and bounds.range is not None and commit in bounds.range:
        # All suspects of a range have this reason.
        yield bounds.words if bounds.bad else f"{bounds.words}, which worked"
    worked_at = context.query.names.working_time(context.history.opened)
    if bounds.range is None and worked_at is not None and candidates.times[place] >= worked_at:
        day = datetime.fromtimestamp(worked_at, UTC).date()
        yield f"committed since {day}, when it worked by the report"
