"""Read failures in the output of Maven, Gradle and dotnet test."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from tosloc.reports.failures.failure import Failure, read_blocks
from tosloc.reports.failures.log import Log

_MAVEN_HEAD: Final = re.compile(
    r"(?:\[(?:ERROR|INFO)\] {1,4})?(?P<test>(?!\[|Tests run:)\S[^<\n]{0,500}?) {1,4}(?:-- )?"
    r"Time elapsed: [\d.,]{1,20} s(?:ec)? {1,4}<<< (?:FAILURE|ERROR)!"
    r"|\[ERROR\] (?P<path>\S{1,500}\.\w{1,9}):\[(?P<line>\d{1,7}),\d{1,7}\] (?P<message>.{1,1000})"
)
_MAVEN_END: Final = re.compile(
    r"\[(?:INFO|ERROR|WARNING)\]|Results ?:|Running |Tests run:|Tests in error:|Failed tests:"
)
_GRADLE_HEAD: Final = re.compile(r"(?P<test>(?!> Task )\S[^>\n]{0,500} > .{1,500}) FAILED\Z")
_GRADLE_END: Final = re.compile(r"\S")
_DOTNET_HEAD: Final = re.compile(
    r"\s{1,4}(?:Failed|X) (?P<test>\S.{0,1000}) \[[<\d][^\]\n]{0,30}\]\Z"
)
_DOTNET_END: Final = re.compile(
    r"\s{1,4}(?:Passed|Skipped) \S|(?:Failed|Passed|Skipped)!|Test Run |Total tests:"
    r"|\[xUnit\.net |\s{1,4}Standard (?:Output|Error) Messages:"
)
_DOTNET_LABEL: Final = re.compile(r"\s{1,4}(?:Error Message|Stack Trace):\Z")


def read_maven(log: Log) -> Iterator[Failure]:
    """Yield the failures of tests and of the compiler in the output of Maven."""
    compiled = set()
    for head, body in read_blocks(log.lines, _MAVEN_HEAD, _MAVEN_END):
        if not head["path"]:
            yield Failure(head["test"].strip(), body)
            continue
        place = f"{head['path']}:{head['line']}"
        # Maven repeats the errors of the compiler at its end.
        if place not in compiled:
            compiled.add(place)
            message = head["message"].strip()
            yield Failure("compilation", [f"{place}: {message}", *body], message)


def read_gradle(log: Log) -> Iterator[Failure]:
    """Yield the failures in the output of Gradle."""
    for head, body in read_blocks(log.lines, _GRADLE_HEAD, _GRADLE_END):
        yield Failure(head["test"].strip(), body)


def read_dotnet(log: Log) -> Iterator[Failure]:
    """Yield the failures in the output of dotnet test."""
    for head, body in read_blocks(log.lines, _DOTNET_HEAD, _DOTNET_END):
        yield Failure(head["test"].strip(), _unlabelled(body))


def _unlabelled(body: Sequence[str]) -> list[str]:
    """Return the lines without labels that only introduce the next lines."""
    return [line for line in body if not _DOTNET_LABEL.match(line)]
