"""What a repository and a report are like: the same value for every file, for the learned ranker to tell cases apart.

A weighted sum gains nothing by them: what lifts every file alike moves none. Trees ask them before they ask a feature
whose worth depends on them: in a repository of 30 files its size and folders say little, without fixed reports the
history says less. Shapes: F files.
"""

from __future__ import annotations

import math

import numpy as np

from tosloc.index.context import QueryContext
from tosloc.records import FloatArray


def _alike(context: QueryContext, number: float) -> FloatArray:
    return np.full(context.files, math.log1p(number))


def files(context: QueryContext) -> FloatArray:
    """ln(1 + files of the version), for every file."""
    return _alike(context, context.files)


def known_reports(context: QueryContext) -> FloatArray:
    """ln(1 + fixed reports that are known), for every file."""
    return _alike(context, context.history.reports.number)


def known_commits(context: QueryContext) -> FloatArray:
    """ln(1 + commits that are known), for every file."""
    return _alike(context, context.history.commits.number)


def report_terms(context: QueryContext) -> FloatArray:
    """ln(1 + distinct terms of the report), for every file."""
    return _alike(context, len(context.query.weights))


def language_share(context: QueryContext) -> FloatArray:
    """Share of the version's files that are in the file's language."""
    of_file = context.version.paths.table.language[context.version.paths.path_ids]
    share: FloatArray = (np.bincount(of_file)[of_file] if context.files else np.zeros(0)) / max(context.files, 1)
    return share
