"""Read and write files of lines, most of which are JSON objects, plain or compressed with gzip."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from functools import cache
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


def numbered_lines(path: str | Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file, each with its number, from 1.

    Raises RunError for a line longer than ``MAX_LINE_BYTES`` and for an unreadable or damaged file.
    """
    number = 0
    try:
        with open_regular_file(Path(path)) as raw:
            is_compressed = raw.peek(2)[:2] == _GZIP_MAGIC
            file = gzip.GzipFile(fileobj=raw, mode="rb") if is_compressed else raw
            while line := file.readline(MAX_LINE_BYTES + 1):
                number += 1
                if len(line) > MAX_LINE_BYTES:
                    raise RunError(
                        f"{path} line {number}: the line is longer than {MAX_LINE_BYTES:,} bytes"
                    )
                yield number, line
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise RunError(
            f"{path}: the file is damaged or cut off after line {number}; create it again"
        ) from None
    except OSError as error:
        raise RunError(f"{path}: cannot read it: {error.strerror or error}") from None


def is_json(path: str | Path) -> bool:
    """Return whether a file's first line begins like a JSON object.

    Raises RunError under the conditions of ``numbered_lines``.
    """
    _, first_line = next(numbered_lines(path), (0, b""))
    return first_line.lstrip().startswith(b"{")


def json_lines(path: str | Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the location and the object of every line.

    The location is the file and the line's number as text for messages. Raises RunError for a line
    that is not a JSON object, and under the conditions of ``numbered_lines``.
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
