"""Find the files that one commit moves, from the paths and blob ids of its changes alone.

No blob is read. A file whose content does not change keeps its blob id, so that an exact rename is
a path that is deleted and a path that is added with the same blob. A file that is moved and edited
keeps its name: it counts as moved if the commit moves most of the deleted files of its folder to
the same place, or if no other file of that name is deleted or added below the same top folder. A
module that becomes a package of its name also counts as moved. A file that stays in its folder and
gets a similar name counts as renamed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from tosloc.core.versions import StringTable

MIN_MOVED_SHARE: Final = 0.5
"""Smallest share of a folder's deleted files that must move to the same place.

Only then an edited file of the folder counts as moved there.
"""
MAX_FOLDER_MOVES: Final = 20
"""Largest number of folder moves that are tried in one commit, those with most files first."""
MIN_NAME_SIMILARITY: Final = 0.5
"""Smallest similarity of the old and the new name of a file that is renamed within its folder."""
SIMILARITY_OF_OTHER_SUFFIX: Final = 0.9
"""Similarity of two names that differ only in their suffix, such as Route.java and Route.kt."""
MAX_NAME_PAIRS: Final = 20_000
"""Largest number of pairs of names that are compared in one commit."""

COMMON_NAMES: Final = frozenset(
    "__init__ conftest index init lib main mod module-info package-info setup".split()
)
"""File names without suffix that many packages contain, so that they are no evidence of a move."""

PACKAGE_FILES: Final = {
    ".py": "__init__.py",
    ".rs": "mod.rs",
    ".js": "index.js",
    ".ts": "index.ts",
    ".tsx": "index.tsx",
}
"""Suffix of a module -> file that it becomes when it is made a package of its name."""

FolderMove: TypeAlias = tuple[str, str]
"""The different beginnings of an old and a new path; each is empty or ends with "/"."""


class RenameCollector:
    """Collects the renames of commits whose changes are read one after the other."""

    def __init__(self, commits: int) -> None:
        self._renames: list[dict[str, str]] = [{} for _ in range(commits)]
        self._commit = -1
        self._deleted: dict[str, str] = {}
        self._added: dict[str, str] = {}

    def add(self, commit: int, path: str, change: bytes) -> None:
        """Add one change of a commit: the commit's number, a path and git's line about it.

        ``list_changes`` yields such lines. All changes of a commit must be added one after the
        other.
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
        """Find the renames of the commit whose changes were added last."""
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
    >>> find_renames({"Route.java": "1", "conf.py": "2"}, {"Route.kt": "3", "config.py": "4"})
    {'Route.java': 'Route.kt', 'conf.py': 'config.py'}
    """
    search = _RenameSearch(deleted, added)
    steps = (
        search.pair_equal_blobs,
        search.pair_packages,
        search.pair_moved_folders,
        search.pair_moved_names,
        search.pair_similar_names,
    )
    for step in steps:
        if not search.old or not search.new:
            break
        step()
    return search.renames


class _RenameSearch:
    """Finds the renames of one commit, the surest first."""

    def __init__(self, deleted: Mapping[str, str], added: Mapping[str, str]) -> None:
        self._deleted = deleted
        self._added = added
        self.old = dict(deleted)
        """Deleted path -> blob id of the files that are not renamed so far."""
        self.new = dict(added)
        """Added path -> blob id of the files to which no file is renamed so far."""
        self.renames: dict[str, str] = {}

    def _accept(self, pairs: Mapping[str, str]) -> None:
        """Record pairs of an old and a new path, and remove these from the unpaired paths."""
        self.renames |= pairs
        for old, new in pairs.items():
            del self.old[old]
            del self.new[new]

    def pair_equal_blobs(self) -> None:
        """Record the pairs of files with the same blob, if no other file has it."""
        self._accept(_pair_unique(_invert(self.old.items()), _invert(self.new.items())))

    def pair_packages(self) -> None:
        """Record the modules that become packages of their names."""
        pairs = {}
        for old in self.old:
            new = _package_path(old)
            if new in self.new:
                pairs[old] = new
        self._accept(pairs)

    def _pair_telling_names(self) -> dict[str, str]:
        """Return old path -> new path for files that alone have the same, rare name."""
        return _pair_unique(_by_telling_name(self.old), _by_telling_name(self.new))

    def pair_moved_folders(self) -> None:
        """Record the files that move together with most of their folder."""
        votes: Counter[FolderMove] = Counter()
        for old, new in (*self.renames.items(), *self._pair_telling_names().items()):
            votes[_folder_move(old, new)] += 1
        for move, _ in votes.most_common(MAX_FOLDER_MOVES):
            if not _moves_most(move, self._deleted, self._added):
                continue
            pairs = {}
            for old in self.old:
                new = _moved_path(move, old)
                if new in self.new:
                    pairs[old] = new
            self._accept(pairs)

    def pair_moved_names(self) -> None:
        """Record the files that move alone, and stay below the same top folder."""
        pairs = {}
        for old, new in self._pair_telling_names().items():
            if "/" in old and old.partition("/")[0] == new.partition("/")[0]:
                pairs[old] = new
        self._accept(pairs)

    def pair_similar_names(self) -> None:
        """Record the files that stay in their folder and are each other's most similar name."""
        old_by_folder = _by_folder(self.old)
        new_by_folder = _by_folder(self.new)
        pairs_left = MAX_NAME_PAIRS
        for folder, old_paths in old_by_folder.items():
            new_paths = new_by_folder.get(folder, [])
            pairs_left -= len(old_paths) * len(new_paths)
            if pairs_left < 0:
                break
            if new_paths:
                self._accept(_pair_most_similar(old_paths, new_paths))


