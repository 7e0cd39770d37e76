"""Read failures in the output of jest, vitest and mocha."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from tosloc.reports.failures.failure import Failure, read_blocks
from tosloc.reports.failures.log import Log

_JEST_HEAD: Final = re.compile(
    r"\s{0,4}● (?P<test>(?!Console\b)\S.{0,1000})|\s{0,4}FAIL {1,4}(?P<file>\S{1,500})"
)
_JEST_END: Final = re.compile(
    r"\s{0,4}(?:● Console|PASS )|Test Suites:|Summary of all failing tests"
)
_SUMMARY: Final = "Summary of all failing tests"
_VITEST_HEAD: Final = re.compile(
    r"\s{0,4}FAIL {1,4}(?:\|[^|\n]{1,60}\| )?(?P<file>\S{1,500}\.[a-z]{2,6})"
    r"(?: > (?P<test>.{1,1000})| \[ .{1,500} \])?\Z"
)
_VITEST_END: Final = re.compile(r"⎯{3,}|\s{0,4}(?:Test Files|Tests) {1,4}\d")
_VITEST_FRAME: Final = re.compile(
    r"\s{0,4}❯ (?:(?P<name>\S{1,200}) )?(?P<place>\S{1,500}:\d{1,7}:\d{1,7})\Z"
)
_MOCHA_PART: Final = re.compile(r"\s{0,4}\d{1,6} failing\b")
_MOCHA_HEAD: Final = re.compile(r" {2,4}\d{1,6}\) (?P<test>\S.{0,1000})")
_NEVER: Final = re.compile(r"(?!)")
_CODE_FRAME: Final = re.compile(r"\s*+>?+\s*+\d{0,7}+\s*+\|")
"""A line of the code that is shown around a position."""
_SHOWN_LINE: Final = re.compile(r"\s*+>\s*+\d{1,7}+\s*+\|")


def read_jest(log: Log) -> Iterator[Failure]:
    """Yield the failures in the output of jest; its summary, which repeats them, is left out."""
    lines: Sequence[str] = log.lines
    for number, line in enumerate(lines):
        if line.startswith(_SUMMARY):
            lines = lines[:number]
            break
    file = ""
    for head, body in read_blocks(lines, _JEST_HEAD, _JEST_END):
        if head["file"]:
            file = head["file"]
            continue
        test = head["test"].strip()
        if test == "Test suite failed to run":
            test = file or test
        yield Failure(test, _without_code(body), file=file)


def read_vitest(log: Log) -> Iterator[Failure]:
    """Yield the failures in the output of vitest."""
    for head, body in read_blocks(log.lines, _VITEST_HEAD, _VITEST_END):
        lines = []
        for line in _without_code(body):
            frame = _VITEST_FRAME.match(line)
            if frame is not None:
                name = frame["name"]
                line = f"    at {name} ({frame['place']})" if name else f"    at {frame['place']}"
            lines.append(line)
        # Of tests with the same failure only the last head is followed by lines.
        if any(map(str.strip, lines)):
            yield Failure(head["test"] or head["file"], lines, file=head["file"])


def _without_code(body: Sequence[str]) -> list[str]:
    """Return the lines of a failure without the code that it shows, except for the marked line."""
    lines = []
    for line in body:
        if _SHOWN_LINE.match(line):
            lines.append(f"    {line.partition('|')[2].strip()}")
        elif not _CODE_FRAME.match(line):
            lines.append(line)
    return lines


def read_mocha(log: Log) -> Iterator[Failure]:
    """Yield the failures in the output of mocha, in which names may take several lines."""
    for head, body in read_blocks(log.lines, _MOCHA_HEAD, _NEVER, _MOCHA_PART):
        names = [head["test"].strip()]
        rest = list(body)
        while rest and rest[0].strip() and not names[-1].endswith(":"):
            names.append(rest.pop(0).strip())
        yield Failure(" ".join(names).removesuffix(":"), rest)
