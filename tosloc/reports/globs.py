"""Which files an answer may name: those that globs include and exclude, without tests unless they are wanted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tosloc.errors import ToslocError
from tosloc.records import BoolArray


@dataclass(frozen=True, eq=False)
class Chosen:
    """The files of a version that an answer may name."""

    kept: BoolArray
    """(F,)"""
    hidden_tests: int
    """How many beside them are tests, which were not wanted."""
    notes: tuple[str, ...] = ()
    """What of this a reader should know."""


@dataclass(frozen=True, slots=True)
class PathFilter:
    """Globs as ``.gitignore`` has them, from the root of the repository: ``*.py``, ``docs/``, ``/src/**/parser.c``.

    A file is kept where one of ``include`` matches it (any, where there is none) and none of ``exclude`` does.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    tests: bool = False
    """Whether test files are wanted."""

    def choose(self, tests: BoolArray, paths: Callable[[], Sequence[str]]) -> Chosen:
        """Which of a version's files are kept. Raises ToslocError for a glob that matches nothing, or leaves nothing.

        ``tests`` says of each whether it is one; ``paths`` are asked for where there are globs to match. Where all that
        is kept are tests, they are wanted.
        """
        kept = np.ones(len(tests), dtype=np.bool_)
        if self.include:
            kept &= _matched("include", self.include, paths())
        if self.exclude:
            kept &= ~_matched("exclude", self.exclude, paths())
        if not kept.any() and len(kept):
            raise ToslocError(f"none of the {len(kept):,} source files is left by --include and --exclude; widen them")
        hidden = int((kept & tests).sum())
        if self.tests or not hidden:
            return Chosen(kept, 0)
        if hidden == kept.sum():
            return Chosen(kept, 0, ("all searched files are test files, so none is hidden",))
        return Chosen(kept & ~tests, hidden)


def _matched(option: str, globs: Sequence[str], paths: Sequence[str]) -> BoolArray:
    """(F,) whether any of the globs matches each path; each has to match one."""
    from pathspec import GitIgnoreSpec  # here: an answer without globs needs none of it

    matched = np.zeros(len(paths), dtype=np.bool_)
    for glob in globs:
        try:
            spec = GitIgnoreSpec.from_lines([glob.removeprefix("./")])
        except ValueError as error:
            raise ToslocError(f"--{option} {glob!r} is no glob: {error}") from error
        if [pattern.include for pattern in spec.patterns] != [True]:
            raise ToslocError(f"--{option} {glob!r} is no glob: it is empty, a comment, or taken back by '!'")
        found = np.fromiter(map(spec.match_file, paths), dtype=np.bool_, count=len(paths))
        if not found.any():
            raise ToslocError(
                f"--{option} {glob!r} matches none of the {len(paths):,} source files of this version; globs are"
                " those of .gitignore, from the root of the repository, such as 'src/**/*.py'"
            )
        matched |= found
    return matched
