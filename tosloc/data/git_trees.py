"""The files of versions from git's trees: a directory is read once, so that consecutive versions cost what changed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np

from tosloc.data.git_process import GitStandsStill, parts
from tosloc.errors import RepositoryError
from tosloc.records import IntArray

if TYPE_CHECKING:
    from tosloc.data.git import Repository

# E kept files of a directory and all below it, F those of a version

MEMORY_LIMIT: Final = 192 * 2**20
"""Bytes of remembered directories, for each set of suffixes."""
_OVERHEAD: Final = 500
"""Bytes that remembering a directory takes beside its array, about."""

LONGEST_PATH: Final = 4096
"""Bytes of a path; those that are longer, which no system could check out, are left out."""
LARGEST_VERSION: Final = 256 * 2**20
"""Bytes that the paths of a version's files and folders may take, with 100 for each of them: 1.5 million of usual
length, three times as many as Chromium has. A few trees that hold each other ten times over stand for any number."""
_BESIDE_PATH: Final = 100

_NO_FILES: Final = np.empty((0, 2), dtype=np.int32)

_Key: TypeAlias = tuple[str, bytes]
"""Id of a tree, and the path at which it stands, with a slash at its end; the root's is empty."""


class _Entry(NamedTuple):
    mode: bytes
    path: bytes
    id: str

    @property
    def is_directory(self) -> bool:
        return _kind(self.mode) == _DIRECTORY

    @property
    def is_regular_file(self) -> bool:
        return _kind(self.mode) == _REGULAR_FILE

    @property
    def key(self) -> _Key:
        return self.id, self.path + b"/"


@lru_cache(maxsize=64)
def _kind(mode: bytes) -> int:
    """What git takes an entry of this mode (octal digits) for."""
    return int(mode, 8) & 0o170000 if 0 < len(mode) < 12 else 0


_DIRECTORY: Final = 0o040000
_REGULAR_FILE: Final = 0o100000


