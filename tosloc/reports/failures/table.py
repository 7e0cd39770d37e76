"""The formats in which machines report failures, and the conversion of files to bug reports."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import tzinfo
from importlib import import_module
from typing import Any, Final, NamedTuple

from tosloc.core.errors import ReportError
from tosloc.core.patterns import lazy_pattern
from tosloc.core.reports import BugReport
from tosloc.reports.failures.failure import Failure, to_reports
from tosloc.reports.failures.log import Log

_COMMON_OPENING: Final = (
    r"\$ \S|\+ \S|> \S+@\d|yarn run |make(?:\[\d+\])?: |\[INFO\] |npm (?:ERR|error)"
)
"""Possible first lines of the output of any run: a command, or the tool that called the runner."""
_FENCE: Final = lazy_pattern(r"(?m)^\s{0,9}(?:```|~~~)")
"""A fence of Markdown, which shows that a person wrote the report."""


class Format(NamedTuple):
    """A format in which machines report failures.

    Its functions are named with their module in this package, as in "junit:read_junit". The module
    is imported once a text has one of the marks.
    """

    name: str
    marks: tuple[str, ...]
    """Texts of which the output of a failing run contains at least one.

    The reader examines the text in more detail.
    """
    reader: str
    """Function from a log to its failures."""
    opening: str = ""
    """Pattern of the first line of a runner's output; "" for files that have only this format."""
    recognizer: str = ""
    """Function that returns whether a log with a mark is such a file; "" if it has an opening."""

    def recognizes(self, log: Log) -> bool:
        """Return whether a text may have failures in this format."""
        if not any(mark in log.plain for mark in self.marks):
            return False
        return not self.recognizer or bool(_function(self.recognizer)(log))

    def read(self, log: Log) -> Iterable[Failure]:
        """Return the failures in a text."""
        failures: Iterable[Failure] = _function(self.reader)(log)
        return failures


def _function(place: str) -> Callable[[Log], Any]:
    """Return the function of a module in this package, as in "junit:read_junit"."""
    module, _, name = place.partition(":")
    function: Callable[[Log], Any] = getattr(
        import_module(f"tosloc.reports.failures.{module}"), name
    )
    return function


FORMATS: Final = (
    Format(
        "Sentry",
        ('"event_id"', '"eventID"'),
        "sentry:read_sentry",
        recognizer="sentry:is_sentry",
    ),
    Format("JUnit XML", ("<testsuite",), "junit:read_junit", recognizer="junit:is_junit"),
    Format(
        "pytest",
        ("= FAILURES =", "= ERRORS =", "FAILED "),
        "python:read_pytest",
        r"={3,} (?:test session starts|FAILURES|ERRORS|short test summary info) ={3,}"
        r"|[.FEsxX]+(?:\s+\[\s*\d+%\])?\Z|(?:FAILED|ERROR) \S+\.py",
    ),
    Format(
        "unittest",
        ("Traceback (most recent call last)",),
        "python:read_unittest",
        r"={40,}\Z|[.FEsx]+\Z|\w+ \([\w.]+\) \.\.\.",
    ),
    Format(
        "go test",
        ("--- FAIL: ", "\nFAIL"),
        "native:read_go",
        r"=== RUN|--- (?:FAIL|PASS): |(?:ok|FAIL|\?)\s+\S+\s|go: |panic: "
        r"|\# [\w.\-]+/\S+(?: \[.*\])?\Z",
    ),
    Format(
        "cargo test",
        (" stdout ----", " stderr ----"),
        "native:read_cargo",
        r"\s{1,8}(?:Compiling|Finished|Running|Updating|Downloaded|Blocking|Doc-tests) "
        r"|running \d+ tests?|warning: |failures:",
    ),
    Format(
        "jest",
        ("● ",),
        "javascript:read_jest",
        r"\s{0,4}(?:PASS|FAIL) \s*\S+\.[cm]?[jt]sx?\b|Determining test suites to run|\s{0,4}● ",
    ),
    Format(
        "vitest",
        ("⎯ Failed ", "❯ "),
        "javascript:read_vitest",
        r"\s{0,4}(?:RUN|DEV) +v\d|\s{0,4}(?:❯|✓|×) \S|⎯{3,} Failed ",
    ),
    Format(
        "mocha",
        (" failing",),
        "javascript:read_mocha",
        r"\s{2,4}(?:\d+ (?:passing|failing)|\d+\) |✔|✓|\S.*\Z)",
    ),
    Format(
        "RSpec",
        ("Failure/Error:", "Failures:"),
        "ruby_php:read_rspec",
        r"Run options: |[.F*]+\Z|Randomized with seed|Failures:\Z",
    ),
    Format(
        "PHPUnit",
        ("FAILURES!", "ERRORS!"),
        "ruby_php:read_phpunit",
        r"PHPUnit \d|There (?:was|were) \d+ (?:failure|error)s?:|Runtime: +PHP",
    ),
    Format(
        "Maven",
        ("<<< FAILURE!", "<<< ERROR!", "COMPILATION ERROR"),
        "jvm_dotnet:read_maven",
        r"\[(?:INFO|ERROR|WARNING)\]|-{40,}\Z|Running [\w.]+\Z|Tests run: |Apache Maven ",
    ),
    Format(
        "Gradle",
        (" FAILED\n",),
        "jvm_dotnet:read_gradle",
        r"> Task :|Starting a Gradle Daemon|Welcome to Gradle|\S[^>\n]{0,500} > .{1,500} FAILED\Z"
        r"|To honour the JVM settings|Reusing configuration cache|Calculating task graph",
    ),
    Format(
        "ctest",
        ("***", "The following tests FAILED:"),
        "native:read_ctest",
        r"Test project |Internal ctest changing into|\s{0,9}\d+/\d+ Test |UpdateCTestConfiguration"
        r"|\s{1,9}Start +\d+: ",
    ),
    Format(
        "dotnet test",
        ("Error Message:",),
        "jvm_dotnet:read_dotnet",
        r"\s{0,4}Determining projects to restore|Test run for |\[xUnit\.net |\s{2,4}Failed \S"
        r"|Starting test execution|VSTest version|Build started|Microsoft \(R\) ",
    ),
    # An error of a compiler is also a usual title of a report, so output must begin otherwise.
    Format("compilers", ("error", "e: "), "compilers:read_compiler", r"(?!)"),
)
"""All formats. Logs of continuous integration contain the output of test runners."""
_OPENING: Final = lazy_pattern(
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
