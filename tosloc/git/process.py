"""The git program, kept away from everything of a repository but its objects."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from subprocess import Popen
from types import ModuleType
from typing import IO, Final, NamedTuple

from tosloc.errors import RepositoryError
from tosloc.io import printable
from tosloc.processes import start

_SETTINGS: Final = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.attributesFile=/dev/null",
    "core.pager=cat",
    "core.commitGraph=false",  # it repeats what commits say, and a damaged one says it wrongly
    "core.multiPackIndex=false",  # it repeats what the indexes of packs say, and may name packs anywhere
    f"core.bigFileThreshold={100 * 2**20}",  # what is not read is not taken into memory by git either
    "protocol.allow=never",
)
LARGEST: Final = 100 * 2**20
"""Bytes of an object that is read: GitHub takes no larger file, and a tree of a million files has 50 MB."""
_BATCH: Final = 48
"""Requests sent before their answers are read: 48 lines fit the smallest pipe, so neither side can block the other."""
GAVE_UP: Final = 128
"""Exit code of a git that ends by itself, as it does at a damaged object; what is killed has no lower one."""


class GitObject(NamedTuple):
    """An object as git holds it."""

    id: str
    """Full id."""
    type: bytes
    """b"commit", b"tree", b"blob" or b"tag"."""
    content: bytes | None
    """None when it is larger than LARGEST."""


class ObjectReader:
    """``git cat-file --batch``, kept open from the first question on."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], name: str) -> None:
        self._command, self._environment, self._name = (*command, "cat-file", "--batch"), environment, name
        self._process: Popen[bytes] | None = None

    def close(self) -> None:
        """End the process; the next question starts another."""
        self._end()

    def _end(self) -> int:
        """The process's exit code."""
        process, self._process = self._process, None
        if process is None:
            return 0
        with suppress(OSError), process:  # what was not yet sent is not waited for
            process.kill()
        return process.wait()

    def read(self, names: Iterable[str]) -> Iterator[tuple[str, GitObject | None]]:
        """Each name with its object, None where there is none, or several; nothing is left pending between batches.

        Raises RepositoryError when git is killed twice at the same object, or reads none.
        """
        rest = iter(names)
        while batch := list(islice(rest, _BATCH)):
            yield from zip(batch, self._batch(batch), strict=True)

    def _batch(self, names: Sequence[str]) -> list[GitObject | None]:
        found: list[GitObject | None] = []
        died_at = -1
        while not self._ask(names[len(found) :], found):
            status = self._end()
            if died_at != len(found):  # what it died of may not come again
                died_at = len(found)
                continue
            if status != GAVE_UP:
                raise failure(self._name, -1, b"")
            # the object is damaged, if git answers at all, which a name that cannot exist shows
            if not self._ask(["-"], []):
                raise failure(self._name, status, b"no object can be read")
            found.append(None)
        return found

    def _ask(self, names: Sequence[str], found: list[GitObject | None]) -> bool:
        """Whether git answered all; answers are appended to ``found``."""
        if self._process is None:
            self._process = start(self._command, self._environment)
        requests, answers = self._process.stdin, self._process.stdout
        assert requests is not None
        assert answers is not None
        try:
            requests.write("".join(f"{name}\n" for name in names).encode("utf-8", "surrogateescape"))
            requests.flush()
            for _ in names:
                line = answers.readline()
                if line.endswith((b" missing\n", b" ambiguous\n")):
                    found.append(None)
                    continue
                name, kind, digits = line.split()
                content = _content(answers, int(digits))
                if answers.read(1) != b"\n":
                    return False
                found.append(GitObject(name.decode("ascii"), kind, content))
        except (OSError, ValueError):  # it died, maybe in the middle of a line
            return False
        except BaseException:  # an interruption: the next question would get this one's answers
            self._end()
            raise
        return True


def _content(answers: IO[bytes], size: int) -> bytes | None:
    if size <= LARGEST:
        return answers.read(size)
    while size > 0:
        answers.read(min(size, LARGEST))
        size -= LARGEST
    return None


def parts(stream: IO[bytes]) -> Iterator[bytes]:
    """A stream's parts between NUL bytes, without empty ones."""
    rest = b""
    while block := stream.read(1 << 20):
        *whole, rest = (rest + block).split(b"\0")
        yield from filter(None, whole)
    if rest:
        yield rest


def gitpython() -> ModuleType:
    """GitPython, which knows what a git directory is, and which program to run ($GIT_PYTHON_GIT_EXECUTABLE).

    Its commands are not for us: they add to the environment, and take nothing from it. Raises RepositoryError.
    """
    try:
        import git  # here, since it takes a while, and fails where git is not found
    except ImportError as error:
        raise RepositoryError(
            "git is not installed, not on the search path, or not what $GIT_PYTHON_GIT_EXECUTABLE names;"
            " install it, or correct that"
        ) from error
    return git


def safe_command() -> list[str]:
    """The git program with options that keep it from running anything of a repository. Raises RepositoryError."""
    return [gitpython().Git.GIT_PYTHON_GIT_EXECUTABLE, *(part for one in _SETTINGS for part in ("-c", one))]


def failure(name: str, status: int, errors: bytes) -> RepositoryError:
    """What is to be said of a git command that ended with this status: git's last words, or that it was killed."""
    if status not in range(GAVE_UP + 1):
        said = "was killed; see what kills it (most likely too little memory) and run the same command again"
    else:
        lines = errors[-1000:].decode("utf-8", "backslashreplace").strip().splitlines()
        words = printable(lines[-1])[:400] if lines else "no message"
        said = f"failed ({words}); run 'git fsck' there, or clone it again"
    return RepositoryError(f"{name} {said}")


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
