"""Feature tables of labelled reports, and the files that store them.

A file contains the tables of a block of consecutive reports. Rankers learn from tables and do not
see paths.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, Self

import numpy as np

from tosloc.core.arrays import (
    Arrays,
    BoolArray,
    Float32Array,
    FloatArray,
    IntArray,
    open_arrays,
    to_arrays,
    unpack_words,
    write_arrays,
)
from tosloc.core.errors import ToslocError
from tosloc.core.io import parse_json, read_regular_file, write_text
from tosloc.core.rankings import Ranking
from tosloc.rank.features.registry import prior
from tosloc.retrieval.texts import group_starts

WORK_FOLDER: Final = ".tosloc-work"
"""Folder, within a folder of results, for what a command stores while it runs."""
PARTS: Final = ("train", "validation", "test")
_LISTING: Final = "blocks.json"
"""File in a work folder that lists the blocks of each part."""
HARD_SHARE: Final = 0.75
"""Share of the best by the prior among the sampled wrong files; the others are random."""
_COLUMNS: Final = ("rows", "fixed", "weights", "path_ids", "asserted")


@dataclass(frozen=True, eq=False)
class FeatureTable:
    """Features of the files of one report."""

    report: str
    """Id of the report."""
    rows: Float32Array
    """(n, K) features of each file."""
    fixed: BoolArray
    """(n,) whether the fix changed the file."""
    weights: Float32Array
    """(n,) number of files that each row stands for: 1, or more for sampled files."""
    path_ids: IntArray
    """(n,) numbers of the files among the paths of the extraction, in path order."""
    asserted: Float32Array
    """(n,) how strongly the report itself points to each file (``evidence.find_asserted``)."""

    @classmethod
    def read_blocks(cls, paths: Iterable[Path]) -> Iterator[Self]:
        """Yield the tables in the files of blocks, in order.

        Raises CheckpointError for a damaged file.
        """
        for path in paths:
            with open_arrays(path, "delete it and run the same command again") as arrays:
                columns: list[Any] = [arrays[name] for name in _COLUMNS]
                reports = unpack_words(arrays["reports"])
                spans = list(zip(reports, pairwise(arrays["starts"].tolist()), strict=True))
                rows = int(arrays["starts"][-1])
                if any(len(column) != rows for column in columns):
                    raise ValueError("its columns differ in length")
            for report, (start, end) in spans:
                yield cls(report, *(column[start:end] for column in columns))

    def sample(self, values: Mapping[str, FloatArray], number: int, commit: str) -> FeatureTable:
        """Return the table with only the fixed files and ``number`` other files; 0 keeps all.

        ``values`` are the features (F,) by name. Of the other files most are the best by the prior.
        Some are drawn at random, and each of these stands for many. The draw depends on the report
        and the commit alone.
        """
        if not number or len(self.rows) <= number + int(self.fixed.sum()):
            return self
        digest = hashlib.sha256(f"{self.report} {commit}".encode()).digest()
        seed = int.from_bytes(digest[:8], "big")
        order = np.argsort(-prior(values), kind="stable")
        wrong = order[~self.fixed[order]]
        hard, rest = np.split(wrong, [int(number * HARD_SHARE)])
        drawn = np.random.default_rng(seed).choice(rest, size=number - len(hard), replace=False)
        weights = np.ones(len(self.rows), dtype=np.float32)
        weights[drawn] = len(rest) / len(drawn)
        kept = np.sort(np.concatenate((np.flatnonzero(self.fixed), hard, drawn)))
        return FeatureTable(
            self.report,
            self.rows[kept],
            self.fixed[kept],
            weights[kept],
            self.path_ids[kept],
            self.asserted[kept],
        )

    def ranking(self, scores: FloatArray, paths: Sequence[str]) -> Ranking:
        """Return the ranking of the files by ``scores`` (n,); ``path_ids`` number ``paths``."""
        names = [paths[number] for number in self.path_ids.tolist()]
        return Ranking.from_scores(self.report, names, scores)


def encode_block(tables: Sequence[FeatureTable]) -> bytes:
    """Return the bytes of a file that stores some tables."""
    arrays: Arrays = {}
    for name in _COLUMNS:
        arrays[name] = np.concatenate([getattr(table, name) for table in tables])
    arrays["starts"] = group_starts([len(table.rows) for table in tables])
    arrays |= to_arrays({"reports": [table.report for table in tables]})
    buffer = io.BytesIO()
    write_arrays(buffer, arrays, level=1)
    return buffer.getvalue()


class TableFolder:
    """A training folder whose feature tables were kept."""

    def __init__(self, folder: Path) -> None:
        self.work: Final = folder / WORK_FOLDER
        """The folder with the files of the tables."""
        self._listing: Final = self.work / _LISTING

    @property
    def has_tables(self) -> bool:
        """Whether the folder contains feature tables."""
        return self._listing.is_file()

    def write_listing(self, blocks: Mapping[str, Sequence[Path]]) -> None:
        """Write a file that lists the blocks of train, validation and test."""
        names = {part: [path.name for path in paths] for part, paths in blocks.items()}
        write_text(self._listing, json.dumps(names, indent=1) + "\n")

    def list_blocks(self) -> dict[str, list[Path]]:
        """Return part -> files of the feature tables. Raises ToslocError if there are none."""
        try:
            listing = parse_json(read_regular_file(self._listing))
            return {part: [self.work / name for name in listing[part]] for part in PARTS}
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise ToslocError(
                f"{self.work.parent} contains no feature tables",
                hint="train it with {keep_features}",
            ) from error
