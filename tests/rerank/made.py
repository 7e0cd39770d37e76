"""Candidates by hand, for the tests of rerankers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np

from tosloc.records import BugReport
from tosloc.rerank.base import Candidates


def report(name: str = "r", opened: float = 0, summary: str = "", description: str = "") -> BugReport:
    """A report opened so many seconds after 1970."""
    return BugReport(name, summary, description, datetime.fromtimestamp(opened, UTC))


def candidates(
    blobs: str,
    fixed: str = "",
    *,
    of: BugReport | None = None,
    scores: Sequence[float] | None = None,
    missed_ranks: tuple[int, ...] = (),
    relevant: int | None = None,
    fixed_at: int = 0,
) -> Candidates:
    """Candidates by their blobs' names, each in a file ``src/BLOB.java``; a 1 in ``fixed`` is a fixed file.

    >>> candidates("a b", "01").paths, candidates("a b", "01").fixed.tolist()
    (('src/a.java', 'src/b.java'), [False, True])
    """
    names = tuple(blobs.split())
    marks = np.array([mark == "1" for mark in fixed.ljust(len(names), "0")], dtype=np.bool_)
    return Candidates(
        report() if of is None else of,
        "version",
        tuple(f"src/{name}.java" for name in names),
        names,
        np.arange(len(names), dtype=np.int32),
        -np.arange(len(names), dtype=np.float64) if scores is None else np.array(scores, dtype=np.float64),
        marks,
        missed_ranks,
        int(marks.sum()) + len(missed_ranks) if relevant is None else relevant,
        fixed_at,
    )
