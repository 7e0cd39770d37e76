"""Commands in processes of their own, forked from one that has already imported everything; what is left afterwards."""

from __future__ import annotations

import atexit
import gc
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

MEMORY = 4 * 1024**3
"""Bytes of address space that a command may take."""
SECONDS = 60.0 * float(os.environ.get("FAULTS_SECONDS_SCALE", "1"))
"""How long a command may take; the scale is for slow machines."""
MARK = "TOSLOC_FAULTS_MARK"
"""Variable in the environment by which processes that outlive their command are found."""
_ANSWERED = {signal.SIGINT, signal.SIGTERM}
"""Signals that a command answers."""
GRACE = 3.0
"""Seconds within which the children of a killed process must have ended."""


@dataclass(frozen=True)
class Place:
    """The folders of one command: everything that it may read or write."""

    folder: Path

    @property
    def input(self) -> Path:
        """What is given to the command."""
        return self.folder / "in"

    @property
    def here(self) -> Path:
        """The current folder."""
        return self.folder / "here"

    @property
    def temporary(self) -> Path:
        """The folder for temporary files."""
        return self.folder / "tmp"

    @property
    def cache(self) -> Path:
        """The user's cache."""
        return self.folder / "cache"

    @property
    def out(self) -> Path:
        """What the command writes; the command makes it."""
        return self.folder / "out"

    def make(self) -> Place:
        """Make the folders."""
        for one in (self.input, self.here, self.temporary, self.cache):
            one.mkdir(parents=True)
        return self

    def environment(self) -> dict[str, str]:
        """Environment of the command, without settings of who runs the tests."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("GIT_", "TOSLOC_", "XDG_"))}
        return kept | {
            "HOME": str(self.folder),
            "TMPDIR": str(self.temporary),
            "XDG_CACHE_HOME": str(self.cache),
            MARK: str(self.folder),
            "OMP_NUM_THREADS": "1",
            "OMP_THREAD_LIMIT": "1",
            "LOKY_MAX_CPU_COUNT": "1",
        }


@dataclass(frozen=True)
class Outcome:
    """How a command ended."""

    code: int | None
    """Exit code; None where a signal ended it."""
    signal: int | None
    timed_out: bool
    out: str
    err: str
    seconds: float
    memory: int
    """Most bytes that it, or a child of its, held at once."""


def start(place: Place, arguments: Sequence[str], before: Callable[[], None] | None = None) -> int:
    """Fork a process that runs ``tosloc ARGUMENTS`` in its place; its id. ``before`` runs in it first."""
    sys.stdout.flush()
    sys.stderr.flush()
    # a signal that comes before the command has begun waits for it: nobody could answer it yet
    held = signal.pthread_sigmask(signal.SIG_BLOCK, _ANSWERED)
    process = os.fork()
    if process:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)
        return process
    code = 1
    try:
        code = _run(place, arguments, before)
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(BaseException):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _run(place: Place, arguments: Sequence[str], before: Callable[[], None] | None) -> int:
    """In the child: standard streams, folders, bounds, then the command and what the interpreter does at its end."""
    import tempfile

    from tosloc import interruption
    from tosloc.__main__ import main

    os.setsid()
    for number, (name, flags) in enumerate(
        ((os.devnull, os.O_RDONLY), (str(place.folder / "stdout"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC))
    ):
        os.dup2(os.open(name, flags), number)
    os.dup2(os.open(place.folder / "stderr", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
    sys.stdin, sys.stdout = open(0, encoding="utf-8"), open(1, "w", encoding="utf-8")
    sys.stderr = open(2, "w", buffering=1, encoding="utf-8", errors="backslashreplace")
    _forget()  # what would close files of these numbers later, when they are others
    os.closerange(3, 64)
    os.environ.clear()
    os.environ.update(place.environment())
    os.chdir(place.here)
    tempfile.tempdir = None
    sys.argv = ["tosloc", *arguments]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if before is not None:
        before()
    interruption.end_at_signals()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ANSWERED)
    code = main()
    sys.stdout.flush()
    atexit._run_exitfuncs()
    _forget()
    return code


def _forget() -> None:
    """What the interpreter lets go of at its end, open databases among it."""
    for name, module in list(sys.modules.items()):
        if name.startswith("tosloc"):
            for value in list(vars(module).values()):
                if callable(forget := getattr(value, "cache_clear", None)):
                    forget()
    gc.collect()


def wait(process: int, place: Place, started: float, seconds: float = SECONDS) -> Outcome:
    """The outcome of a process, which is killed, with its group, when its time is over."""
    timed_out, pause = False, 0.001
    while True:
        ended, status, usage = os.wait4(process, os.WNOHANG)
        if ended:
            break
        if time.monotonic() - started > seconds and not timed_out:
            timed_out = True
            with suppress(ProcessLookupError):
                os.killpg(process, signal.SIGKILL)
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        time.sleep(pause)
        pause = min(pause * 1.3, 0.02)
    return Outcome(
        os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else None,
        os.WTERMSIG(status) if os.WIFSIGNALED(status) else None,
        timed_out,
        (place.folder / "stdout").read_text("utf-8", "replace") if (place.folder / "stdout").exists() else "",
        (place.folder / "stderr").read_text("utf-8", "replace") if (place.folder / "stderr").exists() else "",
        time.monotonic() - started,
        usage.ru_maxrss * 1024,
    )


def run(place: Place, arguments: Sequence[str]) -> Outcome:
    """The outcome of one command, run to its end."""
    started = time.monotonic()
    return wait(start(place, arguments), place, started)


def marked(place: Place) -> list[int]:
    """Processes that were started by a command of the place, by a mark in their environment."""
    return list(_marked(f"{MARK}={place.folder}".encode()))


def _marked(mark: bytes) -> Iterator[int]:
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) != os.getpid():
            with suppress(OSError):
                data = Path("/proc", entry, "environ").read_bytes()
                if mark in data.split(b"\0"):
                    yield int(entry)


def orphans(place: Place, grace: float = GRACE) -> list[str]:
    """Command lines of what outlives its command by more than ``grace`` seconds; it is ended here."""
    until = time.monotonic() + grace
    while (alive := marked(place)) and time.monotonic() < until:
        time.sleep(0.02)
    said = []
    for process in alive:
        with suppress(OSError):
            said.append(Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
            os.kill(process, signal.SIGKILL)
    return said


def left_over(folder: Path) -> list[str]:
    """Names of files that were to vanish or to get another name: half-written ones, journals, anything temporary."""
    found = []
    for path in sorted(folder.rglob("*")):
        name = path.name
        if name.endswith((".tmp", "-journal", "-wal", "-shm", ".lock", ".part")) or (
            name.startswith(".") and name.count(".") > 1
        ):
            found.append(str(path.relative_to(folder)))
    return found
