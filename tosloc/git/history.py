"""The commits behind a version: what they say, which source files they touch, which of them precede which."""

from __future__ import annotations

import heapq
import re
from array import array
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from io import BytesIO
from typing import Final

import numpy as np

from tosloc.errors import RepositoryError, UnknownCommit
from tosloc.git.process import parts
from tosloc.git.repository import Repository, ends_with, message_of, seconds_of
from tosloc.records import BoolArray, IntArray, LongArray, Names, Progress, silent

# C commits, T touched files of all commits together, P parents of all commits together

RECENT: Final = 32
"""Answers of ``ancestors`` that are kept: the next question is most often about a commit just after one of them."""

LARGEST_CHANGE: Final = 2_000_000
"""Files that one commit may touch; a version of as many is refused, too."""
_COMMIT = re.compile(rb"([0-9a-f]{40,64}) (-?\d*) ([0-9a-f ]*)\n")


@dataclass(frozen=True, eq=False)
class History:
    """Commits numbered so that every parent comes before its children; where that leaves a choice, older ones first."""

    ids: tuple[str, ...]
    """(C,) full commit ids."""
    times: LongArray
    """(C,) committer times, seconds since 1970, UTC. A child's can be earlier than its parent's."""
    messages: tuple[str, ...]
    """(C,) whole messages."""
    parent_starts: LongArray
    """(C+1,) the parents of commit ``c``, first one first, are ``parents[parent_starts[c]:parent_starts[c + 1]]``."""
    parents: IntArray
    """(P,) numbers of commits."""
    touched_starts: LongArray
    """(C+1,) the files of commit ``c`` are ``touched[touched_starts[c]:touched_starts[c + 1]]``, in path order."""
    touched: IntArray
    """(T,) numbers into ``path_names``."""
    path_names: Names
    """The repository's table of paths."""
    _recent: dict[int, BoolArray] = field(default_factory=dict, init=False, repr=False)

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def index(self) -> dict[str, int]:
        """Number of each commit id."""
        return {commit_id: number for number, commit_id in enumerate(self.ids)}

    def number(self, commit_id: str) -> int:
        """Number of a commit. Raises UnknownCommit when the history does not reach it."""
        found = self.index.get(commit_id)
        if found is None:
            raise UnknownCommit(
                f"no commit {commit_id!r} in this history; read the history again from a tip that reaches it"
            )
        return found

    def files(self, number: int) -> IntArray:
        """Numbers of the paths that commit ``number`` touches, in path order; empty for a merge."""
        return self.touched[self.touched_starts[number] : self.touched_starts[number + 1]]

    def ancestors(self, commit_id: str) -> BoolArray:
        """(C,) whether each commit is the given one or comes before it; not to be written to. Raises UnknownCommit."""
        start = self.number(commit_id)
        reached = self._recent.pop(start, None)
        if reached is None:
            reached = self._reach(start)
        self._recent[start] = reached
        if len(self._recent) > RECENT:
            del self._recent[next(iter(self._recent))]
        return reached

    @cached_property
    def _parent_lists(self) -> list[list[int]]:
        bounds, parents = self.parent_starts.tolist(), self.parents.tolist()
        return [parents[bounds[c] : bounds[c + 1]] for c in range(len(self))]

    def _reach(self, start: int) -> BoolArray:
        """Ancestors of ``start`` and itself, by a walk down from it that stops at commits whose answer is known."""
        reached = np.zeros(len(self), dtype=np.bool_)
        waiting = [-start]
        while waiting:  # the latest first, so that a known answer covers older branches before they are walked
            number = -heapq.heappop(waiting)
            if reached[number]:
                continue
            if number in self._recent:
                reached |= self._recent[number]
            else:
                reached[number] = True
                for parent in self._parent_lists[number]:
                    heapq.heappush(waiting, -parent)
        reached.flags.writeable = False
        return reached


def commit_order(repository: Repository, tips: Iterable[str]) -> list[str]:
    """Ids of all commits reachable from the commits ``tips``: parents first, else older ones first."""
    command = ["rev-list", "--stdin", "--date-order", "--reverse"]
    with repository.stream(command, "".join(f"{tip}\n" for tip in tips).encode()) as output:
        return output.read().decode("ascii").split()


def read_history(
    repository: Repository, tips: Sequence[str] | str, suffixes: Iterable[str], progress: Progress = silent
) -> History:
    """All commits reachable from ``tips``, see ``read_commits``; their order does not depend on that of the tips.

    Raises UnknownCommit for a tip that is none, RepositoryError when commits or trees are missing.
    """
    revisions = [tips] if isinstance(tips, str) else tips
    resolved = sorted({repository.resolve(revision) for revision in revisions})
    return read_commits(repository, commit_order(repository, resolved), suffixes, progress)


def read_commits(
    repository: Repository, commit_ids: Sequence[str], suffixes: Iterable[str], progress: Progress = silent
) -> History:
    """Commits, in the order given, with the files (regular, path ending with a suffix) that each one touches.

    A file is touched when the commit adds, changes or deletes it, against its parent; a move touches both paths, and a
    root commit touches all it has. Two kinds of commits touch nothing: merges, whose changes are their branches', and
    the commits at which a shallow clone was cut off, whose changes are not known. No blob is read, and parents that
    are not among the commits are not told. Raises RepositoryError when commits or trees are missing.
    """
    keep = ends_with(suffixes)
    cut = repository.shallow
    numbers: dict[str, int] = {}
    times: list[int] = []
    messages: list[str] = []
    parents, parent_starts = array("i"), [0]
    is_cut = False
    names = repository.path_names
    touched, touched_starts = array("i"), list[int]()
    command = "log --stdin --no-walk=unsorted --no-renames --raw -z --root --no-abbrev --no-ext-diff --no-textconv"
    options = [*command.split(), "--no-color", "--encoding=UTF-8", "--format=%H %ct %P%n%B"]
    asked = "".join(f"{commit}\n" for commit in commit_ids).encode()
    # without a commit git would start from HEAD
    with repository.stream(options, asked) if commit_ids else nullcontext(BytesIO()) as log:
        fields = parts(log)
        changes = 0
        for text in fields:
            head = text.lstrip(b"\n")
            if head.startswith(b":"):
                path = next(fields, b"")
                changes += 1
                if changes > LARGEST_CHANGE:
                    raise RepositoryError(
                        f"{repository.path}: commit {[*numbers][-1][:12]} touches more files than any known one"
                        f" ({LARGEST_CHANGE:,}); give another --commit"
                    )
                if b"100" in (head[1:4], head[8:11]) and not is_cut and keep(path):
                    touched.append(names.id(path.decode("utf-8", "surrogateescape")))
            elif found := _COMMIT.match(head):
                changes = 0
                commit_id = found[1].decode("ascii")
                is_cut = commit_id in cut
                numbers[commit_id] = len(numbers)
                times.append(seconds_of(found[2]))
                messages.append(message_of(head[found.end() :]).rstrip())
                parents.extend(numbers[one] for one in found[3].decode("ascii").split() if one in numbers)
                parent_starts.append(len(parents))
                touched_starts.append(len(touched))
                if len(numbers) % 1000 == 0:
                    progress("reading history", len(numbers), 0)
    touched_starts.append(len(touched))
    progress("reading history", len(numbers), len(numbers))
    return History(
        tuple(numbers),
        np.array(times, dtype=np.int64),
        tuple(messages),
        np.array(parent_starts, dtype=np.int64),
        np.array(parents, dtype=np.int32),
        np.array(touched_starts, dtype=np.int64),
        np.array(touched, dtype=np.int32),
        names,
    )
