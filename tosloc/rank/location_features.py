"""Features of the files that a report locates, and of what files, the repository and the report are like.

A value that is the same for every file moves no weighted sum. Trees ask it before they ask a feature whose worth
depends on it: in a repository of 30 files its size and folders say little, without fixed reports the history says less.
Shapes: F files of the version, N paths.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from tosloc.index.context import QueryContext
from tosloc.index.postings import leaders, summed
from tosloc.records import FloatArray, IntArray

LEADING_FILES: Final = 100
"""How many files of the first guess lend their score to test counterparts and to files of the same name."""


# What the report names


def trace(context: QueryContext) -> FloatArray:
    """1 / rank, rank = order of first appearance of the file among the qualified names of the traces; else 0."""
    scores = np.zeros(context.all_paths)
    rank = 0
    for name in context.query.qualified_names:
        rows = [row for row in context.version.paths.rows_of_class(name) if scores[row] == 0]
        if rows:
            rank += 1
            scores[rows] = 1.0 / rank
    return context.to_files(scores)


def mention(context: QueryContext) -> FloatArray:
    """1 if the report writes the file's name as it is (outside stack frames), .5 if it is a plain capitalised word."""
    scores = np.zeros(context.all_paths)
    for rows in context.mentioned:
        scores[rows] = _name_weight(context, rows)
    return context.to_files(scores)


def mention_order(context: QueryContext) -> FloatArray:
    """``mention`` divided by the root of the rank among the files' names that the report mentions."""
    scores = np.zeros(context.all_paths)
    for rank, rows in enumerate(context.mentioned, start=1):
        scores[rows] = _name_weight(context, rows) / math.sqrt(rank)
    return context.to_files(scores)


def _name_weight(context: QueryContext, rows: list[int]) -> FloatArray:
    """Of names that could be plain words, half."""
    return np.where(context.version.paths.table.compound_stem[rows], 1.0, 0.5)


def _frames(context: QueryContext, frames: Sequence[tuple[str, int, tuple[int, ...]]]) -> FloatArray:
    scores = np.zeros(context.all_paths)
    seen: set[str] = set()
    for name, _, rows in frames:
        if name not in seen:
            seen.add(name)
            value = context.history.frame_rarity(name) / math.sqrt(len(seen))
            for row in rows:
                scores[row] = max(scores[row], value)
    return context.to_files(scores)


def rare_frame(context: QueryContext) -> FloatArray:
    """1/sqrt(rank of the frame's class) x how rare the class is in the traces of earlier reports."""
    return _frames(context, context.frame_files)


def cause_frame(context: QueryContext) -> FloatArray:
    """The same with the rank counted from the last "Caused by" on."""
    last = max((frame.cause for frame in context.query.frames), default=0)
    return _frames(context, [frame for frame in context.frame_files if frame[1] == last])


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


def test(context: QueryContext) -> FloatArray:
    """1 for a test, by folder or name."""
    return context.version.paths.table.test[context.version.paths.path_ids].astype(np.float64)


def example(context: QueryContext) -> FloatArray:
    """1 for a file among examples, documentation or benchmarks."""
    return context.version.paths.table.examples[context.version.paths.path_ids].astype(np.float64)


def vendored(context: QueryContext) -> FloatArray:
    """1 for a file that was taken over from another project, by its folder."""
    return context.version.paths.table.vendored[context.version.paths.path_ids].astype(np.float64)


def setup(context: QueryContext) -> FloatArray:
    """1 for a file that installs, builds or configures: ``setup.py``, ``conftest.py``, ``webpack.config.js``."""
    return context.version.paths.table.setup[context.version.paths.path_ids].astype(np.float64)


# Related files: what the first guess puts in front passes on a part of it


def test_counterpart(context: QueryContext, shares: FloatArray) -> FloatArray:
    """p of the likeliest test counterpart: Foo for FooTest, and the other way round."""
    return _best_of_group(context, context.version.paths.table.counterpart_group, shares)


def folder_share(context: QueryContext, shares: FloatArray) -> FloatArray:
    """Sum of p over the other files of the folder, by the root of their number."""
    folder = context.version.paths.table.directory[context.version.paths.path_ids]
    number = np.maximum(np.bincount(folder)[folder] - 1, 1) if context.files else np.zeros(0)
    total = summed(folder, shares, 0)
    value: FloatArray = np.maximum(total[folder] - shares, 0.0) / np.sqrt(number)
    return value


def namesake(context: QueryContext, shares: FloatArray) -> FloatArray:
    """p of the likeliest other file of the same name in another folder; weighs negatively: only one is meant."""
    return _best_of_group(context, context.version.paths.table.name_group, shares)


def _best_of_group(context: QueryContext, of_paths: IntArray, shares: FloatArray) -> FloatArray:
    """(F,) for each file the largest share among the other files of its group that are of the leading ones."""
    groups, leading = of_paths[context.version.paths.path_ids], leaders(shares, LEADING_FILES)
    best: dict[int, list[tuple[float, int]]] = {}
    for group, share, file in zip(groups[leading].tolist(), shares[leading].tolist(), leading.tolist(), strict=True):
        best.setdefault(group, []).append((share, file))
    scores = np.zeros(len(shares))
    for file in np.flatnonzero(np.isin(groups, groups[leading])).tolist():
        scores[file] = max((share for share, other in best[int(groups[file])] if other != file), default=0.0)
    return scores


# The same for every file, or nearly


def _alike(context: QueryContext, number: float) -> FloatArray:
    return np.full(context.files, math.log1p(number))


def files(context: QueryContext) -> FloatArray:
    """ln(1 + files of the version), for every file."""
    return _alike(context, context.files)


def report_terms(context: QueryContext) -> FloatArray:
    """ln(1 + distinct terms of the report), for every file."""
    return _alike(context, len(context.query.weights))


def language_share(context: QueryContext) -> FloatArray:
    """Share of the version's files that are in the file's language."""
    of_file = context.version.paths.table.language[context.version.paths.path_ids]
    share: FloatArray = (np.bincount(of_file)[of_file] if context.files else np.zeros(0)) / max(context.files, 1)
    return share
