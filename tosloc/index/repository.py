"""A repository with the facts that were made of it."""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from importlib import metadata
from pathlib import Path
from typing import TypeVar

from tosloc.analysis.build import BuildReport, build
from tosloc.analysis.languages import SOURCE_SUFFIXES, language_of
from tosloc.analysis.store import FactStore
from tosloc.arrays import check_numbers, load_arrays, pack_strings, prefixed, save_arrays, unpack_strings
from tosloc.data.git import Repository
from tosloc.data.history import History, read_history
from tosloc.errors import CheckpointError, DamagedFacts, RepositoryError, StoreError, StoreWarning, ToslocError
from tosloc.index.build_history import HISTORY_VERSION, build_history
from tosloc.index.corpus import Corpus, blobs_of, corpus_of
from tosloc.index.history_index import HistoryIndex
from tosloc.records import Case, Names, Progress, Snapshot, silent

_Read = TypeVar("_Read")

KEPT_HISTORIES = 4
"""Versions whose history is kept beside the facts: those used last."""


def cache_folder() -> Path:
    """Where facts are kept by default: $TOSLOC_CACHE, else the user's cache folder."""
    named = os.environ.get("TOSLOC_CACHE")
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tosloc"


def default_store(repo: Repository) -> Path:
    """The facts store of a repository, unless another is named."""
    digest = hashlib.sha256(str(repo.path.resolve()).encode("utf-8", "surrogateescape")).hexdigest()[:8]
    return cache_folder() / f"{repo.name}-{digest}" / "facts.sqlite"


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
        """Keep it as a file, which knows its own name: another one's content is not taken for it."""
        commits = prefixed("history", pack_strings(self.commit_ids)) | prefixed("name", pack_strings([path.name]))
        save_arrays(path, self.history.to_arrays(self.paths.names) | commits, level=1)

    @classmethod
    def read(cls, path: Path) -> HistoryCache | None:
        """What ``write`` kept; None where there is no such file, or a damaged one."""
        try:
            stored = load_arrays(path)
            history, paths = HistoryIndex.from_arrays(stored)
            commit_ids = unpack_strings(stored, "history")
            for documents in (history.commits, history.reports):
                check_numbers(documents.commits, len(commit_ids), "commits")
            if unpack_strings(stored, "name") != (path.name,):
                return None
        except (CheckpointError, KeyError, ValueError):
            return None
        return cls(history, Names(list(paths), {path: number for number, path in enumerate(paths)}), commit_ids)


class IndexedRepository:
    """A repository, its facts store and which files count as source."""

    def __init__(
        self,
        repo: Repository,
        store_path: Path | None = None,
        suffixes: Iterable[str] = (),
        jobs: int = -1,
        *,
        lizard: bool = False,
    ) -> None:
        self.repo = repo
        self.store_path = store_path or default_store(repo)
        self.suffixes = frozenset(suffixes) or SOURCE_SUFFIXES
        self.jobs = jobs
        self.lizard = lizard
        """Whether complexity is lizard's number, and not that of the syntax tree."""

    @cached_property
    def store(self) -> FactStore:
        """The facts, opened (and made, if absent) when first asked for: wrong input leaves nothing behind."""
        return FactStore(self.store_path, lizard=self.lizard)

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
        if not len(snapshot) and self.repo.missing:
            raise RepositoryError(
                f"{self.repo.path}: no file of version {snapshot.commit[:12]} can be read: its folders are missing or"
                " damaged; run 'git fsck' there, or clone it again"
            )
        if not len(snapshot):
            shown = ", ".join(sorted(self.suffixes)[:6]) + (" ..." if len(self.suffixes) > 6 else "")
            raise ToslocError(
                f"{self.repo.path}: version {snapshot.commit[:12]} holds no source file ({shown});"
                " name another with --commit, or other suffixes in the configuration"
            )
        return snapshot

    def index(self, snapshots: Sequence[Snapshot], progress: Progress = silent, *, check: bool = True) -> BuildReport:
        """Make the facts that the versions' files lack, and again those that are damaged.

        Without ``check`` damaged ones wait for ``corpus``, which reads all of them anyway.
        """
        blobs = blobs_of(snapshots, self.suffixes)
        built = build(self.repo.path, self.store, list(blobs.items()), jobs=self.jobs, progress=progress)
        if check:
            by_language: defaultdict[str, list[str]] = defaultdict(list)
            for blob, suffix in blobs.items():
                by_language[language_of(suffix)].append(blob)
            for language, some in by_language.items():
                self._sound(partial(self.store.check, some, language), blobs)
        return built

    def corpus(self, snapshots: Sequence[Snapshot]) -> Corpus:
        """Inverted lists of the versions' files, whose facts must be known; damaged ones are made again."""
        blobs = blobs_of(snapshots, self.suffixes)
        return self._sound(lambda: corpus_of(self.store, snapshots, self.suffixes), blobs)

    def _sound(self, read: Callable[[], _Read], suffixes: Mapping[str, str]) -> _Read:
        """What ``read`` makes of the store, damaged facts made again before it; ``suffixes`` are those of all blobs.

        Raises StoreError when facts have gone that were here.
        """
        try:
            made = read()
        except DamagedFacts as error:
            damaged = {blob for blob, _ in error.rows}
            if not damaged <= suffixes.keys():
                raise
            blobs = [(blob, suffixes[blob]) for blob in sorted(damaged)]
            build(self.repo.path, self.store, blobs, jobs=self.jobs, damaged=damaged)
            number = "1 file was" if len(blobs) == 1 else f"{len(blobs)} files were"
            warnings.warn(
                f"{self.store_path}: facts of {number} damaged and have been made again; see that the disk is well",
                StoreWarning,
                stacklevel=3,
            )
            made = read()
        if not self.store.absent <= self.store.unreadable:
            raise StoreError(
                f"{self.store_path}: the facts store is damaged (facts are lost); delete it and index again"
            )
        return made

    def history(self, tips: Sequence[str], progress: Progress = silent) -> History:
        """All commits that the tips contain."""
        return read_history(self.repo, tips, self.suffixes, progress)

    def build_history(self, history: History, cases: Sequence[Case] | None, max_files: int) -> HistoryIndex:
        """Commit messages and fixed reports, the latter from labelled cases or else from the commits' messages."""
        return build_history(history, cases, self.repo.path_names, max_files)

    def cached_history(self, commit: str, max_files: int, progress: Progress = silent) -> HistoryCache:
        """What the version's commits say, fixes told by their messages; kept beside the facts for the next time."""
        path = self._history_path(commit, max_files)
        cached = HistoryCache.read(path)
        if cached is not None:
            with suppress(OSError):
                os.utime(path)
            return cached
        history = self.history([commit], progress)
        made = HistoryCache(self.build_history(history, None, max_files), self.repo.path_names, history.ids)
        # a full disk or a folder that cannot be written costs time, not the answer
        with suppress(OSError):
            made.write(path)
            files = sorted(
                path.parent.glob("*.npz"), key=lambda file: (file.stat().st_mtime_ns, file.name), reverse=True
            )
            for old in files[KEPT_HISTORIES:]:
                old.unlink(missing_ok=True)
        return made

    def _history_path(self, commit: str, max_files: int) -> Path:
        maker = f"history{HISTORY_VERSION}+PyStemmer{metadata.version('PyStemmer')}"
        # a clone that was cut off has another history once it is made whole
        key = json.dumps([maker, commit, max_files, sorted(self.suffixes), sorted(self.repo.shallow)])
        name = f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.npz"
        return self.store_path.with_name(f"{self.store_path.stem}.past") / name
