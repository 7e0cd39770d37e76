"""Feature tables of labelled reports, and the files that keep them. Shapes: K features, n rows kept."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from tosloc.arrays import load_arrays, save_arrays
from tosloc.data.git import Repository
from tosloc.index.postings import starts_of
from tosloc.learning.ranking_lists import RankingLists
from tosloc.records import BoolArray, Case, Float32Array, FloatArray, IntArray, Ranking


@dataclass(frozen=True, eq=False)
class FeatureTable:
    """Features of one report's files."""

    report: str
    rows: Float32Array
    """(n, K)"""
    fixed: BoolArray
    """(n,)"""
    weights: Float32Array
    """(n,) files that each row stands for."""
    path_ids: IntArray
    """(n,) numbers into the paths of the extraction, in path order."""

    def ranking(self, scores: FloatArray, paths: Sequence[str]) -> Ranking:
        """Ranking of the files by (n,) scores; ``paths`` are what the numbers mean."""
        return Ranking.from_scores(self.report, [paths[number] for number in self.path_ids.tolist()], scores)


@dataclass(frozen=True, eq=False)
class LabelledReports:
    """The labelled reports of a repository."""

    repo: Repository
    suffixes: frozenset[str]
    cases: Mapping[str, Case]
    """Report id -> its case."""


_COLUMNS = ("rows", "fixed", "weights", "path_ids")


def read_block(path: Path) -> Iterator[FeatureTable]:
    """The tables of one block's file."""
    arrays = load_arrays(path)
    ids = json.loads(arrays["reports"].tobytes())
    for report, (start, end) in zip(ids, pairwise(arrays["starts"].tolist()), strict=True):
        yield FeatureTable(report, *(arrays[name][start:end] for name in _COLUMNS))  # type: ignore[arg-type]


def ranking_lists(tables: Iterable[FeatureTable]) -> RankingLists:
    """The tables with at least one fixed file."""
    kept = [table for table in tables if table.fixed.any()]
    return RankingLists.of([(table.rows, table.fixed) for table in kept], [table.weights for table in kept])


def save_block(path: Path, tables: Sequence[FeatureTable]) -> None:
    """Write tables as one file."""
    ids = json.dumps([table.report for table in tables]).encode()
    arrays = {
        **{name: np.concatenate([getattr(table, name) for table in tables]) for name in _COLUMNS},
        "starts": starts_of([len(table.rows) for table in tables]),
        "reports": np.frombuffer(ids, dtype=np.uint8),
    }
    save_arrays(path, arrays, level=1)
