"""Read blocks in errors of Terraform and OpenTofu."""

from __future__ import annotations

import re
from typing import Final

from tosloc.reports.traces.frame import Frame

_BLOCK: Final = re.compile(r'[^\n"]{0,20}, in \w{1,30} (?:"[^"\n]{1,100}" )?"([^"\n]{1,100})"')


def complete(text: str, frame: Frame) -> Frame:
    """Return a frame with the block that contains the error.

    Terraform writes ``main.tf line 2, in resource "aws_instance" "web":``.
    """
    block = _BLOCK.match(text, frame.end)
    return frame.with_method(block[1]) if block else frame
