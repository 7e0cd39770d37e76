"""Find the folders of a repository, check that reading it is safe, and build its web addresses."""

from __future__ import annotations

import os
import re
import shlex
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote

from tosloc.core.errors import RepositoryError
from tosloc.core.io import read_regular_file

_MAX_BYTES: Final = 16 * 2**20
"""Largest number of bytes of a file in a git directory, other than objects, that is read.

A configuration of a hundred thousand branches has 10 MB.
"""
_UNREAD_FOLDERS: Final = frozenset({"annex", "hooks", "lfs", "modules"})
"""Folders of a git directory that our git commands do not read; people often link their hooks."""
_READ_IN_WORK_TREE: Final = frozenset({".gitattributes", ".gitignore"})
"""Files of a work tree that git reads to list uncommitted files."""
_MAX_INCLUDE_DEPTH: Final = 10
"""Depth of nested inclusion at which git gives up."""
_INCLUDED_PATH: Final = re.compile(rb"(?im)^[ \t]*path[ \t]*=[ \t]*\"?([^\"\r\n]+)")

_URL: Final = re.compile(
    r"(?:\A|/)(?:(?P<scheme>https?|ssh|git|file|ftps?):/+(?P<rest>.*)"
    r"|(?P<ssh>[\w.\-]+@[\w.\-]+:.*))",
    re.DOTALL,
)
"""Address of a repository in a path in which pathlib has replaced "//" by "/".

The address may follow a folder.
"""
_HEAD: Final = re.compile(rb"ref:\s*refs/|[0-9a-fA-F]{40}")
_REMOTE: Final = re.compile(
    r"(?:https?://(?:[^/@\s]*@)?|ssh://(?:[^/@\s]*@)?|git://|(?:[\w.\-]+@))"
    r"(?P<host>[A-Za-z0-9.\-]+)(?::\d+(?=/))?[/:](?P<path>[\w.\-~]+(?:/[\w.\-~]+)+)"
)
_PAGE_FOLDERS: Final = {
    "github": ("commit", "blob"),
    "gitlab": ("-/commit", "-/blob"),
    "codeberg": ("commit", "src/commit"),
    "bitbucket": ("commits", "src"),
}
"""Part of a host's name -> folders of its pages about commits and about files."""


def find_git_directories(path: Path) -> tuple[Path, Path]:
    """Return the git directory of the repository at ``path`` and its common directory.

    ``path`` is a work tree, a bare repository or a git directory. HEAD is in the git directory;
    objects, branches and the configuration are in the common directory. The two differ only for
    linked work trees. Raises RepositoryError.
    """
    _check_folder(path)
    pointer = path / ".git"  # a file in a submodule or a linked work tree, else a folder
    content = read_git_file(pointer) if pointer.is_file() else b""
    candidates = [pointer, path]
    if content.startswith(b"gitdir: "):
        candidates = [path / os.fsdecode(content[8:]).rstrip("\r\n")]
    for directory in candidates:
        common = directory / os.fsdecode(read_git_file(directory / "commondir")).rstrip()
        has_folders = all(os.path.isdir(common / name) for name in ("objects", "refs"))
        if has_folders and _HEAD.match(read_git_file(directory / "HEAD")):
            return directory, common
    raise RepositoryError(
        f"{path}: not a git repository; name the folder that contains .git, or a bare repository"
    )


def _check_folder(path: Path) -> None:
    """Raise RepositoryError unless a path that a user named is a folder."""
    match = _URL.search(str(path))
    if match is not None and not os.path.lexists(path):
        slashes = ":///" if match["scheme"] == "file" else "://"
        address = match["ssh"] or f"{match['scheme']}{slashes}{match['rest']}"
        command = f"git clone {shlex.quote(address)}"
        raise RepositoryError(
            f"{address} is an address; clone it first ({command}) and name the folder"
        )
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise RepositoryError(
            f"{path}: no such folder; give the path of a git repository"
        ) from None
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links; a NUL byte
        reason = getattr(error, "strerror", None) or str(error)
        raise RepositoryError(
            f"{path}: cannot be opened ({reason}); give the path of a git repository"
        ) from None
    if not stat.S_ISDIR(mode):
        raise RepositoryError(f"{path} is a file; name the folder of the git repository")


def looks_like_repository(folder: Path) -> bool:
    """Return whether a folder contains the files and folders that a git repository has.

    Only their names are checked; ``find_git_directories`` checks whether the repository is valid.
    """
    if os.path.lexists(folder / ".git"):
        return True
    return all((folder / name).exists() for name in ("HEAD", "objects", "refs"))


