"""Yield items while reporting progress."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from tosloc.core.progress import Progress

T = TypeVar("T")


def track(items: Sequence[T], what: str, progress: Progress) -> Iterator[T]:
    """Yield items one after the other and report progress."""
    for number, item in enumerate(items):
        progress(what, number, len(items))
        yield item
    progress(what, len(items), len(items))
