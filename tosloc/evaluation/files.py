"""Files that appear whole or not at all, and the lines of a run or of judgements."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from tosloc.errors import RunError


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A file to write that takes the place of ``path`` at the end; if anything goes wrong, nothing is left of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            yield file
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def json_lines(lines: IO[bytes], where: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Number and object of every line.

    Raises RunError for a line that is no JSON object, and for a compressed file that is damaged or cut off.
    """
    number = 0
    try:
        for number, line in enumerate(lines, start=1):
            value = json.loads(line)
            if not isinstance(value, dict):
                raise RunError(f"{where} line {number}: not a JSON object")
            yield number, value
    except ValueError:
        raise RunError(f"{where} line {number}: not valid JSON") from None
    except (EOFError, zlib.error):
        raise RunError(f"{where}: the file is damaged or cut off after line {number}; make the run again") from None
    except OSError as error:
        raise RunError(f"{where}: cannot read on after line {number}: {error.strerror or error}") from None
