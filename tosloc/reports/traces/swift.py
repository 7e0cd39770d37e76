"""Read functions of stack frames of Swift."""

from __future__ import annotations

import re
from typing import Final

from tosloc.reports.traces.frame import Frame, beginning_of_line

_ADDRESS: Final = re.compile(r"0x[0-9a-f]{4,16}\s{1,9}")
"""The address before the function."""
_ACCESSORS: Final = frozenset({"getter", "setter", "modify", "read"})
"""Words that Swift adds to the name of a property."""


def complete(text: str, frame: Frame) -> Frame:
    """Return a frame with its function.

    Swift writes ``1 Shop 0x0102 Door.open() + 132 (Door.swift:12)``.
    """
    line = beginning_of_line(text, frame.offset)
    addresses = list(_ADDRESS.finditer(line))
    if not addresses or not line.endswith("("):
        return frame
    signature = line[addresses[-1].end() :].rpartition(" + ")[0].partition("(")[0]
    parts = signature.split(".")
    while len(parts) > 1 and parts[-1] in _ACCESSORS:
        parts.pop()
    return frame.with_method(parts[-1])
