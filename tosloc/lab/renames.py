"""Compare the renames that TosLoc follows with those that ``git log --follow`` finds.

Git compares the texts of files, TosLoc only paths and blob ids (``tosloc.git.renames``).
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from tosloc.core.arrays import LongArray
from tosloc.core.progress import Progress, ignore_progress
from tosloc.git.history import History
from tosloc.git.repository import Repository
from tosloc.retrieval.history import HistoryIndex
from tosloc.retrieval.texts import Documents
from tosloc.storage.repository import IndexedRepository

_LOG: Final = "log -z --follow --name-status -M --no-merges -l20000 --format=@%H".split()
"""Command that lists the commits of one file, newest first, with the paths that they touch."""

RenameEvent: TypeAlias = tuple[str, str, str]
"""Id of a commit, old path and new path."""


@dataclass(frozen=True)
class Agreement:
    """Numbers of items that git finds, that TosLoc finds, and that both find."""

    git: int
    ours: int
    both: int

    @property
    def precision(self) -> float | None:
        """Share of TosLoc's items that git also finds; None if TosLoc finds none."""
        return self.both / self.ours if self.ours else None

    @property
    def recall(self) -> float | None:
        """Share of git's items that TosLoc also finds; None if git finds none."""
        return self.both / self.git if self.git else None


@dataclass(frozen=True)
class RenameAgreement:
    """Agreement of TosLoc and git about the files of a sample."""

    files: int
    renamed: int
    """Number of files in the sample that git has under another path in an earlier commit."""
    renames: Agreement
    commits_unfollowed: Agreement
    """Commits of the renamed files, if TosLoc follows no rename."""
    commits: Agreement
    """Commits of the renamed files, if TosLoc follows renames."""


class FileLog(NamedTuple):
    """Earlier commits and renames of one file in git's log."""

    commits: frozenset[str]
    renames: frozenset[RenameEvent]


def compare_with_git(
    repo: Repository, files: int, seed: int = 0, progress: Progress = ignore_progress
) -> RenameAgreement:
    """Compare the renames of a random sample of HEAD's source files with those of git.

    A file's past ends where git follows a copy. Only commits in the history index count: commits
    that are not merges, with at most ``MAX_FILES`` files.
    """
    with closing(IndexedRepository.configured(repo)) as indexed:
        head = indexed.source_snapshot("HEAD")
        history = History.read(repo, head.commit, indexed.suffixes, progress)
    index = HistoryIndex.build(history, (), repo.path_names)
    rows = sorted(head.path_ids.tolist(), key=lambda row: repo.path_names.names[row])
    sample = random.Random(seed).sample(rows, min(files, len(rows)))
    comparison = _Comparison(index, history.ids, repo.path_names.names)
    for number, row in enumerate(sample):
        progress("comparing with git log --follow", number, len(sample))
        log = read_file_log(repo, head.commit, repo.path_names.names[row])
        comparison.add(row, log)
    return comparison.result()


def read_file_log(repo: Repository, commit: str, path: str) -> FileLog:
    """Return the past of a version's file by ``git log --follow``, up to its first copy."""
    commits: set[str] = set()
    renames: set[RenameEvent] = set()
    with repo.git.stream([*_LOG, commit, "--", f":(literal){path}"]) as output:
        fields = iter(output.read().decode("utf-8", "surrogateescape").split("\0"))
    touching = ""
    for field in fields:
        if field.startswith("@"):
            touching = field[1:]
            continue
        status = field.strip()
        if not status:
            continue
        commits.add(touching)
        old = next(fields)
        if status.startswith("C"):
            break
        if status.startswith("R"):
            renames.add((touching, old, next(fields)))
    return FileLog(frozenset(commits), frozenset(renames))


class _Comparison:
    """Counts the items that git and TosLoc find for one file after the other."""

    def __init__(self, index: HistoryIndex, ids: Sequence[str], names: Sequence[str]) -> None:
        self._unfollowed = index.commits
        self._followed = index.as_of(np.inf).commits.documents
        self._known = frozenset(index.commits.commit_ids)
        self._ids = ids
        self._names = names
        self._renames_to: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        renames = index.renames
        columns = (renames.new.tolist(), renames.commits.tolist(), renames.old.tolist())
        for new, commit, old in zip(*columns, strict=True):
            self._renames_to[new].append((commit, old))
        self._files = 0
        self._renamed = 0
        self._renames: LongArray = np.zeros(3, dtype=np.int64)
        self._commits: LongArray = np.zeros((2, 3), dtype=np.int64)

    def add(self, row: int, log: FileLog) -> None:
        """Count a file with a path row, and its past in git's log."""
        self._files += 1
        self._renames += _count(log.renames, set(self._followed_renames(row)))
        if not log.renames:
            return
        self._renamed += 1
        commits = log.commits & self._known
        for kind, documents in enumerate((self._unfollowed, self._followed)):
            self._commits[kind] += _count(commits, _touching_commits(documents, row))

    def _followed_renames(self, row: int) -> Iterator[RenameEvent]:
        """Yield the renames by which TosLoc reaches a path row, newest first."""
        waiting = [(row, len(self._ids))]
        while waiting:
            path, limit = waiting.pop()
            for commit, old in self._renames_to[path]:
                if commit < limit:
                    yield self._ids[commit], self._names[old], self._names[path]
                    waiting.append((old, commit))

    def result(self) -> RenameAgreement:
        """Return what was counted."""
        unfollowed, followed = (Agreement(*counts) for counts in self._commits.tolist())
        renames = Agreement(*self._renames.tolist())
        return RenameAgreement(self._files, self._renamed, renames, unfollowed, followed)


def _touching_commits(documents: Documents, row: int) -> set[str]:
    """Return the ids of the commits that touched a path row."""
    return {documents.commit_ids[number] for number in documents.find_by_file(row).tolist()}


def _count(git: Collection[object], ours: set[RenameEvent] | set[str]) -> LongArray:
    """Return the numbers of git's items, of our items and of common items."""
    both = sum(item in ours for item in git)
    return np.array([len(git), len(ours), both], dtype=np.int64)
