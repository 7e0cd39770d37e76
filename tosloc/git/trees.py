"""The files of versions from git's trees: a directory is read once, so that consecutive versions cost what changed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeAlias

import numpy as np

from tosloc.errors import RepositoryError
from tosloc.git.process import GitObject
from tosloc.records import IntArray, Names

# E kept files of a directory and all below it

MEMORY_LIMIT: Final = 192 * 2**20
"""Bytes of remembered directories, for each set of suffixes."""
_OVERHEAD: Final = 500
"""Bytes that remembering a directory takes beside its array, about."""
LARGEST_VERSION: Final = 2_000_000
"""Files and folders of a version: four times what Chromium has. A few trees that hold each other ten times over stand
for any number."""
_LONGEST_PATH: Final = 4096
"""Bytes of a path; those that are longer, which no system could check out, are left out."""

_Key: TypeAlias = tuple[str, bytes]
"""Id of a tree, and the path at which it stands, with a slash at its end; the root's is empty."""
_Entry: TypeAlias = tuple[bool, bytes, str]
"""Whether it is a directory, path, id."""


class Trees:
    """Kept files of trees, remembered by directory.

    ``read`` gives the objects of ids, ``keep`` says whether a path is kept; ids that lack are put into ``missing``.
    """

    def __init__(
        self,
        read: Callable[[Iterable[str]], Iterator[tuple[str, GitObject | None]]],
        keep: Callable[[bytes], bool],
        names: tuple[Names, Names],
        missing: set[str],
    ) -> None:
        self._read, self._keep, self._missing = read, keep, missing
        self._paths, self._blobs = names
        self._known: dict[_Key, IntArray] = {}
        self._size = 0

    def files(self, tree: str) -> IntArray:
        """(E, 2) path and blob numbers of the kept files of a root tree, in path order.

        Raises RepositoryError when there are more files and folders in it than LARGEST_VERSION.
        """
        if self._size > MEMORY_LIMIT:
            self._known.clear()
            self._size = 0
        read: dict[_Key, list[_Entry]] = {}
        wanted: list[_Key] = [(tree, b"")]
        number = 0
        while wanted:  # one level of the tree at a time, so that its reads go in batches
            absent = [key for key in dict.fromkeys(wanted) if key not in self._known]
            wanted = []
            for key, (_, item) in zip(absent, self._read([identity for identity, _ in absent]), strict=True):
                read[key] = list(self._entries(key, item))
                wanted += [(identity, path + b"/") for is_directory, path, identity in read[key] if is_directory]
                number += len(read[key])
                if number > LARGEST_VERSION:
                    raise RepositoryError(f"tree {tree[:12]} has more than {LARGEST_VERSION:,} files")
        for key, entries in reversed(read.items()):  # children were read after their parents
            self._known[key] = self._joined(entries)
            self._size += self._known[key].nbytes + _OVERHEAD
        files_E2 = self._known[tree, b""]
        # damaged trees have names twice, of which git takes the first
        paths, first = np.unique(files_E2[:, 0], return_index=True)
        return files_E2 if len(paths) == len(files_E2) else files_E2[np.sort(first)]

    def _entries(self, key: _Key, item: GitObject | None) -> Iterator[_Entry]:
        """Directories and kept files of a tree."""
        tree, folder = key
        content = b"-" if item is None or item.type != b"tree" or item.content is None else item.content
        pattern = re.compile(rb"0*+([0-7]+) ([^\0]+)\0(.{%d})" % (len(tree) // 2), re.DOTALL)
        place = 0
        while entry := pattern.match(content, place):
            place = entry.end()
            mode, name, identity = entry.groups()
            path = folder + name
            is_directory = mode == b"40000"
            if len(path) < _LONGEST_PATH and (is_directory or (mode.startswith(b"100") and self._keep(path))):
                yield is_directory, path, identity.hex()
        if place < len(content):
            self._missing.add(tree)

    def _joined(self, entries: Iterable[_Entry]) -> IntArray:
        """(E, 2) files of a directory: its own and those of its directories, in the order of the entries."""
        parts, own = [_numbers([])], []
        for is_directory, path, identity in entries:
            if not is_directory:
                own.append((self._paths.id(path.decode("utf-8", "surrogateescape")), self._blobs.id(identity)))
            elif len(below := self._known[identity, path + b"/"]):
                parts += [_numbers(own), below]
                own = []
        return np.concatenate([*parts, _numbers(own)])


def _numbers(files: list[tuple[int, int]]) -> IntArray:
    return np.array(files, dtype=np.int32).reshape(-1, 2)
