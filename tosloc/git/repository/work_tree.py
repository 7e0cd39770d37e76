"""Files of a work tree that differ from a commit."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from tosloc.core.io import read_inside
from tosloc.git.process import MAX_SOURCE_BYTES, Git, split_at_nul
from tosloc.git.repository.blobs import blob_id, possible_blob_ids
from tosloc.git.repository.layout import Layout
from tosloc.git.repository.trees import suffix_matcher

_EMPTY_TREE: Final = {
    "sha1": "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "sha256": "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}
"""Id of the tree without files, which git knows in every repository."""
_FLAGGED: Final = re.compile(rb"(?:\A|(?<=\0))([a-zS]) 100\d{3} ([0-9a-f]{40,64}) 0\t([^\0]+)")
"""An entry of the index that git does not compare with the disk, as ``ls-files -v -s -z`` shows it.

A small letter means ``assume-unchanged``; S or s means ``skip-worktree``.
"""


class Change(NamedTuple):
    """A file of the work tree that differs from the commit."""

    path: str
    blob: str | None  # id that its content would have as a blob; None for a deleted file


class WorkTreeState(NamedTuple):
    """How the files on disk differ from a commit, and which of them are not searched."""

    changes: frozenset[Change] = frozenset()
    left_out: tuple[str, ...] = ()
    """Paths of tracked files that are not checked out, such as those outside a sparse checkout."""
    unread: tuple[str, ...] = ()
    """Paths of changed files that cannot be read or are too large."""
    repositories: tuple[str, ...] = ()
    """Folders of untracked repositories; the files in them do not count as changes."""


class _Candidates(NamedTuple):
    """Files of a work tree that may differ from a commit."""

    committed: dict[bytes, str]
    """Path -> id of the file's blob in the commit; "" for a path that is no regular file there."""
    optional: frozenset[bytes]
    """Paths that do not count as deleted if they are not on disk, because they need no checkout."""
    repositories: tuple[str, ...]
    """Folders of untracked repositories, see ``WorkTreeState``."""


class FilesOnDisk:
    """The files of a work tree that are not committed; empty for a bare repository."""

    def __init__(self, git: Git, layout: Layout) -> None:
        self._git = git
        self._layout = layout
        self.path_by_blob: Final[dict[str, str]] = {}
        """Id of each blob that ``state`` found and that is not committed -> path of its file."""

    def state(self, commit: str, suffixes: Iterable[str]) -> WorkTreeState:
        """Return how the files with one of the ``suffixes`` differ on disk from those of a commit.

        The state has no changes if there is no work tree. All files are new if the commit is
        ``no_commit``. ``read`` can read the blobs of changed files afterwards.

        Git compares with the help of the repository's index and ignore files. It cannot read the
        configuration, so it runs no filter. Files that the index excludes from the comparison are
        compared here, and so are all files if there is no index. Only regular files of at most 10
        MB are read, and no file that a link leads to. Raises RepositoryError.
        """
        root = self._layout.work_tree
        if root is None:
            return WorkTreeState()
        is_empty = not commit.strip("0")
        tree = _EMPTY_TREE[self._layout.hash_name] if is_empty else commit
        candidates = self._list_candidates(root, tree, suffixes)
        changes = []
        left_out = []
        unread = []
        is_folder = cache(os.path.isdir)
        for path, committed in candidates.committed.items():
            name = os.fsdecode(path)
            content = None
            try:
                # A sparse checkout may leave out hundreds of thousands of files.
                if path not in candidates.optional or is_folder(os.path.dirname(root / name)):
                    content = read_inside(root, name, MAX_SOURCE_BYTES)
            except OSError:
                unread.append(name)
                continue
            if content is None:
                if path in candidates.optional:
                    left_out.append(name)
                elif committed:
                    changes.append(Change(name, None))
                continue
            if committed and committed in possible_blob_ids(content, self._layout.hash_name):
                continue
            blob = blob_id(content, self._layout.hash_name)
            changes.append(Change(name, blob))
            self.path_by_blob[blob] = name
        return WorkTreeState(
            frozenset(changes), tuple(left_out), tuple(unread), candidates.repositories
        )

    def _list_candidates(self, root: Path, tree: str, suffixes: Iterable[str]) -> _Candidates:
        """Return the files with one of the ``suffixes`` that may differ on disk from a tree."""
        is_source = suffix_matcher(suffixes)
        environment: dict[str, Any] = {"GIT_WORK_TREE": str(root)}
        index = self._layout.directory / "index"
        # Without an index of its own, git looks for one in our empty directory.
        has_index = index.is_file() and not index.is_symlink()
        if has_index:
            environment["GIT_INDEX_FILE"] = str(index)
        committed: dict[bytes, str] = {}
        compare = "diff-index --raw -z --no-abbrev --no-renames --ignore-submodules=all".split()
        with self._git.stream([*compare, tree], **environment) as output:
            fields = split_at_nul(output)
            for description in fields:  # ":100644 100644 BEFORE AFTER M"
                path = next(fields, None)
                if path is None:
                    break
                if is_source(path):
                    is_regular = description.startswith(b":100")
                    blob = description.split()[2].decode("ascii") if is_regular else ""
                    committed[path] = blob
        # Without an index nobody knows which files were deleted, and which never checked out.
        optional = set() if has_index else {path for path, blob in committed.items() if blob}
        with self._git.stream(["ls-files", "-v", "-s", "-z"], **environment) as output:
            for match in _FLAGGED.finditer(output.read()):
                flag, blob_id, path = match.groups()
                if is_source(path):
                    committed.setdefault(path, blob_id.decode("ascii"))
                    if flag in b"sS":
                        optional.add(path)
        list_new = "ls-files -z --others --full-name --exclude-per-directory=.gitignore".split()
        ignored = self._layout.common / "info/exclude"
        if ignored.is_file():
            list_new.append(f"--exclude-from={ignored}")
        repositories = []
        with self._git.stream([*list_new, ":/"], **environment) as output:
            for path in split_at_nul(output):
                if path.endswith(b"/"):
                    repositories.append(os.fsdecode(path[:-1]))
                elif is_source(path):
                    committed.setdefault(path, "")
        return _Candidates(committed, frozenset(optional), tuple(repositories))

    def read(self, blob: str) -> bytes | None:
        """Return the content of an uncommitted blob; None if its file has changed since."""
        if blob not in self.path_by_blob:
            return None
        try:
            content = read_inside(self._layout.path, self.path_by_blob[blob], MAX_SOURCE_BYTES)
        except OSError:
            return None
        if content is None or blob_id(content, self._layout.hash_name) != blob:
            return None
        return content
