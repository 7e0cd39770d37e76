"""The files of versions from git's trees: a directory is read once, so that consecutive versions cost what changed."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeAlias

import numpy as np

from tosloc.errors import RepositoryError
from tosloc.records import IntArray, Names

MEMORY_LIMIT: Final = 50_000_000
"""Numbers in remembered directories, for each set of suffixes: 200 MB."""
LARGEST_VERSION: Final = 2_000_000
"""Files and folders of a version: four times what Chromium has. A few trees that hold each other ten times over stand
for any number."""
_LONGEST_PATH: Final = 4096
"""Bytes of a path; those that are longer, which no system could check out, are left out."""
_Key: TypeAlias = tuple[str, bytes]
"""Id of a tree, and the path at which it stands, with a slash at its end; the root's is empty."""


class Trees:
    """Kept files of trees: ``read`` gives the objects of ids, ``keep`` says whether a path is kept.

    Ids of trees that lack or are damaged are put into ``missing``.
    """

    def __init__(
        self,
        read: Callable[[Iterable[str], bytes], Iterator[tuple[str, bytes | None]]],
        keep: Callable[[bytes], bool],
        names: tuple[Names, Names],
        missing: set[str],
    ) -> None:
        self._read, self._keep, self._missing = read, keep, missing
        self._paths, self._blobs = names
        self._known: dict[_Key, array[int]] = {}
        self._size = 0

    def files(self, tree: str) -> IntArray:
        """(F, 2) path and blob numbers of the kept files of a root tree, in path order.

        Raises RepositoryError when there are more files and folders in it than LARGEST_VERSION.
        """
        if self._size > MEMORY_LIMIT:
            self._known.clear()
            self._size = 0
        read: dict[_Key, dict[bytes, tuple[bool, str]]] = {}
        wanted: list[_Key] = [(tree, b"")]
        number = 0
        while wanted:  # one level of the tree at a time, so that its reads go in batches
            absent = [key for key in dict.fromkeys(wanted) if key not in self._known]
            wanted = []
            for key, (_, content) in zip(absent, self._read([tree for tree, _ in absent], b"tree"), strict=True):
                read[key] = self._entries(key, content)
                wanted += [(identity, path + b"/") for path, (is_folder, identity) in read[key].items() if is_folder]
                number += len(read[key])
                if number > LARGEST_VERSION:
                    raise RepositoryError(f"tree {tree[:12]} has more than {LARGEST_VERSION:,} files")
        for key, entries in reversed(read.items()):  # children were read after their parents
            rows = self._known[key] = array("i")
            for path, (is_folder, identity) in entries.items():
                if is_folder:
                    rows.extend(self._known[identity, path + b"/"])
                else:
                    rows.append(self._paths.id(path.decode("utf-8", "surrogateescape")))
                    rows.append(self._blobs.id(identity))
            self._size += len(rows)
        return np.array(self._known[tree, b""], dtype=np.int32).reshape(-1, 2)

    def _entries(self, key: _Key, content: bytes | None) -> dict[bytes, tuple[bool, str]]:
        """Path -> whether it is a directory, and its id, of what is kept of a tree up to where it is damaged."""
        tree, folder = key
        content = b"-" if content is None else content
        pattern = re.compile(rb"0*+([0-7]+) ([^\0/]+)\0(.{%d})" % (len(tree) // 2), re.DOTALL)
        found: dict[bytes, tuple[bool, str]] = {}
        place = 0
        while entry := pattern.match(content, place):
            place = entry.end()
            mode, name, identity = entry.groups()
            path, is_folder = folder + name, mode == b"40000"
            if len(path) < _LONGEST_PATH and (is_folder or (mode.startswith(b"100") and self._keep(path))):
                found.setdefault(path, (is_folder, identity.hex()))
        if place < len(content):
            self._missing.add(tree)
        return found
