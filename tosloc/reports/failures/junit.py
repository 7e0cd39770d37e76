"""Read failures in JUnit's XML of test results, which nearly every test runner can write."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final
from xml.etree.ElementTree import Element, ParseError

import defusedxml.ElementTree

from tosloc.core.errors import ReportError
from tosloc.reports.failures.failure import MAX_BODY_LINES, MAX_FAILURES, Failure
from tosloc.reports.failures.log import MAX_LINE_LENGTH, Log
from tosloc.reports.failures.python import shorten_pytest
from tosloc.reports.published_tables import MOST_TAGS

_BEGIN: Final = re.compile(
    r"\s{0,99}(?:<\?xml[^>]{0,200}>\s{0,99})?(?:<!--(?:(?!-->).){0,2000}-->\s{0,99}){0,9}"
    r"(?:<!DOCTYPE[^>\[]{0,500}(?:\[[^\]]{0,2000}\]\s{0,9})?>\s{0,99})?<testsuites?[\s>/]",
    re.DOTALL,
)


def is_junit(log: Log) -> bool:
    """Return whether a text is XML of test results."""
    return _BEGIN.match(log.text) is not None


def read_junit(log: Log) -> Iterator[Failure]:
    """Yield the failures and errors of all test cases. Raises ReportError for malformed XML."""
    if log.text.count("<") > MOST_TAGS:
        raise ReportError(f"{log.name}: has more than {MOST_TAGS:,} tags; split it")
    try:
        # The declaration of an encoding is about bytes, which are decoded already.
        root: Element = defusedxml.ElementTree.fromstring(log.text.encode(), forbid_dtd=True)
    except (ParseError, LookupError, ValueError, RecursionError) as error:
        raise ReportError(
            f"{log.name} is malformed XML, or has entities, which are not supported ({error})"
        ) from error
    number = 0
    for case in root.iter("testcase"):
        for result in (*case.iterfind("failure"), *case.iterfind("error")):
            yield _failure(case, result)
            number += 1
            if number == MAX_FAILURES:
                return


def _failure(case: Element, result: Element) -> Failure:
    """Return the failure of a test case."""
    class_name = case.get("classname") or case.get("class") or ""
    name = case.get("name") or ""
    test = f"{class_name}.{name}" if class_name and class_name not in name else name
    text = (result.text or "").strip("\n")
    lines = shorten_pytest(text)
    body = [line[:MAX_LINE_LENGTH] for line in lines[:MAX_BODY_LINES]]
    message = (result.get("message") or "").strip().partition("\n")[0][:MAX_LINE_LENGTH]
    return Failure(test or class_name, body, message, case.get("file") or "")
