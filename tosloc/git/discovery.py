"""Where a repository keeps its files, and whether all that git would read of them lies where somebody may look."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from tosloc.errors import RepositoryError
from tosloc.git.web_pages import address
from tosloc.io import read_plain

_MOST: Final = 16 * 2**20
"""Bytes of a file beside the objects: a configuration of a hundred thousand branches has 10 MB."""
_UNREAD: Final = frozenset({"annex", "hooks", "lfs", "modules"})
"""Folders of a git directory that git does not read for us; people link their hooks."""

_HEAD: Final = re.compile(rb"ref:\s*refs/|[0-9a-fA-F]{40}")


class GitDirectory(NamedTuple):
    """Where a repository keeps its files."""

    own: Path
    """HEAD is here."""
    common: Path
    """Objects, branches and the configuration are here: the same folder, but for a linked work tree."""


def find(path: Path) -> GitDirectory:
    """The git directory of a work tree, a bare repository or a git directory at ``path``. Raises RepositoryError."""
    if not path.exists():
        if (given := address(path)) is not None:
            raise RepositoryError(
                f"{given}: is an address, and nothing is fetched; run: git clone --bare {given}, and name its folder"
            )
        raise RepositoryError(f"{path}: no such folder; give the path of a git repository")
    pointer = path / ".git"  # of a submodule or a linked work tree it is a file
    named = read_small(pointer) if pointer.is_file() else b""
    places = [path / os.fsdecode(named[8:]).rstrip("\r\n")] if named.startswith(b"gitdir: ") else [pointer, path]
    for own in places:
        common = own / os.fsdecode(read_small(own / "commondir")).rstrip()
        folders = all(os.path.isdir(common / name) for name in ("objects", "refs"))
        if folders and _HEAD.match(read_small(own / "HEAD")):
            return GitDirectory(own, common)
    raise RepositoryError(f"{path}: not a git repository; give the folder that has .git in it, or a bare repository")


def containing(path: Path) -> Path:
    """The nearest folder upwards that is a git repository, ``path`` itself among them. Raises RepositoryError."""
    for place in (path, *path.parents):
        if os.path.lexists(place / ".git") or all((place / name).exists() for name in ("HEAD", "objects", "refs")):
            return place
    find(path)  # which says what is wrong
    return path


def around(folder: Path) -> Path:
    """The repository that somebody who stands in a folder means: what GIT_DIR names, or the nearest folder upwards."""
    if named := os.environ.get("GIT_DIR"):
        return Path(named).expanduser()
    with suppress(RepositoryError):
        return containing(folder)
    raise RepositoryError(f"{folder}: not in a git repository; go to one, or name it with --repo")


def read_small(file: Path) -> bytes:
    """Content of a plain file beside the objects, empty where there is none. Raises RepositoryError."""
    try:
        return read_plain(file, _MOST)
    except (FileNotFoundError, NotADirectoryError):
        return b""
    except OSError as error:
        raise RepositoryError(f"{file} cannot be read ({error.strerror}); clone the repository again") from error


def check_roots(repository: Path, roots: Sequence[Path]) -> None:
    """Raise RepositoryError unless all that git would read of a repository lies under a root, links followed.

    A project can hold a bare repository whose objects, branches or configuration lead to another one.
    """
    directory = find(repository)
    own, common = (folder.resolve() for folder in directory)
    allowed = [root.resolve() for root in roots]
    # a linked work tree: only the owner of the repository can have written what names it
    named = read_small(own / "gitdir") if own.parent == common / "worktrees" else b""
    if named and (own / os.fsdecode(named.strip())).parent.resolve() == repository.resolve():
        allowed.append(common)
    waiting = [*directory]
    seen: set[Path] = set()
    while waiting:
        place = waiting.pop()
        try:
            found = place.resolve()
        except (OSError, RuntimeError, ValueError):  # a loop of links; a NUL byte
            found = Path("/")
        if not any(found.is_relative_to(root) for root in allowed):
            raise RepositoryError(
                f"{repository}: git would read {place}, which lies outside {', '.join(dict.fromkeys(map(str, roots)))};"
                " clone the repository whole (git clone --no-local), or have that folder among the roots, too"
            )
        if found in seen:
            continue
        seen.add(found)
        with suppress(OSError), os.scandir(found) as entries:  # a file; what may not be read git cannot read either
            for entry in entries:
                if (entry.is_symlink() or entry.is_dir()) and not (entry.name in _UNREAD and found in (own, common)):
                    waiting.append(Path(entry.path))
        for line in filter(None, read_small(found / "info/alternates").split(b"\n")):
            # git takes .. away first; what is quoted only git can tell
            borrowed = os.path.normpath(found / os.fsdecode(line))
            waiting.append(Path("/" if line.startswith(b'"') else borrowed))
    for config in (common / "config", own / "config.worktree"):
        if b"[include" in read_small(config).lower():
            raise RepositoryError(f"git would read what {config} includes, which may lie outside; take that out")
