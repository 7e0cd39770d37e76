"""Time and memory in words."""

import pytest

from tosloc.core.resources import format_duration, peak_gibibytes


def test_peak_memory_is_that_of_a_python_process():
    assert 0.01 < peak_gibibytes() < 1000


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(9.94, "9.9 s"), (59.4, "59 s"), (59.6, "1 min 0 s"), (3599.7, "1 h 0 min")],
)
def test_durations_are_rounded_to_their_units(seconds, text):
    assert format_duration(seconds) == text
