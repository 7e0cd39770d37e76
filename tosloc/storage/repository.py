"""A repository with its facts, and its indexed versions, built or read from arrays."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

import numpy as np

from tosloc.code.languages import (
    DATA_KIND,
    OTHER_KINDS,
    OTHER_SUFFIXES,
    SOURCE_SUFFIXES,
    analyser_version,
    language_name,
    other_kind,
    with_grammar_release,
)
from tosloc.core.errors import CheckpointError, ToslocError, require
from tosloc.core.io import content_key, remove
from tosloc.core.progress import Progress, ignore_progress
from tosloc.core.versions import Snapshot, StringTable, first_path_by_blob
from tosloc.git.history import History, HistoryLimits, list_parents_first
from tosloc.git.repository import Change, Repository, WorkTreeState, suffix_matcher
from tosloc.paths.classify import OWN_CLASSES, classify_paths, which_are_tests
from tosloc.reports.text import IssueTemplates
from tosloc.retrieval.history import HistoryIndex, Releases, TrackerIssues
from tosloc.retrieval.paths import PathTable
from tosloc.retrieval.texts import Corpus
from tosloc.retrieval.version_index import VersionIndex
from tosloc.storage.cache import ISSUES_FILE, KEPT_ANSWERS, CacheEntry, create_folder
from tosloc.storage.facts import FunctionReader
from tosloc.storage.mapped_arrays import read_mapped, write_mapped
from tosloc.storage.store import FactStore, analysers_by_blob

if TYPE_CHECKING:
    from tosloc.core.config import Config
    from tosloc.storage.build import BuildReport

MAX_KEPT_FILES: Final = 40
"""Largest number of files of versions that are kept beside the facts, the last used ones.

A version has one file for its sources and one for its other files, so that 20 versions are kept.
All work trees of the repository share them.
"""
MAX_KEPT_BYTES: Final = 4 * 10**9
"""Largest total size of the kept files of versions, in bytes."""
MIN_KEPT_FILES: Final = 6
"""Number of files of versions that are kept whatever their size."""
ARRAYS_VERSION: Final = 17
"""Version of the arrays in the files of versions; raise it whenever these arrays change."""
MAX_OTHER_BYTES: Final = 200_000
"""Largest size, in bytes, of a file other than source whose words are searched.

