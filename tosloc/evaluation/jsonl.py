"""Reading files of one JSON object a line."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from typing import IO, Any

from tosloc.errors import RunError


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
