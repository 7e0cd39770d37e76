"""Compute the feature tables of labelled reports in blocks and in parallel.

The blobs of a block of consecutive versions are loaded and inverted once for all of its versions.
Each finished block is written to a file, so that a second run computes only missing blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final, Self

import numpy as np

from tosloc.code.languages import analyser_version
from tosloc.core.arrays import (
    BoolArray,
    from_arrays,
    load_arrays,
    save_arrays,
    to_arrays,
    unpack_words,
)
from tosloc.core.closing_cache import closing_cache
from tosloc.core.config import StageOneSettings, did_you_mean
from tosloc.core.errors import ConfigError
from tosloc.core.io import atomic_write, content_key, fingerprint
from tosloc.core.processes import count_workers, current_executor, run_in_parallel
from tosloc.core.progress import Progress, ignore_progress
from tosloc.core.reports import Case
from tosloc.core.versions import first_path_by_blob
from tosloc.git.repository import Repository
from tosloc.rank.features import registry
from tosloc.rank.features.evidence import find_asserted
from tosloc.rank.features.query_context import QueryContext
from tosloc.rank.features.registry import FEATURES_VERSION, PRIOR_WEIGHTS, columns
from tosloc.rank.features.tables import FeatureTable, encode_block
from tosloc.reports.text import IssueTemplates
from tosloc.retrieval.history import HistoryIndex
from tosloc.retrieval.paths import PathTable
from tosloc.retrieval.query import Query
from tosloc.retrieval.version_index import VersionIndex
from tosloc.storage.repository import IndexedRepository
from tosloc.storage.store import FactStore

_HISTORY_FILE: Final = "history.npz"
"""File in an extraction's folder with the history that its workers read."""
BLOCK_REPORTS = 48
"""Number of reports in a block: enough to share the loading of blobs, but few enough for memory."""
SAMPLED_FILES: Final = 400
"""Number of wrong files kept for each training report of the listwise fit.

More wrong files gained nothing on four projects.
"""


@dataclass(frozen=True)
class Extraction:
    """Computes the feature tables of one project, which are stored in a folder."""

    folder: Path
    repo_path: Path
    store_path: Path
    suffixes: frozenset[str]
    names: tuple[str, ...]
    """Names of the features."""
    history_digest: str
    """Digest of ``_HISTORY_FILE`` in the folder, the history that the workers read."""
    ancestors: Callable[[str], BoolArray] | None
    """Function that returns which commits of the history a version contains; None in workers."""
    lizard: bool = False
    """Whether lizard measures complexity."""
    shared: bool = False
    """Whether workers read over a network, and read the store from a copy that nobody writes to."""

    @classmethod
    def of(
        cls,
        folder: Path,
        indexed: IndexedRepository,
        names: tuple[str, ...],
        history: HistoryIndex,
        ancestors: Callable[[str], BoolArray],
    ) -> Self:
        """Write the history for worker processes, and return an extraction of some features."""
        file = folder / _HISTORY_FILE
        paths = indexed.repo.path_names.names
        save_arrays(file, to_arrays({"paths": paths, "history": history}))
        return cls(
            folder,
            indexed.repo.path,
            indexed.store_path,
            indexed.suffixes,
            names,
            fingerprint(file),
            ancestors,
            indexed.lizard,
        )

    @staticmethod
    def read_paths(folder: Path) -> list[str]:
        """Return the paths of a folder's tables; a path's number in the tables is its position."""
        return unpack_words(load_arrays(folder / _HISTORY_FILE)["paths"])

    def _block_path(self, cases: Sequence[Case], sampled: int) -> Path:
        """Return the file of a block; its name depends on everything that the tables depend on."""
        reports = []
        labels = []
        for case in cases:
            reports.append((case.report.id, case.report.summary, case.report.description))
            labels.append((case.report.opened_seconds, case.before_commit, case.fixed))
        made_with = [
            FEATURES_VERSION,
            analyser_version(self.lizard),
            PRIOR_WEIGHTS,
            self.history_digest,
            sorted(self.suffixes),
        ]
        key = content_key(self.names, reports, labels, sampled, made_with)
        return self.folder / f"block-{key[:24]}.npz"

    def run(
        self,
        cases: Sequence[Case],
        sampled: int = 0,
        *,
        jobs: int = -1,
        what: str = "features",
        progress: Progress = ignore_progress,
    ) -> list[Path]:
        """Compute the blocks that are missing; return the files of all blocks, in order.

        ``sampled`` is the number of wrong files that are kept for each report; 0 keeps all.
        """

        assert self.ancestors is not None
        missing: list[tuple[Sequence[Case], Path]] = []
        paths: list[Path] = []
        done = 0
        for start in range(0, len(cases), BLOCK_REPORTS):
            block = cases[start : start + BLOCK_REPORTS]
            path = self._block_path(block, sampled)
            paths.append(path)
            if path.exists():
                done += len(block)
            else:
                missing.append((block, path))
        progress(what, done, len(cases))
        if not missing:
            return paths
        with self._for_workers() as extraction:
            calls = []
            for block, path in missing:
                contained = [self.ancestors(case.before_commit) for case in block]
                calls.append(partial(_extract, extraction, block, contained, sampled, path))
            workers = jobs if extraction.shared else min(count_workers(jobs), len(calls))
            with run_in_parallel(calls, workers, ordered=False) as results:
                for path, content, finished in results:
                    with atomic_write(path) as temporary:
                        temporary.write_bytes(content)
                    done += finished
                    progress(what, done, len(cases))
        return paths

    @contextmanager
    def _for_workers(self) -> Iterator[Extraction]:
        """Yield this extraction in the form that workers receive.

        Workers on other machines read a copy of the facts that nobody writes to, because SQLite's
        files are not safe over a network while they are written.
        """
        if current_executor() is None:
            yield replace(self, ancestors=None)
            return
        folder = self.folder.absolute()
        copy = folder / "facts.sqlite"
        with atomic_write(copy) as new, FactStore(self.store_path) as store:
            store.copy_to(new)
        try:
            yield replace(
                self,
                folder=folder,
                repo_path=self.repo_path.absolute(),
                store_path=copy,
                ancestors=None,
                shared=True,
            )
        finally:
            copy.unlink()


