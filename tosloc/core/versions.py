"""The files of a version: a commit's tree as numbers of paths and blobs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Self

import numpy as np

from tosloc.core.arrays import IntArray


@dataclass(slots=True)
class StringTable:
    """Strings numbered in order of first appearance, so that versions can be arrays of numbers."""

    names: list[str] = field(default_factory=list)
    ids: dict[str, int] = field(default_factory=dict)

    def id(self, name: str) -> int:
        """Return the number of ``name``; a new name gets the next number."""
        if name not in self.ids:
            self.ids[name] = len(self.names)
            self.names.append(name)
        return self.ids[name]

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The F source files of one version, in path order.

    Paths and blobs are numbers into tables that many versions share.
    """

    commit: str
    """Full id of the commit."""
    committed_at: int
    """Committer time: seconds since 1970, UTC."""
    path_names: StringTable
    """The paths that ``path_ids`` number."""
    blob_names: StringTable
    """The blob ids (hex) that ``blob_ids`` number."""
    path_ids: IntArray
    """(F,) number of each file's path in ``path_names``, in path order (git's, by bytes)."""
    blob_ids: IntArray
    """(F,) number of each file's blob in ``blob_names``."""

    def path(self, file: int) -> str:
        """Return the path of one file, without building all of ``paths``."""
        return self.path_names.names[int(self.path_ids[file])]

    def blob(self, file: int) -> str:
        """Return the blob id of one file, without building all of ``blobs``."""
        return self.blob_names.names[int(self.blob_ids[file])]

    @cached_property
    def paths(self) -> tuple[str, ...]:
        """(F,) paths, in path order."""
        return tuple(map(self.path_names.names.__getitem__, self.path_ids.tolist()))

    @cached_property
    def blobs(self) -> tuple[str, ...]:
        """(F,) blob ids (hex), in path order."""
        return tuple(map(self.blob_names.names.__getitem__, self.blob_ids.tolist()))

    def __len__(self) -> int:
        return len(self.path_ids)

    @classmethod
    def of(
        cls, commit: str, committed_at: int, files: Mapping[str, str], numbered: Sequence[str] = ()
    ) -> Self:
        """Return the version of a commit that contains ``files``: path -> blob id (hex).

        The number of a path in ``numbered`` is its position there; other paths get the next
        numbers.
        """
        ids = {path: number for number, path in enumerate(numbered)}
        path_names = StringTable(list(numbered), ids)
        blob_names = StringTable()
        paths = sorted(files, key=lambda path: path.encode("utf-8", "surrogateescape"))
        path_ids = np.array([path_names.id(path) for path in paths], dtype=np.int32)
        blob_ids = np.array([blob_names.id(files[path]) for path in paths], dtype=np.int32)
        return cls(commit, committed_at, path_names, blob_names, path_ids, blob_ids)


def first_path_by_blob(snapshots: Iterable[Snapshot]) -> dict[str, str]:
    """Return each blob id of some versions with the first path at which it is found.

    >>> versions = [
    ...     Snapshot.of("v", 0, {"a.py": "12", "b.py": "12"}),
    ...     Snapshot.of("w", 0, {"a.py": "34"}),
    ... ]
    >>> first_path_by_blob(versions)
    {'12': 'a.py', '34': 'a.py'}
    """
    path_by_blob: dict[str, str] = {}
    for snapshot in snapshots:
        _, first_files = np.unique(snapshot.blob_ids, return_index=True)
        for file in first_files.tolist():
            path_by_blob.setdefault(snapshot.blob(file), snapshot.path(file))
    return path_by_blob
