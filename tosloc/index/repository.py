"""A repository with the facts that were made of it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tosloc.code.languages import SOURCE_SUFFIXES, analyser_of, language_of
from tosloc.errors import CheckpointError, StoreError, ToslocError
from tosloc.git.history import History, commit_order, read_commits, read_history
from tosloc.git.repository import Repository
from tosloc.index.build_history import COMMITS, HISTORY_VERSION, commit_payloads, history_of_commits
from tosloc.index.cache import default_store, keep_to_size, note_use
from tosloc.index.corpus import Corpus, blobs_of
from tosloc.index.history_index import HistoryIndex
from tosloc.index.mapped import read_mapped, write_mapped
from tosloc.index.prepared import PREPARED_VERSION, PreparedVersion
from tosloc.io import key_of
from tosloc.records import Progress, Snapshot, silent

if TYPE_CHECKING:
    from tosloc.index.build import BuildReport
    from tosloc.index.fact_table import FactTable
    from tosloc.index.store import FactStore

KEPT_VERSIONS: Final = 3
"""Versions that are kept ready beside the facts: those used last."""


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
        from tosloc.index.store import FactStore

        note_use(self.repo, self.store_path)
        return FactStore(self.store_path)

    @property
    def vectors_path(self) -> Path:
        """Where the vectors of a project's files lie: beside their facts."""
        return self.store_path.with_name(f"{self.store_path.stem}.vectors.sqlite")

    def close(self) -> None:
        """Close the store, which is opened again when it is asked; the repository belongs to the caller."""
        if "store" in vars(self):
            self.store.close()
            del self.store

    def snapshot(self, revision: str) -> Snapshot:
        """The version that ``revision`` names. Raises UnknownCommit."""
        return self.repo.snapshot(revision, self.suffixes)

    def sources(self, revision: str) -> Snapshot:
        """The version that ``revision`` names. Raises UnknownCommit, and ToslocError when it holds no source file."""
        snapshot = self.snapshot(revision)
        if not len(snapshot):
            shown = ", ".join(sorted(self.suffixes)[:6]) + (" ..." if len(self.suffixes) > 6 else "")
            why = "its folders are missing or damaged: run 'git fsck' there" if self.repo.missing else shown
            raise ToslocError(
                f"{self.repo.path}: version {snapshot.commit[:12]} holds no source file ({why});"
                " name another with --commit, or other suffixes in the configuration"
            )
        return snapshot

    def index(self, snapshots: Sequence[Snapshot], progress: Progress = silent) -> BuildReport:
        """Make the facts that the versions' files lack."""
        from tosloc.index.build import build  # here: parsers and workers are not loaded in vain

        blobs = blobs_of(snapshots, self.suffixes)
        built = build(self.repo.path, self.store, blobs, jobs=self.jobs, progress=progress, lizard=self.lizard)
        if built.added:
            keep_to_size(self.repo, self.store_path)
        return built

    def corpus(self, snapshots: Sequence[Snapshot]) -> Corpus:
        """Inverted lists of the versions' files, whose facts must be known."""
        return Corpus(self.facts(blobs_of(snapshots, self.suffixes)))

    def facts(self, blobs: Mapping[str, str]) -> FactTable:
        """Facts of blobs (id -> suffix), in their order, by a connection of their own: whoever asks, and whenever."""
        from tosloc.index.build import read_facts
        from tosloc.index.store import FactStore

        with FactStore(self.store_path) as store:
            return read_facts(self.repo.path, store, blobs, lizard=self.lizard)

    def history(self, tips: Sequence[str], progress: Progress = silent) -> History:
        """All commits that the tips contain."""
        return read_history(self.repo, tips, self.suffixes, progress)

    # ---- versions ready for queries

    def prepared(self, revision: str, progress: Progress = silent) -> PreparedVersion:
        """The version that ``revision`` names, ready for queries, fixes told by commit messages.

        It is kept beside the facts for the next time. What is not there is made from the facts of its files and
        commits. Raises UnknownCommit, and ToslocError when it holds no source file.
        """
        commit = self.repo.resolve(revision)
        languages = sorted({analyser_of(language_of(suffix), self.lizard) for suffix in self.suffixes})
        maker = f"{PREPARED_VERSION}+{HISTORY_VERSION}+PyStemmer{metadata.version('PyStemmer')}"
        # a clone that was cut off has another history once it is made whole
        key = key_of(maker, languages, sorted(self.suffixes), sorted(self.repo.shallow))[:16]
        path = self.store_path.with_name(f"{self.store_path.stem}.versions") / f"{key}-{commit}.safetensors"
        if (kept := self._kept(path)) is not None:
            note_use(self.repo, self.store_path)
            with suppress(OSError):
                os.utime(path)
            return kept
        snapshot = self.sources(commit)
        missing = self.index([snapshot], progress).missing
        order = commit_order(self.repo, [commit])
        documents = self._commit_documents(order, progress)
        names = self.repo.path_names.names
        made = PreparedVersion.of(snapshot, self.corpus([snapshot]), documents, names, order, missing)
        if not missing and not self.repo.missing:
            self._keep(path, made)
        return made

    def _commit_documents(self, order: Sequence[str], progress: Progress) -> HistoryIndex:
        """Documents of all commits, by their number in ``order``; what the store lacks is asked of git, and kept."""
        analyser = f"{COMMITS}{HISTORY_VERSION}+{metadata.version('PyStemmer')}+{key_of(sorted(self.suffixes))[:12]}"
        for _ in range(2):
            history = read_commits(self.repo, self.store.missing(order, analyser), self.suffixes, progress)
            made = dict(commit_payloads(history))
            cut = self.repo.shallow  # what these touched is not known until the clone is whole
            self.store.write((commit, analyser, made[commit]) for commit in made if commit not in cut)
            with suppress(ValueError):
                return history_of_commits(order, self.store.read(order, analyser), self.repo.path_names)
            self.store.remove_analysers([analyser])  # damaged: all are made again
        raise StoreError(f"{self.store_path}: the facts store is damaged; delete it: what it holds is made again")

    def _kept(self, path: Path) -> PreparedVersion | None:
        """The version that a file keeps; None where there is no such file, or a damaged one."""
        try:
            record, arrays = read_mapped(path)
        except CheckpointError:
            return None

        def table(blobs: Sequence[str]) -> FactTable:
            suffixes = blobs_of([version.snapshot], self.suffixes)
            return self.facts({blob: suffixes[blob] for blob in blobs})

        version = PreparedVersion.from_arrays(record, arrays, table)
        return version

    def _keep(self, path: Path, version: PreparedVersion) -> None:
        """Write a version beside the facts; of all that are kept the last used stay."""
        with suppress(OSError):  # a full disk or a folder that cannot be written costs time, not the answer
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_mapped(path, *version.to_arrays())
            by_use = sorted(path.parent.glob("*.safetensors"), key=lambda kept: -kept.stat().st_mtime_ns)
            for old in by_use[KEPT_VERSIONS:]:
                old.unlink(missing_ok=True)
        keep_to_size(self.repo, self.store_path)
