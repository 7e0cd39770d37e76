"""The git program, kept away from everything of a repository but its objects; what its commits say."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from subprocess import Popen
from threading import Timer
from types import ModuleType
from typing import IO, Final, Self

from tosloc.core.children import start_child
from tosloc.core.errors import RepositoryError
from tosloc.core.io import escape_unprintable
from tosloc.core.records import VALID_TIMES
from tosloc.git.discovery import check_no_endless_file

_SETTINGS: Final = (
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.hooksPath=/dev/null"),
    *(
        "-c",
        "core.commitGraph=false",
    ),  # it repeats what commits say, and a damaged one says it wrongly
    *(
        "-c",
        "core.multiPackIndex=false",
    ),  # it repeats what the indexes of packs say, and may name packs anywhere
)
"""Options that keep git from running anything of a repository."""
MAX_OBJECT_BYTES: Final = (
    100 * 2**20
)  # bytes of an object that is read: GitHub takes no larger file
MAX_SOURCE_BYTES: Final = (
    10_000_000  # bytes of a source file that is read; a larger one is known by its path alone
)
MAX_MESSAGE_BYTES: Final = 2**20
"""Bytes of a message that are kept: the longest known one is a squashed merge of some hundred thousand."""
_BATCH: Final = 48
"""Requests sent before their answers are read: 48 lines fit the smallest pipe, so neither side can block the other."""
SECONDS_BEFORE_LOOK: Final = 5.0
"""Seconds that git may be busy with before we look for a file that it may be waiting for."""
_GAVE_UP: Final = (
    128  # exit code of a git that ends by itself, as it does at a damaged object or an unknown name
)
_STATED = re.compile(rb"tree ([0-9a-f]{40,64})\n((?:parent [0-9a-f]{40,64}\n)*+)author ")
_COMMITTED = re.compile(rb"(?m)^committer .*> ?(-?\d{1,15})(?: [-+]?\d+)?$")
_ENCODING = re.compile(rb"(?mi)^encoding (?!idna|puny|un|raw|mbcs|oem)([\w.:-]{1,40})$")
"""Of what Python calls encodings those of characters."""


class Git:
    """The git program, which sees the objects of a repository and nothing else of it: no names, no configuration.

    One process that reads objects is kept from the first question until ``close``, or the end of a ``with`` block; the
    next question starts another.
    """

    _reader: Popen[bytes] | None = None

    def __init__(self, path: Path, common: Path, hash_name: str) -> None:
        self.path: Final = path
        self._command = [gitpython().Git.GIT_PYTHON_GIT_EXECUTABLE, *_SETTINGS]
        self._environment = clean_environment() | {
            "GIT_DIR": str(Path(__file__).parent / f"empty_{hash_name}"),
            "GIT_OBJECT_DIRECTORY": str(common / "objects"),
            "GIT_SHALLOW_FILE": str(common / "shallow"),
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def close(self) -> int:
        """End the process that reads objects; its exit code."""
        process, self._reader = self._reader, None
        if process is None:
            return 0
        with suppress(OSError), process:  # what was not yet sent is not waited for
            process.kill()
        return process.wait()

    @contextmanager
    def stream(
        self, arguments: Sequence[str], lines: Iterable[str] = (), **environment: str
    ) -> Iterator[IO[bytes]]:
        """Yield the output of a git command, which reads ``lines``, while it runs.

        Git is killed when the block is left before the end of the output, by an interruption for
        example. Raises RepositoryError, with git's last words, when the command fails.
        """
        with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as errors:
            source.writelines(f"{line}\n".encode("utf-8", "surrogateescape") for line in lines)
            source.seek(0)
            command = [*self._command, *arguments]
            process = start_child(command, self._environment | environment, source, errors)
            finished = False
            with process, self._watched(process, environment.get("GIT_WORK_TREE")):
                assert process.stdout is not None
                try:
                    yield process.stdout
                    finished = not process.stdout.read(1)
                finally:
                    if not finished:  # else leaving the block would wait for git's own end
                        process.kill()
            if finished and process.returncode:
                errors.seek(0)
                raise self._failure(arguments[0], errors.read())

    @contextmanager
    def _watched(self, process: Popen[bytes], work_tree: str | None = None) -> Iterator[None]:
        """Kill git if it waits for a file that never ends, as a named pipe does, within the block.

        Looking for such files takes time, so it is done only once git has been busy for
        SECONDS_BEFORE_LOOK. Raises RepositoryError, which names the file.
        """
        found: list[RepositoryError] = []

        def look() -> None:
            try:
                check_no_endless_file(self.path, None if work_tree is None else Path(work_tree))
            except RepositoryError as error:
                found.append(error)
                process.kill()

        timer = Timer(SECONDS_BEFORE_LOOK, look)
        timer.daemon = True
        timer.start()
        try:
            yield
        except Exception:  # git has ended in the middle of an answer
            if not found:
                raise
        finally:
            timer.cancel()
        if found:
            raise found[0]

    def objects(self, names: Iterable[str], kind: bytes) -> Iterator[tuple[str, bytes | None]]:
        """Full id and content of the object of each name: commits or blobs, as ``kind`` says.

        The content is None, and the id the name, where there is no such object, or several, a damaged one, or one of
        more than LARGEST bytes. Nothing is left pending between batches. Raises RepositoryError when git is killed.
        """
        rest = iter(names)
        while batch := list(islice(rest, _BATCH)):
            found: list[tuple[str, bytes | None]] = []
            while len(found) < len(batch):
                try:
                    self._ask(batch[len(found) :], kind, found)
                except (OSError, ValueError) as error:  # git ended, maybe in the middle of a line
                    if self.close() != _GAVE_UP:
                        raise self._failure("cat-file") from error
                    found.append((batch[len(found)], None))
                except (
                    BaseException
                ):  # an interruption: the next question would get this one's answers
                    self.close()
                    raise
            yield from found

    def _ask(
        self, names: Sequence[str], kind: bytes, found: list[tuple[str, bytes | None]]
    ) -> None:
        """Append answers to ``found``, at least one; OSError or ValueError at the one where git ends."""
        if self._reader is None:
            self._reader = start_child([*self._command, "cat-file", "--batch"], self._environment)
        requests, answers = self._reader.stdin, self._reader.stdout
        assert requests is not None
        assert answers is not None
        with self._watched(self._reader):
            requests.write(
                "".join(f"{name}\n" for name in names).encode("utf-8", "surrogateescape")
            )
            requests.flush()
            for name in names:
                line = answers.readline()
                if line.endswith((b" missing\n", b" ambiguous\n")):
                    found.append((name, None))
                    continue
                identity, of_kind, digits = line.split()
                if (size := int(digits)) > MAX_OBJECT_BYTES:
                    found.append((name, None))
                    self.close()  # sooner than to read past it
                    return
                if len(content := answers.read(size + 1)) <= size:
                    raise ValueError("the answer ends in the middle")
                answer = identity.decode("ascii"), content[:-1]
                found.append(answer if of_kind == kind else (name, None))

    def _failure(self, command: str, errors: bytes = b"") -> RepositoryError:
        """What is to be said of a git command that failed: git's last words."""
        lines = errors[-1000:].decode("utf-8", "backslashreplace").strip().split("\n")
        words = escape_unprintable(lines[-1])[:400] or "it was killed, or said nothing"
        return RepositoryError(
            f"{self.path}: git {command} failed ({words}); run 'git fsck' there, or clone it again"
        )


