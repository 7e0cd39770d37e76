"""Whether a report says that something worked before."""

import pytest

from tosloc.reports.text.regressions import says_that_it_worked


@pytest.mark.parametrize(
    "text",
    [
        "The total is wrong. It used to work.",
        "Sessions no longer expire",
        "The reloader stopped working",
        "It worked fine until I installed the new package",
        "Regression: the cart takes an item twice",
        "git bisect points at the change of the cart",
        "Everything is slow since the last update",
        "After upgrading Tomcat the page is empty",
        "Following the latest release, my builds fail",
        "This is broken since yesterday",
        "Downgrading the library fixes it",
        "This was working in previous versions",
    ],
)
def test_a_regression_is_recognized(text):
    assert says_that_it_worked(text)


@pytest.mark.parametrize(
    "text",
    [
        "The total of the cart is wrong",
        "The option does not work before the server starts",
        "A name of no longer than 10 characters is refused",
        "I expected a new session after a day",
        "It should work with any version",
        "<!-- Did it work in an earlier version? Is it a regression? --> The total is wrong",
    ],
)
def test_other_reports_are_no_regressions(text):
    assert not says_that_it_worked(text)


@pytest.mark.parametrize("text", ["fine " * 20_000, "previously " * 9_000, "revert " * 15_000])
def test_long_repetitions_are_read(text):
    assert not says_that_it_worked(text)
