"""What the encoders read: code without its licence comment, reports without their stack traces (the paper, 3.3)."""

from __future__ import annotations

import re
from typing import Final

from tosloc.records import BugReport
from tosloc.reports.traces import without_frames

_COMMENT: Final = re.compile(r"\s*(?:/\*.*?\*/|(?:(?://|#|--)[^\n]*(?:\n|\Z)\s*)+)", re.DOTALL)
_LICENCE: Final = re.compile(
    r"copyright|all rights reserved|licen[sc]ed? |SPDX-License|\(c\) *\d{4}|program and the accompanying materials",
    re.I,
)


def without_licence(code: str) -> str:
    r"""Code without the comments at its head that speak of copyright or a licence; what follows stays as it is.

    >>> without_licence("/* Copyright 2020 */\n\npackage a;")
    '\n\npackage a;'
    >>> without_licence("// What this does\npackage a;")
    '// What this does\npackage a;'
    """
    start = 0
    while (found := _COMMENT.match(code, start)) and _LICENCE.search(found[0]):
        start = found.end()
    return code[start:]


def report_text(report: BugReport) -> str:
    """Summary and description without stack frames, which stage one reads."""
    return f"{report.summary}\n{without_frames(report.description).strip()}".strip()