def enclosing_repository(path: str | os.PathLike[str]) -> Path:
    """Return the repository that contains a folder: the nearest one upwards.

    For a ``.git`` directory, return its work tree, so that uncommitted changes count. Raises
    RepositoryError for a path that is no folder, or is in no repository.
    """
    given_path = Path(path).expanduser()
    _check_folder(given_path)
    start = given_path.absolute()
    for folder in (start, *start.parents):
        if not looks_like_repository(folder):
            continue
        if folder.name == ".git" and _has_git_directory(folder.parent, folder):
            return folder.parent
        return folder
    raise RepositoryError(
        f"{given_path}: not in a git repository; give a folder of one, or a bare repository"
    )


def current_repository() -> Path:
    """Return the repository to use if the user names none.

    If $GIT_DIR is set, as in a hook that git runs, return the work tree of $GIT_DIR, or $GIT_DIR
    itself if there is no work tree. Otherwise return the repository that contains the current
    folder. Raises RepositoryError.
    """
    current_folder = Path.cwd()
    git_dir = os.environ.get("GIT_DIR")
    if git_dir:
        return _work_tree_of_git_dir(Path(git_dir).expanduser().absolute(), current_folder)
    with suppress(RepositoryError):
        return enclosing_repository(current_folder)
    raise RepositoryError(
        f"{current_folder}: not in a git repository", hint="change to one, or name it with {repo}"
    )


def _work_tree_of_git_dir(git_dir: Path, current_folder: Path) -> Path:
    """Return the work tree of $GIT_DIR, or $GIT_DIR itself if none is found."""
    find_git_directories(git_dir)
    candidates = [current_folder, *current_folder.parents, git_dir.parent]
    work_tree = os.environ.get("GIT_WORK_TREE")
    if work_tree:
        candidates.insert(0, Path(work_tree))
    for folder in candidates:
        if _has_git_directory(folder, git_dir):
            return folder
    return git_dir


def _has_git_directory(work_tree: Path, directory: Path) -> bool:
    """Return whether ``directory`` is the git directory of a work tree."""
    if not os.path.lexists(work_tree / ".git"):
        return False
    with suppress(OSError, RepositoryError):
        return find_git_directories(work_tree)[0].samefile(directory)
    return False


