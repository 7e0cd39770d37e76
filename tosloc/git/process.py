"""The git program, kept away from everything of a repository but its objects; the files of versions from its trees."""

from __future__ import annotations

import os
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from subprocess import Popen
from types import ModuleType
from typing import IO, Final, TypeAlias

import numpy as np

from tosloc.errors import RepositoryError
from tosloc.io import printable
from tosloc.processes import start
from tosloc.records import IntArray, Names

SETTINGS: Final = (
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.commitGraph=false"),  # it repeats what commits say, and a damaged one says it wrongly
    *("-c", "core.multiPackIndex=false"),  # it repeats what the indexes of packs say, and may name packs anywhere
)
"""Options that keep git from running anything of a repository."""
LARGEST: Final = 100 * 2**20
"""Bytes of an object that is read: GitHub takes no larger file, and a tree of a million files has 50 MB."""
LARGEST_SOURCE: Final = 10_000_000
"""Bytes of a source file that is read; a larger one is known by its path alone."""
_BATCH: Final = 48
"""Requests sent before their answers are read: 48 lines fit the smallest pipe, so neither side can block the other."""
GAVE_UP: Final = 128
"""Exit code of a git that ends by itself, as it does at a damaged object or an unknown name."""
MEMORY_LIMIT: Final = 50_000_000
"""Numbers in remembered directories, for each set of suffixes: 200 MB."""
LARGEST_VERSION: Final = 2_000_000
"""Files and folders of a version: four times what Chromium has. A few trees that hold each other ten times over stand
for any number."""
_LONGEST_PATH: Final = 4096
"""Bytes of a path; those that are longer, which no system could check out, are left out."""
_Key: TypeAlias = tuple[str, bytes]
"""Id of a tree, and the path at which it stands, with a slash at its end; the root's is empty."""


class ObjectReader:
    """``git cat-file --batch``, kept open from the first question on."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], name: str) -> None:
        self._command, self._environment, self._name = (*command, "cat-file", "--batch"), environment, name
        self._process: Popen[bytes] | None = None

    def close(self) -> int:
        """End the process, whose exit code is returned; the next question starts another."""
        process, self._process = self._process, None
        if process is None:
            return 0
        with suppress(OSError), process:  # what was not yet sent is not waited for
            process.kill()
        return process.wait()

    def read(self, names: Iterable[str], kind: bytes) -> Iterator[tuple[str, bytes | None]]:
        """Full id and content of the object of each name: commits, trees or blobs, as ``kind`` says.

        The content is None, and the id the name, where there is no such object, or several, a damaged one, or one of
        more than LARGEST bytes. Nothing is left pending between batches. Raises RepositoryError when git is killed.
        """
        rest = iter(names)
        while batch := list(islice(rest, _BATCH)):
            found: list[tuple[str, bytes | None]] = []
            while len(found) < len(batch):
                try:
                    self._ask(batch[len(found) :], kind, found)
                except (OSError, ValueError) as error:  # git ended, maybe in the middle of a line
                    if self.close() != GAVE_UP:
                        raise failure(self._name, b"") from error
                    found.append((batch[len(found)], None))
                except BaseException:  # an interruption: the next question would get this one's answers
                    self.close()
                    raise
            yield from found

    def _ask(self, names: Sequence[str], kind: bytes, found: list[tuple[str, bytes | None]]) -> None:
        """Append the answers to ``found``; OSError or ValueError at the one where git ends."""
        if self._process is None:
            self._process = start(self._command, self._environment)
        requests, answers = self._process.stdin, self._process.stdout
        assert requests is not None
        assert answers is not None
        requests.write("".join(f"{name}\n" for name in names).encode("utf-8", "surrogateescape"))
        requests.flush()
        for name in names:
            line = answers.readline()
            if line.endswith((b" missing\n", b" ambiguous\n")):
                found.append((name, None))
                continue
            identity, of_kind, digits = line.split()
            size = int(digits)
            content = answers.read(size) if size <= LARGEST else None
            for left in range(size if content is None else 0, 0, -LARGEST):
                answers.read(min(left, LARGEST))
            if answers.read(1) != b"\n":
                raise ValueError("the answer ends in the middle")
            right = content is not None and of_kind == kind
            found.append((identity.decode("ascii"), content) if right else (name, None))


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


def parts(stream: IO[bytes]) -> Iterator[bytes]:
    """A stream's parts between NUL bytes, without empty ones."""
    rest = b""
    while block := stream.read(1 << 20):
        *whole, rest = (rest + block).split(b"\0")
        yield from filter(None, whole)
    if rest:
        yield rest


def gitpython() -> ModuleType:
    """GitPython, which reads configurations, and knows which program to run ($GIT_PYTHON_GIT_EXECUTABLE).

    Its commands are not for us: they add to the environment, and take nothing from it. Raises RepositoryError.
    """
    try:
        import git  # here, since it takes a while, and fails where git is not found
    except ImportError as error:
        raise RepositoryError(
            "git is not installed, not on the search path, or not what $GIT_PYTHON_GIT_EXECUTABLE names"
        ) from error
    return git


def failure(name: str, errors: bytes) -> RepositoryError:
    """What is to be said of a git command that failed: git's last words."""
    lines = errors[-1000:].decode("utf-8", "backslashreplace").strip().splitlines()
    words = printable(lines[-1])[:400] if lines else "it was killed, or said nothing"
    return RepositoryError(f"{name} failed ({words}); run 'git fsck' there, or clone it again")


def clean_environment() -> dict[str, str]:
    """The environment without any setting of git but ours."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name == "GIT_EXEC_PATH"}
    return kept | {
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",  # for versions of git that do not know the line above
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_GRAFT_FILE": os.devnull,
        "LC_ALL": "C",
    }
