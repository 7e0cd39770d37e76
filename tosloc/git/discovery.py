"""Where a repository keeps its files, whether all of them lie where somebody may look, and where it is on the web."""

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

_MOST: Final = 16 * 2**20
"""Bytes of a file beside the objects: a configuration of a hundred thousand branches has 10 MB."""
_UNREAD: Final = frozenset({"annex", "hooks", "lfs", "modules"})
"""Folders of a git directory that git does not read for us; people link their hooks."""

_READ_IN_WORK_TREE: Final = frozenset({".gitattributes", ".gitignore"})
_DEEPEST_INCLUDE: Final = 10
"""Level of nested inclusion at which git gives up."""
_INCLUDED: Final = re.compile(rb"(?im)^[ \t]*path[ \t]*=[ \t]*\"?([^\"\r\n]+)")

_URL: Final = re.compile(
    r"(?:\A|/)(?:(?P<scheme>https?|ssh|git|file|ftps?):/+(?P<rest>.*)|(?P<ssh>[\w.\-]+@[\w.\-]+:.*))",
    re.DOTALL,
)
"""The address of a repository, of which a Path has kept one slash, maybe below a folder."""

_HEAD: Final = re.compile(rb"ref:\s*refs/|[0-9a-fA-F]{40}")
_REMOTE: Final = re.compile(
    r"(?:https?://(?:[^/@\s]*@)?|ssh://(?:[^/@\s]*@)?|git://|(?:[\w.\-]+@))"
    r"(?P<host>[A-Za-z0-9.\-]+)(?::\d+(?=/))?[/:](?P<path>[\w.\-~]+(?:/[\w.\-~]+)+)"
)
_FOLDERS: Final = {
    "github": ("commit", "blob"),
    "gitlab": ("-/commit", "-/blob"),
    "codeberg": ("commit", "src/commit"),
    "bitbucket": ("commits", "src"),
}
"""Part of a host's name -> folders of its pages of commits and of files."""