def _by_folder(paths: Iterable[str]) -> dict[str, list[str]]:
    """Return folder -> paths of the files in it."""
    return _invert((path, path.rpartition("/")[0]) for path in paths)


def _pair_most_similar(old_paths: Iterable[str], new_paths: Iterable[str]) -> dict[str, str]:
    """Return old path -> new path for names that are each other's most similar, without ties."""
    best_new: dict[str, tuple[float, str | None]] = {}
    best_old: dict[str, tuple[float, str | None]] = {}
    new_names = [(path, _name(path)) for path in new_paths]
    for old in old_paths:
        old_name = _name(old)
        for new, new_name in new_names:
            similarity = _name_similarity(old_name, new_name)
            if similarity < MIN_NAME_SIMILARITY:
                continue
            for best, path, other in ((best_new, old, new), (best_old, new, old)):
                highest = best.get(path, (0.0, None))[0]
                if similarity > highest:
                    best[path] = (similarity, other)
                elif similarity == highest:
                    best[path] = (similarity, None)
    pairs = {}
    for old, (_, match) in best_new.items():
        if match is not None and best_old[match][1] == old:
            pairs[old] = match
    return pairs


def _name_similarity(first: str, second: str) -> float:
    """Return the similarity of two file names, 0 to 1: the share in their common beginning and end.

    Separators and case do not count. Names with different suffixes are similar only if they are
    otherwise equal.

    >>> _name_similarity("format_test.cc", "formatTest.cc"), _name_similarity("A.java", "A.kt")
    (1.0, 0.9)
    >>> _name_similarity("session.py", "sessions.py"), _name_similarity("session.py", "bases.js")
    (0.875, 0.0)
    """
    first_stem, _, first_suffix = first.lower().replace("_", "").replace("-", "").partition(".")
    second_stem, _, second_suffix = second.lower().replace("_", "").replace("-", "").partition(".")
    if first_suffix != second_suffix:
        return SIMILARITY_OF_OTHER_SUFFIX if first_stem and first_stem == second_stem else 0.0
    beginning = _common_length(first_stem, second_stem)
    end = _common_length(first_stem[beginning:][::-1], second_stem[beginning:][::-1])
    return (beginning + end) / max(len(first_stem), len(second_stem), 1)


def _common_length(first: str, second: str) -> int:
    """Return the length of the longest common beginning of two texts."""
    length = 0
    for first_letter, second_letter in zip(first, second, strict=False):
        if first_letter != second_letter:
            break
        length += 1
    return length


def _package_path(path: str) -> str:
    """Return the path that a module gets as a package; "" if its language has no package files.

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
    """Return file name -> paths, without COMMON_NAMES, which files of every package have."""
    by_name = _invert((path, _name(path)) for path in paths)
    return {
        name: own for name, own in by_name.items() if name.partition(".")[0] not in COMMON_NAMES
    }


def _invert(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return value -> list of its keys, from pairs of a key and a value."""
    keys: defaultdict[str, list[str]] = defaultdict(list)
    for key, value in pairs:
        keys[value].append(key)
    return keys


def _pair_unique(
    old_paths: Mapping[str, list[str]], new_paths: Mapping[str, list[str]]
) -> dict[str, str]:
    """Return old path -> new path for each key that has exactly one path in both mappings."""
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
    """Return the path to which a folder's move takes ``old``; "" if it is not below the folder."""
    old_start, new_start = move
    return new_start + old.removeprefix(old_start) if old.startswith(old_start) else ""


def _moves_most(move: FolderMove, deleted: Mapping[str, str], added: Mapping[str, str]) -> bool:
    """Return whether most deleted files below a folder are added where the folder moves to."""
    below = 0
    moved = 0
    for path in deleted:
        new = _moved_path(move, path)
        if new:
            below += 1
            moved += new in added
    return moved >= MIN_MOVED_SHARE * below
