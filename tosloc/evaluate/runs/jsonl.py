"""Read and write files of lines, most of which are JSON objects, plain or compressed with gzip."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any, Final, TypeVar, cast

from pydantic import ConfigDict, TypeAdapter, ValidationError

from tosloc.core.errors import RunError
from tosloc.core.io import open_regular_file

T = TypeVar("T")
MAX_LINE_BYTES: Final = 64 * 1024**2
"""Largest length of a line; a ranking of a million files is shorter."""
LINE_CONFIG: Final = ConfigDict(
    coerce_numbers_to_str=True, populate_by_name=True, allow_inf_nan=False
)
"""Pydantic configuration of records that are lines: unknown keys of a line are ignored."""
_BLOCK_BYTES: Final = 32 * 1024
"""Number of bytes that are read at once."""
_GZIP_MAGIC: Final = b"\x1f\x8b"
_adapter: Final[Callable[[Any], TypeAdapter[Any]]] = cache(TypeAdapter)


def validate(kind: type[T], value: object, where: str) -> T:
    """Return ``value`` validated as ``kind``.

    Raises RunError with ``where``, the key at fault and what is wrong with it.
    """
    try:
        return cast(T, _adapter(kind).validate_python(value))
    except ValidationError as error:
        first = error.errors()[0]
        message = first["msg"].removeprefix("Value error, ")
        key = ".".join(map(str, first["loc"][:2]))
        if key:
            message = f"{key}: {message}"
        raise RunError(f"{where}: {message}") from None


def numbered_blocks(path: str | Path) -> Iterator[tuple[int, bytes]]:
    """Yield a file in blocks of whole lines, each with the number of its first line, from 1.

    Every line ends with a line feed, which the last line of the file may lack. Raises RunError for
    a line longer than ``MAX_LINE_BYTES`` and for an unreadable or damaged file.
    """
    number = 1
    pending = bytearray()
    try:
        with open_regular_file(Path(path)) as raw:
            is_compressed = raw.peek(2)[:2] == _GZIP_MAGIC
            file = gzip.GzipFile(fileobj=raw, mode="rb") if is_compressed else raw
            while chunk := file.read1(_BLOCK_BYTES):
                pending += chunk
                end = pending.rfind(b"\n", len(pending) - len(chunk)) + 1
                lines = bytes(pending[:end])
                del pending[:end]
                length = lines.find(b"\n") + 1 if lines else len(pending)
                if length > MAX_LINE_BYTES:
                    raise RunError(
                        f"{path} line {number}: the line is longer than {MAX_LINE_BYTES:,} bytes"
                    )
                if lines:
                    yield number, lines
                    number += lines.count(b"\n")
            if pending:
                yield number, bytes(pending) + b"\n"
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise RunError(
            f"{path}: the file is damaged or cut off after line {number - 1}; create it again"
        ) from None
    except OSError as error:
        raise RunError(f"{path}: cannot read it: {error.strerror or error}") from None


def numbered_lines(path: str | Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file, each with its number, from 1.

    Raises RunError under the conditions of ``numbered_blocks``.
    """
    for number, lines in numbered_blocks(path):
        yield from enumerate(BytesIO(lines), start=number)


def is_json(path: str | Path) -> bool:
    """Return whether a file's first line begins like a JSON object.

    Raises RunError under the conditions of ``numbered_blocks``.
    """
    _, first_line = next(numbered_lines(path), (0, b""))
    return first_line.lstrip().startswith(b"{")


def json_lines(path: str | Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the location and the object of every line.

    The location is the file and the line's number as text for messages. Raises RunError for a line
    that is not a JSON object, and under the conditions of ``numbered_blocks``.
    """
    for number, line in numbered_lines(path):
        where = f"{path} line {number}"
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise RunError(f"{where}: the line is not a JSON object")
        yield where, value


def json_line(value: object, sort_keys: bool = False) -> bytes:
    """Return ``value`` as one line of compact JSON, with its line end."""
    return (json.dumps(value, sort_keys=sort_keys, separators=(",", ":")) + "\n").encode()
