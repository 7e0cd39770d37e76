"""Read stack frames of Julia."""

from __future__ import annotations

from typing import Final

from tosloc.core.patterns import lazy_pattern
from tosloc.reports.traces.frame import Frame

_HEAD: Final = lazy_pattern(r"(?m)\[\s?\d{1,4}\]\s{1,4}|^\s{0,9}in\s")
"""Beginning of a frame: its number, or "in" before version 0.6."""
_PLACE: Final = lazy_pattern(r"\s(?:at|@(?:\s(?P<module>[\w.]{1,100}))?)\s\Z")
"""Text before the file in a frame."""
_FUNCTION: Final = lazy_pattern(r"#?(?:[\w!]{1,100}\.){0,9}([\w!]{1,100})(?:#\d{1,9})?(?=[({]|\Z)")
_FRAME_LENGTH: Final = 1_000
"""Number of characters before a frame's file that are searched for the name of its function."""
NUMBERED_LINE: Final = r"""
    \[\s?\d{1,4}\]\s{1,4}(?=\S) (?:
      top-level\ scope | macro\ expansion
    | [^\n]{0,1000}\ (?:at|@)\ \S{1,300}:\d
    | [^\ \n(]{0,300}\((?:[^\n]{0,1000}::|\)\s*$)
    )"""
"""Verbose pattern of the numbered line of a frame; lines of a log may also begin with a number."""
_NUMBERED_FRAME: Final = lazy_pattern(rf"(?x)\s{{0,9}}{NUMBERED_LINE}")


def complete(text: str, frame: Frame) -> Frame:
    """Return a frame with its function, and with the folder of its file.

    Julia writes ``[1] f(x::Int64) at ./a.jl:12``, and since version 1.6 ``[1] f(x::Int64)`` with
    ``@ Main ./a.jl:12`` in the next line. Files of its module Base are written without their
    folder. A place that is not a frame is returned unchanged.
    """
    before = text[max(0, frame.offset - _FRAME_LENGTH) : frame.offset]
    place = _PLACE.search(before)
    if place is None:
        return frame
    heads = list(_HEAD.finditer(before, 0, place.start()))
    call = before[heads[-1].end() : place.start()].strip() if heads else ""
    if not call or "\n" in call:
        return frame
    function = _FUNCTION.match(call)
    path = frame.path
    if (place["module"] or "").partition(".")[0] == "Base" and path.startswith("./"):
        path = f"base/{path[2:]}"
    return frame._replace(method=function[1] if function else "", path=path)


def is_numbered_frame(line: str) -> bool:
    """Return whether a line is the numbered one of a stack frame.

    >>> [is_numbered_frame(f" [{line}") for line in ("1] f(x::Int64)", "2] f at a.jl:3", "3] f()")]
    [True, True, True]
    >>> [is_numbered_frame(line) for line in ("[1] started", "[2] a::f(x) at 3", "[3] f(x) failed")]
    [False, False, False]
    """
    return _NUMBERED_FRAME.match(line) is not None
