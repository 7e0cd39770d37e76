"""The commits behind a version: what they say, which source files they touch, which of them precede which."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tosloc.core.records import BoolArray, LongArray, Progress, StringTable, ignore_progress
from tosloc.git.repository import Repository, suffix_matcher


@dataclass(frozen=True, eq=False)
class History:
    """C commits numbered so that every parent comes before its children; where that leaves a choice, older first."""

    ids: tuple[str, ...]  # (C,) full commit ids
    times: LongArray
    """(C,) committer times, seconds since 1970, UTC. A child's can be earlier than its parent's."""
    messages: tuple[str, ...]  # (C,) whole messages
    parents: Sequence[Sequence[int]]  # (C,) numbers of each one's parents, first one first
    touched: Sequence[Sequence[int]]
    """(C,) numbers into ``path_names`` of the files of each, in path order; none of a merge."""
    path_names: StringTable  # the repository's table of paths

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def index(self) -> dict[str, int]:
        """Number of each commit id."""
        return {commit_id: number for number, commit_id in enumerate(self.ids)}

    def ancestors(self, commit_id: str) -> BoolArray:
        """(C,) whether each commit is the given one or comes before it."""
        number = self.index[commit_id]
        reached = [False] * number + [True] + [False] * (len(self) - number - 1)
        for child in range(number, -1, -1):
            if reached[child]:
                for parent in self.parents[child]:
                    reached[parent] = True
        return np.array(reached, dtype=np.bool_)


def list_parents_first(repository: Repository, tips: Iterable[str]) -> list[str]:
    """Ids of all commits reachable from the commits ``tips``: parents first, else older ones first."""
    command = ["rev-list", "--stdin", "--date-order", "--reverse"]
    with repository.stream(command, tips) as output:
        return output.read().decode("ascii").split()


def read_history(
    repository: Repository,
    tips: Sequence[str] | str,
    suffixes: Iterable[str],
    progress: Progress = ignore_progress,
) -> History:
    """All commits reachable from ``tips``, see ``read_commits``; their order does not depend on that of the tips.

    Raises UnknownCommit for a tip that is none, RepositoryError when commits or trees are missing.
    """
    resolved = sorted(map(repository.resolve, {tips} if isinstance(tips, str) else {*tips}))
    return read_commits(repository, list_parents_first(repository, resolved), suffixes, progress)


def read_commits(
    repository: Repository,
    commit_ids: Sequence[str],
    suffixes: Iterable[str],
    progress: Progress = ignore_progress,
) -> History:
    """Commits, in the order given, with the files (regular, path ending with a suffix) that each one touches.

    A file is touched when the commit adds, changes or deletes it, against its parent; a move touches both paths, and a
    root commit touches all it has. Two kinds of commits touch nothing: merges, whose changes are their branches', and
    the commits at which a shallow clone was cut off, whose changes are not known. No blob is read, and parents that
    are not among the commits are not told. Raises RepositoryError when commits or trees are missing.
    """
    keep, names, cut = suffix_matcher(suffixes), repository.path_names, repository.shallow
    infos = repository.commits(commit_ids)
    numbers = {info.id: number for number, info in enumerate(infos)}
    touched: list[list[int]] = [[] for _ in infos]
    asked = [info.id for info in infos if len(info.parents) < 2 and info.id not in cut]
    for commit, modes, path in repository.changes(asked):
        number = numbers[commit]
        if number % 1000 == 999:
            progress("reading history", number + 1, len(infos))
        if b"100" in modes and keep(path):
            touched[number].append(names.id(path.decode("utf-8", "surrogateescape")))
    progress("reading history", len(infos), len(infos))
    return History(
        tuple(numbers),
        np.array([info.committed_at for info in infos], dtype=np.int64),
        tuple(info.message.rstrip() for info in infos),
        [[numbers[parent] for parent in info.parents if parent in numbers] for info in infos],
        touched,
        names,
    )
