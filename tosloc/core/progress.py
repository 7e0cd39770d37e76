"""Progress of long work, reported to whoever asked for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias, TypeVar

T = TypeVar("T")

Progress: TypeAlias = Callable[[str, int, int], None]
"""Callback of long work: ``progress(what, done, total)``; 0 means an unknown total.

With the total ``ANNOUNCEMENT``, ``what`` is a sentence about finished work (see ``announce``).
"""
ANNOUNCEMENT: Final = -1
"""Total of a call that announces a sentence."""


def ignore_progress(what: str, done: int, total: int) -> None:
    """Ignore progress: the default of every function that reports it."""


def announce(progress: Progress, sentence: str) -> None:
    """Report a sentence about finished work, which is printed on a line of its own."""
    progress(sentence, 0, ANNOUNCEMENT)


def track(items: Sequence[T], what: str, progress: Progress) -> Iterator[T]:
    """Yield items one after the other and report progress."""
    for number, item in enumerate(items):
        progress(what, number, len(items))
        yield item
    progress(what, len(items), len(items))