@dataclass(frozen=True, slots=True)
class CommitInfo:
    """What a commit object says."""

    id: str
    tree: str
    parents: tuple[str, ...]  # full ids, first parent first; none where a shallow clone was cut off
    committed_at: int  # committer time, seconds since 1970, UTC; 0 when the commit has none, or one that no date has
    message: str

    @classmethod
    def of(cls, commit_id: str, content: bytes, cut: Collection[str] = ()) -> CommitInfo | None:
        """Of the object's content; None where it is damaged. The parents of those that are ``cut`` off are not told."""
        head, _, body = content.partition(b"\n\n")
        stated, committed, encoding = (
            _STATED.match(head),
            _COMMITTED.search(head),
            _ENCODING.search(head),
        )
        if stated is None:
            return None
        parents = () if commit_id in cut else tuple(stated[2].decode("ascii").split()[1::2])
        seconds = int(committed[1]) if committed else 0
        said = body.partition(b"\0")[0][:MAX_MESSAGE_BYTES]  # git shows nothing after it either
        try:
            message = said.decode(encoding[1].decode("ascii") if encoding else "utf-8", "replace")
        except (LookupError, ValueError):  # no character set, or none that can be read
            message = said.decode("utf-8", "replace")
        return cls(
            commit_id,
            stated[1].decode("ascii"),
            parents,
            seconds if seconds in VALID_TIMES else 0,
            message,
        )


def split_at_nul(stream: IO[bytes]) -> Iterator[bytes]:
    """A stream's parts between NUL bytes, without empty ones."""
    rest = b""
    while block := stream.read(1 << 20):
        *whole, rest = (rest + block).split(b"\0")
        yield from filter(None, whole)
    if rest:
        yield rest


def gitpython() -> ModuleType:
    """GitPython, which reads configurations, and knows which program to run ($GIT_PYTHON_GIT_EXECUTABLE).

    Its commands are not for us: they add to the environment, and take nothing from it. Raises RepositoryError.
    """
    try:
        import git  # here, since it takes a while, and fails where git is not found
    except ImportError as error:
        raise RepositoryError(
            "git is not installed, not on the search path, or not what $GIT_PYTHON_GIT_EXECUTABLE names"
        ) from error
    return git


def clean_environment() -> dict[str, str]:
    """The environment without any setting of git but ours."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name == "GIT_EXEC_PATH"
    }
    return kept | {
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",  # for versions of git that do not know the line above
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_GRAFT_FILE": os.devnull,
        "LC_ALL": "C",
    }
