"""Feature tables of labelled reports, and the files that keep them. Shapes: K features, n rows kept."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np

from tosloc.arrays import (
    Array,
    all_finite,
    check_numbers,
    check_starts,
    checked,
    load_arrays,
    save_arrays,
    write_arrays,
)
from tosloc.data.git import Repository
from tosloc.errors import CheckpointError
from tosloc.files import parse_json
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


_COLUMNS: Final[Mapping[str, type[np.generic]]] = {
    "rows": np.float32,
    "fixed": np.bool_,
    "weights": np.float32,
    "path_ids": np.int32,
}


def read_block(path: Path) -> Iterator[FeatureTable]:
    """The tables of one block's file. Raises CheckpointError when it is damaged."""
    arrays = load_arrays(path)
    try:
        ids = parse_json(checked(arrays, "reports", np.uint8, None).tobytes())
        rows = checked(arrays, "rows", np.float32, None, None)
        columns = {
            name: checked(arrays, name, dtype, len(rows), *([None] if name == "rows" else []))
            for name, dtype in _COLUMNS.items()
        }
        starts = checked(arrays, "starts", np.int64, len(ids) + 1)
        check_starts(starts, len(rows), "starts")
        check_numbers(columns["path_ids"], np.inf, "path_ids")
        if not all(isinstance(one, str) for one in ids) or not all(map(all_finite, (rows, columns["weights"]))):
            raise ValueError("a report has no name, or a number is not finite")
    except (KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"{path} is damaged ({error}); delete it and run the same command again") from error
    for report, (start, end) in zip(ids, pairwise(starts.tolist()), strict=True):
        yield FeatureTable(report, *(columns[name][start:end] for name in _COLUMNS))  # type: ignore[arg-type]


def ranking_lists(tables: Iterable[FeatureTable]) -> RankingLists:
    """The tables with at least one fixed file."""
    kept = [table for table in tables if table.fixed.any()]
    return RankingLists.of([(table.rows, table.fixed) for table in kept], [table.weights for table in kept])


def save_block(path: Path, tables: Sequence[FeatureTable]) -> None:
    """Write tables as one file."""
    save_arrays(path, _arrays_of(tables), level=1)


def block_bytes(tables: Sequence[FeatureTable]) -> bytes:
    """What ``save_block`` writes."""
    buffer = io.BytesIO()
    write_arrays(buffer, _arrays_of(tables), level=1)
    return buffer.getvalue()


def _arrays_of(tables: Sequence[FeatureTable]) -> dict[str, Array]:
    ids = json.dumps([table.report for table in tables]).encode()
    return {
        **{name: np.concatenate([getattr(table, name) for table in tables]) for name in _COLUMNS},
        "starts": starts_of([len(table.rows) for table in tables]),
        "reports": np.frombuffer(ids, dtype=np.uint8),
    }
