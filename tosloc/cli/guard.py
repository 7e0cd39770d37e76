"""What becomes of an error in a command or script: one sentence on standard error, a telling exit code."""

from __future__ import annotations

import io
import os
import signal
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from tosloc.core.errors import Interrupted, ToslocError, user_sentence
from tosloc.core.io import escape_unprintable, truncate_text

WRONG_INPUT = 2
INTERRUPTED_SENTENCE: Final = "tosloc: interrupted; run the same command again to go on"
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_LONGEST: Final = 2_000
"""Letters of a sentence: an input may put anything into it."""


def run_guarded(run: Callable[[], int]) -> int:
    """Exit code of ``run``, 2 for input that is at fault (one sentence on standard error), 130 for Ctrl-C.

    Within, a signal raises ``Interrupted``, and a second one ends the process.
    """
    _prepare_streams()
    received: list[int] = []
    stream = sys.stderr
    warnings.formatwarning = lambda message, *_, **__: (
        f"tosloc: {escape_unprintable(str(message))}\n"
    )

    def interrupt(number: int, _: object) -> None:
        received.append(number)
        end_at_signals()
        sys.stderr = io.StringIO()  # nothing is told of what goes wrong on the way out
        raise Interrupted

    before = {
        number: signal.signal(number, interrupt)
        for number in _SIGNALS
        if signal.getsignal(number) is not signal.SIG_IGN  # as of what outlives its terminal
    }
    code = 0
    try:
        code = run()
        print(end="", flush=True)
    except BaseException as error:
        if (
            not received
        ):  # else it is what a library has made of the interruption, such as an ImportError
            code = _exit_code(error)
    finally:
        sys.stderr = stream
        for number, answer in before.items():
            signal.signal(number, answer)
    return _say(INTERRUPTED_SENTENCE, 128 + received[0]) if received else code


def _prepare_streams() -> None:
    """Make standard output and standard error take any text, even if the program was started without them."""
    for number in range(3):
        try:
            os.fstat(number)
        except (
            OSError
        ):  # closed: a file that is opened later would get its number, and what is printed there
            os.open(os.devnull, os.O_RDWR)
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # for as long as the program runs
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # what an encoding such as ASCII lacks


def end_at_signals() -> None:
    """From now on a signal ends the process at once: nothing is open that would have to be closed."""
    for number in _SIGNALS:
        signal.signal(number, _end)


def _end(number: int, _: object) -> None:
    with suppress(OSError):
        os.write(2, f"{INTERRUPTED_SENTENCE}\n".encode())
    if (running := sys.modules.get("multiprocessing")) is not None:
        for (
            child
        ) in running.active_children():  # one may be busy for long, and hold our standard error
            child.kill()
    os._exit(128 + number)


def _render(error: ToslocError) -> str:
    """Return the sentence for an error, with the names of options."""
    return error.render(lambda argument: "--" + argument.replace("_", "-"))


def _exit_code(error: BaseException) -> int:
    """Exit code for an error that is foreseen, of which a sentence is said. Any other is raised again."""
    if isinstance(error, OSError):
        try:
            print(end="", flush=True)
        except OSError:  # let the interpreter's last flush go nowhere
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):  # the reader, such as head, has seen enough
            return 1
    if (sentence := user_sentence(error, _render)) is None:
        raise error
    return _say(f"tosloc: {sentence}", WRONG_INPUT)


def _say(sentence: str, code: int) -> int:
    """Print a sentence on one line, safe on a terminal; the code."""
    with suppress(OSError, ValueError):  # its reader is gone; it is closed
        print(
            truncate_text(escape_unprintable(" ".join(sentence.split())), _LONGEST), file=sys.stderr
        )
    return code
