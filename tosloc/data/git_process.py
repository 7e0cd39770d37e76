"""The git program, kept away from everything of a repository but its objects."""

from __future__ import annotations

import io
import os
import re
import select
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, NamedTuple

from tosloc.data.git_files import CONFIG, read_git_file
from tosloc.errors import RepositoryError
from tosloc.files import printable
from tosloc.processes import start

if sys.platform == "linux":
    pass

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer as Buffer

_SETTINGS: Final = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "diff.external=",
    "core.pager=cat",
    "log.showSignature=false",
    "core.commitGraph=false",  # it repeats what commits say, and a damaged one says it wrongly
    f"core.bigFileThreshold={100 * 2**20}",  # what is not read is not taken into memory by git either
)
SAFE_OPTIONS: Final = tuple(part for setting in _SETTINGS for part in ("-c", setting))
"""Options that keep git from running anything of the repository."""


LARGEST: Final = 100 * 2**20
"""Bytes of an object that is read: GitHub takes no larger file, and a tree of a million files has 50 MB."""
IDLE: Final = 30.0
"""Seconds after which git is given up that neither writes nor works; on the slowest disk it does some work in each."""
SILENT: Final = 3600.0
"""Seconds after which git is given up that works and writes nothing; a log of a million commits begins in a minute."""
NAMED_GIT: Final = "GIT_PYTHON_GIT_EXECUTABLE"
"""Environment variable by which GitPython is told which git to run."""
MEMORY: Final = 2**30
"""Bytes that git may take, beside MEMORY_PER_BYTE: ten of the largest objects, or the log of half a million commits."""
MEMORY_PER_BYTE: Final = 8
"""Bytes of memory that git may take for each byte of the packs; it keeps all messages for a log, about one for one."""
_LOOK: Final = 1.0
"""Seconds between two looks at a git that is silent."""
_BUFFER: Final = 1 << 16
_WORDS: Final = 400
"""Letters of git's last words that are shown."""
DIED: Final = 128
"""Exit code of a git that gives up by itself, as it does at a damaged object; what is killed has no lower one."""
KILLED: Final = "was killed; see what kills it (most likely too little memory) and run the same command again"


class GitObject(NamedTuple):
    """An object as git holds it."""

    id: str
    """Full id."""
    type: bytes
    """b"commit", b"tree", b"blob" or b"tag"."""
    content: bytes | None
    """None when it is larger than LARGEST."""


class GitStandsStill(RepositoryError):
    """Git neither writes nor works, or works for too long without a word."""


class GitOutput(io.RawIOBase):
    """What a git process writes. Reading raises GitStandsStill (see IDLE and SILENT)."""

    def __init__(self, process: subprocess.Popen[bytes], name: str) -> None:
        assert process.stdout is not None
        self._pid, self._name = process.pid, name
        self._descriptor = process.stdout.fileno()
        self._poll: select.poll | None = None
        if hasattr(select, "poll"):
            self._poll = select.poll()
            self._poll.register(self._descriptor, select.POLLIN)

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: Buffer) -> int:
        """Wait for output, and take it."""
        self._wait()
        return os.readv(self._descriptor, [buffer])

    def _wait(self) -> None:
        if self._poll is None:
            return
        idle = silent = 0.0
        work: bytes | None = None
        while not self._poll.poll(_LOOK * 1000):
            # looks are counted, not clocks read: a computer that slept does not make git late
            before, work = work, _work_of(self._pid)
            idle = idle + _LOOK if work == before is not None else 0.0
            silent += _LOOK
            if idle >= IDLE:
                raise GitStandsStill(
                    f"{self._name} waits for something that does not come: a pipe or a device among the repository's"
                    " files, or a disk that is gone; clone the repository again"
                )
            if silent >= SILENT:
                raise GitStandsStill(
                    f"{self._name} has worked for {SILENT / 60:.0f} minutes and said nothing; run 'git fsck' there, or"
                    " clone the repository again"
                )


def _work_of(process: int) -> bytes | None:
    """Something that changes while a process works (page faults, seconds of the processor); None if it is not known."""
    try:
        fields = Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    return b" ".join(fields[7:13])


_LIMITED: Final = 'ulimit -d "$1" 2>/dev/null; shift; exec "$@"'
"""A shell's program that becomes another one with a limit: a limit that is set on a running git may come too late."""


