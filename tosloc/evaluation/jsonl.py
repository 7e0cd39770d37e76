"""Files of one JSON object a line: read whether compressed by gzip or not, written compressed, the same every time."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

from tosloc.errors import RunError
from tosloc.files import written_whole

GZIP_MAGIC = b"\x1f\x8b"


def open_unpacked(path: Path) -> IO[bytes]:
    """A file for reading bytes, unpacked if it is compressed by gzip. Raises RunError when it cannot be opened."""
    try:
        with path.open("rb") as file:
            compressed = file.read(2) == GZIP_MAGIC
        return cast(IO[bytes], gzip.open(path, "rb")) if compressed else path.open("rb")
    except OSError as error:
        raise RunError(f"{path}: cannot read it: {error.strerror or error}") from None


def json_lines(path: str | Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every line's object, and before it file and line, for messages.

    Raises RunError for a line that is no JSON object, and for a compressed file that is damaged or cut off.
    """
    number = 0
    with open_unpacked(Path(path)) as lines:
        try:
            for number, line in enumerate(lines, start=1):
                value = json.loads(line)
                if not isinstance(value, dict):
                    raise RunError(f"{path} line {number}: not a JSON object")
                yield f"{path} line {number}", value
        except ValueError:
            raise RunError(f"{path} line {number}: not valid JSON") from None
        except (EOFError, zlib.error):
            raise RunError(f"{path}: the file is damaged or cut off after line {number}; make the run again") from None
        except OSError as error:
            raise RunError(f"{path}: cannot read on after line {number}: {error.strerror or error}") from None


@contextmanager
def packed_file(path: Path) -> Iterator[IO[bytes]]:
    """A file to write, compressed by gzip without its time. It appears only when it is whole."""
    with (
        written_whole(path) as temporary,
        temporary.open("wb") as raw,
        gzip.GzipFile("", "wb", compresslevel=6, fileobj=raw, mtime=0) as file,
    ):
        yield cast(IO[bytes], file)


def json_line(value: object, sort_keys: bool = False) -> bytes:
    """A line of such a file."""
    return (json.dumps(value, sort_keys=sort_keys, separators=(",", ":")) + "\n").encode()
