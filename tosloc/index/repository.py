"""A repository with the facts that were made of it."""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import zlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import metadata
from pathlib import Path

from tosloc.analysis import text, traces
from tosloc.analysis.build import BuildReport, build
from tosloc.analysis.facts import SOURCE_SUFFIXES
from tosloc.analysis.store import FactStore
from tosloc.arrays import load_arrays, pack_strings, prefixed, save_arrays, unpack_strings
from tosloc.data import history as commits
from tosloc.data.git import Repository
from tosloc.data.history import History, read_history
from tosloc.errors import CheckpointError, ToslocError
from tosloc.index import arrays, documents
from tosloc.index import build_history as gather
from tosloc.index.build_history import build_history
from tosloc.index.corpus import Corpus, blobs_of, corpus_of
from tosloc.index.history_index import HistoryIndex
from tosloc.records import Case, Names, Progress, Snapshot, silent

KEPT_HISTORIES = 4
"""Versions whose past is kept beside the facts: those used last."""


def cache_folder() -> Path:
    """Where facts are kept by default: $TOSLOC_CACHE, else the user's cache folder."""
    named = os.environ.get("TOSLOC_CACHE")
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tosloc"


def default_store(repo: Repository) -> Path:
    """The facts store of a repository, unless another is named."""
    place = hashlib.sha256(str(repo.path.resolve()).encode("utf-8", "surrogateescape")).hexdigest()[:8]
    return cache_folder() / f"{repo.name}-{place}" / "facts.sqlite"


@dataclass(frozen=True, eq=False)
class HistoryCache:
    """What the commits that a version contains say about files."""

    history: HistoryIndex
    paths: Names
    """What the history's numbers of files mean."""
    commit_ids: tuple[str, ...]
    """Ids of the commits, by their number."""

    @cached_property
    def commit_numbers(self) -> dict[str, int]:
        """Number of each commit id."""
        return {commit: number for number, commit in enumerate(self.commit_ids)}

    def write(self, path: Path) -> None:
        """Keep it as a file."""
        made = arrays.history_arrays(self.history, self.paths.names)
        save_arrays(path, made | prefixed("history", pack_strings(self.commit_ids)), level=1)

    @classmethod
    def read(cls, path: Path) -> HistoryCache | None:
        """What ``write`` kept; None where there is no such file, or a damaged one."""
        try:
            stored = load_arrays(path)
            evidence, paths = arrays.history_from(stored)
            ids = unpack_strings(stored, "history")
        except (CheckpointError, KeyError, IndexError, ValueError, TypeError, zlib.error):
            return None
        return cls(evidence, Names(list(paths), {name: number for number, name in enumerate(paths)}), ids)


@cache
def history_version() -> str:
    """Changes with whatever a past is made by."""
    made_by = hashlib.sha256(metadata.version("PyStemmer").encode())
    for module in (arrays, commits, documents, gather, text, traces):
        made_by.update(inspect.getsource(module).encode())
    return made_by.hexdigest()


class IndexedRepository:
    """A repository, its facts store and which files count as source."""

    def __init__(
        self, repo: Repository, store_path: Path | None = None, suffixes: Iterable[str] = (), jobs: int = -1
    ) -> None:
        self.repo = repo
        self.store_path = store_path or default_store(repo)
        self.suffixes = frozenset(suffixes) or SOURCE_SUFFIXES
        self.jobs = jobs

    @cached_property
    def store(self) -> FactStore:
        """The facts, opened (and made, if absent) when first asked for: wrong input leaves nothing behind."""
        return FactStore(self.store_path)

    def close(self) -> None:
        """Close the store; the repository belongs to the caller."""
        if "store" in vars(self):
            self.store.close()

    def snapshot(self, revision: str) -> Snapshot:
        """The version that ``revision`` names. Raises UnknownCommit."""
        return self.repo.snapshot(revision, self.suffixes)

    def sources(self, revision: str) -> Snapshot:
        """The version that ``revision`` names. Raises UnknownCommit, and ToslocError when it holds no source file."""
        snapshot = self.snapshot(revision)
        if not len(snapshot):
            shown = ", ".join(sorted(self.suffixes)[:6]) + (" ..." if len(self.suffixes) > 6 else "")
            raise ToslocError(
                f"{self.repo.path}: version {snapshot.commit[:12]} holds no source file ({shown});"
                " name another with --commit, or other suffixes in the configuration"
            )
        return snapshot

    def index(self, snapshots: Sequence[Snapshot], progress: Progress = silent) -> BuildReport:
        """Make the facts that the versions' files lack."""
        blobs = list(blobs_of(snapshots, self.suffixes).items())
        return build(self.repo.path, self.store, blobs, jobs=self.jobs, progress=progress)

    def corpus(self, snapshots: Sequence[Snapshot]) -> Corpus:
        """Inverted lists of the versions' files, whose facts must be known."""
        return corpus_of(self.store, snapshots, self.suffixes)

    def history(self, tips: Sequence[str], progress: Progress = silent) -> History:
        """All commits that the tips contain."""
        return read_history(self.repo, tips, self.suffixes, progress)

    def build_history(self, history: History, cases: Sequence[Case] | None, max_files: int) -> HistoryIndex:
        """Commit messages and fixed reports, the latter from labelled cases or else from the commits' messages."""
        return build_history(history, cases, self.repo.path_names, max_files)

    def cached_history(self, commit: str, max_files: int, progress: Progress = silent) -> HistoryCache:
        """What the version's commits say, fixes told by their messages; kept beside the facts for the next time."""
        # a clone that was cut off has another past once it is made whole
        key = json.dumps([history_version(), commit, max_files, sorted(self.suffixes), sorted(self.repo.shallow)])
        folder = self.store_path.with_name(f"{self.store_path.stem}.past")
        path = folder / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.npz"
        past = HistoryCache.read(path)
        if past is not None:
            with suppress(OSError):
                os.utime(path)
            return past
        history = self.history([commit], progress)
        past = HistoryCache(self.build_history(history, None, max_files), self.repo.path_names, history.ids)
        # a full disk or a folder that cannot be written costs time, not the answer
        with suppress(OSError):
            past.write(path)
            kept = sorted(folder.glob("*.npz"), key=lambda file: (file.stat().st_mtime_ns, file.name), reverse=True)
            for old in kept[KEPT_HISTORIES:]:
                old.unlink(missing_ok=True)
        return past
