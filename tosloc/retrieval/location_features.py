"""Features of the files that a report locates, by frames, links and paths, and of what kind of file each is.

Shapes: F files of the version, N paths.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from tosloc.index.context import QueryContext
from tosloc.index.paths import FileGroups
from tosloc.index.postings import leaders
from tosloc.records import FloatArray

LEADING_FILES: Final = 100
"""How many files of the first guess lend their score to files of the same name."""


# What the report names


def own_frame(context: QueryContext) -> FloatArray:
    """1/rank among the project's own files of a trace, innermost first, by the root of the trace's number."""
    scores = np.zeros(context.all_paths)
    for number, trace in enumerate(context.own_frames, start=1):
        for rank, rows in enumerate(trace, start=1):
            _raise(scores, rows, 1 / (rank * math.sqrt(number)))
    return context.to_files(scores)


def linked(context: QueryContext) -> FloatArray:
    """1/sqrt(rank) among the files to whose lines on the web the report links, or that it shows from there."""
    links = (place.path for place in context.query.locations.links)
    return _in_order(context, map(context.version.paths.rows_of_location, links), 0.5)


def written_path(context: QueryContext) -> FloatArray:
    """1/rank among the files that the report names by path or name, but for those that it only runs."""
    paths = (place.path for place in context.query.locations.paths)
    return _in_order(context, map(context.version.paths.rows_of_location, paths), 1.0)


def _in_order(context: QueryContext, located: Iterable[Sequence[int]], power: float) -> FloatArray:
    """(F,) 1/rank^power among the locations that are the project's own, divided among the files that each can mean."""
    scores = np.zeros(context.all_paths)
    own = dict.fromkeys(tuple(rows) for rows in located if rows)
    for rank, rows in enumerate(own, start=1):
        _raise(scores, rows, 1 / rank**power)
    return context.to_files(scores)


def _raise(scores: FloatArray, rows: Sequence[int], value: float) -> None:
    """Give each of some files its part of a value, where it has no more yet."""
    for row in rows:
        scores[row] = max(scores[row], value / len(rows))


# What kind of file it is


def example(context: QueryContext) -> FloatArray:
    """1 for a file among examples, documentation or benchmarks."""
    return context.version.paths.table.examples[context.version.paths.path_ids].astype(np.float64)


def vendored(context: QueryContext) -> FloatArray:
    """1 for a file that was taken over from another project, by its folder."""
    return context.version.paths.table.vendored[context.version.paths.path_ids].astype(np.float64)


def setup(context: QueryContext) -> FloatArray:
    """1 for a file that installs, builds or configures: ``setup.py``, ``conftest.py``, ``webpack.config.js``."""
    return context.version.paths.table.setup[context.version.paths.path_ids].astype(np.float64)


# Related files


def namesake(context: QueryContext, shares: FloatArray) -> FloatArray:
    """p of the likeliest other file of the same name in another folder; weighs negatively: only one is meant."""
    return best_of_group(context.version.paths.namesakes, shares, LEADING_FILES)


def best_of_group(groups: FileGroups, shares: FloatArray, number: int) -> FloatArray:
    """(F,) for each file the largest share among the other files of its group that are of the first ``number``."""
    leading = leaders(shares, number)
    best: dict[int, list[tuple[float, int]]] = {}
    for group, share, file in zip(
        groups.of_file[leading].tolist(), shares[leading].tolist(), leading.tolist(), strict=True
    ):
        best.setdefault(group, []).append((share, file))
    scores = np.zeros(len(shares))
    for group, found in best.items():
        members = groups.files(group)
        if len(members) > 1:
            for file in members:
                scores[file] = max((share for share, other in found if other != file), default=0.0)
    return scores
