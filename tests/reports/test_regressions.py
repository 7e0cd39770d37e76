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
        "After upgrading to 2.1 the page is empty",
        "I get an error after updating to the latest version",
        "The page is empty after the upgrade",
        "Since the update the page is empty",
        "The page is empty after upgrading from 1.9 to 2.1",
        "It fails after updating.",
        "Since I upgraded, the page is empty",
        "It appeared since version 1.2.0",
        "It is slow since release 3",
        "It seems that after commit 0ff6416 it is slow",
        "After merging #12 the page is empty",
        "It is slow after the refactoring",
        "It broke after 2.1",
        "It is broken after bd5bbfc1",
        "It looks like this was broken by the fix for #3195",
        "The nightly build is broken by the environment",
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
        "click pager the colour is broken after calling style()",
        "sometimes the terminal is broken afterwards",
        "I get an error after updating my shell config",
        "I get an error after updating the settings",
        "After upgrading to Python 3.12 the page is empty",
        "After upgrading Tomcat the page is empty",
        "It fails after updating to the latest version of Ubuntu",
        "Rows are missing after the update of a row",
        "Rows are missing after an update of the table",
        "Rows are missing after updating a row",
        "It hangs after committing the form",
        "Wrong name for prediction after deploying the model",
        "It hangs after merging two lists",
        "The key repeats after releasing it",
        "We use the following versions",
        "This is an error since the version of the defaults is wrong",
        "Follow the following update of the method",
        "after connection broken by 'NewConnectionError'",
        "The layout is broken by a long title",
        "<!-- Did it work in an earlier version? Is it a regression? --> The total is wrong",
    ],
)
def test_other_reports_are_no_regressions(text):
    assert not says_that_it_worked(text)


@pytest.mark.parametrize(
    "text",
    [
        "fine " * 20_000,
        "previously " * 9_000,
        "revert " * 15_000,
        "after the " * 10_000,
        "after updating to the new " * 4_000,
        "after" + " " * 90_000,
    ],
)
def test_long_repetitions_are_read(text):
    assert not says_that_it_worked(text)
