"""Components of pages, which hold their script, template and style in one file: Vue, Svelte and Astro."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

SCRIPT_OF: Final = {"vue": "typescript"}
"""Language of components -> that of their scripts. TypeScript's grammar reads JavaScript, too."""

_OPENING = re.compile(
    rb"<!--.*?(?:-->|\Z)|(?P<script><script\b(?:[^<>\"']{1,500}+|\"[^\"]{0,500}+\"|'[^']{0,500}+'){0,50}+>)",
    re.S | re.I,
)
_CLOSING = re.compile(rb"</script\b", re.I)
_FRONT = re.compile(rb"\s*---[ \t]*\n(?P<code>.*?)(?:^---[ \t]*$|\Z)", re.S | re.M)
_BLANKED: Final = bytes(code if code in b"\n\r" else ord(" ") for code in range(256))


def apart(source: bytes) -> tuple[bytes, bytes]:
    """The scripts of a component without the rest, and the rest without them: blanks stand where the others were.

    Both are as long as ``source``, with its lines. A script is what ``<script>`` encloses, and what stands between two
    lines of ``---`` at the beginning (Astro's).

    >>> apart(b"<p>a</p><script>b()</script>")
    (b'                b()         ', b'<p>a</p><script>   </script>')
    """
    script, rest = bytearray(source.translate(_BLANKED)), bytearray(source)
    for start, end in _scripts(source):
        rest[start:end] = script[start:end]
        script[start:end] = source[start:end]
    return bytes(script), bytes(rest)


def _scripts(source: bytes) -> Iterator[tuple[int, int]]:
    """Where the scripts begin and end."""
    front = _FRONT.match(source)
    end = 0
    if front is not None:
        yield front.span("code")
        end = front.end()
    while opening := _OPENING.search(source, end):
        end = opening.end()
        if opening["script"] is not None:
            closing = _CLOSING.search(source, end)
            start, end = end, len(source) if closing is None else closing.start()
            yield start, end
