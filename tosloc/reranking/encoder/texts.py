"""What the encoders read: code without its licence comment, reports without their stack traces (the paper, 3.3)."""

from __future__ import annotations

import re
from typing import Final

from tosloc.analysis.traces import without_frames

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


def queries(summary: str, description: str, *, apart: bool) -> tuple[str, ...]:
    r"""What is asked of a report: summary and description as one text, or apart as two.

    Stack frames are left out, since stage one reads them; a report without a description asks its summary again.

    >>> queries("It fails", "Badly. at a.B.c(B.java:1)", apart=False)
    ('It fails\nBadly.',)
    """
    said = without_frames(description).strip()
    if apart:
        return summary, said or summary
    return (f"{summary}\n{said}".strip(),)