def find_git_directories(path: Path) -> tuple[Path, Path]:
    """Return the git directory of a work tree, a bare repository or a git directory at ``path``,
    and the directory of its objects.

    HEAD is in the first; objects, branches and the configuration are in the second. They differ in
    linked work trees only. Raises RepositoryError.
    """
    _check_folder(path)
    pointer = path / ".git"  # of a submodule or a linked work tree it is a file
    content = read_git_file(pointer) if pointer.is_file() else b""
    places = [pointer, path]
    if content.startswith(b"gitdir: "):
        places = [path / os.fsdecode(content[8:]).rstrip("\r\n")]
    for own in places:
        common = own / os.fsdecode(read_git_file(own / "commondir")).rstrip()
        folders = all(os.path.isdir(common / name) for name in ("objects", "refs"))
        if folders and _HEAD.match(read_git_file(own / "HEAD")):
            return own, common
    raise RepositoryError(
        f"{path}: not a git repository; give the folder that has .git in it, or a bare repository"
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
    """Return whether a folder looks like a git repository, by the names in it.

    ``find_git_directories`` says what is wrong with it.
    """
    return os.path.lexists(folder / ".git") or all(
        (folder / name).exists() for name in ("HEAD", "objects", "refs")
    )


def enclosing_repository(path: str | os.PathLike[str]) -> Path:
    """Return the repository that a user names by one of its folders.

    It is the nearest one upwards. A ``.git`` directory stands for its work tree, so that
    uncommitted changes count. Raises RepositoryError for a path that is no folder, or is in no
    repository.
    """
    named = Path(path).expanduser()
    _check_folder(named)
    folder = named.absolute()
    for place in (folder, *folder.parents):
        if looks_like_repository(place):
            return (
                place.parent
                if place.name == ".git" and _has_git_directory(place.parent, place)
                else place
            )
    raise RepositoryError(
        f"{named}: not in a git repository; give a folder of one, or a bare repository"
    )


def current_repository() -> Path:
    """Return the repository of a user who names none.

    It is the work tree of $GIT_DIR, which is set while git runs a hook, or $GIT_DIR itself if it
    has none; without $GIT_DIR the repository that contains the current folder. Raises
    RepositoryError.
    """
    here = Path.cwd()
    if directory := os.environ.get("GIT_DIR"):
        named = Path(directory).expanduser().absolute()
        find_git_directories(named)
        candidates = [Path(tree) for tree in [os.environ.get("GIT_WORK_TREE")] if tree]
        candidates += [here, *here.parents, named.parent]
        return next((place for place in candidates if _has_git_directory(place, named)), named)
    with suppress(RepositoryError):
        return enclosing_repository(here)
    raise RepositoryError(
        f"{here}: not in a git repository", hint="change to one, or name it with {repo}"
    )


def _has_git_directory(work_tree: Path, directory: Path) -> bool:
    """Return whether a git directory is that of a work tree."""
    if not os.path.lexists(work_tree / ".git"):
        return False
    with suppress(OSError, RepositoryError):
        return find_git_directories(work_tree)[0].samefile(directory)
    return False


def read_git_file(file: Path) -> bytes:
    """Content of a plain file beside the objects, empty where there is none. Raises RepositoryError."""
    try:
        return read_regular_file(file, _MOST)
    except (FileNotFoundError, NotADirectoryError):
        return b""
    except OSError as error:
        raise RepositoryError(
            f"{file} cannot be read ({error.strerror}); clone the repository again"
        ) from error


def check_inside_roots(repository: Path, roots: Sequence[Path]) -> None:
    """Raise RepositoryError unless all that git would read of a repository lies under a root, links followed.

    A project can hold a bare repository whose objects, branches or configuration lead to another one.
    """
    directories = find_git_directories(repository)
    own, common = (folder.resolve() for folder in directories)
    allowed = [root.resolve() for root in roots]
    # a linked work tree: only the owner of the repository can have written what names it
    named = read_git_file(own / "gitdir") if own.parent == common / "worktrees" else b""
    if named and (own / os.fsdecode(named.strip())).parent.resolve() == repository.resolve():
        allowed.append(common)
    for place, resolved in _read_by_git(own, common, directories):
        if not any(resolved.is_relative_to(root) for root in allowed):
            raise RepositoryError(
                f"{repository}: git would read {place}, which lies outside {', '.join(dict.fromkeys(map(str, roots)))};"
                " clone the repository whole (git clone --no-local), or have that folder among the roots, too"
            )
    for config in (common / "config", own / "config.worktree"):
        if b"[include" in read_git_file(config).lower():
            raise RepositoryError(
                f"git would read what {config} includes, which may lie outside; take that out"
            )


def _read_by_git(
    own: Path, common: Path, places: Iterable[Path], unread: frozenset[str] = _UNREAD
) -> Iterator[tuple[Path, Path]]:
    """Yield the folders and links in git directories that git would read, alternates included.

    Each comes with what it leads to, before that is looked into.
    """
    waiting = [*places]
    seen: set[Path] = set()
    for place in waiting:  # The list grows meanwhile.
        try:
            resolved = place.resolve()
        except (OSError, RuntimeError, ValueError):  # a loop of links; a NUL byte
            resolved = Path("/")
        yield place, resolved
        if resolved in seen or resolved == Path("/"):
            continue
        seen.add(resolved)
        # A file has no entries; what we may not read, git cannot read either.
        with suppress(OSError), os.scandir(resolved) as entries:
            for entry in entries:
                skipped = entry.name in unread and resolved in (own, common)
                if not skipped and (entry.is_symlink() or entry.is_dir()):
                    waiting.append(Path(entry.path))
        for line in filter(None, read_git_file(resolved / "info/alternates").split(b"\n")):
            # Git takes .. away first; only git can read a quoted path.
            borrowed = os.path.normpath(resolved / os.fsdecode(line))
            waiting.append(Path("/" if line.startswith(b'"') else borrowed))


def check_no_endless_file(repository: Path, work_tree: Path | None = None) -> None:
    """Raise RepositoryError if git would wait for a named pipe or a device in a repository.

    With a ``work_tree``, what git reads of it to list uncommitted files is looked at, too.
    """
    own, common = (folder.resolve() for folder in find_git_directories(repository))
    for _, resolved in _read_by_git(own, common, (own, common), _UNREAD - {"modules"}):
        _check_ends(resolved)
        with suppress(OSError), os.scandir(resolved) as entries:
            for entry in entries:
                if not entry.is_dir():
                    _check_ends(Path(entry.path))
    for config in (common / "config", own / "config.worktree"):
        for included in _included(config):
            _check_ends(included)
    for folder, folders, names in os.walk(work_tree) if work_tree is not None else ():
        inside_git = Path(folder).name == ".git"
        for name in names if inside_git else _READ_IN_WORK_TREE.intersection(names):
            _check_ends(Path(folder, name))
        if inside_git:
            folders.clear()


def _check_ends(file: Path) -> None:
    """Raise RepositoryError if opening or reading a file may last for ever."""
    with suppress(OSError, ValueError):
        mode = file.stat().st_mode
        if stat.S_ISFIFO(mode) or stat.S_ISCHR(mode):
            said = "is a named pipe or a device, not a file, and git would wait for it; remove it"
            raise RepositoryError(f"{file} {said}")


def _included(config: Path, depth: int = 0) -> Iterator[Path]:
    """Yield the files that a configuration includes, and those that they include in turn."""
    if depth > _DEEPEST_INCLUDE or not config.is_file():
        return
    content = read_git_file(config)
    if b"[include" not in content.lower():
        return
    for match in _INCLUDED.finditer(content):
        included = config.parent / Path(os.fsdecode(match[1].strip())).expanduser()
        yield included
        yield from _included(included, depth + 1)


# ---- the web


class WebPages(NamedTuple):
    """Where a project is seen on the web; nothing is asked of it."""

    project: str  # address of its page, without an account's name or password
    host: str  # a key of the hosts that are known

    @classmethod
    def of(cls, remote: str | None) -> WebPages | None:
        """Pages of a remote's address; None where the host is none of the known ones.

        >>> WebPages.of("git@github.com:pallets/flask.git").commit("12ab")
        'https://github.com/pallets/flask/commit/12ab'
        >>> WebPages.of("https://me:secret@gitlab.example.org/a/b/c.git").file("12ab", "x y.c", (3, 5))
        'https://gitlab.example.org/a/b/c/-/blob/12ab/x%20y.c#L3-5'
        >>> WebPages.of("/srv/git/flask"), WebPages.of("https://example.org/flask/x.git")
        (None, None)
        """
        found = (
            None
            if remote is None
            else _REMOTE.fullmatch(remote.strip().rstrip("/").removesuffix(".git"))
        )
        if found is None:
            return None
        name = found["host"].lower()
        host = next((known for known in _FOLDERS if known in name.split(".")), None)
        return None if host is None else cls(f"https://{name}/{found['path']}", host)

    def commit(self, commit: str) -> str:
        """Page of a commit."""
        return f"{self.project}/{_FOLDERS[self.host][0]}/{quote(commit)}"

    def file(self, commit: str, path: str, lines: tuple[int, int] | None = None) -> str:
        """Page of a file in a version, at some of its lines."""
        name = quote(path.encode("utf-8", "surrogateescape"))
        place = f"{self.project}/{_FOLDERS[self.host][1]}/{quote(commit)}/{name}"
        if lines is None or self.host == "bitbucket":
            return place
        return f"{place}#L{lines[0]}-{'' if self.host == 'gitlab' else 'L'}{lines[1]}"
