"""Read stack frames of JavaScript and TypeScript, as Node and Chrome write them."""

from __future__ import annotations

import re
from typing import Final

from tosloc.reports.traces.frame import Frame

FRAME: Final = r"""
    at \s+
    (?: (?P<js_name>(?:async\s+|new\s+)?[\w$.<>\[\]#]{1,200}(?:\s\[as\ [\w$.]{1,100}\])?) \s+ \( )?
    (?P<js_path>(?:[\w\-]{1,20}:/{1,3})?[^\s():,]{1,300}\.(?:[cm]?[jt]sx?|vue|svelte))
    (?:\?[^\s():]{0,100})?
    : (?P<js_line>\d{1,9}) (?: : \d{1,9} )? \)?"""
_BESIDE_NAME: Final = re.compile(r"^(?:async|new)\s+|\s\[as [\w$.]++\]\Z")
"""Text beside the name of a function: "async", "new", or the name of its alias."""


def read_frame(match: re.Match[str]) -> Frame:
    """Return the frame for a match of ``FRAME``."""
    path = match["js_path"]
    name = _BESIDE_NAME.sub("", match["js_name"] or "")
    return Frame(
        match.start(),
        match.end(),
        int(match["js_line"]),
        name.rpartition(".")[2],
        path,
        file=re.split(r"[/\\]", path)[-1],
    )
