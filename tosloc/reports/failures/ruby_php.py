"""Read failures in the output of RSpec and PHPUnit, which number them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tosloc.reports.failures.failure import Failure, read_blocks
from tosloc.reports.failures.log import Log

_RSPEC_PART: Final = re.compile(r"\s{0,9}Failures:\Z")
_RSPEC_HEAD: Final = re.compile(r"\s{0,9}\d{1,6}\) (?P<test>\S.{0,1000})")
_RSPEC_END: Final = re.compile(r"Finished in |Failed examples:|Top \d")
_PHPUNIT_PART: Final = re.compile(r"There (?:was|were) \d{1,6} (?:failure|error)s?:")
_PHPUNIT_HEAD: Final = re.compile(r"\d{1,6}\) (?P<test>\S.{0,1000})")
_PHPUNIT_END: Final = re.compile(r"(?:FAILURES|ERRORS)!|Tests: \d|--\Z|There (?:was|were) \d{1,6} ")


def read_rspec(log: Log) -> Iterator[Failure]:
    """Yield the failures in the output of RSpec."""
    for head, body in read_blocks(log.lines, _RSPEC_HEAD, _RSPEC_END, _RSPEC_PART):
        message = ""
        if body and body[0].lstrip().startswith("Failure/Error:"):
            # The line shows the code that failed; what went wrong is below it.
            message_lines = [line.strip() for line in body[1:] if line.strip()]
            ends_with_class = message_lines and message_lines[0].endswith(":")
            message = " ".join(message_lines[: 2 if ends_with_class else 1])
        yield Failure(head["test"].strip(), body, message)


def read_phpunit(log: Log) -> Iterator[Failure]:
    """Yield the failures in the output of PHPUnit."""
    for head, body in read_blocks(log.lines, _PHPUNIT_HEAD, _PHPUNIT_END, _PHPUNIT_PART):
        yield Failure(head["test"].strip(), body)
