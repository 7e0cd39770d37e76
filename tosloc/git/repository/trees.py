"""List the trees of commits: the source files of versions, submodules and single folders."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

import numpy as np

from tosloc.core.arrays import IntArray
from tosloc.core.errors import RepositoryError
from tosloc.core.versions import Snapshot, StringTable
from tosloc.git.commit_info import CommitInfo
from tosloc.git.process import Git, split_at_nul

MAX_FILES: Final = 2_000_000
"""Largest number of files of a version that is read: four times as many as Chromium has.

Without this limit, a few trees that contain each other ten times could have any number of files.
"""
_MAX_REMEMBERED_FILES: Final = 50_000_000
"""Largest number of files of all remembered versions together; they take 400 MB."""


def suffix_matcher(suffixes: Iterable[str]) -> Callable[[bytes], bool]:
    """Return a function that says whether a path, in bytes, ends with one of the suffixes.

    Case is ignored.

    >>> is_source = suffix_matcher({".d.ts", ".java"})
    >>> is_source(b"a.D.ts"), is_source(b"A.JAVA")
    (True, True)
    >>> is_source(b"a.ts"), is_source(b"a/A.javac")
    (False, False)
    """
    endings = {suffix.encode("utf-8", "surrogateescape").lower() for suffix in suffixes}
    # Suffixes with their only dot at the start are found in one look-up, however many there are.
    plain = frozenset(ending for ending in endings if ending.rfind(b".") == 0)
    others = tuple(sorted(endings - plain))
    return lambda path: path[path.rfind(b".") :].lower() in plain or path.lower().endswith(others)


class TreeEntry(NamedTuple):
    """A file or folder in a tree."""

    name: str
    id: str
    """Id of the blob of a file, or of the tree of a folder."""
    is_folder: bool


class Trees:
    """The trees of a repository. The files of a listed tree are kept for the next call.

    All snapshots share the tables ``path_names`` and ``blob_names``.
    """

    def __init__(self, git: Git) -> None:
        self._git = git
        self.path_names: Final = StringTable()
        self.blob_names: Final = StringTable()
        self._submodules: dict[str, tuple[str, ...]] = {}
        """Id of a tree -> paths of its submodules."""
        self._files: dict[tuple[str, frozenset[str]], IntArray] = {}
        """Id of a tree, suffixes -> (F, 2) path and blob numbers of its files."""

    def snapshot(self, commit: CommitInfo, suffixes: Iterable[str]) -> Snapshot:
        """Return a commit's regular files whose path ends with one of ``suffixes``.

        The files are in path order. The case of suffixes is ignored. Links and submodules are left
        out. Raises RepositoryError if directories are missing, or if there are more than MAX_FILES
        files.
        """
        key = commit.tree, frozenset(suffixes)
        if key not in self._files:
            if sum(map(len, self._files.values())) > _MAX_REMEMBERED_FILES:
                self._files.clear()
            self._files[key] = self._list_files(*key)
        path_ids, blob_ids = np.ascontiguousarray(self._files[key].T)
        return Snapshot(
            commit.id, commit.committed_at, self.path_names, self.blob_names, path_ids, blob_ids
        )

    def submodules(self, commit: CommitInfo) -> tuple[str, ...]:
        """Return the paths of a commit's submodules. Raises RepositoryError like ``snapshot``."""
        if commit.tree not in self._submodules:
            self._list_files(commit.tree, frozenset())
        return self._submodules[commit.tree]

    def _list_files(self, tree: str, suffixes: frozenset[str]) -> IntArray:
        """Return (F, 2) numbers of the path and blob of a tree's files; remember its submodules."""
        is_source = suffix_matcher(suffixes)
        files: dict[bytes, str] = {}
        submodules: list[str] = []
        with self._git.stream(["ls-tree", "-r", "-z", tree]) as output:
            for number, entry in enumerate(split_at_nul(output)):
                if number == MAX_FILES:
                    raise RepositoryError(
                        f"{self._git.path}: tree {tree[:12]} has more than {MAX_FILES:,} files"
                    )
                description, path = entry.split(b"\t", 1)  # the first is "100644 blob ID"
                if description.startswith(b"100") and is_source(path):
                    files.setdefault(path, description[12:].decode("ascii"))
                elif description.startswith(b"160"):
                    submodules.append(path.decode("utf-8", "surrogateescape"))
        self._submodules[tree] = tuple(submodules)
        numbers = []
        for path, blob in files.items():
            path_id = self.path_names.id(path.decode("utf-8", "surrogateescape"))
            numbers.append((path_id, self.blob_names.id(blob)))
        return np.array(numbers, dtype=np.int32).reshape(-1, 2)

    def entries(self, tree: str) -> list[TreeEntry]:
        """Return the files and folders directly in a tree; empty if the tree is missing.

        ``tree`` is the id of a tree, or any name that git resolves to a tree. Links and submodules
        are left out.
        """
        [(_, content)] = self._git.objects([tree], b"tree")
        entries: list[TreeEntry] = []
        id_bytes = 32 if self._git.hash_name == "sha256" else 20
        position = 0
        while content is not None and position < len(content):
            space = content.index(b" ", position)
            end = content.index(b"\0", space)
            mode = content[position:space]
            name = content[space + 1 : end].decode("utf-8", "surrogateescape")
            position = end + 1 + id_bytes
            if mode == b"40000" or mode.startswith(b"100"):
                entry_id = content[end + 1 : position].hex()
                entries.append(TreeEntry(name, entry_id, mode == b"40000"))
        return entries
