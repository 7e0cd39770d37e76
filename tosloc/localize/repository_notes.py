"""Notes for users about a repository that lacks files or history."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from tosloc.core.answers import RoutineNote
from tosloc.core.errors import pluralize
from tosloc.core.io import escape_unprintable
from tosloc.git.repository import Repository, Tags, WorkTreeState, suffix_matcher
from tosloc.storage.prepared import join_names


def describe_gaps(repository: Repository, missing: int, fixes: int) -> Iterator[str]:
    """Yield notes about files and history that a repository lacks.

    ``missing`` is the number of files of the version that could not be read, ``fixes`` the number
    of earlier fixes in the version's history.
    """
    if missing:
        yield _describe_missing_files(missing, partial_clone=bool(repository.promisor_packs))
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
    """Yield notes about tags that are not read."""
    if tags.broken:
        number = pluralize(tags.broken, "tag")
        yield f"{number} could not be read, because objects are missing; run: git fetch --tags"
    if tags.older:
        read = f"the newest {len(tags.newest):,} tags"
        yield RoutineNote(f"releases are known from {read}; {tags.older:,} older ones are not read")


def describe_work_tree(
    repository: Repository, state: WorkTreeState, suffixes: Iterable[str]
) -> Iterator[str]:
    """Yield notes about source files of a work tree that are not searched as they are on disk.

    ``suffixes`` are those of source files.
    """
    elsewhere = repository.other_work_tree
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
            f" {join_names(unread)}"
        )
    if state.repositories:
        number = len(state.repositories)
        what = "untracked repository is" if number == 1 else "untracked repositories are"
        yield f"{number:,} {what} not searched: {join_names(state.repositories)}"
