"""Read stack frames of .NET."""

from __future__ import annotations

import re
from typing import Final

from tosloc.reports.traces.frame import Frame

FRAME: Final = r"""
    at \s+ (?P<cs_member>[\w.`+<>\[\],$]{1,300}) \s? \( [^()\n]{0,300} \) \s++ in \s++
    (?P<cs_path>(?:[A-Za-z]:)?[^:\n]{1,300}?) :line \s+ (?P<cs_line>\d{1,9})"""
_TYPE_ARGUMENTS: Final = re.compile(r"[`+<\[]")
"""Text after the name of the outermost class: type arguments, or an inner class."""


def read_frame(match: re.Match[str]) -> Frame:
    """Return the frame for a match of ``FRAME``."""
    member, _, method = match["cs_member"].rpartition(".")
    path = match["cs_path"].strip()
    return Frame(
        match.start(),
        match.end(),
        int(match["cs_line"]),
        method,
        path,
        type=_TYPE_ARGUMENTS.split(member)[0].rstrip("."),
        file=re.split(r"[/\\]", path)[-1],
    )
