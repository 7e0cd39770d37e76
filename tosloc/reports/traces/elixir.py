"""Read functions of stack frames of Elixir."""

from __future__ import annotations

import re
from typing import Final

from tosloc.reports.traces.frame import Frame

_FUNCTION: Final = re.compile(r":\d{1,7}: (?:\w{1,100}\.){0,9}(\w{1,100}[?!]?)/\d")


def complete(text: str, frame: Frame) -> Frame:
    """Return a frame with its function; Elixir writes ``door.ex:12: Shop.Door.open/2``."""
    function = _FUNCTION.match(text, frame.end)
    return frame.with_method(function[1]) if function else frame
