"""The git program, kept away from everything of a repository but its objects."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from tosloc.errors import RepositoryError
from tosloc.processes import start

_SETTINGS: Final = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "diff.external=",
    "core.pager=cat",
    "log.showSignature=false",
)
SAFE_OPTIONS: Final = tuple(part for setting in _SETTINGS for part in ("-c", setting))
"""Options that keep git from running anything of the repository."""


class GitObject(NamedTuple):
    """An object as git holds it."""

    id: str
    """Full id."""
    type: bytes
    """b"commit", b"tree", b"blob" or b"tag"."""
    content: bytes


class ObjectReader:
    """A running ``git cat-file --batch``."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self.owner = os.getpid()
        self._process = start(command, environment)

    def ask(self, names: Sequence[str], found: list[GitObject | None]) -> bool:
        """Whether git answered all; answers are appended to ``found`` (None: no such object, or several)."""
        requests, answers = self._process.stdin, self._process.stdout
        assert requests is not None
        assert answers is not None
        try:
            requests.write("".join(f"{name}\n" for name in names).encode("utf-8", "surrogateescape"))
            requests.flush()
        except OSError:
            return False
        for _ in names:
            words = answers.readline().split()
            if len(words) == 2:
                found.append(None)
                continue
            if len(words) != 3:
                return False
            size = int(words[2])
            content = answers.read(size + 1)
            if len(content) != size + 1:
                return False
            found.append(GitObject(words[0].decode("ascii"), words[1], content[:-1]))
        return True

    def close(self) -> None:
        """End the process."""
        process = self._process
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        if self.owner == os.getpid():
            process.wait()
        else:  # a forked child: the process is its parent's
            process.returncode = 0


def find_repository(path: Path) -> tuple[str, Path]:
    """The git program and the git directory of the repository at ``path``. Raises RepositoryError."""
    try:
        import git  # here, since it fails where git is not installed
    except ImportError as error:
        raise RepositoryError("git is not installed, or not on the search path; install it and try again") from error
    if not path.exists():
        raise RepositoryError(f"{path}: no such folder; give the path of a git repository")
    try:
        repository = git.Repo(path, expand_vars=False)
    except Exception as error:  # GitPython raises many kinds, down to those of its configuration parser
        if path.is_dir() and not os.access(path, os.R_OK | os.X_OK):
            raise RepositoryError(f"{path}: this folder may not be read; ask its owner, or copy it") from error
        raise RepositoryError(
            f"{path}: not a git repository; give the folder that has .git in it, or a bare repository"
        ) from error
    return str(git.Git.GIT_PYTHON_GIT_EXECUTABLE), Path(repository.git_dir).absolute()


def uses_sha256(config: Path) -> bool:
    """Whether a repository with this configuration file has ids of 64 digits."""
    try:
        return re.search(r"(?im)^\s*objectformat\s*=\s*\"?sha256", config.read_text("utf-8", "replace")) is not None
    except OSError:
        return False


def clean_environment() -> dict[str, str]:
    """The environment without any setting of git but ours."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name == "GIT_EXEC_PATH"}
    return kept | {
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",  # for versions of git that do not know the line above
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_GRAFT_FILE": os.devnull,
        "LC_ALL": "C",
    }


def empty_git_directory(id_length: int) -> Path:
    """A git directory without objects, names or configuration: a part of the package, since git never writes there."""
    return Path(__file__).parent / ("empty_sha256" if id_length == 64 else "empty_sha1")
