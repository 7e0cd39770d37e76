"""Notes for users about a repository that lacks files or history."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tosloc.core.errors import pluralize
from tosloc.core.records import RoutineNote
from tosloc.git.repository import Repository


def describe_gaps(repository: Repository, missing: int, fixes: int) -> Iterator[str]:
    """Yield notes about files and history that a repository lacks.

    ``missing`` is the number of files of the version that could not be read, ``fixes`` the number
    of earlier fixes in the version's history.
    """
    if missing:
        yield _describe_missing_files(missing, partial_clone=repository.is_partial_clone)
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


def describe_sparse_checkout(repository: Repository, suffixes: Iterable[str]) -> Iterator[str]:
    """Yield a note about source files that a sparse checkout leaves out, if there are any."""
    number = repository.count_sparse_files(suffixes)
    if number:
        searched = "it is searched as it is" if number == 1 else "they are searched as they are"
        files = pluralize(number, "source file")
        yield RoutineNote(f"the sparse checkout leaves out {files}; {searched} committed")
