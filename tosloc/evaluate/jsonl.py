"""Files of lines, most of them a JSON object each, read whether compressed by gzip or not."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any, Final, TypeVar, cast

from pydantic import ConfigDict, TypeAdapter, ValidationError

from tosloc.core.errors import RunError
from tosloc.core.io import open_regular_file

T = TypeVar("T")
LONGEST_LINE: Final = 64 * 1024**2  # bytes: a ranking of a million files, with room to spare
LINE: Final = ConfigDict(coerce_numbers_to_str=True, populate_by_name=True, allow_inf_nan=False)
"""Of records that are lines: what more stands in a line is left out."""
_adapter: Final[Callable[[Any], TypeAdapter[Any]]] = cache(TypeAdapter)


def checked(kind: type[T], value: object, where: str) -> T:
    """A value as it has to be. Raises RunError that says ``where``, and what is wrong with which key."""
    try:
        return cast(T, _adapter(kind).validate_python(value))
    except ValidationError as error:
        first = error.errors()[0]
        key, said = ".".join(map(str, first["loc"][:2])), first["msg"].removeprefix("Value error, ")
        raise RunError(f"{where}: {key}{': ' * bool(key)}{said}") from None


def numbered_lines(path: str | Path) -> Iterator[tuple[int, bytes]]:
    """Every line with its number. Raises RunError for an overlong one, and for an unreadable or damaged file."""
    number = 0
    try:
        with open_regular_file(Path(path)) as raw:
            packed = raw.peek(2)[:2] == b"\x1f\x8b"
            file = gzip.GzipFile(fileobj=raw, mode="rb") if packed else raw
            for number, line in enumerate(
                iter(partial(file.readline, LONGEST_LINE + 1), b""), start=1
            ):
                if len(line) > LONGEST_LINE:
                    raise RunError(f"{path} line {number}: is longer than {LONGEST_LINE:,} bytes")
                yield number, line
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise RunError(
            f"{path}: the file is damaged or cut off after line {number}; make it again"
        ) from None
    except OSError as error:
        raise RunError(f"{path}: cannot read it: {error.strerror or error}") from None


def is_json(path: str | Path) -> bool:
    """Whether a file's first line begins as a JSON object. Raises RunError as ``numbered_lines`` does."""
    return next((line for _, line in numbered_lines(path)), b"").lstrip().startswith(b"{")


def json_lines(path: str | Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every line's object, and before it file and line, for messages. Raises RunError for what is no JSON object."""
    for number, line in numbered_lines(path):
        where = f"{path} line {number}"
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise RunError(f"{where}: not a JSON object")
        yield where, value


def json_line(value: object, sort_keys: bool = False) -> bytes:
    """A line of such a file."""
    return (json.dumps(value, sort_keys=sort_keys, separators=(",", ":")) + "\n").encode()
