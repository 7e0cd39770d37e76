"""The time that long work will still take."""

import pytest

from tosloc.core.progress import MIN_SECONDS, TimeLeft


@pytest.fixture
def describe():
    """Return a function that describes the time left at a number of seconds."""
    now = 0.0
    time_left = TimeLeft(lambda: now)

    def describe(seconds, done, total=1_000, what="indexing files"):
        nonlocal now
        now = seconds
        return time_left.describe(what, done, total)

    return describe


def test_the_rate_since_the_first_call_gives_the_time_left(describe):
    describe(0, 400)
    assert describe(10, 500) == "about 50 s left"
    assert describe(20, 500) == "about 2 min left"
    assert describe(60, 990) == "about 10 s left"


def test_no_time_is_estimated_in_the_first_seconds(describe):
    describe(100, 0)
    assert describe(100 + MIN_SECONDS / 2, 900) == ""
    assert describe(100 + MIN_SECONDS, 900) == "about 10 s left"


def test_no_time_is_estimated_before_anything_is_done(describe):
    describe(0, 400)
    assert describe(600, 400) == ""


def test_no_time_is_estimated_without_a_total(describe):
    describe(0, 0, total=0)
    assert describe(60, 100, total=0) == ""


def test_finished_work_takes_no_more_time(describe):
    describe(0, 0)
    assert describe(60, 1_000) == ""


@pytest.mark.parametrize("last", [1_000, 800], ids=["finished", "interrupted"])
def test_work_that_begins_again_has_a_rate_of_its_own(describe, last):
    describe(0, 500)
    describe(60, last)
    assert describe(100, 0) == ""
    describe(100, 0)
    assert describe(110, 500) == "about 10 s left"


def test_each_kind_of_work_has_a_rate_of_its_own(describe):
    describe(0, 0)
    describe(50, 0, what="reading history")
    assert describe(60, 500, what="reading history") == "about 10 s left"
    assert describe(60, 500) == "about 60 s left"
