"""Find commits that replaced a name in many lines, but not everywhere.

The lines that such a sweep missed often contain the bug, or are other places to fix.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from tosloc.core.errors import RepositoryError
from tosloc.core.patterns import lazy_pattern
from tosloc.git.patches import Hunk, read_patches
from tosloc.git.repository import Repository

MIN_LINES: Final = 5
"""Smallest number of lines in which a sweep replaced a name."""
MAX_MISSED: Final = 5
"""Largest number of lines that a sweep missed; if there are more, it meant only some lines."""
MAX_TOKENS: Final = 3
"""Largest number of neighbouring tokens that are replaced."""
MAX_LINE_CHARACTERS: Final = 300
"""Largest number of characters of a line that is compared."""
MAX_FILES: Final = 100
"""Largest number of changed files that are searched for missed lines."""
MAX_BYTES: Final = 1_000_000
"""Largest number of bytes of a commit's patch that are read."""
_TOKEN: Final = lazy_pattern(r"\w+|[^\w\s]")
_NAME: Final = lazy_pattern(r"[^\W\d]\w{2}")
"""Beginning of a name with three letters or more."""
_MATCH: Final = lazy_pattern(rb"[^:\0]+:(?P<path>[^\0]+)\0(?P<line>\d+)[:\0]")
"""A line in the output of ``git grep -z -n`` for a commit."""


class Sweep(NamedTuple):
    """A replacement that a commit made in many lines, and lines that still have the old name."""

    before: str
    after: str
    lines: int
    """Number of lines in which the name was replaced."""
    missed: tuple[tuple[str, int], ...]
    """Path and number of each line of the searched version that contains the old name."""

    def __str__(self) -> str:
        """Return a sentence about the replacement."""
        lines_by_path: defaultdict[str, list[str]] = defaultdict(list)
        for path, line in self.missed:
            lines_by_path[path].append(str(line))
        places = ", ".join(f"{path}:{','.join(lines)}" for path, lines in lines_by_path.items())
        replaced = f"replaced `{self.before}` by `{self.after}` in {self.lines} lines"
        return f"{replaced}, but not in {places}"


def find_unfinished_sweep(
    repository: Repository, version: str, commit: str, paths: Collection[str]
) -> Sweep | None:
    """Return the replacement that a commit did not finish; None if there is none.

    Missed lines are searched for in the files that the commit changed and in those with ``paths``.
    """
    patches = read_patches(repository, [commit], most_bytes=MAX_BYTES).files
    counts: Counter[tuple[str, str]] = Counter()
    for patch in patches:
        for hunk in patch.hunks:
            counts.update(_replacements(hunk))
    for (before, after), lines in counts.most_common(1):
        if lines < MIN_LINES or set(before.split()) <= set(after.split()):
            return None
        changed = [patch.path for patch in patches[:MAX_FILES]]
        missed = _find_lines(repository, version, before, [*dict.fromkeys([*changed, *paths])])
        if 0 < len(missed) <= min(MAX_MISSED, lines // 2):
            return Sweep(before, after, lines, tuple(missed))
    return None


def _replacements(hunk: Hunk) -> Iterator[tuple[str, str]]:
    """Yield old and new tokens for each line of a hunk in which nothing else changes."""
    removed: list[str] = []
    added: list[str] = []
    for line in (*hunk.lines, " "):
        if line.startswith("-") and not added:
            removed.append(line[1:])
        elif line.startswith("+"):
            added.append(line[1:])
        else:
            if len(removed) == len(added):
                for old, new in zip(removed, added, strict=True):
                    yield from _replacement(old, new)
            removed = [line[1:]] if line.startswith("-") else []
            added = []


def _replacement(old: str, new: str) -> Iterator[tuple[str, str]]:
    """Yield old and new neighbouring tokens of a changed line, if nothing else in it changes."""
    if len(old) > MAX_LINE_CHARACTERS or len(new) > MAX_LINE_CHARACTERS:
        return
    before = _TOKEN.findall(old)
    after = _TOKEN.findall(new)
    while before and after and before[0] == after[0]:
        del before[0], after[0]
    while before and after and before[-1] == after[-1]:
        del before[-1], after[-1]
    is_short = 0 < len(before) <= MAX_TOKENS and 0 < len(after) <= MAX_TOKENS
    if is_short and all(map(_NAME.match, (before[0], after[0]))):
        yield " ".join(before), " ".join(after)


def _find_lines(
    repository: Repository, version: str, name: str, paths: Sequence[str]
) -> list[tuple[str, int]]:
    """Return path and number of the lines that contain a name, in a version's files with ``paths``.

    At most one line more than MAX_MISSED is returned.
    """
    command = ["grep", "-z", "-n", "-w", "-F", "-I", "-e", name, version, "--", *paths]
    lines: list[tuple[str, int]] = []
    # git grep ends with 1 if there is no such line
    with suppress(RepositoryError), repository.git.stream(command) as output:
        for row in output:
            match = _MATCH.match(row)
            if match and len(lines) <= MAX_MISSED:
                path = match["path"].decode("utf-8", "surrogateescape")
                lines.append((path, int(match["line"])))
    return lines
