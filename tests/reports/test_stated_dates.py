"""Dates on which something worked or began to fail, by the words of a report."""

from datetime import UTC, datetime

import pytest

from tosloc.reports.text.stated_dates import find_dated_statements, find_working_time

OPENED = datetime(2024, 3, 15, 10, tzinfo=UTC)
"""A Friday."""


def working_day(text):
    """Return the day on which something worked, by a report of a Friday; None if it is silent."""
    time = find_working_time(find_dated_statements(text), OPENED.timestamp())
    return None if time is None else datetime.fromtimestamp(time, UTC).date().isoformat()


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("It worked on 2024-03-01.", "2024-03-01"),
        ("The build of March 1st is broken? It worked on March 1, 2024", "2024-03-01"),
        ("It was still working on 1 March", "2024-03-01"),
        ("Everything was fine on December 24th", "2023-12-24"),
        ("Yesterday it worked, and today it crashes", "2024-03-14"),
        ("This worked two days ago", "2024-03-13"),
        ("It worked until a few days ago", "2024-03-10"),
        ("It worked last week", "2024-03-01"),
        ("The tests passed last Tuesday.", "2024-03-12"),
        ("The upload crashes since yesterday", "2024-03-13"),
        ("Since last night the upload fails", "2024-03-13"),
        ("The upload stopped working 3 days ago", "2024-03-11"),
        ("It started failing on 2024-03-04", "2024-03-03"),
        ("Since Tuesday's update the colours are gone", "2024-02-27"),
        ("It broke last month. On March 2 it was fine.", "2024-03-02"),
        ("It broke on March 4. Yesterday I went back to 2.1, and it worked.", "2024-03-03"),
        ("It worked on March 1, and on March 2 it was fine. It broke on March 4.", "2024-03-02"),
        ("It worked two days ago. Since yesterday's update it crashes.", "2024-03-13"),
        ("The colours are gone since March 8. It was fine on March 6.", "2024-03-06"),
    ],
)
def test_stated_date_is_read(text, day):
    assert working_day(text) == day


@pytest.mark.parametrize(
    "text",
    [
        "I use it since last week.",
        "I have been running it since yesterday without a crash of the server",
        "It works since yesterday's update",
        "It did not work yesterday either",
        "It never worked last week",
        "Did it work yesterday?",
        "I am not sure that it worked last week",
        "If it worked yesterday, I would know",
        "It works today",
        "Built on 2024-03-01, crashes",
        "2024-03-01 10:00:00 ERROR it worked",
        "Reported on 2024-03-01 by a user",
        "It fails when the date is 2024-02-31",
        "The job of March 1st fails",
        "It worked on 2031-03-01",
        "It worked on 2019-03-01",
        "I may 3 times fail",
        "It worked in 3 days",
    ],
)
def test_other_dates_say_nothing(text):
    assert working_day(text) is None
