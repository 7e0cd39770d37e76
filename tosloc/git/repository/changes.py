"""The files that commits change, and the authors of commits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from tosloc.git.process import split_at_nul
from tosloc.git.repository.repository import Repository

MANY_CHANGES: Final = 2_000
"""Number of changed files from which a commit counts as large."""
MAX_CHANGES_OF_LARGE_COMMITS: Final = 2_000_000
"""Number of changed files that large commits may have together, beyond the first ones of each.

A few commits whose trees share their folders can stand for any number of changes.
"""
_COMPARED_TOGETHER: Final = 1_000
"""Number of commits that one git process compares with their parents."""


def list_changes(
    repository: Repository, commits: Iterable[str]
) -> Iterator[tuple[str, Sequence[tuple[bytes, bytes]] | None]]:
    """Yield each of some commits that changes files, and git's line and the path of each file.

    They are in the order of the commits and of paths. A commit is a full id, or two ids with a
    blank between: the commit, and the one to compare it with instead of its only parent. A move
    changes both paths, and a root commit changes all its files. No blob is read.

    The line is ":100644 100644 BEFORE AFTER M": modes and ids of the blobs before and after,
    and A for an added file or D for a deleted one. It is None instead of the files for a large
    commit, if the changes beyond the first MANY_CHANGES of each commit up to it are more than
    MAX_CHANGES_OF_LARGE_COMMITS together.
    """
    changes_left = MAX_CHANGES_OF_LARGE_COMMITS
    remaining = iter(commits)
    pending: list[str] = []
    while pending := pending or list(islice(remaining, _COMPARED_TOGETHER)):
        commit = ""
        changes: list[tuple[bytes, bytes]] = []
        command = "diff-tree --stdin --root -r -z --no-renames".split()
        with repository.git.stream(command, pending) as output:
            fields = split_at_nul(output)
            for field in fields:
                if field.startswith(b":"):
                    changes.append((field, next(fields, b"")))
                    changes_left -= len(changes) > MANY_CHANGES
                    if changes_left < 0:
                        break
                    continue
                if commit:
                    yield commit, changes
                commit = field.decode("ascii")
                changes = []
        if changes_left >= 0:
            if commit:
                yield commit, changes
            pending = []
            continue
        # Git would list the rest of its changes, so it is started again with the next commit.
        yield commit, None
        changes_left = 0
        ids = [line.partition(" ")[0] for line in pending]
        pending = pending[ids.index(commit) + 1 :]


def read_authors(repository: Repository, commit_ids: Sequence[str], commit: str) -> dict[str, str]:
    """Return the author's name of each commit that exists, by ``.mailmap`` at ``commit``."""
    if not commit_ids:  # git would list HEAD
        return {}
    mailmap = ("-c", f"mailmap.blob={commit}:.mailmap")
    command = "log --no-walk=unsorted --ignore-missing --stdin".split()
    with repository.git.stream([*mailmap, *command, "--format=%H %aN"], commit_ids) as output:
        lines = output.read().decode("utf-8", "replace").split("\n")
    names: dict[str, str] = {}
    for line in filter(None, lines):  # a name may contain other line separators
        commit_id, _, name = line.partition(" ")
        names[commit_id] = name
    return names