def read_git_file(file: Path) -> bytes:
    """Return the content of a file of a git directory; empty if it does not exist.

    Raises RepositoryError if it is no regular file or cannot be read.
    """
    try:
        return read_regular_file(file, _MAX_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return b""
    except OSError as error:
        raise RepositoryError(
            f"{file} cannot be read ({error.strerror}); clone the repository again"
        ) from error


def check_inside_roots(repository: Path, roots: Sequence[Path]) -> None:
    """Raise RepositoryError unless all files that git would read of a repository are under a root.

    A root is one of the folders ``roots``. Links are followed. Without this check, a project could
    contain a bare repository whose objects, branches or configuration lead to another repository.
    """
    directories = find_git_directories(repository)
    directory, common = (folder.resolve() for folder in directories)
    allowed = [root.resolve() for root in roots]
    if _is_linked_work_tree(repository, directory, common):
        allowed.append(common)
    for path, resolved in _find_read_by_git(directory, common, directories, _UNREAD_FOLDERS):
        if not any(resolved.is_relative_to(root) for root in allowed):
            names = ", ".join(dict.fromkeys(map(str, roots)))
            raise RepositoryError(
                f"{repository}: git would read {path}, which is outside of {names}; clone the"
                " repository completely (git clone --no-local), or add that folder to the roots"
            )
    for config in (common / "config", directory / "config.worktree"):
        if b"[include" in read_git_file(config).lower():
            raise RepositoryError(
                f"git would read the files that {config} includes, which may be elsewhere; remove"
                " the include"
            )


def _is_linked_work_tree(repository: Path, directory: Path, common: Path) -> bool:
    """Return whether ``repository`` is a linked work tree of the repository that owns ``common``.

    ``common`` contains a file that names the work tree. Only its owner can have written this file.
    """
    if directory.parent != common / "worktrees":
        return False
    pointer = read_git_file(directory / "gitdir")
    if not pointer:
        return False
    work_tree = (directory / os.fsdecode(pointer.strip())).parent
    return work_tree.resolve() == repository.resolve()


def _find_read_by_git(
    directory: Path, common: Path, paths: Iterable[Path], unread_folders: frozenset[str]
) -> Iterator[tuple[Path, Path]]:
    """Yield the files, folders and links that git would read below some paths, with alternates.

    Yield each with its resolved path, before a folder is searched. If a path cannot be resolved,
    the root of the file system takes its place.
    """
    waiting = [*paths]
    seen: set[Path] = set()
    for path in waiting:  # the list grows meanwhile
        try:
            resolved = path.resolve()
        except (OSError, RuntimeError, ValueError):  # a loop of links; a NUL byte
            resolved = Path("/")
        # From Python 3.13 on a loop of links is no error, but resolves to one of its links.
        if resolved.is_symlink():
            resolved = Path("/")
        yield path, resolved
        if resolved in seen or resolved == Path("/"):
            continue
        seen.add(resolved)
        # A file has no entries. What we may not read, git cannot read either.
        with suppress(OSError), os.scandir(resolved) as entries:
            for entry in entries:
                is_unread = entry.name in unread_folders and resolved in (directory, common)
                if not is_unread and (entry.is_symlink() or entry.is_dir()):
                    waiting.append(Path(entry.path))
        waiting += _alternates(resolved)


def _alternates(objects: Path) -> Iterator[Path]:
    """Yield the alternates of a folder of objects: the folders that it borrows objects from."""
    for line in read_git_file(objects / "info/alternates").split(b"\n"):
        if line.startswith(b'"'):  # only git can read a quoted path
            yield Path("/")
        elif line:
            # Git removes .. before it follows links.
            yield Path(os.path.normpath(objects / os.fsdecode(line)))


def check_no_endless_file(repository: Path, work_tree: Path | None = None) -> None:
    """Raise RepositoryError if git would wait for a named pipe or a device in a repository.

    With a ``work_tree``, also check the files there that git reads to list uncommitted files.
    """
    directory, common = (folder.resolve() for folder in find_git_directories(repository))
    unread_folders = _UNREAD_FOLDERS - {"modules"}
    paths = (directory, common)
    for _, resolved in _find_read_by_git(directory, common, paths, unread_folders):
        _check_ends(resolved)
        with suppress(OSError), os.scandir(resolved) as entries:
            for entry in entries:
                if not entry.is_dir():
                    _check_ends(Path(entry.path))
    for config in (common / "config", directory / "config.worktree"):
        for included in _find_included(config):
            _check_ends(included)
    if work_tree is not None:
        _check_work_tree(work_tree)


def _check_work_tree(work_tree: Path) -> None:
    """Raise RepositoryError if git would wait for a file of a work tree."""
    for folder, folders, names in os.walk(work_tree):
        inside_git = Path(folder).name == ".git"
        for name in names if inside_git else _READ_IN_WORK_TREE.intersection(names):
            _check_ends(Path(folder, name))
        if inside_git:
            folders.clear()


def _check_ends(file: Path) -> None:
    """Raise RepositoryError if opening or reading a file may never end."""
    with suppress(OSError, ValueError):
        mode = file.stat().st_mode
        if stat.S_ISFIFO(mode) or stat.S_ISCHR(mode):
            raise RepositoryError(
                f"{file} is a named pipe or a device, not a file, and git would wait for it;"
                " remove it"
            )


def _find_included(config: Path, depth: int = 0) -> Iterator[Path]:
    """Yield the files that a configuration includes, directly and through other included files."""
    if depth > _MAX_INCLUDE_DEPTH or not config.is_file():
        return
    content = read_git_file(config)
    if b"[include" not in content.lower():
        return
    for match in _INCLUDED_PATH.finditer(content):
        included = config.parent / Path(os.fsdecode(match[1].strip())).expanduser()
        yield included
        yield from _find_included(included, depth + 1)


# ---- the web


class WebPages(NamedTuple):
    """Addresses of a project's pages on the web, made without any request."""

    project: str  # address of the project's page, without an account's name or password
    host: str  # key of _PAGE_FOLDERS

    @classmethod
    def of(cls, remote: str | None) -> WebPages | None:
        """Return the pages of the project at a remote's address; None if its host is not known.

        >>> WebPages.of("git@github.com:pallets/flask.git").commit("12ab")
        'https://github.com/pallets/flask/commit/12ab'
        >>> pages = WebPages.of("https://me:secret@gitlab.example.org/a/b/c.git")
        >>> pages.file("12ab", "x y.c", (3, 5))
        'https://gitlab.example.org/a/b/c/-/blob/12ab/x%20y.c#L3-5'
        >>> WebPages.of("/srv/git/flask"), WebPages.of("https://example.org/flask/x.git")
        (None, None)
        """
        if remote is None:
            return None
        match = _REMOTE.fullmatch(remote.strip().rstrip("/").removesuffix(".git"))
        if match is None:
            return None
        name = match["host"].lower()
        for host in _PAGE_FOLDERS:
            if host in name.split("."):
                return cls(f"https://{name}/{match['path']}", host)
        return None

    def commit(self, commit: str) -> str:
        """Return the address of the page about a commit."""
        folder, _ = _PAGE_FOLDERS[self.host]
        return f"{self.project}/{folder}/{quote(commit)}"

    def file(self, commit: str, path: str, lines: tuple[int, int] | None = None) -> str:
        """Return the address of a file's page in a version, at a first and last line."""
        _, folder = _PAGE_FOLDERS[self.host]
        name = quote(path.encode("utf-8", "surrogateescape"))
        page = f"{self.project}/{folder}/{quote(commit)}/{name}"
        if lines is None or self.host == "bitbucket":
            return page
        first, last = lines
        return f"{page}#L{first}-{last}" if self.host == "gitlab" else f"{page}#L{first}-L{last}"
