"""Reading large files of columns parted by white space, a block of lines at a time; percent-encoding of their cells."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final
from urllib.parse import unquote_to_bytes

import numpy as np

from tosloc.errors import RunError
from tosloc.evaluate.jsonl import open_unpacked
from tosloc.records import IntArray

# N lines of a block

BLOCK_BYTES: Final = 16 * 1024**2
"""Bytes read at a time; their cells take some ten times as much memory."""
_END: Final = b"\0"


@dataclass(frozen=True, eq=False, slots=True)
class Block:
    """Some consecutive lines of a file."""

    lines: IntArray
    """(N,) number of each line, from 1."""
    columns: Sequence[Sequence[bytes]]
    """For each column its N cells."""


class Numbers(dict[bytes, int]):
    """Numbers cells in order of first appearance; asked by ``[]``, which is fast for millions of them."""

    def __missing__(self, cell: bytes) -> int:
        number = self[cell] = len(self)
        return number


def column_blocks(path: Path, names: Sequence[str]) -> Iterator[Block]:
    """Lines of a file that has the named columns, the first of them being the report; blank lines are skipped.

    Raises RunError naming line and report for a line of more or fewer cells, and for a damaged file.
    """
    first = 1
    for text in _whole_lines(path):
        count = text.count(b"\n")
        if text.isspace():
            first += count
            continue
        # white space parts lines, too: a cell of its own after each line shows whether all have as many as they should
        cells = text.replace(b"\n", b" " + _END + b" ").split()
        width = len(names) + 1
        if len(cells) == width * count and cells[width - 1 :: width].count(_END) == count:
            lines = np.arange(first, first + count, dtype=np.int32)
            yield Block(lines, [cells[column::width] for column in range(len(names))])
        else:
            yield _line_by_line(text, first, names, str(path))
        first += count


def _line_by_line(text: bytes, first: int, names: Sequence[str], where: str) -> Block:
    rows = [(number, line.split()) for number, line in enumerate(text.split(b"\n"), start=first) if line.strip()]
    for number, cells in rows:
        if len(cells) != len(names):
            raise RunError(
                f"{where} line {number}: report {readable_cell(cells[0])} has {len(cells)} columns, not the"
                f" {len(names)} of {' '.join(names)}; a blank in a path is written %20"
            )
    lines = np.array([number for number, _ in rows], dtype=np.int32)
    return Block(lines, [[cells[column] for _, cells in rows] for column in range(len(names))])


def _whole_lines(path: Path) -> Iterator[bytes]:
    """The file in pieces of about ``BLOCK_BYTES`` bytes, each ending with the end of a line."""
    with open_unpacked(path) as file:
        rest = b""
        while piece := _read(file, path):
            text, _, after = piece.rpartition(b"\n")
            if text or piece.startswith(b"\n"):
                yield rest + text + b"\n"
                rest = after
            else:
                rest += piece
            if len(rest) > BLOCK_BYTES:
                raise RunError(f"{path}: not a file of lines: one is longer than {BLOCK_BYTES:,} bytes")
        if rest:
            yield rest + b"\n"


def _read(file: IO[bytes], path: Path) -> bytes:
    try:
        return file.read(BLOCK_BYTES)
    except (EOFError, zlib.error):
        raise RunError(f"{path}: the file is damaged or cut off; fetch or make it again") from None
    except OSError as error:
        raise RunError(f"{path}: cannot read on: {error.strerror or error}") from None


def encoded(text: str) -> str:
    r"""Text without white space, from which ``decoded`` makes the same again. Raises RunError for what is no file name.

    >>> encoded("Eclipse SWT/100%/caf\udce9.java"), encoded("é\u3000"), encoded("-")
    ('Eclipse%20SWT/100%25/caf%E9.java', 'é%E3%80%80', '%2D')
    """
    if text == "-":
        return "%2D"
    if text.isascii() and text.isprintable() and " " not in text and "%" not in text and text:
        return text
    try:
        cell = "".join(
            char
            if char.isprintable() and char not in " %"
            else "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "surrogateescape"))
            for char in text
        )
    except UnicodeEncodeError:
        raise RunError(f"{text!r} holds half a character; it cannot be written in TREC's form") from None
    if not cell:
        raise RunError("an empty name cannot be written in TREC's form")
    return cell


def decoded(cell: bytes) -> str:
    r"""Text of a cell; a ``%`` without two hexadecimal digits is itself, and bytes that are no UTF-8 are escaped.

    >>> decoded(b"Eclipse%20SWT/100%25/caf%E9.java"), decoded(b"100%.java")
    ('Eclipse SWT/100%/caf\udce9.java', '100%.java')
    """
    return unquote_to_bytes(cell).decode("utf-8", "surrogateescape")


def readable_cell(cell: bytes) -> str:
    r"""A cell for messages, not too long and safe on a terminal.

    >>> readable_cell(b"a%20b"), readable_cell(b"caf\xe9\x1b")
    ('a b', 'caf\\udce9\\x1b')
    """
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in decoded(cell)[:60]
    )
