"""Read functions of stack frames of Rust."""

from __future__ import annotations

import re
from typing import Final

from tosloc.reports.traces.frame import Frame, line_before

_FRAME: Final = re.compile(r"\b\d{1,4}:\s{1,9}(?:0x[0-9a-f]{1,16}\s-\s)?")
_CLOSURE: Final = re.compile(r"h[0-9a-f]{16}|\{\{?[\w.#]{1,60}\}?\}")
"""A part of a name that Rust adds: a hash, or the mark of a closure."""
_TYPE_ARGUMENTS: Final = re.compile(r"<[^<>]{0,200}>")


def complete(text: str, frame: Frame) -> Frame:
    """Return a frame with its function.

    Rust writes ``4: shop::door::open`` in one line, and ``at door.rs:12`` in the next.
    """
    line = line_before(text, frame)
    number = _FRAME.search(line)
    if number is None:
        return frame
    parts = _TYPE_ARGUMENTS.sub("", line[number.end() :]).split("::")
    while len(parts) > 1 and _CLOSURE.fullmatch(parts[-1]):
        parts.pop()
    return frame.with_method(parts[-1])
