"""Programs that this process starts, such as git. None outlives this process, however it ends.

All of them are in one process group, whose leader is a small shell, the guard. The guard waits at
a pipe that this process alone can write to. The kernel closes the pipe when this process ends,
also when it is killed; then the guard kills its whole group, itself included.
"""

from __future__ import annotations

import atexit
import os
import subprocess
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import IO, Final

_GUARD: Final = ("/bin/sh", "-c", "read -r _; kill -s KILL 0")
_lock: Final = Lock()
_guards: Final[dict[int, subprocess.Popen[bytes]]] = {}
"""The guard of this process, by the id of this process, because a forked process starts its own."""


def start_child(
    command: Sequence[str],
    environment: Mapping[str, str] | None = None,
    stdin: int | IO[bytes] = subprocess.PIPE,
    stderr: int | IO[bytes] | None = subprocess.DEVNULL,
    stdout: int | None = subprocess.PIPE,
) -> subprocess.Popen[bytes]:
    """Start a program that ends when this process does.

    Its output and, by default, its input are pipes. It does not see Ctrl-C, which a terminal sends
    to the process group of this process only. Raises OSError if the program cannot be run.
    """
    return subprocess.Popen(
        command,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        env=environment,
        process_group=_guarded_group(),
    )


def _guarded_group() -> int:
    """Return the process group that the guard kills; start the guard if none is running."""
    with _lock:
        guard = _guards.get(os.getpid())
        if guard is None or guard.poll() is not None:
            guard = subprocess.Popen(
                _GUARD,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={},
                cwd="/",
                process_group=0,
            )
            _guards[os.getpid()] = guard
        return guard.pid


@atexit.register
def _end_guard() -> None:
    guard = _guards.pop(os.getpid(), None)
    if guard is not None:
        guard.communicate()
