"""Read functions of stack frames of Go."""

from __future__ import annotations

import re
from typing import Final

from tosloc.reports.traces.frame import Frame, line_before

_CREATOR: Final = "created by "
_FUNCTION: Final = re.compile(r"[\w./~%\-]{1,300}\.(?:\(\*?\w{1,100}\)\.)?\w[\w.]{0,100}")
"""A qualified name: example.com/shop.(*Door).Open."""
_CLOSURE: Final = re.compile(r"func\d{1,4}|\d{1,4}|gowrap\d{1,4}")
"""A part of a name that Go invents for a function without a name."""


def complete(text: str, frame: Frame) -> Frame:
    """Return a frame with its function.

    Go writes the call in one line, and the file in the next. Some loggers write calls without
    arguments.
    """
    line = line_before(text, frame)
    creator = line.find(_CREATOR)
    if creator >= 0:
        call = line[creator + len(_CREATOR) :].partition(" in goroutine ")[0]
    elif line.endswith(")"):
        call = line.rpartition("(")[0]
    elif _FUNCTION.fullmatch(line):
        call = line
    else:
        return frame
    parts = call.rpartition("/")[2].replace("[...]", "").split(".")
    while len(parts) > 1 and _CLOSURE.fullmatch(parts[-1]):
        parts.pop()
    return frame.with_method(parts[-1]) if len(parts) > 1 else frame