def _limited(command: Sequence[str], limit: int) -> Sequence[str]:
    """The command with so many bytes for its data, where the system can say so; git then ends with a sentence."""
    if sys.platform != "linux":
        return command
    return ["/bin/sh", "-c", _LIMITED, "sh", str(limit // 1024), *command]


def parts(stream: IO[bytes], longest: int) -> Iterator[bytes]:
    """A stream's parts between NUL bytes, without empty ones, each cut after about ``longest`` bytes."""
    begun: list[bytes] = []
    length = 0
    while block := stream.read(1 << 20):
        first, *others = block.split(b"\0")
        if length <= longest:  # a part is joined once, however many blocks it spans
            begun.append(first)
            length += len(first)
        if others:
            yield from filter(None, (b"".join(begun), *others[:-1]))
            begun, length = [others[-1]], len(others[-1])
    yield from filter(None, [b"".join(begun)])


@dataclass(slots=True)
class GitRun:
    """A git command, while it runs and afterwards."""

    output: IO[bytes]
    finished: bool = False
    """Whether all its output was read; if not, it was ended."""
    status: int = 0
    complaint: str = "no message"
    """Git's last words, when it failed; fit to be shown."""


@contextmanager
def running(
    command: Sequence[str], name: str, environment: Mapping[str, str], stdin: bytes = b"", memory: int = MEMORY
) -> Iterator[GitRun]:
    """A git command with ``stdin`` as its input, ended with the block. Raises GitStandsStill or RepositoryError."""
    with tempfile.TemporaryFile() as errors, tempfile.TemporaryFile() as source:
        source.write(stdin)
        source.seek(0)
        process = start(_limited(command, memory), environment, source, errors)
        assert process.stdout is not None
        run = GitRun(io.BufferedReader(GitOutput(process, name), _BUFFER))
        try:
            yield run
            run.finished = not run.output.read(1)
        finally:
            if not run.finished:
                process.kill()
            process.stdout.close()
            run.status = process.wait()
        if run.finished and run.status not in range(DIED + 1):
            raise RepositoryError(f"{name} {KILLED}")
        if run.status:
            errors.seek(max(0, errors.seek(0, os.SEEK_END) - _WORDS))
            lines = errors.read().decode("utf-8", "backslashreplace").strip().splitlines()
            run.complaint = printable(lines[-1])[:_WORDS] if lines else run.complaint


class ObjectReader:
    """A running ``git cat-file --batch``."""

    def __init__(self, command: Sequence[str], name: str, environment: Mapping[str, str], memory: int = MEMORY) -> None:
        self.owner = os.getpid()
        self._process = start(_limited(command, memory), environment)
        self._answers = io.BufferedReader(GitOutput(self._process, name), _BUFFER)

    def ask(self, names: Sequence[str], found: list[GitObject | None]) -> bool:
        """Whether git answered all; answers are appended to ``found`` (None: no such object, or several).

        An object of more than LARGEST bytes has no content. Raises GitStandsStill.
        """
        requests, answers = self._process.stdin, self._answers
        assert requests is not None
        try:
            requests.write("".join(f"{name}\n" for name in names).encode("utf-8", "surrogateescape"))
            requests.flush()
        except OSError:
            return False
        for _ in names:
            line = answers.readline()
            words = line.split()
            if line.endswith((b" missing\n", b" ambiguous\n")):
                found.append(None)
                continue
            if len(words) != 3 or not words[2].isdigit():
                return False
            size = int(words[2])
            if size > LARGEST:
                found.append(GitObject(words[0].decode("ascii"), words[1], None))
                return False
            content = answers.read(size)
            if len(content) != size or not answers.read(1):
                return False
            found.append(GitObject(words[0].decode("ascii"), words[1], content))
        return True

    def close(self) -> int:
        """End the process: at once, since one that waits for a pipe would not notice that nobody asks any more.

        Its exit code, its own one where it had ended before.
        """
        process = self._process
        if self.owner == os.getpid():
            process.kill()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        if self.owner == os.getpid():
            return process.wait()
        process.returncode = 0  # a forked child: the process is its parent's
        return 0


def git_program() -> str:
    """The git that GitPython is told to take (``$GIT_PYTHON_GIT_EXECUTABLE``), else the first on the search path.

    What a repository holds is not for GitPython: it opens configurations and what they include without a bound. Unless
    it is told something it would find the same git, and take its time. Raises RepositoryError where there is none.
    """
    named = os.environ.get(NAMED_GIT)
    if named:
        try:
            import git  # here, since it fails where git is not found
        except ImportError as error:
            raise RepositoryError(f"{named}: no git program, which ${NAMED_GIT} names; correct or unset it") from error
        return str(git.Git.GIT_PYTHON_GIT_EXECUTABLE)
    found = shutil.which("git")
    if found is None:
        raise RepositoryError("git is not installed, or not on the search path; install it and try again")
    return found


def uses_sha256(config: Path) -> bool:
    """Whether a repository with this configuration file has ids of 64 digits. Raises RepositoryError."""
    text = (read_git_file(config, CONFIG) or b"").decode("utf-8", "replace")
    return re.search(r"(?im)^[ \t]*objectformat[ \t]*=[ \t]*\"?sha256", text) is not None


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
