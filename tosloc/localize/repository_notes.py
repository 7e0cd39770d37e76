"""Write notes for users about files or history that a repository or a version does not contain."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np

from tosloc.code.languages import has_grammar, language_name
from tosloc.core.answers import RoutineNote
from tosloc.core.errors import pluralize
from tosloc.core.io import escape_unprintable
from tosloc.git.repository import Repository, Tags, WorkTreeState, suffix_matcher
from tosloc.retrieval.version_index import VersionIndex

_MAX_NAMES: Final = 5
"""Largest number of paths that a note names; further paths are only counted."""


def describe_gaps(repository: Repository, missing: int, fixes: int) -> Iterator[str]:
    """Yield notes about files and history that are missing in a repository.

    ``missing`` is the number of the version's files that could not be read, and ``fixes`` the
    number of earlier fixes in the version's history.
    """
    if missing:
        yield _describe_missing_files(missing, partial_clone=bool(repository.git.promisor_packs))
    if repository.shallow:
        yield (
            "this is a shallow clone, so the ranking cannot use earlier fixes and commits; run:"
            " git fetch --unshallow (in a GitHub workflow, set fetch-depth: 0)"
        )
    elif not fixes:
        yield RoutineNote(
            "no earlier fix is known in this repository, so the ranking cannot use earlier fixes"
        )


def _describe_missing_files(missing: int, *, partial_clone: bool) -> str:
    ranked = "it is ranked by its path" if missing == 1 else "they are ranked by their paths"
    note = f"{pluralize(missing, 'file')} could not be read from the repository; {ranked} alone"
    if partial_clone:
        note += "; this is a partial clone, so fetch the rest with: git fetch --refetch --no-filter"
    return note


def describe_tags(tags: Tags) -> Iterator[str]:
    """Yield notes about tags that were not read."""
    if tags.broken:
        number = pluralize(tags.broken, "tag")
        yield f"{number} could not be read, because objects are missing; run: git fetch --tags"
    if tags.older:
        read = f"the newest {len(tags.newest):,} tags"
        yield RoutineNote(f"releases are known from {read}; {tags.older:,} older ones are not read")


def describe_work_tree(
    repository: Repository, state: WorkTreeState, suffixes: Iterable[str]
) -> Iterator[str]:
    """Yield notes about source files whose content on disk is not searched.

    ``suffixes`` are the suffixes of source files.
    """
    elsewhere = repository.layout.other_work_tree
    if elsewhere is not None:
        yield (
            f"core.worktree names {escape_unprintable(str(elsewhere))} in place of this folder, and"
            " files there are not read; the files are searched as they are committed"
        )
    is_source = suffix_matcher(suffixes)
    left_out = sum(is_source(os.fsencode(path)) for path in state.left_out)
    if left_out:
        searched = "it is searched as it is" if left_out == 1 else "they are searched as they are"
        verb = "is" if left_out == 1 else "are"
        files = pluralize(left_out, "source file")
        yield RoutineNote(f"{files} {verb} not checked out; {searched} committed")
    unread = [path for path in state.unread if is_source(os.fsencode(path))]
    if unread:
        yield (
            f"changes are not searched in files that are larger than 10 MB or cannot be read:"
            f" {_join_names(unread)}"
        )
    if state.repositories:
        number = len(state.repositories)
        what = "untracked repository is" if number == 1 else "untracked repositories are"
        yield f"{number:,} {what} not searched: {_join_names(state.repositories)}"


def describe_version(version: VersionIndex) -> Iterator[str]:
    """Yield notes about what an index does not contain: files, history, and parsed files."""
    corpus = version.corpus
    rows = version.text.rows
    unread = 0
    lexed = 0
    for file in np.flatnonzero(~corpus.parsed[rows]).tolist():
        if not corpus.lines[rows[file]]:
            unread += 1
        elif has_grammar(language_name(version.snapshot.path(file))):
            lexed += 1
    yield from _describe_missing_parts(version)
    too_large = unread - version.missing
    if too_large > 0:
        yield RoutineNote(_describe_large_files(too_large))
    if lexed > 0:
        yield RoutineNote(_describe_unparsed_files(lexed))


def _describe_missing_parts(version: VersionIndex) -> Iterator[str]:
    """Yield notes about parts of the project that no answer can contain."""
    if set(version.snapshot.commit) == {"0"}:
        begin = "nothing is committed yet"
        yield f"{begin}: the files on disk are searched, and there is no history"
    number = len(version.submodules)
    if number:
        verb = "is" if number == 1 else "are"
        names = _join_names(version.submodules)
        yield f"{pluralize(number, 'submodule')} {verb} not searched: {names}"
    yield from version.limits.describe()


def _describe_large_files(number: int) -> str:
    """Return a note about files that were not read because of their size."""
    if number == 1:
        return "1 file is larger than 10 MB and ranked only by its path"
    return f"{number:,} files are larger than 10 MB and ranked only by their paths"


def _describe_unparsed_files(number: int) -> str:
    """Return a note about files that no parser could read although their language has a grammar."""
    why = "too large, too deeply nested or too broken for a parser, and"
    if number == 1:
        return f"1 file is {why} is read word by word"
    return f"{number:,} files are {why} are read word by word"


def _join_names(paths: Sequence[str]) -> str:
    """Return the first paths for a note, and how many more there are.

    >>> _join_names(["a", "b"]), _join_names("abcdefg")
    ('a, b', 'a, b, c, d, e and 2 more')
    """
    names = ", ".join(map(escape_unprintable, paths[:_MAX_NAMES]))
    more = len(paths) - _MAX_NAMES
    return f"{names} and {more:,} more" if more > 0 else names
