"""Find the files related to the first files: called by them, changed with them, or near them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from tosloc.code.text import compounds
from tosloc.core.arrays import FloatArray
from tosloc.rank.features.query_context import QueryContext
from tosloc.rank.features.registry import folder_share, scale_by_largest
from tosloc.rank.features.text_features import co_change

MAX_DEFINING_FILES: Final = 3
"""Largest number of files that may define a name; a name with more definitions is ignored."""


def relate_files(context: QueryContext, first: Sequence[int], code: Sequence[str]) -> FloatArray:
    """Return (F,) how closely each file is related to the ``first`` files, the best of them first.

    The value is the sum of three parts from 0 to 1. They are for names in the ``code`` of the first
    files that the file defines, for commits that changed the file together with them, and for its
    folder. Nothing later than the report is used.
    """
    shares = np.zeros(context.files)
    shares[list(first)] = 1 / np.arange(1, len(first) + 1)
    shares /= max(float(shares.sum()), 1.0)
    called = _defines_names(context, code)
    changed = co_change(context, shares)
    beside = folder_share(context, shares)
    return scale_by_largest(called) + scale_by_largest(changed) + scale_by_largest(beside)


def _defines_names(context: QueryContext, code: Sequence[str]) -> FloatArray:
    """Return (F,) the number of compound names in ``code`` that each file defines.

    A name counts less if more files define it.
    """
    view = context.version.text
    numbers = view.corpus.terms
    values = np.zeros(len(view.corpus))
    for name in dict.fromkeys(compounds("\n".join(code))):
        number = numbers.get(name)
        if number is None:
            continue
        rows = view.corpus.defining_rows(number)
        files = int(view.multiplicity[rows].sum())
        if 0 < files <= MAX_DEFINING_FILES:
            values[rows] += 1 / files
    return view.to_files(values)
