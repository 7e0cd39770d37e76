"""What becomes of an error in a command or script: one sentence on standard error, a telling exit code."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable

from tosloc.errors import ToslocError

WRONG_INPUT = 2
INTERRUPTED = 130


class Interrupted(BaseException):
    """Ctrl-C, on its way past the command line library, which would answer it in its own words."""


def guarded(run: Callable[[], int]) -> int:
    """Exit code of ``run``, 2 for input that is at fault (one sentence on standard error), 130 for Ctrl-C."""
    try:
        code = run()
        sys.stdout.flush()
        return code
    except (Interrupted, KeyboardInterrupt):
        return _say("interrupted; run the same command again to go on", INTERRUPTED)
    except ToslocError as error:
        return _say(str(error), WRONG_INPUT)
    except BrokenPipeError:  # the reader, such as head, has seen enough
        _forget_output()
        return 1
    except OSError as error:
        _forget_output()
        return _say(_about(error), WRONG_INPUT)


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
    return f"{place}{error.strerror or error}"


def _say(sentence: str, code: int) -> int:
    print("tosloc: " + " ".join(sentence.split()), file=sys.stderr)
    return code
