"""Results of functions that an object keeps as long as it exists."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Any, Concatenate, Final, ParamSpec, Self, TypeVar

P = ParamSpec("P")
Result = TypeVar("Result")

KEPT_RESULTS: Final = 4
"""Number of results that an object keeps; the one used longest ago is dropped first."""


class Remembering:
    """Base class of objects that keep the latest results of functions of themselves.

    A cache in a module would keep the arrays of a version alive after the version was closed.
    """

    @cached_property
    def _compute(self) -> Callable[..., Any]:
        def compute(function: Callable[..., Any], *arguments: Any) -> Any:
            return function(self, *arguments)

        return lru_cache(maxsize=KEPT_RESULTS)(compute)

    def remember(
        self,
        function: Callable[Concatenate[Self, P], Result],
        *arguments: P.args,
        **_: P.kwargs,
    ) -> Result:
        """Return ``function(self, *arguments)``, computed once for the same hashable arguments."""
        result: Result = self._compute(function, *arguments)
        return result
