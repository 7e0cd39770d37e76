"""Feature tables of labelled reports, the files that keep them, and what rankers learn from, which see no paths.

Shapes: R reports, K features, n rows.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, Self

import numpy as np

from tosloc.arrays import Arrays, arrays_of, pack_words, unpack_words, write_arrays
from tosloc.errors import ToslocError
from tosloc.index.postings import starts_of
from tosloc.io import parse_json, read_plain, write_text
from tosloc.records import BoolArray, Float32Array, FloatArray, IntArray, LongArray, Ranking

WORK: Final = ".tosloc-work"
"""Folder, in one of results, of what a command keeps while it works: a name that no folder of a user's has."""
_LISTING: Final = "blocks.json"  # in a work folder that is kept: which of its blocks are train, validation and test
HISTORY_FILE: Final = "history.npz"
PARTS: Final = ("train", "validation", "test")


@dataclass(frozen=True, eq=False)
class FeatureTable:
    """Features of one report's files."""

    report: str
    rows: Float32Array  # (n, K)
    fixed: BoolArray  # (n,)
    weights: Float32Array  # (n,) files that each row stands for
    path_ids: IntArray  # (n,) numbers into the paths of the extraction, in path order

    def ranking(self, scores: FloatArray, paths: Sequence[str]) -> Ranking:
        """Ranking of the files by (n,) scores; ``paths`` are what the numbers mean."""
        return Ranking.from_scores(self.report, [paths[number] for number in self.path_ids.tolist()], scores)


_COLUMNS: Final = ("rows", "fixed", "weights", "path_ids")


def read_blocks(paths: Iterable[Path]) -> Iterator[FeatureTable]:
    """The tables of blocks' files, in order. Raises CheckpointError for a file that is damaged."""
    for path in paths:
        with arrays_of(path, "delete it and run the same command again") as arrays:
            columns: Any = [arrays[name] for name in _COLUMNS]
            parts = list(zip(unpack_words(arrays["reports"]), pairwise(arrays["starts"].tolist()), strict=True))
            if {len(column) for column in columns} != {int(arrays["starts"][-1])}:
                raise ValueError("its columns have other lengths")
        for report, (start, end) in parts:
            yield FeatureTable(report, *(column[start:end] for column in columns))


def block_bytes(tables: Sequence[FeatureTable]) -> bytes:
    """Tables as the bytes of one file."""
    buffer = io.BytesIO()
    arrays: Arrays = {name: np.concatenate([getattr(table, name) for table in tables]) for name in _COLUMNS}
    starts, reports = starts_of([len(table.rows) for table in tables]), pack_words(table.report for table in tables)
    write_arrays(buffer, arrays | {"starts": starts, "reports": reports}, level=1)
    return buffer.getvalue()


# What rankers learn from


@dataclass(frozen=True, eq=False)
class RankingLists:
    """Feature rows of reports, one report after the other, each with at least one fixed file."""

    rows: Float32Array  # (n, K)
    fixed: BoolArray  # (n,) whether the row is a fixed file
    starts: LongArray  # (R+1,) rows of report r: starts[r] to starts[r+1]
    weights: Float32Array  # (n,) how many files a row stands for: 1, or more for sampled files
    report_weights: FloatArray  # (R,) how much each report counts

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def sizes(self) -> LongArray:
        """(R,) rows of each report."""
        return np.diff(self.starts)

    @classmethod
    def of(cls, lists: Sequence[tuple[Float32Array, BoolArray]], weights: Sequence[Float32Array] = ()) -> Self:
        """Lists of (rows, fixed), which count alike; every row weighs 1 unless weights are given."""
        columns = zip(*lists, strict=True) if lists else ([np.zeros((0, 0), np.float32)], [np.zeros(0, np.bool_)])
        rows, fixed = (np.concatenate(column) for column in columns)
        of_rows = np.concatenate(weights) if weights else np.ones(len(rows), dtype=np.float32)
        return cls(rows, fixed, starts_of([len(own) for _, own in lists]), of_rows, np.ones(len(lists)))

    @classmethod
    def join(cls, parts: Sequence[RankingLists]) -> Self:
        """All reports of the parts, in their order."""
        rows, fixed, sizes, weights, report_weights = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("rows", "fixed", "sizes", "weights", "report_weights")
        )
        return cls(rows, fixed, starts_of(sizes), weights, report_weights)


def ranking_lists(tables: Iterable[FeatureTable]) -> RankingLists:
    """The tables with at least one fixed file."""
    kept = [table for table in tables if table.fixed.any()]
    return RankingLists.of([(table.rows, table.fixed) for table in kept], [table.weights for table in kept])


# What a training folder keeps


def write_listing(work: Path, blocks: Mapping[str, Sequence[Path]]) -> None:
    """Note which blocks of a kept work folder are train, validation and test."""
    names = {part: [path.name for path in paths] for part, paths in blocks.items()}
    write_text(work / _LISTING, json.dumps(names, indent=1) + "\n")


def keeps_tables(folder: Path) -> bool:
    """Whether a training folder keeps its feature tables, for ``kept_blocks``."""
    return (folder / WORK / _LISTING).is_file()


def kept_blocks(folder: Path) -> dict[str, list[Path]]:
    """Of each part of a training the files of its feature tables. Raises ToslocError when the folder keeps none."""
    try:
        listing = parse_json(read_plain(folder / WORK / _LISTING))
        return {part: [folder / WORK / name for name in listing[part]] for part in PARTS}
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ToslocError(f"{folder} keeps no feature tables; train it with --keep-features") from error
