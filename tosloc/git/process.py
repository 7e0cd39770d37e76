"""Run the git program so that it reads only the objects of a repository."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count, islice
from pathlib import Path
from subprocess import Popen
from threading import Lock, Thread
from typing import IO, Final

from tosloc.core.children import start_child
from tosloc.core.errors import RepositoryError
from tosloc.core.io import escape_unprintable
from tosloc.git.discovery import check_no_endless_file

_SETTINGS: Final = (
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.hooksPath=/dev/null"),
    # The commit graph repeats the commits; a damaged one gives wrong answers.
    *("-c", "core.commitGraph=false"),
    # The multi-pack index repeats the indexes of packs, and may name packs anywhere.
    *("-c", "core.multiPackIndex=false"),
    # ``Repository.resolve`` refuses a name that is a tag's and a branch's.
    *("-c", "core.warnAmbiguousRefs=true"),
)
"""Options that keep git from running any program that the repository configures."""
MAX_OBJECT_BYTES: Final = 100 * 2**20
"""Largest object that is read, in bytes. GitHub accepts no larger file."""
MAX_SOURCE_BYTES: Final = 10_000_000
"""Largest source file that is read, in bytes; only the path of a larger file counts."""
_MAX_BATCH_BYTES: Final = 64 * 2**20
"""Number of bytes of objects after which the rest of a batch is read in a later request."""
_BATCH: Final = 48
"""Number of requests that are sent before their answers are read.

48 lines fit into the smallest pipe, so that neither side can block the other.
"""
SECONDS_BEFORE_LOOK: Final = 5.0
"""Seconds after which we check whether git waits for a file that never ends."""
_MAX_MESSAGES: Final = 3
"""Largest number of git's messages that an error shows; these are the last messages."""
_MAX_ERROR_BYTES: Final = 4000
"""Largest number of bytes of the messages that an error shows."""
_FATAL_EXIT_CODE: Final = 128
"""Exit code of git when it gives up, for example at a damaged object or an unknown name."""


