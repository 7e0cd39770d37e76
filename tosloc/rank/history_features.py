"""Features of the part of the history that a report names: changes, and a range of releases.

Letters in shapes: F files of the version.
"""

from __future__ import annotations

import math

import numpy as np

from tosloc.core.records import FloatArray
from tosloc.retrieval.context import QueryContext


def named_change(context: QueryContext, *, certain: bool = False) -> FloatArray:
    """Return (F,) 1/sqrt(k) of each file that an earlier change has touched that the report names.

    k is the number of files of the change. Of several changes the one with fewest files counts.
    With ``certain`` only names of commits and pull requests count, not those of issues.
    """
    scores = np.zeros(context.all_paths)
    for change in context.named_history.changes:
        if certain and not change.is_change:
            continue
        value = 1 / math.sqrt(len(change.rows))
        rows = [*change.rows]
        scores[rows] = np.maximum(scores[rows], value)
    return context.to_files(scores)


def release_range(context: QueryContext) -> FloatArray:
    """Return (F,) ln(1 + sum of 1/sqrt(k) over the commits that may have broken something).

    They are the commits between the releases in which something worked and failed, by the report.
    Each touched the file and k - 1 others.
    """
    return context.to_files(np.log1p(context.named_history.range_weights))
