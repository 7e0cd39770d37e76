"""Progress of long work, reported to whoever asked for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

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
