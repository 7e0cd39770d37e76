"""What the tests have workers do; imported by their processes, too."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

from tosloc.errors import ToslocError


class Odd(ToslocError):
    """One that cannot be unpickled."""

    def __init__(self, sentence: str, number: int) -> None:
        super().__init__(sentence)
        self.args = (sentence,)


def noted(folder: Path, number: int, seconds: float = 0.0) -> int:
    """Leave a note that this call began, take some time, and another note that it ended."""
    (folder / f"{number}.{os.getpid()}.{os.getppid()}").touch()
    time.sleep(seconds)
    (folder / f"done-{number}").touch()
    return number


def deadly(number: int, at: int) -> int:
    """Bring the process down at one number, as a parser might."""
    if number == at:
        os.kill(os.getpid(), signal.SIGSEGV)
    return number


def failing(kind: str) -> None:
    """Raise an error of a kind."""
    if kind == "ours":
        raise ToslocError("it is the input's fault")
    if kind == "unpicklable":
        raise Odd("it is damaged", 1)
    raise ZeroDivisionError("a fault")


def surroundings() -> tuple[str | None, int, bool, bool]:
    """Threads of numerical libraries, of Python, whether Ctrl-C is kept away, whether this is the main thread."""
    blocked = signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, [])
    main = threading.current_thread() is threading.main_thread()
    return os.environ.get("OMP_NUM_THREADS"), threading.active_count(), blocked, main
