"""One failure of a run, and the conversion of several failures to bug reports."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, tzinfo
from typing import Final, NamedTuple

from tosloc.core.inputs import time_of
from tosloc.core.patterns import lazy_pattern
from tosloc.core.reports import BugReport
from tosloc.reports.text.logs import without_digits
from tosloc.reports.traces import locations

MAX_FAILURES: Final = 5_000
"""Largest number of failures of a run that are read."""
MAX_BODY_LINES: Final = 300
"""Largest number of lines of a failure that are read."""
MAX_MESSAGE_LENGTH: Final = 300
"""Largest number of characters of a message that a summary contains."""
_FRAME: Final = lazy_pattern(
    r"""\s*(?:at\s|File\s"|from\s|\#\s|\#\d|❯\s|\d{1,3}:\s|/|[\w.@~\-]{1,100}[/\\])"""
)
"""Beginning of a line that may be a stack frame."""
_FILE_OF_CALL: Final = lazy_pattern(r"\s*(?:at\s)?/")
_CALL: Final = lazy_pattern(r"\s*+(?:\d{1,4}: \S|[^\s(]{1,300}\([^\n]{0,1000}\)\Z)")
"""Function of a frame, which Go and Rust write in the line before the file."""
_FOREIGN: Final = lazy_pattern(
    r"""(?x)
      [/\\](?:site-packages|dist-packages|gems)[/\\] | (?<![\w.-])node_modules[/\\]
    | [/\\]lib(?:64)?[/\\]python\d | <frozen\ | <__array_function__
    | \bnode:(?:internal|\w{1,40}:\d) | \(internal/ | (?<![\w/])internal/(?:modules|process|timers)/
    | /usr/(?:lib|include|share|local/(?:lib|go|include|share))/ | /go/pkg/mod/
    | /go/src/(?:runtime|testing|reflect|net|os|sync)/ | /rustc/ | /\.cargo/registry/
    | [/\\]vendor[/\\](?:bundle|phpunit|symfony|bin)[/\\] | phar://
    | \bat\ (?:[\w.]{1,40}/{1,2})?(?:java|javax|jdk|sun|com\.sun|kotlin|scala|groovy)\.
    | \bat\ (?:[\w.]{1,40}/{1,2})?(?:org\.(?:junit|testng|gradle|mockito|hamcrest|assertj|opentest4j
        |apache\.maven|springframework|codehaus|scalatest)|junit)\.
    | \bat\ (?:System|Microsoft|Xunit|NUnit|InvokeStub_\w{0,200}|FluentAssertions)\b
    """
)
"""Text that marks a stack frame as one of a library."""
_ADDRESS: Final = lazy_pattern(r"\b0x[0-9a-f]{1,16}\b")
_PYTHON_ERROR: Final = lazy_pattern(r"[A-Za-z_][\w.]{0,200}(?:: |\Z)")
"""Beginning of the last line of a traceback."""


class Failure(NamedTuple):
    """The text that a machine wrote about one failure."""

    test: str
    """Name of the failed test, or of another thing that failed."""
    body: Sequence[str]
    """Lines about the failure: messages and stack frames."""
    message: str = ""
    """Message that says what went wrong; empty if the body contains it."""
    file: str = ""
    """Path of the test's file; empty if it is not known."""
    opened: object = None
    """When the failure happened, as the machine wrote it, if it was reported at the same time."""