class _Watchdog:
    """Calls functions in a thread once git has taken SECONDS_BEFORE_LOOK.

    One thread serves all requests, because thousands are made for an answer, and starting a thread
    for each took as long as the requests. It ends when nothing is left to watch.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._numbers = count()
        self._watched: dict[int, tuple[float, Callable[[], None]]] = {}
        """When each function is to be called, and the function."""
        self._thread: Thread | None = None

    def watch(self, function: Callable[[], None]) -> int:
        """Call the function in SECONDS_BEFORE_LOOK; return the number by which to forget it."""
        with self._lock:
            number = next(self._numbers)
            self._watched[number] = (time.monotonic() + SECONDS_BEFORE_LOOK, function)
            # A forked process has no threads but its own.
            if self._thread is None or not self._thread.is_alive():
                self._thread = Thread(target=self._run, name="tosloc-watchdog", daemon=True)
                self._thread.start()
        return number

    def forget(self, number: int) -> None:
        """Do not call the function any more."""
        with self._lock:
            self._watched.pop(number, None)

    def _run(self) -> None:
        while True:
            due = []
            with self._lock:
                now = time.monotonic()
                for number, (at, function) in list(self._watched.items()):
                    if at <= now:
                        due.append(function)
                        del self._watched[number]
                if not self._watched and not due:
                    self._thread = None
                    return
                at = min((at for at, _ in self._watched.values()), default=now)
            for function in due:
                function()
            time.sleep(max(0.0, at - time.monotonic()))


_WATCHDOG: Final = _Watchdog()


class Git:
    """The git program, which sees a repository's objects, but not its names and configuration.

    A process that reads objects is started for the first request, and ends with ``close`` or the
    ``with`` block. The next request starts another.
    """

    _reader: Popen[bytes] | None = None

    def __init__(self, path: Path, common: Path, hash_name: str) -> None:
        self.path: Final = path
        self.hash_name: Final = hash_name
        self._packs = common / "objects/pack"
        self.program: Final = git_program()
        """Path of the program."""
        self._command = [self.program, *_SETTINGS]
        self._environment = clean_environment() | {
            "GIT_DIR": str(Path(__file__).parent / f"empty_{hash_name}"),
            "GIT_OBJECT_DIRECTORY": str(common / "objects"),
            "GIT_SHALLOW_FILE": str(common / "shallow"),
        }

    def __del__(self) -> None:
        self.close()

    def close(self) -> int:
        """End the process that reads objects and return its exit code; 0 if there is none."""
        process = self._reader
        self._reader = None
        if process is None:
            return 0
        with suppress(OSError), process:  # flushing an unsent request fails
            process.kill()
        return process.wait()

    @property
    def promisor_packs(self) -> frozenset[str]:
        """Names of the packs of a partial clone (``--filter``), which grow; otherwise empty."""
        return frozenset(path.name for path in self._packs.glob("*.promisor"))

    @contextmanager
    def stream(
        self,
        arguments: Sequence[str],
        lines: Iterable[str] = (),
        messages: list[str] | None = None,
        **environment: str,
    ) -> Iterator[IO[bytes]]:
        """Yield the output of a git command while it runs, with ``lines`` as its input.

        Git's warnings and errors are added to ``messages`` at the end. Git is killed if the block
        ends before the output, for example by an interruption. Raises RepositoryError, with git's
        last messages, if the command fails.
        """
        with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as errors:
            source.writelines(f"{line}\n".encode("utf-8", "surrogateescape") for line in lines)
            source.seek(0)
            command = [*self._command, *arguments]
            process = start_child(command, self._environment | environment, source, errors)
            finished = False
            with process:
                assert process.stdout is not None
                try:
                    with self._watched(process, environment.get("GIT_WORK_TREE")):
                        yield process.stdout
                        finished = not process.stdout.read(1)
                finally:
                    # Leaving the block would wait until git ends, also after a signal that came
                    # before anything was yielded.
                    if not finished:
                        process.kill()
            errors.seek(0)
            last_messages = _last_lines(errors.read())
            if messages is not None:
                messages += last_messages
            if finished and process.returncode:
                raise self._failure(arguments[0], last_messages)

    @contextmanager
    def _watched(self, process: Popen[bytes], work_tree: str | None = None) -> Iterator[None]:
        """Kill git if it waits, within the block, for a file that never ends, such as a named pipe.

        Looking for such files takes time, so it is done only if git takes longer than
        SECONDS_BEFORE_LOOK. Raises RepositoryError, which names the file.
        """
        errors: list[RepositoryError] = []

        def look_for_endless_file() -> None:
            try:
                check_no_endless_file(self.path, None if work_tree is None else Path(work_tree))
            except RepositoryError as error:
                errors.append(error)
                process.kill()

        number = _WATCHDOG.watch(look_for_endless_file)
        try:
            yield
        except Exception:  # git has ended in the middle of an answer
            if not errors:
                raise
        finally:
            _WATCHDOG.forget(number)
        if errors:
            raise errors[0]

    def objects(self, names: Iterable[str], kind: bytes) -> Iterator[tuple[str, bytes | None]]:
        """Yield the full id and content of each named object of a kind: b"commit" or b"blob".

        If no object or several objects have the name, or the object is damaged or larger than
        MAX_OBJECT_BYTES, the content is None and the id is the name. No request is pending while
        the caller uses an object. Raises RepositoryError if git is killed.
        """
        remaining = iter(names)
        batch: list[str] = []
        while batch := batch or list(islice(remaining, _BATCH)):
            objects = self._read_batch(batch, kind)
            yield from objects
            batch = batch[len(objects) :]

    def sizes(self, blob_ids: Collection[str]) -> dict[str, int]:
        """Return the number of bytes of each blob; 0 for a blob that is missing."""
        sizes = {}
        with self.stream(["cat-file", "--batch-check=%(objectsize)"], blob_ids) as output:
            for blob, line in zip(blob_ids, output, strict=True):
                sizes[blob] = int(line) if line[:-1].isdigit() else 0
        return sizes

    def _read_batch(self, batch: Sequence[str], kind: bytes) -> list[tuple[str, bytes | None]]:
        """Return the first objects of a batch until they have _MAX_BATCH_BYTES, or all of them.

        Git is started again if it gives up at an object.
        """
        objects: list[tuple[str, bytes | None]] = []
        while len(objects) < len(batch) and _total_bytes(objects) <= _MAX_BATCH_BYTES:
            try:
                self._request(batch[len(objects) :], kind, objects)
            except (OSError, ValueError) as error:  # git ended, maybe in the middle of a line
                if self.close() != _FATAL_EXIT_CODE:
                    raise self._failure("cat-file") from error
                objects.append((batch[len(objects)], None))
            except BaseException:
                # After an interruption the next request would get the answers to this one.
                self.close()
                raise
        return objects

    def _request(
        self, names: Sequence[str], kind: bytes, objects: list[tuple[str, bytes | None]]
    ) -> None:
        """Append the named objects to ``objects``, until they have _MAX_BATCH_BYTES.

        Raises OSError or ValueError if git ends at an object.
        """
        if self._reader is None:
            self._reader = start_child([*self._command, "cat-file", "--batch"], self._environment)
        requests, answers = self._reader.stdin, self._reader.stdout
        assert requests is not None
        assert answers is not None
        total_bytes = _total_bytes(objects)
        with self._watched(self._reader):
            lines = "".join(f"{name}\n" for name in names)
            requests.write(lines.encode("utf-8", "surrogateescape"))
            requests.flush()
            for name in names:
                line = answers.readline()
                if line.endswith((b" missing\n", b" ambiguous\n")):
                    objects.append((name, None))
                    continue
                object_id, object_kind, digits = line.split()
                size = int(digits)
                if size > MAX_OBJECT_BYTES:
                    objects.append((name, None))
                    self.close()  # which is faster than reading past the object
                    return
                total_bytes += size
                content = answers.read(size + 1)
                if len(content) <= size:
                    raise ValueError("its answer is incomplete")
                if object_kind == kind:
                    objects.append((object_id.decode("ascii"), content[:-1]))
                else:
                    objects.append((name, None))
                if total_bytes > _MAX_BATCH_BYTES:
                    self.close()  # The rest of the answers is not read.
                    return

    def _failure(self, command: str, messages: Sequence[str] = ()) -> RepositoryError:
        """Return the error for a git command that failed, with git's messages."""
        message = "; ".join(messages)[:400] or "it was killed, or printed no message"
        advice = "run 'git fsck' there, or clone it again"
        if self.promisor_packs:
            advice = (
                "this is a partial clone, which may lack what is needed; fetch the rest with: git"
                " fetch --refetch --no-filter"
            )
        return RepositoryError(f"{self.path}: git {command} failed ({message}); {advice}")


