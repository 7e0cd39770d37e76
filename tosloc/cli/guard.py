"""Turn errors in a command or script into a sentence on standard error and an exit code."""

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

WRONG_INPUT: Final = 2
"""Exit code for wrong input."""
INTERRUPTED_SENTENCE: Final = "tosloc: interrupted; run the same command again to continue"
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_FIRST_SIGNAL_CODE: Final = 128
"""Number that is added to the number of a signal to get the exit code, as in shells."""
_MAX_SENTENCE_CHARACTERS: Final = 2_000
"""Largest number of characters of a sentence, because input may contain texts of any length."""


def run_guarded(run: Callable[[], int]) -> int:
    """Call ``run`` and return the exit code.

    The code is that of ``run``; or 2 for wrong input, which a sentence on standard error describes;
    or 130 after Ctrl-C. While ``run`` works, a signal raises ``Interrupted``, and a second signal
    ends the process.
    """
    _prepare_streams()
    received_signals: list[int] = []
    standard_error = sys.stderr
    warnings.formatwarning = _format_warning

    def interrupt(number: int, _: object) -> None:
        received_signals.append(number)
        end_at_signals()
        sys.stderr = io.StringIO()  # Errors on the way out are not shown.
        raise Interrupted

    previous_handlers = {}
    for number in _SIGNALS:
        # An ignored signal stays ignored: nohup ignores signals of a terminal that closes.
        if signal.getsignal(number) is not signal.SIG_IGN:
            previous_handlers[number] = signal.signal(number, interrupt)
    code = 0
    try:
        code = run()
        print(end="", flush=True)
    except BaseException as error:
        # After a signal the error may be anything that a library has made of the interruption,
        # such as an ImportError.
        if not received_signals:
            code = _exit_code(error)
    finally:
        sys.stderr = standard_error
        for number, handler in previous_handlers.items():
            signal.signal(number, handler)
    if received_signals:
        _print_sentence(INTERRUPTED_SENTENCE)
        return _FIRST_SIGNAL_CODE + received_signals[0]
    return code


def _format_warning(message: Warning | str, *_: object, **__: object) -> str:
    """Return a warning as one line in this program's style."""
    return f"tosloc: {escape_unprintable(str(message))}\n"


def _prepare_streams() -> None:
    """Make standard output and standard error accept any text, even if they were closed."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # A file that is opened later would get the number of a closed stream, and with it the
            # text that is printed.
            os.open(os.devnull, os.O_RDWR)
    # These files stay open for as long as the program runs.
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Characters that the encoding lacks, such as ASCII, are escaped.
            stream.reconfigure(errors="backslashreplace")


def end_at_signals() -> None:
    """Let signals end the process at once; call it when nothing is open that must be closed."""
    for number in _SIGNALS:
        signal.signal(number, _end_process)


def _end_process(number: int, _: object) -> None:
    """End the process and its workers after a signal."""
    with suppress(OSError):
        os.write(2, f"{INTERRUPTED_SENTENCE}\n".encode())
    multiprocessing = sys.modules.get("multiprocessing")
    if multiprocessing is not None:
        # A worker may be busy for long, and would keep our standard error open.
        for worker in multiprocessing.active_children():
            worker.kill()
    os._exit(_FIRST_SIGNAL_CODE + number)


def _exit_code(error: BaseException) -> int:
    """Print the sentence for an error and return its exit code; raise other errors again."""
    if isinstance(error, OSError):
        try:
            print(end="", flush=True)
        except OSError:
            # The interpreter flushes once more when it ends, which must not fail.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):  # The reader, such as head, has seen enough.
            return 1
    sentence = describe_error(error)
    if sentence is None:
        raise error
    _print_sentence(f"tosloc: {sentence}")
    return WRONG_INPUT


def describe_error(error: BaseException) -> str | None:
    """Return the sentence for an error, with the names of options; None if the error is a bug."""
    return user_sentence(error, _render)


def _render(error: ToslocError) -> str:
    """Return the sentence for an error, with the names of options."""
    return error.render(lambda argument: "--" + argument.replace("_", "-"))


def _print_sentence(sentence: str) -> None:
    """Print a sentence to standard error, on one line and safe for a terminal."""
    one_line = escape_unprintable(" ".join(sentence.split()))
    # OSError: the reader of standard error is gone. ValueError: standard error is closed.
    with suppress(OSError, ValueError):
        print(truncate_text(one_line, _MAX_SENTENCE_CHARACTERS), file=sys.stderr)
