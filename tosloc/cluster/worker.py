"""What runs in the workers of a Dask cluster: checks, and one call at a time for each of their threads.

A call is done by a process of its own (``tosloc.cluster.slot``), which is kept for the next one. So a source file that
brings a parser down harms no worker, what a call holds is never shared by threads, numerical libraries use one thread
each, and a call that nobody waits for any more can be ended.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import platform
import select
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import IO, ClassVar, Final, NamedTuple, cast

import tosloc
from tosloc import processes
from tosloc.cluster.slot import read_frame, write_frame
from tosloc.errors import ToslocError

LOOK_SECONDS: Final = 0.5
"""How often it is seen whether a call is still wanted."""
SETTLED: Final = ("numpy", "scipy", "lightgbm", "pystemmer", "tree-sitter", "lizard")
"""Packages that results depend on, beside the grammars."""
_THREADS: Final = ("OMP", "OPENBLAS", "MKL", "BLIS", "VECLIB_MAXIMUM", "NUMBA", "NUMEXPR")


@cache
def about() -> dict[str, str]:
    """What has to be the same on both sides for the same results."""
    digest = hashlib.sha256()
    package = Path(tosloc.__file__).parent
    for path in sorted(path for path in package.rglob("*") if path.suffix in (".py", ".scm")):
        digest.update(f"{path.relative_to(package).as_posix()}\n".encode())
        digest.update(path.read_bytes())
    found = {"Python": ".".join(platform.python_version_tuple()[:2]), "tosloc": tosloc.__version__}
    for one in metadata.distributions():
        name = (one.metadata["Name"] or "").lower().replace("_", "-")
        if name in SETTLED or name.startswith("tree-sitter-"):
            found.setdefault(name, one.version)  # the first on the path is the one that is imported
    return found | {"tosloc's code": digest.hexdigest()[:12]}


class Found(NamedTuple):
    """What a worker says of itself and of what it can reach."""

    about: dict[str, str]
    repository: str
    """Why a repository, or a commit of it, cannot be read there; empty if all can."""
    token: str
    """What stands in the file that the client has written, or why it cannot be read, or none be written there."""


def look(repositories: dict[str, str], token: str, written: bool) -> Found:
    """What is here: packages; repositories with a commit of each; a file to read, and where one can be written."""
    return Found(about(), _unreadable(repositories), _copied(token, written))


def _unreadable(repositories: dict[str, str]) -> str:
    from tosloc.data.git import Repository

    for path, commit in repositories.items():
        try:
            with Repository(path) as repository:
                if commit:
                    repository.resolve(commit)
        except (ToslocError, OSError) as error:
            return str(error)
    return ""


def _copied(token: str, written: bool) -> str:
    if not token:
        return ""
    try:
        content = Path(token).read_text(encoding="ascii")
        if written:
            with tempfile.NamedTemporaryFile(dir=Path(token).parent, prefix=Path(token).name):
                pass
        return content
    except (OSError, ValueError) as error:
        return str(error)


def perform(session: str, folder: str, call: bytes) -> bytes | None:
    """What a pickled call of a client gives, pickled; None where its process died of it, or nobody waits any more."""
    from distributed import get_worker

    worker = get_worker()
    key = worker.get_current_task()
    frame = pickle.dumps((folder, call), protocol=pickle.HIGHEST_PROTOCOL)
    while True:
        slot = _Slots.take(session)
        try:
            slot.ask(frame)
            while not slot.has_answered(LOOK_SECONDS):
                state = worker.state.tasks.get(key)
                if state is None or state.state not in ("executing", "long-running"):
                    slot.kill()
                    return None  # the client is gone, or has given the call up
                slot.ask(b"")
            answer = slot.answer()
        except BaseException:
            slot.kill()
            raise
        if answer is not None:
            _Slots.give_back(session, slot)
            return answer
        if slot.kill() != 0:  # else it had ended for want of calls just then
            return None


class _Slot:
    """One process that does calls."""

    def __init__(self) -> None:
        environment = dict(os.environ) | {f"{name}_NUM_THREADS": "1" for name in _THREADS}
        places = [place for place in sys.path if place]  # without the current folder, which it takes from the command
        program = f"import sys; sys.path[:] = {places!r}; from tosloc.cluster.slot import main; main()"
        self._process = processes.start([sys.executable, "-c", program], environment, stderr=subprocess.DEVNULL)
        self._input, self._output = cast(IO[bytes], self._process.stdin), cast(IO[bytes], self._process.stdout)

    @property
    def alive(self) -> bool:
        """Whether it has not ended by itself."""
        return self._process.poll() is None

    def ask(self, frame: bytes) -> None:
        with suppress(BrokenPipeError):  # then there is no answer either
            write_frame(self._input, frame)

    def has_answered(self, seconds: float) -> bool:
        if sys.platform == "win32":
            return True
        return bool(select.select([self._output], [], [], seconds)[0])

    def answer(self) -> bytes | None:
        """The answer; None where the process has ended instead."""
        return read_frame(self._output)

    def kill(self) -> int:
        """End it; its exit code."""
        self._process.kill()
        code = self._process.wait()
        with suppress(OSError):
            self._input.close()
        self._output.close()
        return code


class _Slots:
    """The processes that wait for the next call of a client's."""

    _lock: ClassVar = threading.Lock()
    _free: ClassVar[dict[str, list[_Slot]]] = {}

    @classmethod
    def take(cls, session: str) -> _Slot:
        """One that waits, or a new one."""
        with cls._lock:
            free = {name: [slot for slot in some if slot.alive] for name, some in cls._free.items()}
            ended = [slot for name, some in cls._free.items() for slot in some if slot not in free[name]]
            cls._free = {name: some for name, some in free.items() if some}
            found = cls._free[session].pop() if session in cls._free else None
        for slot in ended:
            slot.kill()
        return found or _Slot()

    @classmethod
    def give_back(cls, session: str, slot: _Slot) -> None:
        with cls._lock:
            cls._free.setdefault(session, []).append(slot)
