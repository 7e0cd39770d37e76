"""List the files that commits change, and the authors of commits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from tosloc.git.process import split_at_nul
from tosloc.git.repository.repository import Repository

MANY_CHANGES: Final = 2_000
"""Number of changed files from which a commit counts as large."""
MAX_CHANGES_OF_LARGE_COMMITS: Final = 2_000_000
"""Largest number of changes of large commits together, beyond the first MANY_CHANGES of each.

Without this limit, a few commits whose trees share their folders could have any number of changes.
"""
_COMPARED_TOGETHER: Final = 1_000
"""Number of commits that one git process compares with their parents."""


def list_changes(
    repository: Repository, commits: Iterable[str]
) -> Iterator[tuple[str, Sequence[tuple[bytes, bytes]] | None]]:
    """Yield each of the commits that changes files, with git's line and the path of each change.

    The commits keep their order, and changes are in path order. A commit is given as a full id, or
    as two ids with a blank between them: the commit, and the one to compare it with instead of its
    only parent. A move changes both paths, and a root commit changes all its files. No blob is
    read.

    The line is ":100644 100644 BEFORE AFTER M": modes and ids of the blobs before and after, and M
    for a modified, A for an added or D for a deleted file. None takes the place of the changes of a
    large commit once too many were read: beyond the first MANY_CHANGES of each commit, all commits
    together may have MAX_CHANGES_OF_LARGE_COMMITS.
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
        # Git would list the rest of these changes, so it is started again with the next commit.
        yield commit, None
        changes_left = 0
        ids = [line.partition(" ")[0] for line in pending]
        pending = pending[ids.index(commit) + 1 :]


class AuthorNames:
    """Names of commits' authors, as ``.mailmap`` at a commit writes them.

    A name that was read stays in memory, because the next question is often about the same files.
    """

    def __init__(self, repository: Repository, commit: str) -> None:
        self._git = repository.git
        self._mailmap = f"mailmap.blob={commit}:.mailmap"
        self._names: dict[str, str] = {}

    def read(self, commit_ids: Iterable[str]) -> dict[str, str]:
        """Return commit id -> author's name. Ids of commits that do not exist are left out."""
        wanted = dict.fromkeys(commit_ids)
        unread = wanted.keys() - self._names.keys()
        if unread:  # without an id, git would list HEAD
            self._names |= self._read_anew(unread)
        return {commit: self._names[commit] for commit in wanted if commit in self._names}

    def _read_anew(self, commit_ids: Iterable[str]) -> dict[str, str]:
        command = "log --no-walk=unsorted --ignore-missing --stdin".split()
        arguments = ["-c", self._mailmap, *command, "--format=%H %aN"]
        with self._git.stream(arguments, commit_ids) as output:
            lines = output.read().decode("utf-8", "replace").split("\n")
        names: dict[str, str] = {}
        for line in filter(None, lines):  # a name may contain other line separators
            commit_id, _, name = line.partition(" ")
            names[commit_id] = name
        return names