def read_blocks(
    lines: Iterable[str],
    head: re.Pattern[str],
    end: re.Pattern[str],
    start: re.Pattern[str] | None = None,
) -> Iterator[tuple[re.Match[str], list[str]]]:
    """Yield each line that begins a failure, and the lines up to the next such line or the end.

    ``head`` matches a line that begins a failure. Such lines count only after a line that matches
    ``start``, and up to a line that matches ``end``. Without ``start`` they count everywhere.
    """
    is_active = start is None
    number = 0
    match: re.Match[str] | None = None
    body: list[str] = []
    for line in lines:
        begins_part = start is not None and start.match(line) is not None
        next_match = head.match(line) if is_active and not begins_part else None
        is_end = next_match is None and (begins_part or end.match(line) is not None)
        if next_match is None and not is_end:
            if match is not None and len(body) < MAX_BODY_LINES:
                body.append(line)
            continue
        if match is not None:
            yield match, body
            number += 1
            if number == MAX_FAILURES:
                return
        match = next_match
        body = []
        if start is not None:
            is_active = begins_part or next_match is not None
    if match is not None:
        yield match, body


def own_lines(body: Iterable[str]) -> list[str]:
    """Return the lines of a failure without libraries' stack frames and the code below these."""
    kept: list[str] = []
    skips_code = False
    for line in body:
        is_frame = _FRAME.match(line) is not None
        if is_frame and _FOREIGN.search(line):
            if kept and _FILE_OF_CALL.match(line) and _CALL.match(kept[-1]):
                kept.pop()
            skips_code = line.lstrip().startswith("File ")
            continue
        is_code = skips_code and line.startswith("    ") and not is_frame
        if is_code:
            continue
        skips_code = False
        if line.strip() and not line.strip(" ^~"):
            continue  # marks below a line of code
        is_blank = not line.strip()
        if not is_blank or (kept and kept[-1]):
            kept.append("" if is_blank else line.rstrip())
    while kept and not kept[-1]:
        kept.pop()
    return kept


def find_message(body: Sequence[str]) -> str:
    """Return the line of a failure that says what went wrong; empty if there is none.

    >>> find_message(["Traceback (most recent call last):", '  File "a.py", line 1', "KeyError: 1"])
    'KeyError: 1'
    >>> find_message(["", "  expected 2, got 3", "    at f (a.js:1:2)"])
    'expected 2, got 3'
    """
    if any(line.lstrip().startswith("Traceback (most recent") for line in body):
        for line in reversed(body):
            if _PYTHON_ERROR.match(line):
                return line.strip()
    for line in body:
        is_frame = _FRAME.match(line) is not None and locations(line).traces
        if line.strip(" -=_~^|") and not is_frame:
            return line.strip()
    return ""


def to_reports(failures: Iterable[Failure], zone: tzinfo = UTC, where: str = "") -> list[BugReport]:
    """Return a report for each distinct failure, the most frequent first, then the first.

    Failures count as the same if their innermost own frames and their messages, apart from numbers,
    are equal. Raises ReportError for an invalid time of opening.
    """
    counts: Counter[tuple[str, ...]] = Counter()
    reports: dict[tuple[str, ...], BugReport] = {}
    for failure in failures:
        body = own_lines(failure.body)
        message = (failure.message or find_message(body)).strip()
        traces = locations("\n".join(body)).traces
        place: tuple[str, ...] = (failure.test,)
        if traces:
            innermost = traces[0][0]
            place = (innermost.full_path, str(innermost.line), innermost.method)
        key = (without_digits(_ADDRESS.sub("0x0", message)), *place)
        counts[key] += 1
        if key not in reports:
            reports[key] = _report(failure, body, message, zone, where)
    ordered = sorted(reports, key=lambda key: -counts[key])
    return [reports[key] for key in ordered]


def _report(
    failure: Failure, body: Sequence[str], message: str, zone: tzinfo, where: str
) -> BugReport:
    """Return the report of one failure."""
    first_line = message.partition("\n")[0][:MAX_MESSAGE_LENGTH].strip()
    summary = ": ".join(filter(None, [failure.test.strip(), first_line]))
    text = "\n".join(body)
    parts = [] if message in text else [message]
    parts.append(text)
    if failure.file and failure.file not in text:
        parts.append(failure.file)
    description = "\n\n".join(part for part in parts if part.strip())
    opened = None if failure.opened is None else time_of(failure.opened, zone, where)
    return BugReport("", summary, description, opened)
