"""Lines that many reports of a project share."""

from datetime import UTC, datetime

import numpy as np
import pytest

from tosloc.core.reports import BugReport
from tosloc.reports.text.forms import template_key
from tosloc.reports.text.shared_lines import (
    MIN_REPORTS,
    NO_SHARED_LINES,
    WINDOW,
    SharedLines,
    check_shared_lines,
    repeatable_lines,
)

LINE = "Which depot do you run?"
KEY = "which depot do you run"


def make_report(second, description=LINE, identity=None):
    """Return a report that was opened at this second since 1970."""
    opened = datetime.fromtimestamp(second, UTC)
    return BugReport(identity or f"r{second}", "It hangs", description, opened)


def make_reports(seconds):
    return [make_report(second) for second in seconds]


def test_a_line_is_shared_after_enough_reports():
    lines = SharedLines.collect(make_reports(range(1, MIN_REPORTS + 1)))
    assert lines.keys == [KEY]
    assert lines.times.tolist() == [MIN_REPORTS]


def test_a_line_of_fewer_reports_is_not_shared():
    assert SharedLines.collect(make_reports(range(1, MIN_REPORTS))).keys == []


def test_the_order_of_the_reports_does_not_matter():
    lines = SharedLines.collect(make_reports(range(MIN_REPORTS + 3, 0, -1)))
    assert lines.times.tolist() == [MIN_REPORTS]


def test_lines_compare_without_case_and_marks():
    written = [LINE, "## which depot do you run", "- **Which depot** do you run?", LINE, LINE]
    reports = [make_report(second, line) for second, line in enumerate(written)]
    assert SharedLines.collect(reports).keys == [KEY]


def test_a_line_counts_once_in_a_report():
    repeated = "\n".join([LINE] * MIN_REPORTS)
    assert SharedLines.collect([make_report(1, repeated)]).keys == []


def test_a_report_counts_once():
    """Several fixes of one report are several cases."""
    reports = [make_report(second, identity="1") for second in range(MIN_REPORTS)]
    assert SharedLines.collect(reports).keys == []


def test_reports_without_a_time_do_not_count():
    undated = [BugReport(str(number), "", LINE, None) for number in range(MIN_REPORTS)]
    assert SharedLines.collect(undated).keys == []


@pytest.mark.parametrize(
    ("others", "keys"), [(WINDOW - MIN_REPORTS, [KEY]), (WINDOW - MIN_REPORTS + 1, [])]
)
def test_reports_far_apart_share_no_line(others, keys):
    """The last report with the line comes after all but one of these, and ``others`` without it."""
    reports = make_reports(range(MIN_REPORTS - 1))
    reports += [make_report(100 + second, f"It hangs {second}") for second in range(others)]
    reports.append(make_report(1000))
    assert SharedLines.collect(reports).keys == keys


def test_a_line_stays_shared():
    reports = make_reports(range(MIN_REPORTS))
    reports += [make_report(100 + second, f"It hangs {second}") for second in range(2 * WINDOW)]
    assert SharedLines.collect(reports).as_of(1e6) == {KEY}


def test_the_report_that_makes_a_line_shared_does_not_know_it():
    lines = SharedLines.collect(make_reports(range(1, MIN_REPORTS + 1)))
    assert lines.as_of(float(MIN_REPORTS)) == frozenset()
    assert lines.as_of(MIN_REPORTS + 0.5) == {KEY}


@pytest.mark.parametrize("opened", [3.0, MIN_REPORTS + 1.0, 20.0, 60.0])
def test_later_reports_change_nothing_before_them(opened):
    """Later reports may have any text, and as many may come at the very time as one likes."""
    earlier = make_reports(range(MIN_REPORTS + 2))
    earlier += [make_report(second, "Read the manual first") for second in range(10, 30)]
    earlier = [report for report in earlier if report.opened_seconds < opened]
    later = []
    for number in range(3 * WINDOW):
        text = f"{LINE}\nRead the manual first\nBuy a depot"
        later.append(make_report(opened + number // 9, text, f"a{number}"))
    before = SharedLines.collect(earlier).as_of(opened)
    assert SharedLines.collect([*later, *earlier]).as_of(opened) == before


def test_no_reports_share_no_lines():
    assert NO_SHARED_LINES.as_of(1e12) == frozenset()


def test_arrays_that_are_in_no_order_are_refused():
    keys = np.frombuffer(b"a\0b\0", dtype=np.uint8)
    arrays = {"lines.keys": keys, "lines.times": np.array([2.0, 1.0])}
    with pytest.raises(ValueError, match="in no order of time"):
        check_shared_lines(arrays, "lines")


@pytest.mark.parametrize(
    "line",
    ["Which depot do you run", "- **Which depot**: none", "## Depot", "See https://x.org/a b"],
)
def test_lines_that_a_form_may_have(line):
    assert repeatable_lines(f"It hangs\n{line}") == {"it hangs", template_key(line)}


@pytest.mark.parametrize(
    "line",
    [
        "Depot",
        "java.lang.NullPointerException",
        "1 2 3",
        "import depot as shop",
        "> which depot",
        "12:00:01 INFO the depot is open",
        "- OS: Linux",
        "```\nwhich depot\n```",
        "    at shop.Depot.open(Depot.java:3)",
        "which depot " * 90,
    ],
    ids=["word", "name", "digits", "code", "quoted", "log", "system", "fence", "frame", "long"],
)
def test_lines_that_repeat_for_other_reasons(line):
    assert repeatable_lines(line) == set()
