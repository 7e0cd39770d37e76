"""The commits behind a version: their messages, the files that they touch, and their order."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple, Self

import numpy as np

from tosloc.core.arrays import BoolArray, LongArray
from tosloc.core.errors import pluralize
from tosloc.core.progress import Progress, ignore_progress
from tosloc.core.versions import StringTable
from tosloc.git.commit_info import MAX_LONG_MESSAGES_BYTES, CommitInfo
from tosloc.git.fixes import change_names
from tosloc.git.renames import RenameCollector
from tosloc.git.repository import Repository, list_changes, suffix_matcher
from tosloc.git.repository.changes import MANY_CHANGES, MAX_CHANGES_OF_LARGE_COMMITS


class HistoryLimits(NamedTuple):
    """Numbers of commits that were not read in full, because all commits together are too large."""

    unlisted: int = 0
    """Number of commits whose changed files were not read; they count as if they changed none."""
    shortened: int = 0
    """Number of commits of whose messages only the beginning was read."""

    def describe(self) -> Iterator[str]:
        """Yield a note for users about unlisted commits, and one about shortened messages."""
        if self.unlisted:
            commits = pluralize(self.unlisted, "large commit")
            yield (
                f"the files that {commits} changed are not used, because the large commits of this"
                f" history change more than {MAX_CHANGES_OF_LARGE_COMMITS:,} files together"
            )
        if self.shortened:
            commits = pluralize(self.shortened, "commit message")
            megabytes = MAX_LONG_MESSAGES_BYTES // 2**20
            yield (
                f"only the beginning of {commits} is used, because the long messages of this"
                f" history have more than {megabytes} MiB together"
            )


NO_LIMITS: Final = HistoryLimits()
"""Limits that stand for a history that was read in full."""


@dataclass(frozen=True, eq=False)
class History:
    """D commits, numbered with parents before their children, and otherwise older commits first."""

    ids: tuple[str, ...]  # (D,) full commit ids
    times: LongArray
    """(D,) committer times in seconds since 1970, UTC.

    The time of a child can be earlier than that of its parent.
    """
    messages: tuple[str, ...]  # (D,) whole messages
    parents: Sequence[Sequence[int]]  # (D,) numbers of each commit's parents, first parent first
    touched: Sequence[Sequence[int]]
    """(D,) path numbers of the files that each commit touches, in path order; empty for a merge."""
    path_names: StringTable  # the repository's table of paths
    added: Sequence[Sequence[int]] = ()
    """(D,) path numbers of the files that each commit adds."""
    renames: Sequence[Sequence[tuple[int, int]]] = ()
    """(D,) pairs of path numbers, old and new, of the files that each commit moves."""
    merged: Sequence[Sequence[int]] = ()
    """(D,) path numbers of the files that differ between a merge and its first parent.

    It is empty for other commits, and for merges whose message names no request or issue.
    """
    large: frozenset[str] = frozenset()
    """Ids of the commits with a long message or many changes.

    How much of them is read depends on the other commits that are read at the same time.
    """
    limits: HistoryLimits = NO_LIMITS

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def index(self) -> dict[str, int]:
        """Number of each commit id."""
        return {commit_id: number for number, commit_id in enumerate(self.ids)}

    def ancestors(self, commit_id: str) -> BoolArray:
        """Return a mask (D,) of a commit and its ancestors."""
        number = self.index[commit_id]
        reached = [False] * len(self)
        reached[number] = True
        for child in range(number, -1, -1):
            if reached[child]:
                for parent in self.parents[child]:
                    reached[parent] = True
        return np.array(reached, dtype=np.bool_)

    @classmethod
    def read(
        cls,
        repository: Repository,
        tips: Sequence[str] | str,
        suffixes: Iterable[str],
        progress: Progress = ignore_progress,
    ) -> Self:
        """Return the history of all commits reachable from ``tips``, as ``of_commits`` does.

        The result does not depend on the order of the tips. Raises UnknownCommit for a tip that
        names no commit, and RepositoryError if commits or trees are missing.
        """
        revisions = {tips} if isinstance(tips, str) else {*tips}
        resolved = sorted(map(repository.resolve, revisions))
        return cls.of_commits(
            repository, list_parents_first(repository, resolved), suffixes, progress
        )

    @classmethod
    def of_commits(
        cls,
        repository: Repository,
        commit_ids: Sequence[str],
        suffixes: Iterable[str],
        progress: Progress = ignore_progress,
    ) -> Self:
        """Return the history of commits, in the order given, with the files that each one touches.

        A commit touches a regular file whose path ends with a suffix if it adds, changes or deletes
        the file, compared with its parent. A move touches both paths, and a root commit touches all
        its files. Two kinds of commits touch nothing: merges, because their branches contain the
        changes, and the commits at which a shallow clone was cut off, because their changes are not
        known. What a merge of a pull request brings, compared with its first parent, is in
        ``merged``.

        Of large commits, changes and messages are read up to limits on all of them together; see
        ``list_changes`` and ``Repository.commits``. No blob is read. Parents that are not among the
        commits are left out. Raises RepositoryError if commits or trees are missing.
        """
        is_source = suffix_matcher(suffixes)
        path_names = repository.path_names
        shallow = repository.shallow
        infos = repository.commits(commit_ids)
        numbers = {info.id: number for number, info in enumerate(infos)}
        touched: list[list[int]] = [[] for _ in infos]
        added: list[list[int]] = [[] for _ in infos]
        merged: list[list[int]] = [[] for _ in infos]
        collector = RenameCollector(len(infos))
        large = {info.id for info in infos if info.has_long_message}
        unlisted = 0
        for commit, changes in list_changes(repository, _to_compare(infos, shallow)):
            number = numbers[commit]
            if number % 1000 == 999:
                progress("reading history", number + 1, len(infos))
            if changes is None:
                large.add(commit)
                unlisted += 1
                continue
            if len(changes) > MANY_CHANGES:
                large.add(commit)
            for change, path in changes:
                is_regular = change.startswith(b":100") or change[8:11] == b"100"
                if not is_regular or not is_source(path):
                    continue
                name = path.decode("utf-8", "surrogateescape")
                file = path_names.id(name)
                if len(infos[number].parents) > 1:
                    merged[number].append(file)
                    continue
                touched[number].append(file)
                if change.endswith(b"A"):
                    added[number].append(file)
                if not change.endswith(b"M"):
                    collector.add(number, name, change)
        progress("reading history", len(infos), len(infos))
        parents = []
        for info in infos:
            parents.append([numbers[parent] for parent in info.parents if parent in numbers])
        return cls(
            ids=tuple(numbers),
            times=np.array([info.committed_at for info in infos], dtype=np.int64),
            messages=tuple(info.message.rstrip() for info in infos),
            parents=parents,
            touched=touched,
            path_names=path_names,
            added=added,
            renames=collector.numbered(path_names),
            merged=merged,
            large=frozenset(large),
            limits=HistoryLimits(unlisted, sum(info.is_shortened for info in infos)),
        )


def list_parents_first(repository: Repository, tips: Iterable[str]) -> list[str]:
    """Return the ids of all commits reachable from ``tips``.

    Parents come before their children, and otherwise older commits before newer ones.
    """
    command = ["rev-list", "--stdin", "--date-order", "--reverse"]
    with repository.git.stream(command, tips) as output:
        return output.read().decode("ascii").split()


def _to_compare(infos: Iterable[CommitInfo], shallow: Collection[str]) -> Iterator[str]:
    """Yield each commit whose changes are read, in the form that ``list_changes`` expects."""
    for info in infos:
        if info.id in shallow:
            continue
        if len(info.parents) < 2:
            yield info.id
        elif change_names(info.message):
            yield f"{info.id} {info.parents[0]}"


def changed_paths(repository: Repository, commit: str) -> list[str]:
    """Return the paths of the files that a commit changes.

    A merge is compared with its first parent. Return an empty list if the commit has more changes
    than ``list_changes`` reads.
    """
    [info] = repository.commits([commit])
    compared = f"{commit} {info.parents[0]}" if info.parents else commit
    paths = []
    for _, changes in list_changes(repository, [compared]):
        for _, path in changes or ():
            paths.append(path.decode("utf-8", "surrogateescape"))
    return paths
