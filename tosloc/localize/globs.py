"""Match globs of ``.gitignore`` syntax, and select the files that an answer may name.

Globs may come from strangers: from the settings of a repository and its CODEOWNERS. They are
matched by RE2, whose time is linear in the path for every glob. With k stars, the time of Python's
``re`` would grow with the k-th power of the path's length.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from tosloc.core.answers import RoutineNote
from tosloc.core.arrays import BoolArray
from tosloc.core.errors import ToslocError

LONGEST_GLOB = 4096
"""Largest number of characters of a glob: as many as a path can have."""


class GlobError(ValueError):
    """Error about a pattern that is not a glob."""


class Glob:
    """One pattern of ``.gitignore`` syntax, matched from the root of the repository."""

    def __init__(self, pattern: str) -> None:
        """Parse the pattern. Raises GlobError if it is not a glob."""
        import re2
        from pathspec import GitIgnoreSpec  # Imported here because most answers need no glob.

        if len(pattern) > LONGEST_GLOB:
            raise GlobError(f"it is longer than {LONGEST_GLOB:,} characters")
        try:
            self._spec = GitIgnoreSpec.from_lines([_without_surrogates(pattern)], backend="re2")
            includes = [part.include for part in self._spec.patterns]
        except (ValueError, re.error, re2.error) as error:
            raise GlobError(str(error)) from None
        if includes != [True]:
            raise GlobError("it is empty, a comment, or negated by '!'")

    def matches(self, path: str) -> bool:
        """Return whether the glob matches a path, or a folder that contains the path."""
        return self._spec.match_file(_without_surrogates(path))


def _without_surrogates(text: str) -> str:
    """Return a path with question marks for bytes that are not UTF-8, because RE2 reads UTF-8."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


class Globs(NamedTuple):
    """Globs that select the files that match one of ``include`` and none of ``exclude``."""

    include: Sequence[str] = ()
    """Globs of the selected files; all files if it is empty."""
    exclude: Sequence[str] = ()
    may_miss: Collection[str] = ()
    """Those of "include" and "exclude" whose globs may match no file.

    Globs in settings may, because they apply to every version.
    """


class FileSelection(NamedTuple):
    """The files of a version that an answer may name."""

    kept: BoolArray
    """(F,) whether an answer may name each file of the version."""
    sharing: BoolArray
    """(F,) whether each file gets a share of the confidence: all but hidden files.

    It does not matter which files the globs select.
    """
    hidden_tests: int
    """Number of test files that are left out because they are tests."""
    notes: tuple[str, ...] = ()
    hidden: BoolArray | None = None
    """(F,) whether a file that the globs select is hidden because of its class; None if none is.

    Tests are among the hidden files.
    """
    hidden_files: int = 0
    """Number of hidden files that are not tests: generated, minified, translations or vendored."""
    others: BoolArray | None = None
    """Whether each file that is not source may be named; None if all may."""

    def with_files(self, files: Sequence[int], are_tests: BoolArray) -> FileSelection:
        """Return the selection with some hidden files added, if the globs select them."""
        if self.hidden is None or not len(files):
            return self
        shown = np.zeros_like(self.kept)
        shown[list(files)] = True
        shown &= self.hidden
        return self._replace(
            kept=self.kept | shown,
            sharing=self.sharing | shown,
            hidden=self.hidden & ~shown,
            hidden_tests=self.hidden_tests - int((shown & are_tests).sum()),
            hidden_files=self.hidden_files - int((shown & ~are_tests).sum()),
        )


def select_files(
    paths: Sequence[str],
    are_tests: BoolArray,
    globs: Globs,
    *,
    tests: bool = False,
    are_others_hidden: BoolArray | None = None,
    all_files: bool = False,
) -> FileSelection:
    """Return the files that globs select and that an answer may name.

    Globs have the syntax of ``.gitignore`` and begin at the root of the repository: ``*.py``,
    ``docs/``, ``/src/**/parser.c``. ``are_tests`` (F,) says which files are tests. Tests are
    selected with ``tests``, and also if no other file is selected. ``are_others_hidden`` (F,) says
    which files are generated, minified, translations or vendored. These files and tests are
    selected with ``all_files``. Raises ToslocError for a pattern that is not a glob, for a glob
    that matches no file, and if no file is left.
    """
    kept = match_globs(paths, globs)
    if not kept.any() and len(kept):
        raise ToslocError(
            f"the globs exclude all {len(kept):,} source files", hint="use wider globs"
        )
    if all_files:
        return FileSelection(kept, np.ones_like(kept), 0)
    no_others = np.zeros_like(kept)
    others = no_others if are_others_hidden is None else are_others_hidden & ~are_tests
    hidden_tests = no_others if tests else are_tests
    notes: tuple[str, ...] = ()
    if kept.any() and not (kept & ~hidden_tests & ~others).any():
        # No file would be left, so one kind is shown: tests first, which users mean more often.
        if (kept & ~others).any():
            notes = (RoutineNote("all searched files are test files, so none is hidden"),)
            hidden_tests = no_others
        else:
            what = "generated, minified, translated or vendored files"
            notes = (RoutineNote(f"all searched files are {what}, so none is hidden"),)
            others = no_others
    hidden = hidden_tests | others
    return FileSelection(
        kept=kept & ~hidden,
        sharing=~hidden,
        hidden_tests=int((kept & hidden_tests).sum()),
        notes=notes,
        hidden=kept & hidden,
        hidden_files=int((kept & others).sum()),
    )


def match_globs(paths: Sequence[str], globs: Globs) -> BoolArray:
    """Return (F,) whether the globs select each path; see ``select_files``."""
    kept = np.ones(len(paths), dtype=np.bool_)
    if globs.include:
        kept &= _match_any("include", globs.include, paths, globs.may_miss)
    if globs.exclude:
        kept &= ~_match_any("exclude", globs.exclude, paths, globs.may_miss)
    return kept


def _match_any(
    argument: str, globs: Sequence[str], paths: Sequence[str], may_miss: Collection[str]
) -> BoolArray:
    """Return (F,) whether any of the globs matches each path; each glob has to match a path.

    ``argument`` is the name of the globs. If ``may_miss`` contains it, they may match nothing.
    """
    matched = np.zeros(len(paths), dtype=np.bool_)
    for pattern in globs:
        try:
            glob = Glob(pattern.removeprefix("./"))
        except GlobError as error:
            raise ToslocError(f"{pattern!r} is not a valid glob: {error}", about=argument) from None
        by_this = np.fromiter(map(glob.matches, paths), dtype=np.bool_, count=len(paths))
        if not by_this.any() and argument not in may_miss:
            raise ToslocError(
                f"{pattern!r} matches none of the {len(paths):,} source files of this version",
                hint="globs have .gitignore syntax and start at the root of the repository,"
                " such as 'src/**/*.py'",
                about=argument,
            )
        matched |= by_this
    return matched
