"""Read failures in the output of go test, cargo test and ctest."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tosloc.reports.failures.failure import MAX_BODY_LINES, Failure, read_blocks
from tosloc.reports.failures.log import Log

_GO_HEAD: Final = re.compile(
    r"\s{0,80}--- FAIL: (?P<test>\S{1,500}) \(\d|panic: (?P<panic>\S.{0,1000})"
    r"|\# (?P<package>[\w./\-]{1,300})(?: \[[\w./\- ]{1,300}\])?\Z"
)
_GO_END: Final = re.compile(
    r"(?:FAIL|PASS|ok|exit status)\b|\s{0,80}(?:=== (?:RUN|CONT|NAME|PAUSE)|--- (?:PASS|SKIP): )"
)
_GO_RUN: Final = re.compile(r"=== (?:RUN|CONT|NAME)\s{1,4}(?P<test>\S{1,500})")
_CARGO_HEAD: Final = re.compile(r"---- (?P<test>\S.{0,500}?) (?:stdout|stderr) ----")
_CARGO_END: Final = re.compile(r"failures:|test result: |error: ")
_BACKTRACE: Final = re.compile(r"note: (?:run with `RUST_BACKTRACE|Some details are omitted)")
_CTEST_RESULT: Final = re.compile(
    r"\s{0,9}\d{1,6}/\d{1,6} Test {1,9}#\d{1,6}: (?P<test>\S{1,300}) [. ]{0,200}"
    r"(?P<failed>\*\*\*(?:Failed|Timeout|Exception|Not Run)[^\d\n]{0,60})?"
)
_CTEST_END: Final = re.compile(
    r"\s{1,9}Start {1,9}\d{1,6}: |\d{1,3}% tests passed|The following tests FAILED:"
)
_CTEST_LISTED: Final = re.compile(
    r"\s{1,9}\d{1,6} - (?P<test>\S{1,300}) \((?P<failed>[A-Za-z ]{1,40})\)"
)


def read_go(log: Log) -> Iterator[Failure]:
    """Yield the failures in the output of go test, panics, and errors of the compiler.

    With ``-v`` the output of a test comes before its result.
    """
    output = _output_by_test(log)
    for head, body in read_blocks(log.lines, _GO_HEAD, _GO_END):
        if head["panic"]:
            yield Failure("panic", body, f"panic: {head['panic'].strip()}")
            continue
        name = head["test"] or head["package"]
        lines = body if any(map(str.strip, body)) else output.get(name, [])
        # A test without a word of its own failed because one of its parts did.
        if any(map(str.strip, lines)):
            yield Failure(name, lines)


def _output_by_test(log: Log) -> dict[str, list[str]]:
    """Return name of a test -> lines that it printed while it ran with ``go test -v``."""
    output: dict[str, list[str]] = {}
    current: list[str] = []
    for line in log.lines:
        run = _GO_RUN.match(line)
        if run is not None:
            current = output.setdefault(run["test"], [])
        elif _GO_HEAD.match(line) or _GO_END.match(line):
            current = []
        elif len(current) < MAX_BODY_LINES:
            current.append(line)
    return output


def read_cargo(log: Log) -> Iterator[Failure]:
    """Yield the failures in the output of cargo test."""
    for head, body in read_blocks(log.lines, _CARGO_HEAD, _CARGO_END):
        lines = [line for line in body if not _BACKTRACE.match(line)]
        message = ""
        for number, line in enumerate(lines):
            if " panicked at " not in line:
                continue
            rest = line.partition(" panicked at ")[2]
            # Since Rust 1.73 the message is in the next line.
            if rest.startswith("'"):
                message = rest[1:].rpartition("', ")[0]
            else:
                message = "".join(lines[number + 1 : number + 2])
            break
        yield Failure(head["test"], lines, message)


def read_ctest(log: Log) -> Iterator[Failure]:
    """Yield the failures in the output of ctest, or for some only their lines in its list."""
    named = set()
    for result, body in read_blocks(log.lines, _CTEST_RESULT, _CTEST_END):
        if result["failed"] and any(map(str.strip, body)):
            named.add(result["test"])
            yield Failure(result["test"], body)
    for line in log.lines:
        listed = _CTEST_LISTED.match(line)
        if listed is not None and listed["test"] not in named:
            yield Failure(listed["test"], [], listed["failed"])
