"""Find stack frames of all formats in a text.

People paste traces in many ways: with line breaks turned into blanks, with several traces, and with
log lines between frames.
"""

from __future__ import annotations

import re
from bisect import bisect
from typing import Final

from tosloc.reports.traces import jvm
from tosloc.reports.traces.frame import Frame
from tosloc.reports.traces.table import FORMATS

_FORMATS_OF_FRAMES: Final = "|".join(
    f"(?P<format_{number}>{form.frame})" for number, form in enumerate(FORMATS) if form.frame
)
# Most positions of a text are within a word, where no frame begins, but for Python's.
_FRAME: Final = re.compile(rf"(?:(?<![\w$.])|(?=File))(?:{_FORMATS_OF_FRAMES})", re.VERBOSE)
_READERS: Final = {
    f"format_{number}": form.read for number, form in enumerate(FORMATS) if form.read is not None
}
"""Group of a format in ``_FRAME`` -> reader of its frames."""
_LINE: Final = re.compile(
    r"\s{0,40}(?:" + "|".join(form.line for form in FORMATS if form.line) + ")", re.VERBOSE
)
_NEW_TRACE: Final = re.compile(
    "|".join(form.new_trace for form in FORMATS if form.new_trace), re.VERBOSE
)
_COMPLETE: Final = {
    suffix: form.complete
    for form in FORMATS
    if form.complete is not None
    for suffix in form.suffixes
}
"""Suffix of a file -> the function that completes its frames."""
_CAUSE: Final = re.compile(r"\bcaused by\b|\broot cause\b", re.I)


def frames(text: str) -> list[Frame]:
    """Return all stack frames in ``text`` that can be distinguished from prose, in order.

    These are frames of Java, a Java debugger, .NET, JavaScript and Python.

    >>> [frame] = frames("at java.base/a.b.Pool$Worker.run(Pool.java:7)")
    >>> frame.type, frame.file, frame.method, frame.line, frame.full_path
    ('a.b.Pool', 'Pool.java', 'run', 7, 'a/b/Pool.java')
    """
    causes = [match.start() for match in _CAUSE.finditer(text)]
    found: list[Frame] = []
    for match in _FRAME.finditer(text):
        frame = _READERS[match.lastgroup or ""](match)
        # No cause counts before the first frame.
        first = found[0].offset if found else frame.offset
        cause = bisect(causes, frame.offset) - bisect(causes, first)
        found.append(frame._replace(cause=cause))
    return found


def without_frames(text: str) -> str:
    """Return ``text`` with every frame that ``frames`` returns replaced by a blank.

    >>> without_frames("It fails: a.MyException: no at a.C.d(C.java:1) at a.C.e(C.java:2) Help!")
    'It fails: a.MyException: no     Help!'
    """
    return _FRAME.sub(" ", text)


def is_traced(line: str) -> bool:
    """Return whether a line is one of a stack trace that ``without_frames`` does not remove.

    >>> [is_traced(line) for line in ("x.org/a.(*B).C(0xefe620)", "#1 0x12 in f a.c:3")]
    [True, True]
    >>> [is_traced(line) for line in ("#1 is it", "f(x)")]
    [False, False]
    """
    return _LINE.match(line) is not None


def complete_frame(text: str, frame: Frame) -> Frame:
    """Return a frame that has a path and a line with what its format writes beside these.

    That is usually the name of the function.

    >>> trace = "main.(*Shop).Open(0xc0)\\n\\t/go/src/shop/door.go:12 +0x9f"
    >>> complete_frame(trace, Frame(25, 41, 12, path="/go/src/shop/door.go")).method
    'Open'
    """
    complete = _COMPLETE.get(frame.path[frame.path.rfind(".") :].lower())
    return complete(text, frame) if complete else frame


def separates_traces(text: str, start: int, end: int) -> bool:
    """Return whether a text says between two offsets that a new trace begins."""
    return _NEW_TRACE.search(text, start, end) is not None


def qualified_names(text: str) -> list[str]:
    """Return the qualified names of the outermost classes in traces and log headers.

    They are in order of first appearance, without repetitions. A class that is only mentioned in a
    sentence does not count.

    >>> text = "15:34:04 a.b.Shop open SEVERE: a.b.ShopError: shut at a.b.Door$1.push(Door.java:5)"
    >>> qualified_names(text)
    ['a.b.Shop', 'a.b.ShopError', 'a.b.Door']
    """
    found = [(frame.offset, frame.type) for frame in frames(text) if "." in frame.type]
    found += jvm.find_classes(text)
    return list(dict.fromkeys(name for _, name in sorted(found)))
