"""Read reports up to a largest size; read their text, times and time zones."""

from __future__ import annotations

import re
import sys
from datetime import UTC, datetime, tzinfo
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, Final, Literal, TextIO
from zoneinfo import ZoneInfo

from tosloc.core.errors import ConfigError, ReportError
from tosloc.core.io import read_regular_file

LARGEST_FILE: Final = 100_000_000
"""Largest accepted file of reports, in bytes: 30 times the largest published one."""
_EPOCH: Final = re.compile(r"-?[0-9]{9,13}(?:\.[0-9]{1,20})?")


def read_bytes(source: Path | BinaryIO, name: str) -> bytes:
    """Return the content of a plain file or a stream.

    Raises ReportError if it cannot be read, is empty or is too large.
    """
    try:
        data = (
            read_regular_file(source, LARGEST_FILE)
            if isinstance(source, Path)
            else source.read(LARGEST_FILE + 1)
        )
    except OSError as error:
        raise ReportError(f"{name} cannot be read ({error.strerror})") from error
    if len(data) > LARGEST_FILE:
        raise ReportError(f"{name} is larger than 100 MB; split it into smaller files")
    if not data.strip():
        raise ReportError(f"{name} is empty; a report was expected")
    return data


def read_text(source: Path | Literal["-"] | TextIO) -> tuple[str, str]:
    """Return a text and its name for errors.

    The text is that of a file, of standard input (``"-"``) or of an open stream. Raises ReportError
    if it cannot be read.
    """
    if isinstance(source, Path):
        name = str(source)
        return decoded(read_bytes(source, name), name), name
    name = "standard input" if source == "-" else str(getattr(source, "name", "the report"))
    stream: TextIO | None = sys.stdin if source == "-" else source
    if stream is None:  # The program was started without standard input.
        raise ReportError(f"{name} is closed; give a file")
    binary: BinaryIO | None = getattr(stream, "buffer", None)
    if binary is None:
        binary = BytesIO(stream.read(LARGEST_FILE + 1).encode("utf-8", "surrogatepass"))
    return decoded(read_bytes(binary, name), name), name


def decoded(data: bytes, name: str) -> str:
    """Return the text of UTF-8 bytes, or of UTF-16 with a byte order mark.

    Wrong bytes are replaced. Raises ReportError if the data are binary.
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return clean(data.decode("utf-16", "replace"))
    if b"\0" in data:
        raise ReportError(f"{name} is binary (it has NUL bytes); give text, Markdown or JSON")
    return clean(data.decode("utf-8-sig", "replace"))


def clean(text: str) -> str:
    """Return ``text`` with ``\\n`` as line breaks, and without halves of surrogate pairs.

    UTF-8 cannot encode such halves; they are replaced.
    """
    text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def zone_of(name: str) -> tzinfo:
    """Return the time zone of an IANA name such as ``America/New_York``, or raise ConfigError."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise ConfigError(
            f"there is no time zone {name!r}; give an IANA name, such as America/New_York"
        ) from error


def time_of(value: object, zone: tzinfo, where: str) -> datetime:
    """Return the time that ``value`` names, in UTC.

    ``value`` is ISO text, a date, or seconds or milliseconds since 1970.

    A time without a zone is read in ``zone``. A time that the clock skipped in spring is read as if
    the clock had not been put forward. Of a time that the clock showed twice in autumn, the first
    is returned. Raises ReportError if ``value`` is not a time.

    >>> time_of("2014-03-09 02:30:00", zone_of("America/New_York"), "row 2").isoformat()
    '2014-03-09T07:30:00+00:00'
    """
    shown = str(value)[:60]
    try:
        if isinstance(value, str):
            text = value.strip()
            value = float(text) if _EPOCH.fullmatch(text) else datetime.fromisoformat(text)
        if isinstance(value, int | float) and not isinstance(value, bool):
            value = datetime.fromtimestamp(value / 1000 if abs(value) >= 1e11 else value, UTC)
        if not isinstance(value, datetime):
            raise ValueError(f"{type(value).__name__} is not a time")
        return (value if value.tzinfo else value.replace(tzinfo=zone)).astimezone(UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise ReportError(
            f"{where}: {shown!r} is not a time; write it like 2014-01-15T07:30:17+00:00"
        ) from error
