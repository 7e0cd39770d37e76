"""Read failures in the output of pytest and unittest."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from tosloc.reports.failures.failure import Failure, read_blocks
from tosloc.reports.failures.log import Log

_PYTEST_PART: Final = re.compile(r"={3,} (?:FAILURES|ERRORS) ={3,}\Z")
_PYTEST_HEAD: Final = re.compile(
    r"_{3,} (?:ERROR (?:collecting|at setup of|at teardown of) )?"
    r"(?P<test>\S.{0,1000}?) _{3,}\Z"
)
_PYTEST_END: Final = re.compile(r"={3,} ")
_PYTEST_LINE: Final = re.compile(
    r"(?:FAILED|ERROR) (?P<file>[^\s:]{1,500}\.py)(?:::(?P<test>[^\s\[]{1,500}(?:\[.{0,500}?\])?))?"
    r"(?: - (?P<message>.{0,2000}))?\Z"
)
"""A line of pytest's short summary."""
_CAPTURED: Final = re.compile(r"-{3,} Captured ")
_DEF: Final = re.compile(r"\s*(?:async )?def (?P<name>\w{1,200})\(")
_PLACE: Final = re.compile(
    r"(?P<path>[^\s:][^:\n]{0,500}\.py):(?P<line>\d{1,7}): ?(?P<error>[\w.]{0,200})\Z"
)
"""Position below the code of a function, such as ``shop/cart.py:12: KeyError``."""
_SHORT_PLACE: Final = re.compile(r"[^\s:][^:\n]{0,500}\.py:\d{1,7}: in \S{1,200}\Z")
"""Position above the line that failed, such as ``shop/cart.py:12: in total``."""
_LINE_PLACE: Final = re.compile(
    r"(?P<path>[^\s:][^:\n]{0,500}\.py):\d{1,7}: (?P<message>\S.{0,2000})"
)
"""Line of ``--tb=line`` about a failure."""
_MARK: Final = re.compile(r"E {2,9}(?=\S)|E(?= |\Z)")
"""Mark that pytest writes before an error."""
_UNITTEST_HEAD: Final = re.compile(r"(?:FAIL|ERROR): (?P<test>\w[^\n]{0,500})")
_UNITTEST_END: Final = re.compile(r"Ran \d{1,9} tests? in |={40,}\Z")
_RULE: Final = re.compile(r"-{40,}\Z")


def read_pytest(log: Log) -> Iterator[Failure]:
    """Yield the failures in the output of pytest, or in its short summary if it shows no others."""
    files: dict[str, str] = {}
    summary: list[re.Match[str]] = []
    for line in log.lines:
        match = _PYTEST_LINE.match(line)
        if match is not None:
            summary.append(match)
            if match["test"]:
                files.setdefault(match["test"].replace("::", "."), match["file"])
    number = 0
    for head, body in read_blocks(log.lines, _PYTEST_HEAD, _PYTEST_END, _PYTEST_PART):
        number += 1
        yield Failure(head["test"], _shorten(body), _asserted(body), files.get(head["test"], ""))
    if number:
        return
    places = _places(log.lines)
    for position, match in enumerate(summary):
        body = [match["message"] or ""]
        message = body[0]
        # Both lists are in the order of the run. The summary cuts long messages.
        if len(places) == len(summary):
            message = places[position]["message"].strip()
            body = [places[position][0]]
        yield Failure(match["test"] or match["file"], body, message, match["file"])


def _places(lines: Iterable[str]) -> list[re.Match[str]]:
    """Return a match for each line that ``--tb=line`` writes about a failure."""
    places = []
    is_failures = False
    for line in lines:
        if line.startswith("==="):
            is_failures = _PYTEST_PART.match(line) is not None
        elif is_failures and (place := _LINE_PLACE.match(line)):
            places.append(place)
    return places


def shorten_pytest(text: str) -> list[str]:
    """Return the lines of a failure of pytest with only the failed lines of the shown code."""
    return _shorten([line.rstrip() for line in text.split("\n")])


def _shorten(body: Sequence[str]) -> list[str]:
    """Return the lines of a failure with only the failed lines of the shown functions.

    Each position gets the name of its function, as in ``--tb=short``.
    """
    read = [_MARK.sub("    ", line, count=1) for line in _without_captured(body)]
    if not any(map(_PLACE.match, body)):
        return read
    lines = []
    function = ""
    code = ""
    errors: list[str] = []
    is_short = False
    for line, unmarked in zip(body, read, strict=False):
        if _SHORT_PLACE.match(line) or (is_short and line.startswith("    ")):
            lines.append(line)
            is_short = True
            continue
        is_short = False
        place = _PLACE.match(line)
        defined = _DEF.match(line)
        if place is not None:
            method = f": in {function}" if function else ""
            lines.append(f"{place['path']}:{place['line']}{method}")
            lines += [code, *errors] if code else errors
            function = code = ""
            errors = []
        elif _MARK.match(line):
            errors.append(unmarked)
        elif line.startswith(">"):
            code = f"    {line[1:].strip()}"
        elif defined is not None and not function:
            function = defined["name"]
    return lines + errors


def _without_captured(body: Sequence[str]) -> list[str]:
    """Return the lines before the output that pytest captured from the test."""
    lines = []
    for line in body:
        if _CAPTURED.match(line):
            break
        lines.append(line)
    return lines


def _asserted(body: Sequence[str]) -> str:
    """Return the first line that pytest marks as the error; empty if there is no such line."""
    for line in body:
        if _MARK.match(line):
            return line[1:].strip()
    return ""


def read_unittest(log: Log) -> Iterator[Failure]:
    """Yield the failures in the output of unittest."""
    for head, body in read_blocks(log.lines, _UNITTEST_HEAD, _UNITTEST_END):
        lines = [line for line in body if not _RULE.match(line)]
        if lines:
            yield Failure(head["test"].strip(), lines)
