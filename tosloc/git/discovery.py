"""Where a repository keeps its files, and whether all that git would read of them lies where somebody may look."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from tosloc.errors import RepositoryError
from tosloc.git.process import gitpython
from tosloc.git.web_pages import address
from tosloc.io import read_plain

_MOST: Final = 16 * 2**20
"""Bytes of a file beside the objects: a configuration of a hundred thousand branches has 10 MB."""
_UNREAD: Final = frozenset({"annex", "hooks", "lfs", "modules"})
"""Folders of a git directory that git does not read for us; people link their hooks."""
_INCLUDED = re.compile(rb"(?im)^[ \t\r]*(?:\[.*\][ \t\r]*)?path[ \t\r]*=(.*)$")


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
    if path.is_dir() and not os.access(path, os.R_OK | os.X_OK):
        raise RepositoryError(f"{path}: this folder may not be read; ask its owner, or copy it")
    functions = gitpython().repo.fun
    with suppress(OSError, ValueError, gitpython().InvalidGitRepositoryError):
        found = functions.find_submodule_git_dir(path / ".git")  # and of any other work tree
        if found is None and not (path / ".git").is_file() and functions.is_git_dir(path):
            found = path
        if found is not None:
            own = Path(found)
            other = read_small(own / "commondir")
            return GitDirectory(own, own if other is None else own / os.fsdecode(other).rstrip())
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


def read_small(file: Path) -> bytes | None:
    """Content of a plain file beside the objects, None where there is none. Raises RepositoryError."""
    try:
        return read_plain(file, _MOST)
    except (FileNotFoundError, NotADirectoryError):
        return None
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
    named = read_small(own / "gitdir") if own.parent == common / "worktrees" else None
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
                    lines = (read_small(inside(folder / "info/alternates")) or b"").split(b"\n")
                    borrowed = (os.path.normpath(_place(line, folder)) for line in lines if line)  # git does so first
                    waiting += [inside(Path(name)) for name in borrowed]
    for config in _configs(directory):
        inside(config)


def _configs(directory: GitDirectory) -> Iterator[Path]:
    """The configurations and what they include, on whatever condition; each is read after it was yielded."""
    waiting = [directory.common / "config", directory.own / "config.worktree"]
    for file in waiting:
        yield file
        content = b"" if file.is_dir() else read_small(file) or b""
        for found in _INCLUDED.finditer(content) if b"include" in content.lower() else ():
            place = _place(found[1].strip(), file.parent)
            if place not in waiting:
                waiting.append(place)


def _place(name: bytes, folder: Path) -> Path:
    """What a name in a file of git's means; the root of all for what only git can tell."""
    text = os.path.expanduser(os.fsdecode(name.strip(b'"')))
    return Path("/") if set(text) & set('"\\#;') else folder / text
