"""Renames of files, and the history as of a time with the present path of every file."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, Self

import numpy as np

from tosloc.core.arrays import (
    Array,
    BoolArray,
    IntArray,
    LongArray,
    sorted_unique,
    validate_array,
)
from tosloc.core.reports import VALID_TIMES
from tosloc.retrieval.texts.documents import Documents
from tosloc.retrieval.texts.postings import group_starts

_MAX_COMMITS: Final = 1 << 31
"""Upper limit of the numbers of commits in untrusted arrays."""


class PathEvent(NamedTuple):
    """A file that one commit moves, or a path that it adds."""

    commit: int
    """Number of the commit in the history."""
    at: int
    """Committer time, in seconds since 1970."""
    path: int
    """Number of the old path, or of the added one."""
    new_path: int = -1
    """Number of the path that the file has afterwards; -1 for an added path."""


@dataclass(frozen=True, eq=False)
class Renames:
    """The renames of a history, in the order of its commits.

    A commit of another branch can still change a file under its old path after the rename, in the
    order of the history. Such a change belongs to the new path, unless the old path was added again
    in between. If the old path is ever added again, as in a move that splits a file, its earlier
    changes count for both paths. Additions are stored for these two cases.
    """

    commits: LongArray
    """(n,) number of each rename's commit in the history, never decreasing."""
    times: LongArray
    """(n,) committer time of that commit, in seconds since 1970."""
    old: IntArray
    """(n,) number of the path before."""
    new: IntArray
    """(n,) number of the path afterwards."""
    add_commits: LongArray
    """(A,) number of each addition's commit in the history, never decreasing."""
    add_times: LongArray
    """(A,) committer time of that commit, in seconds since 1970."""
    added: IntArray
    """(A,) number of the path that each addition adds."""

    @classmethod
    def collect(cls, renames: Iterable[PathEvent], additions: Iterable[PathEvent]) -> Self:
        """Return the renames of a history from events in the order of commits.

        Only those additions are kept that add a path from which a file was moved away before.
        """
        moves = list(renames)
        first_move: dict[int, int] = {}
        for event in moves:
            first_move.setdefault(event.path, event.commit)
        returns = []
        for event in additions:
            if event.commit > first_move.get(event.path, event.commit):
                returns.append(event)
        return cls(
            commits=np.array([event.commit for event in moves], dtype=np.int64),
            times=np.array([event.at for event in moves], dtype=np.int64),
            old=np.array([event.path for event in moves], dtype=np.int32),
            new=np.array([event.new_path for event in moves], dtype=np.int32),
            add_commits=np.array([event.commit for event in returns], dtype=np.int64),
            add_times=np.array([event.at for event in returns], dtype=np.int64),
            added=np.array([event.path for event in returns], dtype=np.int32),
        )

    def known(self, opened: float, contained: BoolArray | None = None) -> tuple[bytes, bytes]:
        """Return which renames and which additions are known strictly before a time in a version.

        The two results contain one byte, 1 or 0, for each rename and for each addition.
        ``contained`` has one value for each commit of the history: whether the version contains it.
        By default it contains all.
        """
        moved: BoolArray = self.times < opened
        returned: BoolArray = self.add_times < opened
        if contained is not None:
            moved &= contained[self.commits]
            returned &= contained[self.add_commits]
        return moved.tobytes(), returned.tobytes()

    def select(self, known: tuple[bytes, bytes]) -> Renames:
        """Return only the renames and additions whose byte in ``known`` is 1."""
        moved, returned = (np.frombuffer(mask, dtype=np.bool_) for mask in known)
        return Renames(
            commits=self.commits[moved],
            times=self.times[moved],
            old=self.old[moved],
            new=self.new[moved],
            add_commits=self.add_commits[returned],
            add_times=self.add_times[returned],
            added=self.added[returned],
        )

    def former_paths(self, path: int) -> list[int]:
        """Return the numbers of all paths that a file may have had earlier, the nearest first."""
        former = [path]
        for newer in former:
            for old in self.old[self.new == newer].tolist():
                if old not in former:
                    former.append(old)
        return former[1:]

    def trace(self, paths: IntArray, commits: LongArray) -> TracedPaths:
        """Return the present path numbers of ``paths`` (E,) that ``commits`` (E,) have touched."""
        present = paths.copy()
        pairs = np.flatnonzero(np.isin(paths, self.old))
        if not len(pairs):
            return TracedPaths(present, pairs, paths[pairs])
        search = _RenameSearch(self, int(commits.max(initial=0)))
        path = paths[pairs].astype(np.int64)
        # The commit that moves a file touches it under both paths, so that the first rename of a
        # path may be that of the touching commit itself; later ones come after the last rename.
        rename = search.find_next(path, commits[pairs])
        rename = np.where(rename < 0, search.find_on_branch(path, commits[pairs]), rename)
        kept_pairs = []
        kept_paths = []
        while (rename >= 0).any():
            is_moved = rename >= 0
            pairs = pairs[is_moved]
            path = path[is_moved]
            rename = rename[is_moved]
            is_back = search.is_added_after(path, rename)
            kept_pairs.append(pairs[is_back])
            kept_paths.append(path[is_back])
            present[pairs] = search.new[rename]
            path = search.new[rename].astype(np.int64)
            rename = search.find_next(path, search.commits[rename] + 1)
        return TracedPaths(
            present,
            np.concatenate(kept_pairs or [pairs[:0]]),
            np.concatenate(kept_paths or [path[:0]]).astype(np.int32),
        )


