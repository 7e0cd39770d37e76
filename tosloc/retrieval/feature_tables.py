"""Feature tables of many labelled reports: in blocks of consecutive versions, in parallel, resumable.

A block's blobs are loaded and inverted once for all of its versions. Each finished block is a file; a second run goes
on after the last one. Shapes: F files of a version, K features, n rows kept.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import joblib
import numpy as np

from tosloc.analysis.facts import ANALYSER
from tosloc.analysis.store import FactStore
from tosloc.arrays import load_arrays, save_arrays
from tosloc.data.git import Repository
from tosloc.data.history import History
from tosloc.index.context import QueryContext, VersionIndex
from tosloc.index.corpus import Corpus, VersionView, corpus_of
from tosloc.index.history_index import HistoryIndex
from tosloc.index.paths import PathTable, PathView
from tosloc.index.query import Query
from tosloc.index.rvsm import StructuredText
from tosloc.index.term_bounds import WHOLE, TermBounds
from tosloc.learning.ranking_lists import RankingLists, Rows
from tosloc.records import (
    BoolArray,
    BugReport,
    Case,
    FloatArray,
    IntArray,
    LongArray,
    Names,
    Progress,
    Ranking,
    Snapshot,
    silent,
)
from tosloc.retrieval import features

BLOCK = 48
"""Reports a block: enough to share the loading, few enough for memory."""
HARD_SHARE = 0.75
"""Share of the sampled rows that are the best wrong files by the first guess; the others are drawn at random."""


@dataclass(frozen=True, slots=True)
class Task:
    """One report to extract: the query, the version, and which rows to keep."""

    report: BugReport
    version: str
    fixed: tuple[str, ...]
    contained: bytes
    """Which commits of the history the version contains, as packed bits."""
    sampled: int
    """How many wrong files to keep; 0 keeps every file."""


@dataclass(frozen=True, eq=False)
class FeatureTable:
    """Features of one report's files."""

    report: str
    rows: Rows
    """(n, K)"""
    fixed: BoolArray
    """(n,)"""
    weights: Rows
    """(n,) files that each row stands for."""
    path_ids: IntArray
    """(n,) numbers into the paths of the extraction, in path order."""

    def ranking(self, scores: FloatArray, paths: Sequence[str]) -> Ranking:
        """Ranking of the files by (n,) scores; ``paths`` are what the numbers mean."""
        return Ranking.from_scores(self.report, [paths[number] for number in self.path_ids.tolist()], scores)


@dataclass(frozen=True, eq=False)
class LabelledReports:
    """LabelledReports reports of a repository."""

    repo: Repository
    suffixes: frozenset[str]
    cases: Mapping[str, Case]
    """Report id -> its case."""


class Extraction:
    """A folder of feature tables of one project."""

    def __init__(
        self,
        folder: Path,
        repo_path: Path,
        store_path: Path,
        suffixes: frozenset[str],
        names: Sequence[str],
        term_bounds: TermBounds = WHOLE,
    ) -> None:
        self.folder, self.repo_path, self.store_path = folder, repo_path, store_path
        self.suffixes, self.names, self.term_bounds = suffixes, tuple(names), term_bounds
        self.history_digest = ""

    @property
    def history_path(self) -> Path:
        """Where the evidence of the project is kept for the workers."""
        return self.folder / "evidence.npz"

    def write_history(self, evidence: HistoryIndex, paths: Names) -> None:
        """Keep the evidence for the workers."""
        self.folder.mkdir(parents=True, exist_ok=True)
        save_arrays(self.history_path, evidence.to_arrays(paths.names))
        self.history_digest = hashlib.sha256(self.history_path.read_bytes()).hexdigest()

    def _block_path(self, tasks: Sequence[Task]) -> Path:
        facts = [(t.report.id, t.report.opened_seconds, t.version, t.fixed, t.sampled) for t in tasks]
        words = [(t.report.summary, t.report.description) for t in tasks]
        made_of: list[object] = [self.names, facts, words, _version(), self.history_digest, sorted(self.suffixes)]
        if self.term_bounds != WHOLE:
            made_of.append([self.term_bounds.least, self.term_bounds.most])
        key = hashlib.sha256(json.dumps(made_of, default=str).encode())
        for task in tasks:
            key.update(task.contained)
        return self.folder / f"block-{key.hexdigest()[:24]}.npz"

    def run(
        self, tasks: Sequence[Task], *, jobs: int = -1, what: str = "features", progress: Progress = silent
    ) -> list[Path]:
        """Extract what is missing; the blocks' files, in the order of the tasks."""
        blocks = [tasks[start : start + BLOCK] for start in range(0, len(tasks), BLOCK)]
        paths = [self._block_path(block) for block in blocks]
        missing = [(block, path) for block, path in zip(blocks, paths, strict=True) if not path.exists()]
        done = len(tasks) - sum(len(block) for block, _ in missing)
        progress(what, done, len(tasks))
        if missing:
            calls = [joblib.delayed(_extract)(self, block, path) for block, path in missing]
            workers = min(joblib.effective_n_jobs(jobs), len(calls))
            for finished in joblib.Parallel(n_jobs=workers, return_as="generator_unordered", pre_dispatch=workers)(
                calls
            ):
                done += finished
                progress(what, done, len(tasks))
        return paths

    def tables(self, paths: Sequence[Path]) -> Iterator[FeatureTable]:
        """The tables of finished blocks, in order."""
        for path in paths:
            yield from read_block(path)


