"""Candidates by hand, for the tests of rerankers."""

from datetime import UTC, datetime

import numpy as np

from tosloc.core.records import BugReport
from tosloc.rerank.base import Candidates


def report(name="r", opened=0, summary="", description=""):
    """A report opened so many seconds after 1970."""
    return BugReport(name, summary, description, datetime.fromtimestamp(opened, UTC))


def candidates(blobs, fixed="", *, of=None, **more):
    """Candidates by their blobs' names, each in a file ``src/BLOB.java``; a 1 in ``fixed`` is a fixed file.

    >>> candidates("a b", "01").paths, candidates("a b", "01").fixed.tolist()
    (('src/a.java', 'src/b.java'), [False, True])
    """
    names = tuple(blobs.split())
    marks = np.array([mark == "1" for mark in fixed.ljust(len(names), "0")], dtype=np.bool_)
    more.setdefault("relevant", int(marks.sum()) + len(more.get("missed_ranks", ())))
    scores, number = (
        np.array(more.pop("scores", -np.arange(len(names))), dtype=np.float64),
        np.arange(len(names)),
    )
    paths = tuple(f"src/{name}.java" for name in names)
    return Candidates(
        of or report(), "version", paths, names, number.astype(np.int32), scores, marks, **more
    )