class TracedPaths(NamedTuple):
    """Present paths of the files in E pairs of a document and a touched path."""

    present: IntArray
    """(E,) number of the present path of each pair's file."""
    kept_pairs: LongArray
    """(n,) positions of the pairs that also count for an earlier path, which was added again."""
    kept_paths: IntArray
    """(n,) number of that earlier path."""


class _RenameSearch:
    """Searches renames and additions, sorted by path and commit, up to ``last_commit``."""

    def __init__(self, renames: Renames, last_commit: int) -> None:
        commits = np.concatenate([renames.commits, renames.add_commits])
        self._width = int(commits.max(initial=last_commit)) + 2
        keys = renames.old.astype(np.int64) * self._width + renames.commits
        order = np.argsort(keys, kind="stable")
        self._keys = keys[order]
        self._old = renames.old[order]
        self.commits = renames.commits[order]
        self.new = renames.new[order]
        additions = renames.added.astype(np.int64) * self._width + renames.add_commits
        self._additions: LongArray = np.sort(additions)

    def find_next(self, paths: LongArray, commits: LongArray) -> LongArray:
        """Return the first rename of each path in its commit or later; -1 if there is none."""
        position = np.searchsorted(self._keys, paths * self._width + commits)
        rename = np.minimum(position, len(self._keys) - 1)
        is_found = (position < len(self._keys)) & (self._old[rename] == paths)
        return np.where(is_found, rename, -1)

    def find_on_branch(self, paths: LongArray, commits: LongArray) -> LongArray:
        """Return the last rename of each path before a commit of a branch without that rename.

        It is -1 if there is no such rename, or if the path was added again since.
        """
        position = np.searchsorted(self._keys, paths * self._width + commits) - 1
        rename = np.maximum(position, 0)
        is_found = (position >= 0) & (self._old[rename] == paths)
        start = paths * self._width
        first = np.searchsorted(self._additions, start + self.commits[rename] + 1)
        last = np.searchsorted(self._additions, start + commits + 1)
        return np.where(is_found & (first >= last), rename, -1)

    def is_added_after(self, paths: LongArray, renames: LongArray) -> BoolArray:
        """Return whether each path is added again after the rename that moves its file away."""
        start = paths * self._width
        first = np.searchsorted(self._additions, start + self.commits[renames] + 1)
        return first < np.searchsorted(self._additions, start + self._width)


def follow_renames(documents: Documents, renames: Renames, known: tuple[bytes, bytes]) -> Documents:
    """Return documents with every touched file under its present path.

    Only the ``known`` renames count. If they change no path, the result is ``documents`` itself.
    """
    if 1 not in known[0]:
        return documents
    commits = documents.commits[documents.pair_document]
    traced = renames.select(known).trace(documents.files, commits)
    if np.array_equal(traced.present, documents.files):
        return documents
    return _replace_files(documents, traced)


def _replace_files(documents: Documents, traced: TracedPaths) -> Documents:
    """Return documents in which every touched file has its present path.

    A document that touched a file under two paths counts as touching one file.
    """
    width = int(max(traced.present.max(), traced.kept_paths.max(initial=0))) + 1
    keys = sorted_unique(documents.pair_document * width + traced.present)
    numbers = np.bincount(keys // width, minlength=len(documents))
    repeated = np.diff(documents.file_starts) - numbers
    kept_keys = documents.pair_document[traced.kept_pairs] * width + traced.kept_paths
    pair_document, files = np.divmod(sorted_unique(np.concatenate((keys, kept_keys))), width)
    result = dataclasses.replace(
        documents,
        file_starts=group_starts(np.bincount(pair_document, minlength=len(documents))),
        files=files.astype(np.int32),
        sizes=documents.sizes - repeated,
    )
    # These do not depend on the files, and take longer to compute than all else here.
    for name in ("term_ids", "postings", "term_document"):
        vars(result)[name] = getattr(documents, name)
    return result


NO_RENAMES: Final = Renames.collect([], [])


def check_renames(arrays: Mapping[str, Array], name: str, paths: int) -> None:
    """Raise KeyError or ValueError unless untrusted arrays are a valid ``Renames``.

    The names of the arrays begin with ``name``; ``paths`` is the number of paths.
    """
    for prefix, commits, times, numbers in (
        ("renames", "commits", "times", ("old", "new")),
        ("additions", "add_commits", "add_times", ("added",)),
    ):
        size = len(arrays[f"{name}.{commits}"])
        found = validate_array(arrays, f"{name}.{commits}", np.int64, size, below=_MAX_COMMITS)
        if (np.diff(found) < 0).any():
            raise ValueError(f"{prefix} are not in the order of commits")
        validate_array(
            arrays,
            f"{name}.{times}",
            np.int64,
            size,
            least=VALID_TIMES.start,
            below=VALID_TIMES.stop,
        )
        for key in numbers:
            validate_array(arrays, f"{name}.{key}", np.int32, size, below=paths)