class _OpenExtraction:
    """The repository, facts and history that a process needs for all blocks. Close it after use."""

    def __init__(self, extraction: Extraction) -> None:
        arrays = load_arrays(extraction.folder / _HISTORY_FILE)
        paths = unpack_words(arrays["paths"])
        self.history = from_arrays(HistoryIndex, arrays, "history")
        self.paths = PathTable.of(paths)
        self.repo = Repository(extraction.repo_path)
        for path in paths:
            # The numbers of paths then mean the same as in the history.
            self.repo.path_names.id(path)
        self.templates = IssueTemplates(self.repo)
        self.store = FactStore(extraction.store_path, unchanging=extraction.shared)

    def close(self) -> None:
        """Close the facts store and end the repository's git process."""
        self.store.close()
        self.repo.close()


_open_extraction = closing_cache(1)(_OpenExtraction)


def _extract(
    extraction: Extraction,
    cases: Sequence[Case],
    contained: Sequence[BoolArray],
    sampled: int,
    path: Path,
) -> tuple[Path, bytes, int]:
    """Compute one block; return the path of its file, its bytes and its number of reports.

    ``contained`` has for each report the commits of the history that its version contains.
    """
    opened = _open_extraction(extraction)
    repo = opened.repo
    snapshots = [repo.snapshot(case.before_commit, extraction.suffixes) for case in cases]
    corpus = opened.store.read_facts(first_path_by_blob(snapshots), lizard=extraction.lizard)
    tables = []
    for case, snapshot, commits in zip(cases, snapshots, contained, strict=True):
        version = VersionIndex(corpus, snapshot, opened.paths)
        known = opened.history.as_of(case.report.opened_seconds, commits)
        template = opened.templates.of_commit(case.before_commit)
        form_lines = template | known.shared_lines
        query = Query(case.report, form_lines, known.releases.projects, version.has_term)
        context = QueryContext(query, version, known, repo)
        values = columns(context, extraction.names)
        rows = np.column_stack([*values.values()]).astype(np.float32)
        fixed_ids = [repo.path_names.ids[name] for name in case.fixed]
        table = FeatureTable(
            report=case.report.id,
            rows=rows,
            fixed=np.isin(snapshot.path_ids, fixed_ids),
            weights=np.ones(len(rows), dtype=np.float32),
            path_ids=snapshot.path_ids,
            asserted=find_asserted(context, extraction.names).astype(np.float32),
        )
        tables.append(table.sample(values, sampled, case.before_commit))
    return path, encode_block(tables), len(cases)


def select_names(settings: StageOneSettings) -> tuple[str, ...]:
    """Return the features that the settings name, or all features of their method.

    Raises ConfigError for an unknown feature.
    """
    all_names = registry.PAPER_NAMES if settings.method == "paper" else registry.NAMES
    names = settings.features or all_names
    for name in names:
        if name not in registry.ALL:
            suggestion = did_you_mean(name, registry.ALL)
            raise ConfigError(f"[stage_one] features: there is no feature {name!r}{suggestion}")
    return tuple(dict.fromkeys(names))
