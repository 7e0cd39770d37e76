"""Read stack frames of Python."""

from __future__ import annotations

import re
from typing import Final

from tosloc.reports.traces.frame import Frame

_QUOTE: Final = '(?:["“”„«»]|&quot;)'
"""A quotation mark as Python writes it, word processors replace it, or HTML escapes it."""
FRAME: Final = rf"""
    File \s+ {_QUOTE} (?P<py_path>[^"“”„«»\n]{{1,300}}?) {_QUOTE} ,\s+
    line \s+ (?P<py_line>\d{{1,9}})
    (?: ,\s+ in \s+ (?P<py_method>[\w.<>]{{1,100}}) )?"""


def read_frame(match: re.Match[str]) -> Frame:
    """Return the frame for a match of ``FRAME``."""
    path = match["py_path"]
    return Frame(
        match.start(),
        match.end(),
        int(match["py_line"]),
        match["py_method"] or "",
        path,
        file=re.split(r"[/\\]", path)[-1],
    )


def is_python(frame: Frame) -> bool:
    """Return whether a frame is in a file of Python or Cython."""
    return frame.full_path.lower().endswith((".py", ".pyx", ".pyi"))
