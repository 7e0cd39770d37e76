"""Read errors of compilers, which end many runs before any test."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tosloc.reports.failures.failure import Failure, read_blocks
from tosloc.reports.failures.log import Log

_HEAD: Final = re.compile(
    # gcc, clang, javac, swiftc; C# and TypeScript, whose lines are in brackets; tsc --pretty
    r"(?:(?:[A-Za-z]:)?[^\s:()]{1,500}\.\w{1,9})"
    r"(?::\d{1,7}(?::\d{1,7})?: |\(\d{1,7}(?:,\d{1,7})?\): |:\d{1,7}:\d{1,7} - )"
    r"(?:fatal )?error(?: [A-Z]{1,4}\d{1,6})?: (?P<message>\S.{0,1000})"
    # kotlinc, rustc
    r"|e: (?:file://)?(?:\S{1,500}\.kts?):\d{1,7}:\d{1,7}:? (?P<kotlin_message>\S.{0,1000})"
    r"|error\[E\d{4}\]: (?P<rust_message>\S.{0,1000})"
)
"""The first line of an error."""
_END: Final = re.compile(r"\Z|(?:[^\s:()]{1,500}[:(][^\n]{0,40} )?(?:warning|note)\b|> Task |make")


def read_compiler(log: Log) -> Iterator[Failure]:
    """Yield the errors of compilers, each with the lines of code below it."""
    for head, body in read_blocks(log.lines, _HEAD, _END):
        message = head["message"] or head["kotlin_message"] or head["rust_message"]
        yield Failure("compilation", [head[0], *body], message)
