"""Regular expressions that are compiled when they are first used."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any, AnyStr, cast


def lazy_pattern(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return a regular expression that is compiled when it is first used.

    It serves patterns that a command imports, but seldom needs: compiling takes up to 3 ms each.
    """
    return cast("re.Pattern[AnyStr]", LazyPattern(pattern, flags))


class LazyPattern:
    """A regular expression with the methods of ``re.Pattern``, compiled when one is first used."""

    def __init__(self, pattern: str | bytes, flags: int = 0) -> None:
        self._pattern = pattern
        self._flags = flags

    @cached_property
    def compiled(self) -> re.Pattern[Any]:
        """The compiled pattern."""
        return re.compile(self._pattern, self._flags)

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the compiled pattern, which is found directly from then on."""
        value = getattr(self.compiled, name)
        setattr(self, name, value)
        return value
