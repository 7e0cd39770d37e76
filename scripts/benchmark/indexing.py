"""Making the facts of a version."""

from __future__ import annotations

from benchmark.timing import Row, say
from benchmark.version import Bench


def first_index(bench: Bench) -> list[Row]:
    """Building against parsing alone."""
    if not bench.sample:
        say("no file's language has a grammar: no row for the first index")
        return []
    return [Row("first index / tree-sitter", *bench.first)]