class Trees:
    """Kept files of trees, remembered by directory, least recently used forgotten first."""

    def __init__(self, repository: Repository, keep: Callable[[bytes], bool], id_length: int) -> None:
        self._repository, self._keep = repository, keep
        self._entry_pattern = re.compile(rb"([0-7]+) ([^\0]+)\0(.{%d})" % (id_length // 2), re.DOTALL)
        self._entries_pattern = re.compile(rb"(?:[0-7]+ [^\0]+\0.{%d})*+" % (id_length // 2), re.DOTALL)
        self._known: dict[_Key, IntArray] = {}
        self._size = 0

    def files(self, tree: str) -> IntArray:
        """(F, 2) path and blob numbers of the kept files of a root tree, in path order.

        Raises RepositoryError when the tree stands for more files than LARGEST_VERSION allows.
        """
        if not self._known:
            self._list(tree)
        root = (tree, b"")
        room = LARGEST_VERSION
        found: dict[_Key, IntArray] = {}
        read: dict[_Key, list[_Entry]] = {}
        wanted = [root]
        while wanted:  # one level of the tree at a time, so that its reads go in batches
            found |= {key: self._recalled(key) for key in wanted if key in self._known}
            absent = [key for key in wanted if key not in self._known]
            for key, entries in self._read(absent):
                read[key] = entries
                room -= sum(len(entry.path) + _BESIDE_PATH for entry in entries)
                if room < 0:
                    raise self._too_large(tree)
            found |= {key: _NO_FILES for key in absent if key not in read}
            wanted = [entry.key for key in absent for entry in read.get(key, ()) if entry.is_directory]
        for key, entries in reversed(read.items()):  # children were read after their parents
            found[key] = self._joined(entries, found)
            self._remember(key, found[key])
        while self._size > MEMORY_LIMIT and len(self._known) > 1:
            self._size -= self._known.pop(next(iter(self._known))).nbytes + _OVERHEAD
        return _each_once(found[root])

    def _too_large(self, tree: str) -> RepositoryError:
        return RepositoryError(
            f"{self._repository.path}: the files of tree {tree[:12]} are too many: their paths take more than"
            f" {LARGEST_VERSION >> 20} MB; give another --commit"
        )

    def _recalled(self, key: _Key) -> IntArray:
        files = self._known[key] = self._known.pop(key)  # now the last one to be forgotten
        return files

    def _remember(self, key: _Key, files: IntArray) -> None:
        if key not in self._known:  # a damaged tree can have a directory twice
            self._size += files.nbytes + _OVERHEAD
        self._known[key] = files

    def _read(self, keys: list[_Key]) -> Iterator[tuple[_Key, list[_Entry]]]:
        """Entries of those trees that the repository has."""
        for key, (_, item) in zip(keys, self._repository.objects([tree for tree, _ in keys]), strict=True):
            if item is None or item.type != b"tree" or item.content is None:
                self._repository.missing.add(key[0])
                continue
            sound = self._entries_pattern.match(item.content)
            assert sound is not None
            if sound.end() < len(item.content):
                self._repository.missing.add(key[0])
            found = self._entry_pattern.findall(item.content, 0, sound.end())
            longest = LONGEST_PATH - len(key[1])
            yield (
                key,
                [
                    _Entry(mode.lstrip(b"0"), key[1] + name, identity.hex())
                    for mode, name, identity in found
                    if len(name) <= longest
                ],
            )

    def _joined(self, entries: list[_Entry], below: Mapping[_Key, IntArray]) -> IntArray:
        """(E, 2) files of a directory: its own and those of its directories, in the order of the entries."""
        parts: list[IntArray] = [_NO_FILES]
        own: list[tuple[int, int]] = []
        for entry in entries:
            if entry.is_directory and len(below[entry.key]):
                parts += [_numbers(own), below[entry.key]]
                own = []
            elif entry.is_regular_file and self._keep(entry.path):
                own.append(self._numbered(entry.path, entry.id))
        return np.concatenate([*parts, _numbers(own)])

    def _numbered(self, path: bytes, blob: str) -> tuple[int, int]:
        repository = self._repository
        return repository.path_names.id(path.decode("utf-8", "surrogateescape")), repository.blob_names.id(blob)

    def _list(self, tree: str) -> None:
        """Remember all directories of a root tree from one listing by git, much faster than reading each; or none."""
        files: list[tuple[bytes, str]] = []
        open_directories: list[tuple[_Key, int]] = [((tree, b""), 0)]
        closed: list[tuple[_Key, int, int]] = []
        """Key, first file and end of each directory, children before their parents."""
        room = LARGEST_VERSION
        try:
            with self._repository.stream(["ls-tree", "-r", "-t", "-z", tree]) as output:
                for line in parts(output, 2 * LONGEST_PATH):
                    head, _, path = line.partition(b"\t")
                    if len(path) > LONGEST_PATH:
                        continue
                    room -= len(path) + _BESIDE_PATH
                    if room < 0:
                        break
                    is_directory = head.startswith(b"04")  # the mode, in six digits
                    if not is_directory and not (head.startswith(b"100") and self._keep(path)):
                        continue
                    mode, _, identity = head.split(b" ")
                    entry = _Entry(mode.lstrip(b"0"), path, identity.decode("ascii"))
                    while not path.startswith(open_directories[-1][0][1]):
                        closed.append((*open_directories.pop(), len(files)))
                    if is_directory:
                        open_directories.append((entry.key, len(files)))
                    else:
                        files.append((path, entry.id))
        except GitStandsStill:
            raise
        except RepositoryError:
            return  # something is missing: reading directory by directory finds what, and the rest
        if room < 0:
            raise self._too_large(tree)
        closed += [(*directory, len(files)) for directory in reversed(open_directories)]
        files_F2 = _numbers([self._numbered(path, blob) for path, blob in files])
        for key, start, end in closed:
            self._remember(key, files_F2[start:end])


def _each_once(files_F2: IntArray) -> IntArray:
    """The files without those whose path stood before: damaged trees have names twice, and git takes the first."""
    paths, first = np.unique(files_F2[:, 0], return_index=True)
    return files_F2 if len(paths) == len(files_F2) else files_F2[np.sort(first)]


def _numbers(files: list[tuple[int, int]]) -> IntArray:
    return np.array(files, dtype=np.int32).reshape(-1, 2)
