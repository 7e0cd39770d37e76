"""Reports and candidates made by hand, for the tests of rerankers."""

from datetime import UTC, datetime

import numpy as np

from tosloc.core.reports import BugReport
from tosloc.rerank.base import Candidates


def report(name="r", opened=0, summary="", description=""):
    """Return a report that was opened ``opened`` seconds after 1970."""
    return BugReport(name, summary, description, datetime.fromtimestamp(opened, UTC))


def candidates(blobs, fixed="", *, of=None, scores=None, **fields):
    """Return candidates with these blobs, each in a file ``src/BLOB.java``.

    A 1 in ``fixed`` marks a fixed file. Scores count down from 0 unless they are given.

    >>> candidates("a b", "01").paths, candidates("a b", "01").fixed.tolist()
    (('src/a.java', 'src/b.java'), [False, True])
    """
    names = tuple(blobs.split())
    numbers = np.arange(len(names))
    marks = fixed.ljust(len(names), "0")
    is_fixed = np.array([mark == "1" for mark in marks], dtype=np.bool_)
    fields.setdefault("relevant", int(is_fixed.sum()) + len(fields.get("missed_ranks", ())))
    return Candidates(
        report() if of is None else of,
        "version",
        tuple(f"src/{name}.java" for name in names),
        names,
        numbers.astype(np.int32),
        np.array(-numbers if scores is None else scores, dtype=np.float64),
        is_fixed,
        **fields,
    )
