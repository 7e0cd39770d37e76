"""The formats in which machines report failures, and the conversion of files to bug reports."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import tzinfo
from typing import Final, NamedTuple

from tosloc.core.errors import ReportError
from tosloc.core.reports import BugReport
from tosloc.reports.failures.compilers import read_compiler
from tosloc.reports.failures.failure import Failure, to_reports
from tosloc.reports.failures.javascript import read_jest, read_mocha, read_vitest
from tosloc.reports.failures.junit import is_junit, read_junit
from tosloc.reports.failures.jvm_dotnet import read_dotnet, read_gradle, read_maven
from tosloc.reports.failures.log import Log
from tosloc.reports.failures.native import read_cargo, read_ctest, read_go
from tosloc.reports.failures.python import read_pytest, read_unittest
from tosloc.reports.failures.ruby_php import read_phpunit, read_rspec
from tosloc.reports.failures.sentry import is_sentry, read_sentry

_COMMON_OPENING: Final = (
    r"\$ \S|\+ \S|> \S+@\d|yarn run |make(?:\[\d+\])?: |\[INFO\] |npm (?:ERR|error)"
)
"""Possible first lines of the output of any run: a command, or the tool that called the runner."""
_FENCE: Final = re.compile(r"(?m)^\s{0,9}(?:```|~~~)")
"""A fence of Markdown, which shows that a person wrote the report."""


class Format(NamedTuple):
    """A format in which machines report failures."""

    name: str
    recognizes: Callable[[Log], bool]
    """Function that returns whether a text may contain failures in this format.

    The reader examines the text in more detail.
    """
    read: Callable[[Log], Iterable[Failure]]
    opening: str = ""
    """Pattern of the first line of a runner's output; "" for files that have only this format."""


def _has(*marks: str) -> Callable[[Log], bool]:
    """Return a function that recognizes the output of a failing run by any of the marks."""
    return lambda log: any(mark in log.plain for mark in marks)


FORMATS: Final = (
    Format("Sentry", is_sentry, read_sentry),
    Format("JUnit XML", is_junit, read_junit),
    Format(
        "pytest",
        _has("= FAILURES =", "= ERRORS =", "FAILED "),
        read_pytest,
        r"={3,} (?:test session starts|FAILURES|ERRORS|short test summary info) ={3,}"
        r"|[.FEsxX]+(?:\s+\[\s*\d+%\])?\Z|(?:FAILED|ERROR) \S+\.py",
    ),
    Format(
        "unittest",
        _has("Traceback (most recent call last)"),
        read_unittest,
        r"={40,}\Z|[.FEsx]+\Z|\w+ \([\w.]+\) \.\.\.",
    ),
    Format(
        "go test",
        _has("--- FAIL: ", "\nFAIL"),
        read_go,
        r"=== RUN|--- (?:FAIL|PASS): |(?:ok|FAIL|\?)\s+\S+\s|go: |panic: "
        r"|\# [\w.\-]+/\S+(?: \[.*\])?\Z",
    ),
    Format(
        "cargo test",
        _has(" stdout ----", " stderr ----"),
        read_cargo,
        r"\s{1,8}(?:Compiling|Finished|Running|Updating|Downloaded|Blocking|Doc-tests) "
        r"|running \d+ tests?|warning: |failures:",
    ),
    Format(
        "jest",
        _has("● "),
        read_jest,
        r"\s{0,4}(?:PASS|FAIL) \s*\S+\.[cm]?[jt]sx?\b|Determining test suites to run|\s{0,4}● ",
    ),
    Format(
        "vitest",
        _has("⎯ Failed ", "❯ "),
        read_vitest,
        r"\s{0,4}(?:RUN|DEV) +v\d|\s{0,4}(?:❯|✓|×) \S|⎯{3,} Failed ",
    ),
    Format(
        "mocha",
        _has(" failing"),
        read_mocha,
        r"\s{2,4}(?:\d+ (?:passing|failing)|\d+\) |✔|✓|\S.*\Z)",
    ),
    Format(
        "RSpec",
        _has("Failure/Error:", "Failures:"),
        read_rspec,
        r"Run options: |[.F*]+\Z|Randomized with seed|Failures:\Z",
    ),
    Format(
        "PHPUnit",
        _has("FAILURES!", "ERRORS!"),
        read_phpunit,
        r"PHPUnit \d|There (?:was|were) \d+ (?:failure|error)s?:|Runtime: +PHP",
    ),
    Format(
        "Maven",
        _has("<<< FAILURE!", "<<< ERROR!", "COMPILATION ERROR"),
        read_maven,
        r"\[(?:INFO|ERROR|WARNING)\]|-{40,}\Z|Running [\w.]+\Z|Tests run: |Apache Maven ",
    ),
    Format(
        "Gradle",
        _has(" FAILED\n"),
        read_gradle,
        r"> Task :|Starting a Gradle Daemon|Welcome to Gradle|\S[^>\n]{0,500} > .{1,500} FAILED\Z"
        r"|To honour the JVM settings|Reusing configuration cache|Calculating task graph",
    ),
    Format(
        "ctest",
        _has("***", "The following tests FAILED:"),
        read_ctest,
        r"Test project |Internal ctest changing into|\s{0,9}\d+/\d+ Test |UpdateCTestConfiguration"
        r"|\s{1,9}Start +\d+: ",
    ),
    Format(
        "dotnet test",
        _has("Error Message:"),
        read_dotnet,
        r"\s{0,4}Determining projects to restore|Test run for |\[xUnit\.net |\s{2,4}Failed \S"
        r"|Starting test execution|VSTest version|Build started|Microsoft \(R\) ",
    ),
    # An error of a compiler is also a usual title of a report, so output must begin otherwise.
    Format("compilers", _has("error", "e: "), read_compiler, r"(?!)"),
)
"""All formats. Logs of continuous integration contain the output of test runners."""
_OPENING: Final = re.compile(
    "|".join([_COMMON_OPENING, *(form.opening for form in FORMATS if form.opening)])
)


def read_failures(text: str, zone: tzinfo, where: str) -> list[BugReport]:
    """Return a report for each distinct failure in a text, the most frequent first.

    The result is empty if a person wrote the text, or if the output shows no failure. Raises
    ReportError for test results and events that are malformed or contain no failure.
    """
    log = Log(text, where)
    for form in FORMATS:
        if not form.opening and form.recognizes(log):
            reports = to_reports(form.read(log), zone, where)
            if not reports:
                raise ReportError(f"{where} contains no failure; give the results of a failed run")
            return reports
    failures: list[Failure] = []
    if _is_output(log):
        for form in FORMATS:
            if form.opening and form.recognizes(log):
                failures += form.read(log)
    return to_reports(failures, zone, where)


def _is_output(log: Log) -> bool:
    """Return whether a machine wrote a text: its first line is that of a run, or it has times."""
    if _FENCE.search(log.text):
        return False
    first = next((line for line in log.lines if line.strip()), "")
    return log.is_stamped or _OPENING.match(first) is not None
