"""Progress of long work, reported to whoever asked for it."""

from __future__ import annotations

import time
from collections.abc import Callable
from math import ceil
from typing import Final, TypeAlias

Progress: TypeAlias = Callable[[str, int, int], None]
"""Callback of long work: ``progress(what, done, total)``; 0 means an unknown total.

With the total ``ANNOUNCEMENT``, ``what`` is a sentence about finished work (see ``announce``).
"""
ANNOUNCEMENT: Final = -1
"""Total of a call that announces a sentence."""

MIN_SECONDS: Final = 5.0
"""Seconds of work after which the time that is left is estimated; earlier the rate says little."""


def ignore_progress(what: str, done: int, total: int) -> None:
    """Ignore progress: the default of every function that reports it."""


def announce(progress: Progress, sentence: str) -> None:
    """Report a sentence about finished work, which is printed on a line of its own."""
    progress(sentence, 0, ANNOUNCEMENT)


class TimeLeft:
    """Estimates how long work will still take, from its rate since the first call about it.

    What was done before the first call does not count, such as files that were indexed earlier.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._begun: dict[str, tuple[float, int]] = {}
        """Work -> the time of the first call about it, and how much was done then."""

    def describe(self, what: str, done: int, total: int) -> str:
        """Return the time that is left, such as "about 3 min left", from a call of progress.

        Return "" if it is unknown: in the first MIN_SECONDS, and for work without a total.
        """
        now = self._clock()
        begun, done_before = self._begun.setdefault(what, (now, done))
        if done >= total or done < done_before:  # the next call is about other work
            del self._begun[what]
            return ""
        if done == done_before or now - begun < MIN_SECONDS:
            return ""
        seconds = (now - begun) / (done - done_before) * (total - done)
        return f"about {_describe_seconds(seconds)} left"


def _describe_seconds(seconds: float) -> str:
    """Return a rounded number of seconds, minutes or hours.

    >>> [_describe_seconds(seconds) for seconds in (0.1, 61, 100, 5_000, 9_000)]
    ['10 s', '70 s', '2 min', '84 min', '3 h']
    """
    if seconds <= 90:
        return f"{10 * ceil(seconds / 10)} s"
    if seconds <= 90 * 60:
        return f"{ceil(seconds / 60)} min"
    return f"{ceil(seconds / 3600)} h"
