"""Find the files that one commit moves, from the paths and blob ids of its changes alone.

No blob is read. A file whose content does not change keeps its blob id, so that an exact rename is
a path that is deleted and a path that is added with the same blob. A file that is moved and edited
keeps its name: it counts as moved if the commit moves most of the deleted files of its folder to
the same place. A module that becomes a package of its name has been moved, too.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from tosloc.core.records import StringTable

MIN_MOVED_SHARE: Final = 0.5
"""Least share of the deleted files of a folder that must be moved alike, for an edited file."""
MAX_FOLDER_MOVES: Final = 20
"""Most ways to move a folder that are tried in one commit, those with most files first."""

COMMON_NAMES: Final = frozenset(
    "__init__ conftest index init lib main mod module-info package-info setup".split()
)
"""Names, without suffix, that files of every package have: they say nothing about a move."""

PACKAGE_FILES: Final = {
    ".py": "__init__.py",
    ".rs": "mod.rs",
    ".js": "index.js",
    ".ts": "index.ts",
    ".tsx": "index.tsx",
}
"""Suffix of a module -> file that it becomes when it is made a package of its name."""

FolderMove: TypeAlias = tuple[str, str]
"""The beginnings in which two paths differ, each empty or ending with "/"."""


class RenameCollector:
    """Collects the renames of commits whose changes are read one after the other."""

    def __init__(self, commits: int) -> None:
        self._renames: list[dict[str, str]] = [{} for _ in range(commits)]
        self._commit = -1
        self._deleted: dict[str, str] = {}
        self._added: dict[str, str] = {}

    def add(self, commit: int, path: str, change: bytes) -> None:
        """Add one change of a commit: the number of the commit, a path and git's line about it.

        The line is that of ``Repository.raw_changes``. All changes of a commit come together.
        """
        if commit != self._commit:
            self._finish_commit()
            self._commit = commit
        _, _, before, after, status = change.decode("ascii").split()
        if status == "D":
            self._deleted[path] = before
        elif status == "A":
            self._added[path] = after

    def _finish_commit(self) -> None:
        """Find the renames of the last commit."""
        if self._deleted and self._added:
            self._renames[self._commit] = find_renames(self._deleted, self._added)
        self._deleted = {}
        self._added = {}

    def numbered(self, path_names: StringTable) -> list[list[tuple[int, int]]]:
        """Return the numbers of the old and the new path of each file that each commit moves."""
        self._finish_commit()
        numbered = []
        for renames in self._renames:
            pairs = [(path_names.ids[old], path_names.ids[new]) for old, new in renames.items()]
            numbered.append(pairs)
        return numbered


def find_renames(deleted: Mapping[str, str], added: Mapping[str, str]) -> dict[str, str]:
    """Return deleted path -> added path of each file that a commit moves.

    ``deleted`` and ``added`` are the paths that the commit deletes and adds, with their blob ids.

    >>> find_renames({"a.py": "12", "b.py": "34"}, {"c.py": "12", "d.py": "56"})
    {'a.py': 'c.py'}
    >>> find_renames({"a.py": "1"}, {"a/__init__.py": "2"})
    {'a.py': 'a/__init__.py'}
    >>> find_renames({"x/a.py": "1", "x/b.py": "2"}, {"y/x/a.py": "1", "y/x/b.py": "3"})
    {'x/a.py': 'y/x/a.py', 'x/b.py': 'y/x/b.py'}
    """
    if not deleted or not added:
        return {}
    renames = _pair_unique(_invert(deleted.items()), _invert(added.items()))
    targets = set(renames.values())
    old_paths = [path for path in deleted if path not in renames]
    new_paths = {path for path in added if path not in targets}
    if not old_paths or not new_paths:
        return renames
    for old in old_paths:
        new = _package_path(old)
        if new in new_paths:
            renames[old] = new
            new_paths.remove(new)
    old_paths = [path for path in old_paths if path not in renames]
    by_name = _pair_unique(_by_telling_name(old_paths), _by_telling_name(new_paths))
    votes: Counter[FolderMove] = Counter()
    for old, new in (*renames.items(), *by_name.items()):
        votes[_folder_move(old, new)] += 1
    moves = [move for move, _ in votes.most_common(MAX_FOLDER_MOVES)]
    for move in moves:
        if not _moves_most(move, deleted, added):
            continue
        for old in old_paths:
            new = _moved_path(move, old)
            if new in new_paths and old not in renames:
                renames[old] = new
                new_paths.remove(new)
    return renames


def _package_path(path: str) -> str:
    """Return the path of a module once it is a package; "" if its language has none.

    >>> _package_path("shop/json.py"), _package_path("shop/Json.java")
    ('shop/json/__init__.py', '')
    """
    stem, dot, suffix = path.rpartition(".")
    name = PACKAGE_FILES.get(dot + suffix)
    return f"{stem}/{name}" if name else ""


def _name(path: str) -> str:
    """Return the file name of a path."""
    return path.rpartition("/")[2]


def _by_telling_name(paths: Iterable[str]) -> dict[str, list[str]]:
    """Return file name -> paths, without names that files of every package have."""
    by_name = _invert((path, _name(path)) for path in paths)
    return {
        name: own for name, own in by_name.items() if name.partition(".")[0] not in COMMON_NAMES
    }


def _invert(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return value -> its keys, from pairs of a key and a value."""
    keys: defaultdict[str, list[str]] = defaultdict(list)
    for key, value in pairs:
        keys[value].append(key)
    return keys


def _pair_unique(
    old_paths: Mapping[str, list[str]], new_paths: Mapping[str, list[str]]
) -> dict[str, str]:
    """Return old path -> new path for each key that has one path on either side."""
    pairs = {}
    for key, paths in old_paths.items():
        others = new_paths.get(key, [])
        if len(paths) == 1 and len(others) == 1:
            pairs[paths[0]] = others[0]
    return pairs


def _folder_move(old: str, new: str) -> FolderMove:
    """Return the beginnings in which two paths differ.

    >>> _folder_move("x/util/a.py", "src/y/util/a.py"), _folder_move("x/a.py", "src/x/a.py")
    (('x/', 'src/y/'), ('', 'src/'))
    >>> _folder_move("x/a.py", "x/b.py")
    ('x/a.py', 'x/b.py')
    """
    old_names = old.split("/")
    new_names = new.split("/")
    while old_names and new_names and old_names[-1] == new_names[-1]:
        old_names.pop()
        new_names.pop()
    old_start = "/".join(old_names)
    new_start = "/".join(new_names)
    if _name(old) != _name(new):
        return old_start, new_start
    return (f"{old_start}/" if old_start else ""), (f"{new_start}/" if new_start else "")


def _moved_path(move: FolderMove, old: str) -> str:
    """Return where a folder's move takes a path; "" if the path is not below the folder."""
    old_start, new_start = move
    return new_start + old.removeprefix(old_start) if old.startswith(old_start) else ""


def _moves_most(move: FolderMove, deleted: Mapping[str, str], added: Mapping[str, str]) -> bool:
    """Return whether most deleted files below a folder have a counterpart where it moves to."""
    below = 0
    moved = 0
    for path in deleted:
        new = _moved_path(move, path)
        if new:
            below += 1
            moved += new in added
    return moved >= MIN_MOVED_SHARE * below
