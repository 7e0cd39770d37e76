"""What becomes of an error in a command or script: one sentence on standard error, a telling exit code."""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

from tosloc.errors import Interrupted, StoreWarning, ToslocError
from tosloc.io import printable

WRONG_INPUT = 2
SENTENCE: Final = "tosloc: interrupted; run the same command again to go on"
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_LONGEST: Final = 2_000
"""Letters of a sentence: an input may put anything into it."""


def guarded(run: Callable[[], int]) -> int:
    """Exit code of ``run``, 2 for input that is at fault (one sentence on standard error), 130 for Ctrl-C."""
    received: list[int] = []
    code = 0
    try:
        with _signals_raised(received):
            code = _answered(run)
    except BaseException:  # also what a library has made of the interruption, such as an ImportError
        if not received:
            raise
    return _say(SENTENCE, 128 + received[0]) if received else code


def end_at_signals() -> None:
    """From now on a signal ends the process at once: nothing is open that would have to be closed."""
    for number in _SIGNALS:
        signal.signal(number, _end)


def _end(number: int, _: object) -> None:
    with suppress(OSError):
        os.write(2, f"{SENTENCE}\n".encode())
    if (running := sys.modules.get("multiprocessing")) is not None:
        for child in running.active_children():  # one may be busy for long, and hold our standard error
            child.kill()
    os._exit(128 + number)


@contextmanager
def _signals_raised(received: list[int]) -> Iterator[None]:
    """Within, a signal raises ``Interrupted``, and a second one ends the process; ``received`` gets its number.

    After it nothing is told on standard error of what goes wrong on the way out.
    """

    def interrupt(number: int, _: object) -> None:
        received.append(number)
        end_at_signals()
        sys.stderr = io.StringIO()
        raise Interrupted

    stream, before = sys.stderr, {}
    for number in _SIGNALS:
        with suppress(ValueError):  # not the main thread
            if signal.getsignal(number) is not signal.SIG_IGN:  # what was started to outlive its terminal does so
                before[number] = signal.signal(number, interrupt)
    try:
        yield
    finally:
        sys.stderr = stream
        for number, answer in before.items():
            signal.signal(number, answer)


def _answered(run: Callable[[], int]) -> int:
    """Exit code of ``run``; an error that is foreseen becomes a sentence."""
    try:
        with _warnings_said():
            code = run()
        if sys.stdout is not None:  # closed before the command began
            sys.stdout.flush()
        return code
    except (Interrupted, KeyboardInterrupt):
        return _say(SENTENCE, 128 + signal.SIGINT)
    except ToslocError as error:
        return _say(f"tosloc: {error}", WRONG_INPUT)
    except BrokenPipeError:  # the reader, such as head, has seen enough
        _forget_output()
        return 1
    except MemoryError:
        return _say("tosloc: the memory is not enough for this; free some, or ask for less at once", WRONG_INPUT)
    except RuntimeError as error:
        from concurrent.futures.process import BrokenProcessPool

        if not isinstance(error, BrokenProcessPool):
            raise
        why = "a worker process was killed, most likely for its memory; set a lower jobs in [run]"
        return _say(f"tosloc: {why} and run the same command again to go on", WRONG_INPUT)
    except OSError as error:
        _forget_output()
        return _say(f"tosloc: {_about(error)}", WRONG_INPUT)


@contextmanager
def _warnings_said() -> Iterator[None]:
    """Our own warnings, such as what a store mended by itself, become sentences; others are shown as ever."""
    with warnings.catch_warnings():
        warnings.filterwarnings("always", category=StoreWarning)
        shown = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if issubclass(category, StoreWarning):
                _say(f"tosloc: {message}", 0)
            else:
                shown(message, category, *where, **more)

        warnings.showwarning = show
        yield


def _forget_output() -> None:
    """Let the interpreter's last flush of standard output go nowhere, if it cannot be written."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _about(error: OSError) -> str:
    """One sentence about a file that cannot be read or written."""
    place = f"{error.filename}: " if error.filename else ""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"{place}no room left on the disk; make room and run the same command again to go on"
    what = f"{place}{error.strerror or error}"
    return f"{what}; allow more by: ulimit -n 1024" if error.errno == errno.EMFILE else what


def _say(sentence: str, code: int) -> int:
    """Print a sentence on one line, safe on a terminal, what is overlong in it cut; the code."""
    words = printable(" ".join(sentence.split()))
    if len(words) > _LONGEST:
        words = f"{words[: _LONGEST // 2]} ... {words[-_LONGEST // 2 :]}"
    if sys.stderr is not None:
        with suppress(OSError, ValueError):  # its reader is gone; it is closed
            print(words, file=sys.stderr)
    return code
