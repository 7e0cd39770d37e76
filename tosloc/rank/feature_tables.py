"""Feature tables of labelled reports: computing them, the files that keep them, and what rankers learn from, which see
no paths.

They are computed in blocks of consecutive versions, in parallel, resumable. A block's blobs are loaded and inverted
once for all of its versions. Each finished block is a file; a second run goes on after the last one.

Shapes: R reports, K features, n rows.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, Self

import numpy as np

from tosloc.arrays import Arrays, arrays_of, from_arrays, load_arrays, pack_words, unpack_words, write_arrays
from tosloc.closing_cache import closing_cache
from tosloc.code.languages import analyser
from tosloc.errors import ToslocError
from tosloc.git.repository import Repository
from tosloc.index.context import QueryContext, VersionIndex
from tosloc.index.facts import read_facts
from tosloc.index.history_index import HistoryIndex
from tosloc.index.paths import PathTable
from tosloc.index.postings import starts_of
from tosloc.index.query import Query
from tosloc.index.store import FactStore
from tosloc.io import key_of, parse_json, read_plain, write_text, written_whole
from tosloc.processes import executor, parallel
from tosloc.rank.features import FEATURES_VERSION, PRIOR_WEIGHTS, columns, prior
from tosloc.records import (
    BoolArray,
    Case,
    Float32Array,
    FloatArray,
    IntArray,
    LongArray,
    Progress,
    Ranking,
    first_paths,
    silent,
)

WORK: Final = ".tosloc-work"
"""Folder, in one of results, of what a command keeps while it works: a name that no folder of a user's has."""
_LISTING: Final = "blocks.json"  # in a work folder that is kept: which of its blocks are train, validation and test
HISTORY_FILE: Final = "history.npz"
PARTS: Final = ("train", "validation", "test")
BLOCK_REPORTS = 48  # reports a block: enough to share the loading, few enough for memory
SAMPLED: Final = 400
"""Wrong files kept of each training report of the listwise fit; more gained nothing on four projects."""
HARD_SHARE: Final = 0.75
"""Share of the sampled rows that are the best wrong files by the first guess; the others are drawn at random."""


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


# Computing them


@dataclass(frozen=True)
class Extraction:
    """The feature tables of one project, kept in a folder."""

    folder: Path
    repo_path: Path
    store_path: Path
    suffixes: frozenset[str]
    names: tuple[str, ...]
    history_digest: str  # of the history that its workers read, HISTORY_FILE of its folder
    ancestors: Callable[[str], BoolArray] | None  # version -> commits of the history that it contains; not for workers
    lizard: bool = False
    shared: bool = False  # whether its files are read over a network: of the store a copy, which nobody writes

    def _block_path(self, cases: Sequence[Case], sampled: int) -> Path:
        reports = [(case.report.id, case.report.summary, case.report.description) for case in cases]
        labels = [(case.report.opened_seconds, case.version, case.fixed) for case in cases]
        made_with = [FEATURES_VERSION, analyser(self.lizard), PRIOR_WEIGHTS, self.history_digest, sorted(self.suffixes)]
        return self.folder / f"block-{key_of(self.names, reports, labels, sampled, made_with)[:24]}.npz"

    def run(
        self,
        cases: Sequence[Case],
        sampled: int = 0,
        *,
        jobs: int = -1,
        what: str = "features",
        progress: Progress = silent,
    ) -> list[Path]:
        """Extract what is missing, of each report ``sampled`` wrong files, 0 for all; the blocks' files, in order."""
        import joblib  # here: answers need none of it

        assert self.ancestors is not None
        blocks = [cases[start : start + BLOCK_REPORTS] for start in range(0, len(cases), BLOCK_REPORTS)]
        paths = [self._block_path(block, sampled) for block in blocks]
        missing = [(block, path) for block, path in zip(blocks, paths, strict=True) if not path.exists()]
        done = len(cases) - sum(len(block) for block, _ in missing)
        progress(what, done, len(cases))
        if missing:
            with self._for_workers() as made:
                calls = [
                    joblib.delayed(_extract)(
                        made, block, [self.ancestors(case.version) for case in block], sampled, path
                    )
                    for block, path in missing
                ]
                workers = jobs if made.shared else min(joblib.effective_n_jobs(jobs), len(calls))
                with parallel(calls, workers, return_as="generator_unordered", pre_dispatch=workers) as results:
                    for path, block, finished in results:
                        with written_whole(path) as temporary:
                            temporary.write_bytes(block)
                        done += finished
                        progress(what, done, len(cases))
        return paths

    @contextmanager
    def _for_workers(self) -> Iterator[Extraction]:
        """The same; for workers of other machines, who only read, with a copy of the facts that nobody writes. SQLite's
        files are not safe over a network while anyone does.
        """
        if executor() is None:
            yield replace(self, ancestors=None)
            return
        folder = self.folder.absolute()
        copy = folder / "facts.sqlite"
        with written_whole(copy) as new, FactStore(self.store_path) as store:
            store.copy_to(new)
        try:
            repo_path = self.repo_path.absolute()
            yield replace(self, folder=folder, repo_path=repo_path, store_path=copy, ancestors=None, shared=True)
        finally:
            copy.unlink()


