"""The plain files of a repository that git reads: found, and refused by name where they would hang it or fill memory.

Git opens what stands where it looks: a named pipe makes it wait for ever, a device or a file of gigabytes fills the
memory. So every such file is looked at before git is started. What this does not see (objects that are pipes, say) is
left to the bounds of ``tosloc.data.git_process``.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from tosloc.data.web import address
from tosloc.errors import RepositoryError
from tosloc.files import kind_of_file, read_plain

MEGABYTE: Final = 2**20
SMALL: Final = MEGABYTE
"""Bytes of a file that names one thing, such as HEAD, a branch or .git: paths and ids, so at most thousands."""
CONFIG: Final = 16 * MEGABYTE
"""Bytes of a configuration: one of a hundred thousand branches has 10 MB."""
SHALLOW: Final = 64 * MEGABYTE
"""Bytes of the list at which a clone was cut off: 1.6 million commits."""
PACKED_REFS: Final = 512 * MEGABYTE
"""Bytes of the list of branches and tags: six million, several times what the largest servers hold."""
_ALTERNATES_DEPTH: Final = 5
"""Object stores that borrow from each other, one from the next: git follows no more."""

_HEAD = re.compile(rb"ref:\s*refs/|[0-9A-Fa-f]{40}")
_INCLUDED = re.compile(rb"(?im)^[ \t\r]*(?:\[.*\][ \t\r]*)?path[ \t\r]*=(.*)$")
_UNREAD: Final = frozenset({"annex", "hooks", "lfs", "modules"})
"""Folders of a git directory that git does not read for us; people link their hooks."""
_ESCAPED = re.compile(rb"\\([0-3][0-7]{2}|.)")
_QUOTED = re.compile(rb'"((?:[^"\\]|\\(?:[0-3][0-7]{2}|[abfnrtv"\\]))*+)"')
_LETTERS: Final = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}
_AGAIN: Final = "clone the repository again"


class GitDirectory(NamedTuple):
    """Where a repository keeps its files."""

    own: Path
    """HEAD is here."""
    common: Path
    """Objects, branches and the configuration are here: the same folder, but for a linked work tree."""


def find(path: Path) -> GitDirectory:
    """The git directory of a work tree, a bare repository or a git directory at ``path``.

    Raises RepositoryError when there is none, or one whose files are no plain files of moderate size.
    """
    if not path.exists():
        if (given := address(path)) is not None:
            raise RepositoryError(
                f"{given}: is an address, and nothing is fetched; run: git clone --bare {given}, and name its folder"
            )
        raise RepositoryError(f"{path}: no such folder; give the path of a git repository")
    if path.is_dir() and not os.access(path, os.R_OK | os.X_OK):
        raise RepositoryError(f"{path}: this folder may not be read; ask its owner, or copy it")
    for folder in _git_directories(path):
        common = _common(folder)
        if os.path.lexists(folder / "HEAD") and _is_folder(common / "objects") and _is_folder(common / "refs"):
            _check_head(folder / "HEAD")
            git_file_size(common / "config", CONFIG)
            return GitDirectory(folder, common)
    raise RepositoryError(f"{path}: not a git repository; give the folder that has .git in it, or a bare repository")


def around(folder: Path) -> Path:
    """The repository that a folder is in, as git finds it: what GIT_DIR names, else the nearest folder upwards.

    Raises RepositoryError when there is none up to the root, or up to a folder of GIT_CEILING_DIRECTORIES.
    """
    if named := os.environ.get("GIT_DIR"):
        return Path(named).expanduser()
    ceilings = {Path(name) for name in os.environ.get("GIT_CEILING_DIRECTORIES", "").split(os.pathsep) if name}
    for place in (folder, *folder.parents):
        if place in ceilings and place != folder:
            break
        if os.path.lexists(place / ".git") or _is_bare(place):
            return place
    raise RepositoryError(f"{folder}: not in a git repository; go to one, or name it with --repo")


def _is_bare(folder: Path) -> bool:
    return os.path.lexists(folder / "HEAD") and _is_folder(folder / "objects") and _is_folder(folder / "refs")


def containing(path: Path) -> Path:
    """The nearest folder upwards that is a git repository, ``path`` itself among them.

    Raises RepositoryError when there is none, and for a path that does not exist.
    """
    if path.is_dir():
        for place in (path, *path.parents):
            if os.path.lexists(place / ".git") or _is_bare(place):
                return place
    find(path)  # which says what is wrong
    return path


def _git_directories(path: Path) -> Iterator[Path]:
    """Where the git directory may be, likeliest first."""
    dot_git = path / ".git"
    if dot_git.is_dir():
        yield dot_git
    elif (content := read_git_file(dot_git, SMALL)) is not None:
        if content.startswith(b"gitdir: "):
            yield Path(os.path.normpath(path / os.fsdecode(content[8:].rstrip(b"\r\n"))))
        return
    yield path


def _common(folder: Path) -> Path:
    content = read_git_file(folder / "commondir", SMALL)
    return folder if content is None else folder / os.fsdecode(content).rstrip()


def _check_head(head: Path) -> None:
    if head.is_symlink() and os.readlink(head).startswith("refs/"):
        return
    if not _HEAD.match(read_git_file(head, SMALL) or b""):
        raise RepositoryError(f"{head} names no branch and no commit: it is damaged; {_AGAIN}")


def check_objects(objects: Path) -> int:
    """Bytes of all packs of an object store and of those that it borrows from; its other files are many and small.

    Raises RepositoryError for what is no plain file among the packs, their indexes and what says where to look.
    """
    size = 0
    seen: set[str] = set()
    waiting = [(objects, 0)]
    while waiting:
        folder, depth = waiting.pop()
        place = os.path.realpath(folder)
        if place in seen:
            continue
        seen.add(place)
        for name in ("info", "info/commit-graphs", "pack"):
            size += _walk(folder / name, None)[0]
        if depth <= _ALTERNATES_DEPTH:
            borrowed = (folder / name for name in _alternates(folder / "info/alternates"))
            waiting += [(other, depth + 1) for other in borrowed if _is_folder(other)]
    return size


def _alternates(file: Path) -> Iterator[str]:
    for line in (read_git_file(file, SMALL) or b"").split(b"\n"):
        if line.startswith(b'"'):
            quoted = _QUOTED.fullmatch(line)
            name = _ESCAPED.sub(lambda found: _unescaped(found[1]), quoted[1]) if quoted else b"/"  # as git takes it
        else:
            name = line
        if name and not line.startswith(b"#"):
            yield os.fsdecode(name)


def _unescaped(letters: bytes) -> bytes:
    return bytes([int(letters, 8)]) if len(letters) == 3 else _LETTERS.get(letters, letters)


def check_names(directory: GitDirectory) -> None:
    """Raise RepositoryError for what is no plain file of moderate size among configuration, branches and tags."""
    for config in _configs(directory):
        if config.parent in directory or not _is_folder(config):  # git passes over a folder that is included
            git_file_size(config, None)
    git_file_size(directory.common / "packed-refs", PACKED_REFS)
    waiting = list(dict.fromkeys(folder / "refs" for folder in directory))
    while waiting:
        waiting += _walk(waiting.pop(), SMALL)[1]


def _configs(directory: GitDirectory) -> Iterator[Path]:
    """The configurations and what they include, on whatever condition; each is read after it was yielded."""
    waiting = [directory.common / "config", directory.own / "config.worktree"]
    for file in waiting:
        yield file
        content = b"" if _is_folder(file) else read_git_file(file, CONFIG) or b""
        for found in _INCLUDED.finditer(content) if b"include" in content.lower() else ():
            name = os.path.expanduser(os.fsdecode(found[1].strip().strip(b'"')))
            place = Path("/") if set(name) & set('"\\#;') else file.parent / name  # only git knows what that means
            if place not in waiting:
                waiting.append(place)


def check_roots(repository: Path, roots: Sequence[Path]) -> None:
    """Raise RepositoryError unless all that git would read of a repository lies under a root, links followed.

    A project can hold a bare repository whose objects, branches or configuration lead to another one.
    """
    directory = find(repository)
    own, common = (folder.resolve() for folder in directory)
    allowed = [root.resolve() for root in roots]
    # a linked work tree: only the owner of the repository can have written what names it
    named = read_git_file(own / "gitdir", SMALL) if own.parent == common / "worktrees" else None
    if named is not None and (own / os.fsdecode(named.strip())).parent.resolve() == repository.resolve():
        allowed.append(common)

    def inside(place: Path) -> Path:
        with suppress(OSError, RuntimeError, ValueError):  # a loop of links; a NUL byte
            found = place.resolve()
            if any(found.is_relative_to(root) for root in allowed):
                return found
        listed = ", ".join(dict.fromkeys(map(str, roots)))
        raise RepositoryError(
            f"{repository}: git would read {place}, which lies outside {listed}; clone the repository whole"
            " (git clone --no-local), or have that folder among the roots, too"
        )

    waiting = [inside(folder) for folder in directory]
    seen: set[Path] = set()
    while waiting:
        folder = waiting.pop()
        if folder in seen:
            continue
        seen.add(folder)
        with suppress(OSError), os.scandir(folder) as entries:  # a file; what may not be read git cannot read either
            for entry in entries:
                if entry.name in _UNREAD and folder in (own, common):
                    continue
                if entry.is_symlink():
                    waiting.append(inside(Path(entry.path)))
                elif entry.is_dir():
                    waiting.append(Path(entry.path))
                if entry.name == "info":
                    borrowed = _alternates(inside(folder / "info/alternates"))
                    waiting += [inside(Path(os.path.normpath(folder / one))) for one in borrowed]  # git does so first
    for config in _configs(directory):
        inside(config)


def check_everything(directory: GitDirectory) -> None:
    """Raise RepositoryError for the first thing that is neither file nor folder in the git directory; it takes time."""
    waiting = list(dict.fromkeys(directory))
    while waiting:
        waiting += _walk(waiting.pop(), None)[1]


def shallow_commits(directory: GitDirectory, id_length: int) -> frozenset[str]:
    """Ids of the commits at which a shallow clone was cut off; empty in a whole clone. Raises RepositoryError."""
    file = directory.common / "shallow"
    lines = (read_git_file(file, SHALLOW) or b"").removesuffix(b"\n").split(b"\n")
    if lines == [b""]:
        return frozenset()
    is_id = re.compile(rb"[0-9a-f]{%d}" % id_length).fullmatch
    for number, line in enumerate(lines, start=1):
        if not is_id(line):
            raise RepositoryError(f"{file}: line {number} is no commit id: it is damaged; {_AGAIN}")
    return frozenset(b"\n".join(lines).decode("ascii").split("\n"))


# ---- one file


def read_git_file(path: Path, limit: int) -> bytes | None:
    """Content of a plain file of at most ``limit`` bytes, None where there is none. Raises RepositoryError."""
    if git_file_size(path, limit) is None:
        return None
    try:
        return read_plain(path, limit)
    except OSError as error:  # also what has come to stand there since
        raise _unreadable(path, error) from error


def git_file_size(path: Path, limit: int | None) -> int | None:
    """Bytes of a plain file, None where there is none; it is not opened.

    Raises RepositoryError when it is no plain file, or one of more than ``limit`` bytes.
    """
    try:
        status = os.stat(path)
    except (FileNotFoundError, NotADirectoryError, ValueError):  # the last: a path with a NUL byte in it
        return None
    except OSError as error:
        raise _unreadable(path, error) from error
    return _check(path, status, limit)


def _walk(folder: Path, limit: int | None) -> tuple[int, list[Path]]:
    """Bytes of the folder's files, each of which has to be plain, and the folders in it that are no links."""
    size, folders = 0, []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(Path(entry.path))
                elif not entry.is_dir():
                    size += git_file_size(Path(entry.path), limit) or 0
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:
        raise _unreadable(folder, error) from error
    return size, folders


def _check(path: Path, status: os.stat_result, limit: int | None) -> int:
    if not stat.S_ISREG(status.st_mode):
        raise RepositoryError(f"{path} is {kind_of_file(status.st_mode)} where git keeps a plain file; {_AGAIN}")
    if limit is not None and status.st_size > limit:
        size = f"{status.st_size / MEGABYTE:,.0f} MB, more than the {limit // MEGABYTE} MB that such a file can need"
        raise RepositoryError(f"{path} has {size}; {_AGAIN}")
    return status.st_size


def _unreadable(path: Path, error: OSError) -> RepositoryError:
    return RepositoryError(f"{path} cannot be read ({error.strerror}); ask its owner, or {_AGAIN}")


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False
