"""Read functions of stack frames of C, C++ and Objective-C."""

from __future__ import annotations

import re
from typing import Final

from tosloc.reports.traces.frame import Frame, beginning_of_line

_FRAME: Final = re.compile(r"\s{0,20}#\d{1,4}\s{1,9}(?:0x[0-9a-f]{1,16}\s)?(?:in\s)?")
"""Beginning of a frame of gdb or of a sanitizer."""
_TEMPLATE: Final = re.compile(r"<[^<>]{0,200}>")


def complete(text: str, frame: Frame) -> Frame:
    """Return a frame with its function.

    Debuggers and sanitizers write ``#1 0x12 in shop::open(int) door.cpp:12``.
    """
    line = beginning_of_line(text, frame.offset)
    number = _FRAME.match(line)
    if number is None:
        return frame
    signature = line[number.end() :].replace("(anonymous namespace)::", "")
    words = _TEMPLATE.sub("", signature).partition("(")[0].split()
    return frame.with_method(words[0].rpartition("::")[2]) if words else frame