class _OpenExtraction:
    """The repository, facts and history that a process needs for every block of an extraction. Close it."""

    def __init__(self, extraction: Extraction) -> None:
        arrays = load_arrays(extraction.folder / HISTORY_FILE)
        paths = unpack_words(arrays["paths"])
        self.history = from_arrays(HistoryIndex, arrays, "history")
        self.paths = PathTable.of(paths)
        self.repo = Repository(extraction.repo_path)
        for path in paths:
            self.repo.path_names.id(path)
        self.store = FactStore(extraction.store_path, unchanging=extraction.shared)

    def close(self) -> None:
        """Close the facts store and end the repository's git process."""
        self.store.close()
        self.repo.close()


_opened = closing_cache(1)(_OpenExtraction)


def _extract(
    made: Extraction, cases: Sequence[Case], contained: Sequence[BoolArray], sampled: int, path: Path
) -> tuple[Path, bytes, int]:
    """The block of some cases, as bytes; ``contained`` are the commits of the history that each version contains."""
    opened = _opened(made)
    repo = opened.repo
    snapshots = [repo.snapshot(case.version, made.suffixes) for case in cases]
    corpus = read_facts(opened.store, first_paths(snapshots), lizard=made.lizard)
    tables = []
    for case, snapshot, commits in zip(cases, snapshots, contained, strict=True):
        version = VersionIndex(corpus, snapshot, opened.paths)
        known = opened.history.as_of(case.report.opened_seconds, commits)
        values = columns(QueryContext(Query(case.report), version, known), made.names)
        rows = np.column_stack([*values.values()]).astype(np.float32)
        fixed = np.isin(snapshot.path_ids, [repo.path_names.ids[path] for path in case.fixed])
        table = FeatureTable(case.report.id, rows, fixed, np.ones(len(rows), dtype=np.float32), snapshot.path_ids)
        tables.append(sampled_table(table, values, sampled, case.version))
    return path, block_bytes(tables), len(cases)


def sampled_table(table: FeatureTable, values: Mapping[str, FloatArray], number: int, version: str) -> FeatureTable:
    """Of a whole table, with these ``values`` (F,) of its features, the fixed files and ``number`` others; 0: all. Kept
    are the best wrong files by the first guess and some drawn at random, each of which stands for many.
    """
    if not number or len(table.rows) <= number + int(table.fixed.sum()):
        return table
    seed = int.from_bytes(hashlib.sha256(f"{table.report} {version}".encode()).digest()[:8], "big")
    order = np.argsort(-prior(values), kind="stable")
    wrong = order[~table.fixed[order]]
    hard, rest = np.split(wrong, [int(number * HARD_SHARE)])
    drawn = np.random.default_rng(seed).choice(rest, size=number - len(hard), replace=False)
    weights = np.ones(len(table.rows), dtype=np.float32)
    weights[drawn] = len(rest) / len(drawn)
    kept = np.sort(np.concatenate((np.flatnonzero(table.fixed), hard, drawn)))
    return FeatureTable(table.report, table.rows[kept], table.fixed[kept], weights[kept], table.path_ids[kept])


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
    def of(cls, lists: Sequence[tuple[Float32Array, BoolArray, Float32Array]]) -> Self:
        """Lists of (rows, fixed, weights), which count alike."""
        none = np.zeros((0, 0), np.float32), np.zeros(0, np.bool_), np.zeros(0, np.float32)
        rows, fixed, weights = map(np.concatenate, zip(*(lists or [none]), strict=True))
        return cls(rows, fixed, starts_of([len(own) for own, *_ in lists]), weights, np.ones(len(lists)))

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
    return RankingLists.of([(table.rows, table.fixed, table.weights) for table in tables if table.fixed.any()])


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