def _last_lines(messages: bytes) -> list[str]:
    """Return the last lines of git's messages, ready to print, without empty lines and hints."""
    lines = []
    for line in messages[-_MAX_ERROR_BYTES:].decode("utf-8", "backslashreplace").split("\n"):
        if line.strip() and not line.startswith("hint:"):
            lines.append(escape_unprintable(line))
    return lines[-_MAX_MESSAGES:]


def _total_bytes(objects: Iterable[tuple[str, bytes | None]]) -> int:
    """Return the number of bytes of all contents together."""
    return sum(len(content) for _, content in objects if content is not None)


def split_at_nul(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield the parts of a stream that are separated by NUL bytes, without empty parts."""
    rest = b""
    while block := stream.read(1 << 20):
        *parts, rest = (rest + block).split(b"\0")
        yield from filter(None, parts)
    if rest:
        yield rest


def git_program() -> str:
    """Return the path of the git program: the one that GitPython would run.

    Raises RepositoryError if it is not found.
    """
    program = shutil.which(os.environ.get("GIT_PYTHON_GIT_EXECUTABLE") or "git")
    if program is None:
        raise RepositoryError(
            "git is not installed, not on the search path, or not what"
            " $GIT_PYTHON_GIT_EXECUTABLE names"
        )
    return program


def clean_environment() -> dict[str, str]:
    """Return the environment for git, with our settings of git instead of the user's."""
    environment = {}
    for name, value in os.environ.items():
        if not name.startswith("GIT_") or name == "GIT_EXEC_PATH":
            environment[name] = value
    return environment | {
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",  # for versions of git that do not know the line above
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_GRAFT_FILE": os.devnull,
        "LC_ALL": "C",
    }
