"""A cache like functools.lru_cache, for values that must be closed."""

from __future__ import annotations

import atexit
from collections.abc import Callable, Hashable
from functools import wraps
from typing import Protocol, TypeVar


class _Closable(Protocol):
    def close(self) -> object: ...


Opened = TypeVar("Opened", bound=_Closable)


def closing_cache(size: int) -> Callable[[Callable[..., Opened]], Callable[..., Opened]]:
    """Return a decorator that keeps the last ``size`` results of a function open.

    The arguments of the function are positional and hashable. When the cache is full, the result
    used longest ago is closed before a new result is opened. All other results are closed when
    Python exits.
    """

    def decorate(open_value: Callable[..., Opened]) -> Callable[..., Opened]:
        kept: dict[tuple[Hashable, ...], Opened] = {}  # the one used last is last

        def close_oldest() -> None:
            oldest = next(iter(kept))
            kept.pop(oldest).close()

        @wraps(open_value)
        def open_cached(*arguments: Hashable) -> Opened:
            if arguments in kept:
                kept[arguments] = kept.pop(arguments)
                return kept[arguments]
            while len(kept) >= size:
                close_oldest()
            kept[arguments] = open_value(*arguments)
            return kept[arguments]

        @atexit.register
        def close_all() -> None:
            while kept:
                close_oldest()

        return open_cached

    return decorate
