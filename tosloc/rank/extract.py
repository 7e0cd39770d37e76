"""Computing the feature tables of many labelled reports: in blocks of consecutive versions, in parallel, resumable.

A block's blobs are loaded and inverted once for all of its versions. Each finished block is a file; a second run goes
on after the last one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Final

import joblib
import numpy as np

from tosloc.arrays import from_arrays, load_arrays, unpack_words
from tosloc.code.languages import analyser
from tosloc.git.repository import Repository
from tosloc.index.context import QueryContext, VersionIndex
from tosloc.index.corpus import read_facts
from tosloc.index.history_index import HistoryIndex
from tosloc.index.paths import PathTable
from tosloc.index.query import Query
from tosloc.index.store import FactStore
from tosloc.io import key_of, written_whole
from tosloc.processes import executor, parallel
from tosloc.rank.feature_tables import HISTORY_FILE, FeatureTable, block_bytes
from tosloc.rank.features import FEATURES_VERSION, PRIOR_WEIGHTS, columns, prior
from tosloc.records import BoolArray, Case, FloatArray, Progress, first_paths, silent

BLOCK_REPORTS = 48  # reports a block: enough to share the loading, few enough for memory
SAMPLED: Final = 400
"""Wrong files kept of each training report of the listwise fit; more gained nothing on four projects."""
HARD_SHARE: Final = 0.75
"""Share of the sampled rows that are the best wrong files by the first guess; the others are drawn at random."""


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
        maker = [FEATURES_VERSION, analyser(self.lizard), PRIOR_WEIGHTS, self.history_digest, sorted(self.suffixes)]
        return self.folder / f"block-{key_of(self.names, reports, labels, sampled, maker)[:24]}.npz"

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


@lru_cache(maxsize=1)
def _opened(made: Extraction) -> tuple[Repository, FactStore, HistoryIndex, PathTable]:
    """What a process needs for every block of an extraction."""
    arrays, repo = load_arrays(made.folder / HISTORY_FILE), Repository(made.repo_path)
    paths = unpack_words(arrays["paths"])
    for path in paths:
        repo.path_names.id(path)
    store = FactStore(made.store_path, unchanging=made.shared)
    return repo, store, from_arrays(HistoryIndex, arrays, "history"), PathTable.of(paths)


def _extract(
    made: Extraction, cases: Sequence[Case], contained: Sequence[BoolArray], sampled: int, path: Path
) -> tuple[Path, bytes, int]:
    """The block of some cases, as bytes; ``contained`` are the commits of the history that each version contains."""
    repo, store, history, paths = _opened(made)
    snapshots = [repo.snapshot(case.version, made.suffixes) for case in cases]
    corpus = read_facts(store, first_paths(snapshots), lizard=made.lizard)
    tables = []
    for case, snapshot, commits in zip(cases, snapshots, contained, strict=True):
        version = VersionIndex(corpus, snapshot, paths)
        known = history.as_of(case.report.opened_seconds, commits)
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
