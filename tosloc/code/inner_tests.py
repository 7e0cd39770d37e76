"""Blank the tests in source files of D, a language for which TosLoc has no grammar.

Grammars find the tests inside Rust and Zig files (``tosloc.code.facts.without_tests``). Doctests
are documentation: without them the reports of SymPy and xarray found their files later.
"""

from __future__ import annotations

import re
from typing import Final

from tosloc.code.languages import language_name

_UNITTEST: Final = re.compile(rb"\bunittest\s*+\{")
_BRACE: Final = re.compile(rb"[{}]")


def blank_tests(text: str, path: str) -> str:
    """Return a source text with empty lines instead of the unittest blocks of D.

    Only the suffix of the path is used. Lines keep their numbers. A block without an end stays.

    >>> blank_tests("int f();\\nunittest {\\n  assert(f() == 1);\\n}\\nint g();", "a.d")
    'int f();\\n\\n\\n\\nint g();'
    """
    if language_name(path) != "d" or "unittest" not in text:
        return text
    from tosloc.code.parse import lex  # only D needs it

    source = text.encode("utf-8", "replace")
    code = bytearray(source)
    for span in lex(source, "c").spans:
        code[span.start : span.end] = b" " * (span.end - span.start)
    pieces: list[bytes] = []
    end = 0
    while match := _UNITTEST.search(code, end):
        depth = 1
        close = match.end()
        while depth and (brace := _BRACE.search(code, close)):
            depth += 1 if brace[0] == b"{" else -1
            close = brace.end()
        if depth:
            break
        pieces.append(source[end : match.start()])
        pieces.append(b"\n" * source.count(b"\n", match.start(), close))
        end = close
    return b"".join((*pieces, source[end:])).decode("utf-8", "replace")
