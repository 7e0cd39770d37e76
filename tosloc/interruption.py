"""Ctrl-C and SIGTERM: one sentence on standard error and exit code 130 or 143, whatever the process is at.

Little is imported here, so that a command listens before it loads anything else.
"""

from __future__ import annotations

import _thread
import io
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, Final, NoReturn

SENTENCE: Final = "tosloc: interrupted; run the same command again to go on"
GRACE_SECONDS: Final = 5.0
"""How long an interrupted command may take to close what it has open; then the process ends without."""

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


class Interrupted(BaseException):
    """A signal, on its way past libraries that would answer Ctrl-C in words of their own."""


def end_at_signals() -> None:
    """From now on a signal ends the process at once: there is nothing yet that would have to be closed."""
    _answer_with(_end)


def leave(code: int) -> NoReturn:
    """End the process, which has nothing open but its output."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # its reader is gone; it is closed; it never was open
            stream.flush()
    os._exit(code)


def end_soon(code: int) -> None:
    """Give what the command leaves ``GRACE_SECONDS`` to end by itself, and nothing to say; then the process ends."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    _thread.start_new_thread(_exit_later, (code,))


@contextmanager
def raising(received: list[int]) -> Iterator[None]:
    """Within, a signal raises ``Interrupted``; its number stands in ``received``, even if what was raised got lost.

    The sentence is printed when the block is left, and nothing before it of what goes wrong on the way out. A second
    signal, or ``GRACE_SECONDS``, ends the process at once.
    """
    answers = {number: signal.getsignal(number) for number in _SIGNALS}
    hook, stream = sys.unraisablehook, sys.stderr
    left = _thread.allocate_lock()
    left.acquire()
    told = False

    def raise_once(number: int, frame: FrameType | None) -> None:
        if told:
            return
        if received:
            _end(number)
        received.append(number)
        sys.stderr, sys.unraisablehook = io.StringIO(), _end_when_swallowed
        _thread.start_new_thread(_end_unless, (left, number))
        raise Interrupted(number)

    try:
        _answer_with(raise_once)
        yield
    finally:
        left.release()
        told = True
        sys.stderr, sys.unraisablehook = stream, hook
        if received:
            tell(SENTENCE)
        for number, answer in answers.items():
            if received and answer is _end:
                continue  # the process ends now; another signal would have the sentence said again
            with suppress(ValueError, TypeError):  # not the main thread; not an answer of Python's
                signal.signal(number, answer)


def exit_code(number: int) -> int:
    """Exit code of a process that a signal ended, as shells have it."""
    return 128 + number


def tell(sentence: str) -> None:
    """Print a sentence on standard error, if anyone is there to read it."""
    if sys.stderr is not None:
        with suppress(OSError, ValueError):  # its reader is gone; it is closed
            print(" ".join(sentence.split()), file=sys.stderr)


def _answer_with(answer: Callable[[int, FrameType | None], None]) -> None:
    for number in _SIGNALS:
        with suppress(ValueError):  # not the main thread
            if signal.getsignal(number) is not signal.SIG_IGN:  # what was started to outlive its terminal does so
                signal.signal(number, answer)


def _end(number: int, frame: FrameType | None = None) -> None:
    show_cursor = "\x1b[?25h" if os.isatty(2) else ""  # a progress bar has hidden it
    with suppress(OSError):
        os.write(2, f"{show_cursor}{SENTENCE}\n".encode())
    os._exit(exit_code(number))


def _exit_later(code: int) -> None:
    time.sleep(GRACE_SECONDS)
    os._exit(code)


def _end_unless(left: _thread.LockType, number: int) -> None:
    if not left.acquire(timeout=GRACE_SECONDS):
        _end(number)


def _end_when_swallowed(problem: Any) -> None:
    """End if what was raised did not get through: in a destructor, say, where Python drops it."""
    if isinstance(problem.exc_value, Interrupted):
        _end(problem.exc_value.args[0])