Larger files are data.
"""
MIN_FILES_OF_KIND: Final = 10
"""Smallest number of files of a kind of pages or configuration that a version can consist of."""
_SHOWN_SUFFIXES: Final = 6
"""Largest number of suffixes that an error message lists."""


class IndexedRepository:
    """A repository, its facts store, and the suffixes of its source files."""

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
        self.store_path = store_path or CacheEntry.of(repo).store
        self.suffixes = frozenset(suffixes) or SOURCE_SUFFIXES
        self.jobs = jobs
        self.lizard = lizard
        """Whether complexity is measured by lizard; it is 0 otherwise."""

    @classmethod
    def configured(cls, repo: Repository, config: Config | None = None) -> Self:
        """Return a repository with the source files that a configuration selects.

        None stands for the default configuration. Raises MissingExtra if the configuration needs
        lizard, which is not installed.
        """
        if config is None:
            return cls(repo)
        if config.stage_one.lizard:
            require("[stage_one] method = 'paper'", "lab", "lizard")
        suffixes = config.data.named_suffixes
        return cls(repo, None, suffixes, config.run.jobs, lizard=config.stage_one.lizard)

    @cached_property
    def store(self) -> FactStore:
        """The facts store, opened (and created if absent) when first used.

        A command that fails because of wrong input therefore creates no file.
        """
        self._note_use()
        return FactStore(self.store_path)

    def _note_use(self) -> None:
        """Record in the cache that the repository is used now, if its store is in the cache."""
        entry = CacheEntry.of(self.repo)
        if self.store_path == entry.store:
            entry.note_use(self.repo)

    @property
    def answers_folder(self) -> Path:
        """Folder with stored answers of language models, beside the store."""
        return self.store_path.with_name(KEPT_ANSWERS)

    @cached_property
    def tracker_issues(self) -> TrackerIssues | None:
        """The issues of the project's tracker that ``tosloc mine`` stored; None if there are none.

        Raises CheckpointError if their file is damaged.
        """
        file = self.store_path.with_name(ISSUES_FILE)
        return TrackerIssues.load(file) if file.exists() else None

    @cached_property
    def functions(self) -> FunctionReader:
        """Functions of the repository's files."""
        return FunctionReader(self.repo, self.store)

    @property
    def vectors_path(self) -> Path:
        """Path of the file, beside the facts, with the vectors of the project's files."""
        return self.store_path.with_name(f"{self.store_path.stem}.vectors.sqlite")

    def close(self) -> None:
        """Close the store, which is opened again at the next use; the repository stays open."""
        vars(self).pop("functions", None)
        if "store" in vars(self):
            self.store.close()
            del self.store

    def snapshot(self, revision: str) -> Snapshot:
        """Return the source files of the version that ``revision`` names.

        Raises UnknownCommit.
        """
        return self.repo.snapshot(revision, self.suffixes)

    def source_snapshot(self, revision: str) -> Snapshot:
        """Return the source files, at least one, of the version that ``revision`` names.

        Raises UnknownCommit, and ToslocError if the version contains no source file.
        """
        snapshot = self.snapshot(revision)
        if not len(snapshot):
            raise self._no_source(snapshot)
        return snapshot

    def _no_source(self, snapshot: Snapshot) -> ToslocError:
        """Return the error for a version that contains no source file."""
        return ToslocError(
            f"{self.repo.path}: version {snapshot.commit[:12]} contains no source file"
            f" ({self._shown_suffixes})",
            hint="name another with {commit}, or other suffixes in the configuration",
        )

    @property
    def _shown_suffixes(self) -> str:
        """The first suffixes of source files, for error messages."""
        shown = ", ".join(sorted(self.suffixes)[:_SHOWN_SUFFIXES])
        return f"{shown} ..." if len(self.suffixes) > _SHOWN_SUFFIXES else shown

    def kinds_made_of(self, commit: str) -> frozenset[str]:
        """Return the suffixes and names of the configuration and pages that a version consists of.

        These files are ranked like sources. A version consists of a kind of them if it has more
        such files than sources of all kinds; tests, generated files, documentation and examples do
        not count. The result is empty if the settings name suffixes.
        """
        if self.suffixes != SOURCE_SUFFIXES or commit == self.repo.no_commit:
            return frozenset()
        sources = self.repo.snapshot(commit, SOURCE_SUFFIXES).paths
        others = self.repo.snapshot(commit, OTHER_SUFFIXES).paths
        paths_by_kind: defaultdict[str, list[str]] = defaultdict(list)
        for path in others:
            paths_by_kind[other_kind(path) or ""].append(path)
        endings: frozenset[str] = frozenset()
        for kind, paths in paths_by_kind.items():
            # Few versions have that many files, so few have to be classified.
            if len(paths) <= len(sources) or (sources and len(paths) < MIN_FILES_OF_KIND):
                continue
            least = _count_own_files(sources)
            if _count_own_files(paths) > least and (kind != DATA_KIND or not least):
                endings |= frozenset(OTHER_KINDS[kind])
        return endings

    def work_tree_state(self, commit: str) -> WorkTreeState:
        """Return how the work tree differs from a commit, in files whose words are searched."""
        return self.repo.on_disk.state(commit, self.suffixes | OTHER_SUFFIXES)

    def build_facts(
        self, snapshots: Sequence[Snapshot], progress: Progress = ignore_progress
    ) -> BuildReport:
        """Build the facts of the versions' files that the store does not contain."""
        return self._build(first_path_by_blob(snapshots), progress)

    def _build(self, blobs: Mapping[str, str], progress: Progress) -> BuildReport:
        """Build the facts of blobs (id -> path) that the store does not contain."""
        # Imported here because it loads parsers and workers, which a complete store does not need.
        from tosloc.storage.build import build

        return build(self.repo, self.store, blobs, self.jobs, progress, lizard=self.lizard)

    def load_facts(self, blobs: Mapping[str, str], progress: Progress = ignore_progress) -> Corpus:
        """Return the facts of blobs (id -> path), in their order; missing facts are built."""
        if self.store.find_missing(analysers_by_blob(blobs, lizard=self.lizard)):
            self._build(blobs, progress)
        return self.store.read_facts(blobs, lizard=self.lizard)

    # ---- indexed versions

    def index_version(
        self, revision: str, progress: Progress = ignore_progress, changes: Collection[Change] = ()
    ) -> VersionIndex:
        """Return the index of the version that ``revision`` names.

        Commits whose messages say that they fix a bug take the place of fixed reports. Uncommitted
        ``changes`` are applied. The index of the commit is stored beside the facts for the next
        call. If it is not stored yet, it is built from the facts of the version's files and
        commits.

        Raises UnknownCommit, and ToslocError if no source file is left after the changes.
        """
        commit = revision if revision == self.repo.no_commit else self.repo.resolve(revision)
        source_changes = self._ranked_changes(changes)
        if commit == self.repo.no_commit and not source_changes:
            raise self._nothing_on_disk()

        def build() -> VersionIndex:
            made_of = self.kinds_made_of(commit)
            listed = self._list_files(commit, self.suffixes | made_of)
            if not len(listed) and not source_changes:
                raise self._no_source(listed)
            return self._build_version(listed, made_of, progress)

        # A shallow clone has another history once it is complete.
        key = (sorted(self.suffixes), sorted(self.repo.shallow))
        version = self._read_or_build(commit, key, build)
        source_changes = self._ranked_changes(changes, version.made_of)
        if source_changes:
            new = {blob: path for path, blob in source_changes if blob}
            version = version.with_changes(source_changes, self.load_facts(new, progress))
        if not len(version.snapshot):
            raise self._nothing_on_disk()
        return version

    def _build_version(
        self, listed: Snapshot, made_of: frozenset[str], progress: Progress
    ) -> VersionIndex:
        """Return a version and its history, built from the facts of its files and commits.

        ``listed`` are its files, and ``made_of`` the suffixes that ``kinds_made_of`` returns.
        """
        missing = self.build_facts([listed], progress).missing
        files = dict(zip(listed.paths, listed.blobs, strict=True))
        # A snapshot of its own has numbers that no other version shares.
        snapshot = Snapshot.of(listed.commit, listed.committed_at, files)
        commit_ids: Sequence[str] = []
        submodules: Sequence[str] = ()
        template: Sequence[str] = ()
        if listed.commit != self.repo.no_commit:
            commit_ids = list_parents_first(self.repo, [listed.commit])
            submodules = self.repo.trees.submodules(self.repo.revisions.commit(listed.commit))
            template = sorted(IssueTemplates(self.repo).of_commit(listed.commit))
        history, limits = self._build_history(
            commit_ids, snapshot.path_names, self.suffixes | made_of, progress
        )
        history = replace(history, releases=Releases.read(self.repo))
        table = PathTable.of(snapshot.path_names.names)
        corpus = self.load_facts(first_path_by_blob([snapshot]))
        return VersionIndex(
            corpus,
            snapshot,
            table,
            history=history,
            commit_ids=commit_ids,
            missing=missing,
            submodules=submodules,
            template=template,
            limits=limits,
            made_of=sorted(made_of),
        )

    def _ranked_changes(
        self, changes: Collection[Change], made_of: Iterable[str] = ()
    ) -> list[Change]:
        """Return the uncommitted changes of files that are ranked, in path order."""
        is_ranked = suffix_matcher(self.suffixes | frozenset(made_of))
        return sorted(change for change in changes if is_ranked(_path_bytes(change.path)))

    def _list_files(self, commit: str, suffixes: Iterable[str]) -> Snapshot:
        """Return the files of a commit with the suffixes; a branch without commits has none."""
        if commit == self.repo.no_commit:
            return Snapshot.of(commit, 0, {})
        return self.repo.snapshot(commit, suffixes)

    def _nothing_on_disk(self) -> ToslocError:
        """Return the error for a work tree in which no source file is left."""
        return ToslocError(
            f"{self.repo.path}: no source file ({self._shown_suffixes}) is on disk, and folders"
            " behind links are not searched; name a commit, or the repository of the linked folder"
        )

    def index_other_files(
        self, commit: str, progress: Progress = ignore_progress, changes: Collection[Change] = ()
    ) -> VersionIndex:
        """Return the index of all files of a version that are not source, without a history.

        The texts of templates, styles and configuration are indexed, unless they are tests or
        large. Of all other files only the paths are indexed. Raises UnknownCommit.
        """

        def build() -> VersionIndex:
            made_of = self.kinds_made_of(commit)
            is_source = suffix_matcher(self.suffixes | made_of)
            listed = self._list_files(commit, [""])
            files: dict[str, str] = {}
            for path, blob in zip(listed.paths, listed.blobs, strict=True):
                if not is_source(_path_bytes(path)):
                    files[path] = blob
            snapshot = Snapshot.of(commit, listed.committed_at, files)
            corpus = self._load_other_facts(files.items(), progress)
            table = PathTable.of(snapshot.path_names.names)
            return VersionIndex(corpus, snapshot, table, made_of=sorted(made_of))

        key = ("other files", sorted(self.suffixes), sorted(OTHER_SUFFIXES))
        version = self._read_or_build(commit, key, build)
        ranked_changes = self._ranked_changes(changes, version.made_of)
        other_changes = [change for change in changes if change not in ranked_changes]
        if not other_changes:
            return version
        facts = self._load_other_facts(other_changes, progress)
        return version.with_changes(other_changes, facts)

    def _load_other_facts(
        self, files: Iterable[tuple[str, str | None]], progress: Progress
    ) -> Corpus:
        """Return the facts of files (path, blob) that are searched, but are not source."""
        is_other = suffix_matcher(OTHER_SUFFIXES)
        searched = {path: blob for path, blob in files if blob and is_other(_path_bytes(path))}
        are_tests = which_are_tests(list(searched)).tolist()
        path_by_blob: dict[str, str] = {}
        for (path, blob), is_test in zip(searched.items(), are_tests, strict=True):
            if not is_test:
                path_by_blob[blob] = path
        sizes = self.repo.git.sizes(path_by_blob)
        small = {
            blob: path for blob, path in path_by_blob.items() if sizes[blob] <= MAX_OTHER_BYTES
        }
        return self.load_facts(small, progress)

    def _read_or_build(
        self, commit: str, key: object, build: Callable[[], VersionIndex]
    ) -> VersionIndex:
        """Return the stored index of a commit for a key; if it is not stored, build and store it.

        An index is not stored if some of the version's files could not be read.
        """
        path = self._version_path(commit, key)
        # A file that is missing or damaged is replaced.
        with suppress(CheckpointError, LookupError, ValueError):
            kept = VersionIndex.from_arrays(read_mapped(path))
            with suppress(OSError):
                os.utime(path)
            return kept
        version = build()
        if not version.missing:
            # A full disk or a folder that cannot be written costs time, but not the answer.
            with suppress(OSError):
                create_folder(path.parent)
                # The unreadable file may be a pipe: writing to a pipe waits for a reader.
                remove(path)
                write_mapped(path, version.to_arrays())
                _remove_least_used(path.parent)
            self._note_use()
        return version

    def _version_path(self, commit: str, key: object) -> Path:
        """Return the file that stores a version.

        Its name depends on everything from which the version's index is computed.
        """
        analyser = analyser_version(self.lizard)
        languages = {
            with_grammar_release(language_name(suffix), analyser) for suffix in self.suffixes
        }
        made_with = (
            f"{ARRAYS_VERSION}+{HistoryIndex.VERSION}+PyStemmer{metadata.version('PyStemmer')}"
        )
        digest = content_key(made_with, sorted(languages), key)[:16]
        folder = self.store_path.with_name(f"{self.store_path.stem}.versions")
        return folder / f"{digest}-{commit}.safetensors"

    def _build_history(
        self,
        commit_ids: Sequence[str],
        paths: StringTable,
        suffixes: frozenset[str],
        progress: Progress,
    ) -> tuple[HistoryIndex, HistoryLimits]:
        """Return the documents of all commits, by their position in ``commit_ids``.

        Commits that the store does not contain are read from git, and stored unless they are large.
        The returned limits say what was not read of large commits.
        """
        stemmer = metadata.version("PyStemmer")
        analyser = f"commits{HistoryIndex.VERSION}+{stemmer}+{content_key(sorted(suffixes))[:12]}"
        wanted = dict.fromkeys(commit_ids, analyser)
        large, limits = self._store_new_commits(wanted, analyser, suffixes, progress)
        stored = zip(commit_ids, self.store.read(wanted), strict=True)
        payloads = (large.get(commit, payload) for commit, payload in stored)
        return HistoryIndex.of_commits(commit_ids, payloads, paths), limits

    def _store_new_commits(
        self,
        wanted: Mapping[str, str],
        analyser: str,
        suffixes: frozenset[str],
        progress: Progress,
    ) -> tuple[dict[str, bytes], HistoryLimits]:
        """Store the payloads of those commits in ``wanted`` that the store lacks.

        Returns the payloads of large commits, which are not stored: which part of them is read
        depends on the version's other commits. The returned limits say what was not read of them.
        """
        new = History.of_commits(self.repo, self.store.find_missing(wanted), suffixes, progress)
        # What the last commits of a shallow clone touched is not known until it is complete.
        shallow = self.repo.shallow
        rows = []
        large: dict[str, bytes] = {}
        for commit, payload in zip(new.ids, HistoryIndex.payloads(new), strict=True):
            if commit in shallow:
                continue
            if commit in new.large:
                large[commit] = payload
            else:
                rows.append((commit, analyser, payload))
        self.store.write(rows)
        return large, new.limits


def _count_own_files(paths: Sequence[str]) -> int:
    """Return the number of files that are not tests, generated, documentation or examples."""
    return int(np.isin(classify_paths(paths), OWN_CLASSES).sum())


def _remove_least_used(folder: Path) -> None:
    """Remove the least recently used files of versions beyond MAX_KEPT_FILES and MAX_KEPT_BYTES."""
    files = [(path, path.stat()) for path in folder.glob("*.safetensors")]
    newest_first = sorted(files, key=lambda file: -file[1].st_mtime_ns)
    total = 0
    for number, (path, status) in enumerate(newest_first):
        total += status.st_size
        is_too_large = number >= MIN_KEPT_FILES and total > MAX_KEPT_BYTES
        if number >= MAX_KEPT_FILES or is_too_large:
            path.unlink(missing_ok=True)


def _path_bytes(path: str) -> bytes:
    """Return a path's bytes in git, which are UTF-8 in every locale."""
    return path.encode("utf-8", "surrogateescape")