def _version() -> str:
    """Part of a block's name: changes with what the features compute."""
    return f"features1+{ANALYSER}+{sorted(features.PRIOR_WEIGHTS.items())}"


def read_block(path: Path) -> Iterator[FeatureTable]:
    """The tables of one block's file."""
    arrays = load_arrays(path)
    starts = arrays["starts"].tolist()
    ids = json.loads(arrays["reports"].tobytes())
    for number, (start, end) in enumerate(pairwise(starts)):
        yield FeatureTable(
            ids[number],
            arrays["rows"][start:end],  # type: ignore[arg-type]
            arrays["fixed"][start:end],  # type: ignore[arg-type]
            arrays["weights"][start:end],  # type: ignore[arg-type]
            arrays["path_ids"][start:end],  # type: ignore[arg-type]
        )


def ranking_lists(tables: Iterable[FeatureTable]) -> RankingLists:
    """The tables with at least one fixed file."""
    kept = [table for table in tables if table.fixed.any()]
    return RankingLists.of([(table.rows, table.fixed) for table in kept], [table.weights for table in kept])


@dataclass(eq=False)
class _Worker:
    repo: Repository
    store: FactStore
    evidence: HistoryIndex
    paths: PathTable


@lru_cache(maxsize=1)
def _worker(repo_path: Path, store_path: Path, history_path: Path, digest: str) -> _Worker:
    evidence, names = HistoryIndex.from_arrays(load_arrays(history_path))
    repo = Repository(repo_path)
    for name in names:
        repo.path_names.id(name)
    return _Worker(repo, FactStore(store_path), evidence, PathTable(names))


def _extract(extraction: Extraction, tasks: Sequence[Task], path: Path) -> int:
    worker = _worker(extraction.repo_path, extraction.store_path, extraction.history_path, extraction.history_digest)
    snapshots = [worker.repo.snapshot(task.version, extraction.suffixes) for task in tasks]
    corpus = corpus_of(worker.store, snapshots, extraction.suffixes)
    structured = StructuredText(corpus, worker.paths) if "text" in extraction.names else None
    tables = [
        _table(extraction, task, snapshot, worker, corpus, structured)
        for task, snapshot in zip(tasks, snapshots, strict=True)
    ]
    save_block(path, tables)
    return len(tasks)


def save_block(path: Path, tables: Sequence[FeatureTable]) -> None:
    """Write tables as one file."""
    ids = json.dumps([table.report for table in tables]).encode()
    arrays = {
        "rows": np.concatenate([table.rows for table in tables]),
        "fixed": np.concatenate([table.fixed for table in tables]),
        "weights": np.concatenate([table.weights for table in tables]),
        "path_ids": np.concatenate([table.path_ids for table in tables]),
        "starts": np.concatenate(([0], np.cumsum([len(table.rows) for table in tables]))).astype(np.int64),
        "reports": np.frombuffer(ids, dtype=np.uint8),
    }
    save_arrays(path, arrays, level=1)


def _table(
    extraction: Extraction,
    task: Task,
    snapshot: Snapshot,
    worker: _Worker,
    corpus: Corpus,
    structured: StructuredText | None,
) -> FeatureTable:
    packed = np.frombuffer(task.contained, dtype=np.uint8)
    contained = np.unpackbits(packed).astype(bool)
    place = VersionIndex(VersionView(corpus, snapshot), PathView(worker.paths, snapshot.path_ids), structured)
    moment = worker.evidence.as_of(task.report.opened_seconds, contained)
    context = QueryContext(Query(task.report, extraction.term_bounds.of(place.text)), place, moment)
    made = features.columns(context, extraction.names)
    rows = np.column_stack([made[name] for name in extraction.names]).astype(np.float32)
    wanted = {worker.repo.path_names.ids[path] for path in task.fixed}
    fixed = np.isin(snapshot.path_ids, np.array(sorted(wanted), dtype=np.int32))
    weights = np.ones(len(rows), dtype=np.float32)
    if task.sampled and len(rows) > task.sampled + len(wanted):
        kept, weights = _sample(features.prior(made), fixed, task.sampled, np.random.default_rng(_seed(task)))
        return FeatureTable(task.report.id, rows[kept], fixed[kept], weights, snapshot.path_ids[kept])
    return FeatureTable(task.report.id, rows, fixed, weights, snapshot.path_ids)


def _seed(task: Task) -> int:
    return int.from_bytes(hashlib.sha256(f"{task.report.id} {task.version}".encode()).digest()[:8], "big")


def _sample(guess: np.ndarray, fixed: BoolArray, number: int, rng: np.random.Generator) -> tuple[LongArray, Rows]:
    """Rows to keep, in order, and how many files each stands for: fixed, best wrong by the guess, some at random."""
    order = np.argsort(-guess, kind="stable")
    wrong = order[~fixed[order]]
    hard = wrong[: int(number * HARD_SHARE)]
    rest = wrong[len(hard) :]
    drawn = rng.choice(rest, size=min(number - len(hard), len(rest)), replace=False)
    weights = np.ones(len(guess), dtype=np.float32)
    weights[drawn] = len(rest) / max(len(drawn), 1)
    kept = np.sort(np.concatenate((np.flatnonzero(fixed), hard, drawn)))
    return kept, weights[kept]


def tasks_of(cases: Sequence[Case], history: History, sampled: int) -> list[Task]:
    """Tasks of labelled reports; ``sampled`` wrong files each, 0 for all files."""
    return [
        Task(
            case.report,
            case.version,
            case.fixed,
            np.packbits(history.ancestors(case.version)).tobytes(),
            sampled,
        )
        for case in cases
    ]
