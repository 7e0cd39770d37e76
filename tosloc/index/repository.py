"""A repository with the facts that were made of it."""

from __future__ import annotations

import os
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from tosloc.analysis.analyser import analyser_of
from tosloc.analysis.languages import SOURCE_SUFFIXES, language_of
from tosloc.data.git import Repository
from tosloc.data.history import History, commit_order, read_commits, read_history
from tosloc.errors import CheckpointError, DamagedFacts, RepositoryError, StoreError, StoreWarning, ToslocError
from tosloc.files import key_of
from tosloc.index.build_history import HISTORY_VERSION, build_history
from tosloc.index.corpus import Corpus, blobs_of, corpus_of
from tosloc.index.history_index import HistoryIndex
from tosloc.index.prepared import PREPARED_VERSION, PreparedVersion
from tosloc.index.user_cache import default_store, hold, keep_to_size
from tosloc.mapped_arrays import Scratch, read_mapped, write_mapped
from tosloc.records import TIMES, Case, Progress, Snapshot, silent

if TYPE_CHECKING:
    from tosloc.analysis.build import BuildReport
    from tosloc.analysis.fact_table import FactTable
    from tosloc.analysis.store import FactStore

_Read = TypeVar("_Read")

KEPT_VERSIONS: Final = 3
"""Versions that are kept ready beside the facts: those used last."""
NEW_AT_MOST: Final = 0.5
"""Share of a version's blobs, or of its commits, beyond which it is made anew instead of from another version."""


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
        from tosloc.analysis.store import FactStore

        hold(self.repo, self.store_path)
        return FactStore(self.store_path, lizard=self.lizard)

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
        from tosloc.analysis.build import build  # here, as below: parsers and workers are not loaded in vain

        blobs = blobs_of(snapshots, self.suffixes)
        built = build(self.repo.path, self.store, list(blobs.items()), jobs=self.jobs, progress=progress)
        if built.added:
            keep_to_size(self.repo, self.store_path)
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
            from tosloc.analysis.build import build

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

    # ---- versions ready for queries

    def prepared(
        self, revision: str, max_files: int, progress: Progress = silent, before: PreparedVersion | None = None
    ) -> PreparedVersion:
        """The version that ``revision`` names, ready for queries, fixes told by commit messages.

        It is kept beside the facts for the next time. What is not there is made from another version that is, the one
        ``before`` or the one kept last, with what is new, or else from facts and commits. Raises UnknownCommit, and
        ToslocError when it holds no source file.
        """
        commit = self.repo.resolve(revision)
        family = self._family(max_files)
        path = self._kept_path(family, commit)
        if path.exists():
            hold(self.repo, self.store_path)
        if (kept := self._kept(path)) is not None:
            with suppress(OSError):
                os.utime(path)
            return kept
        snapshot = self.sources(commit)
        if before is None:
            before = next(filter(None, map(self._kept, self._kept_paths(family))), None)
        return self.prepare(snapshot, max_files, before, progress)

    def prepare(
        self, snapshot: Snapshot, max_files: int, before: PreparedVersion | None = None, progress: Progress = silent
    ) -> PreparedVersion:
        """Make a version ready, with the help of one that is, and keep it."""
        made = None if before is None or before.missing else self._updated(before, snapshot, max_files, progress)
        if made is None:
            self.index([snapshot], progress, check=False)
            history = self.history([snapshot.commit], progress)
            documents = self.build_history(history, None, max_files)
            corpus = self.corpus([snapshot])
            made = PreparedVersion.of(
                snapshot, corpus, documents, self.repo.path_names.names, history.ids, len(self.store.absent)
            )
        if not made.missing and not self.repo.missing:
            self._keep(made, self._family(max_files))
        return made

    def _updated(
        self, before: PreparedVersion, snapshot: Snapshot, max_files: int, progress: Progress
    ) -> PreparedVersion | None:
        """The version from another one and what is new; None where that is as much as the whole."""
        known = before.index.text.corpus.row_of_blob
        blobs = blobs_of([snapshot], self.suffixes)
        new = {blob: suffix for blob, suffix in blobs.items() if blob not in known}
        if len(new) > NEW_AT_MOST * len(blobs):
            return None
        order = commit_order(self.repo, snapshot.commit, before.commit_ids)
        old = set(before.commit_ids)
        new_ids = [commit for commit in order if commit not in old]
        if len(new_ids) > NEW_AT_MOST * len(order):
            return None
        if new:
            from tosloc.analysis.build import build

            if build(self.repo.path, self.store, list(new.items()), jobs=self.jobs, progress=progress).missing:
                return None
        facts = self.facts(new, list(new))
        numbers = {commit: number for number, commit in enumerate(order)}
        history = read_commits(self.repo, new_ids, numbers, self.suffixes, progress)
        made = before.updated(
            snapshot,
            Corpus(facts),
            partial(self.facts, blobs),
            order,
            self.build_history(history, None, max_files),
            self.repo.path_names.names,
            new_ids,
            Scratch(self.store_path.parent),
        )
        return made

    def facts(self, suffixes: Mapping[str, str], blobs: Sequence[str]) -> FactTable:
        """Facts of blobs that were made before, read by a connection of their own: whoever asks, and whenever."""
        languages = [language_of(suffixes[blob]) for blob in blobs]
        with Repository(self.repo.path) as repo:
            own = IndexedRepository(repo, self.store_path, self.suffixes, self.jobs, lizard=self.lizard)
            try:
                return own._sound(lambda: own.store.load(blobs, languages, allow_missing=True), suffixes)
            finally:
                own.close()

    def _family(self, max_files: int) -> str:
        """Of kept versions that differ in their commit alone."""
        maker = f"{PREPARED_VERSION}+{HISTORY_VERSION}+PyStemmer{metadata.version('PyStemmer')}"
        # a clone that was cut off has another history once it is made whole
        return key_of(maker, max_files, self.lizard, sorted(self.suffixes), sorted(self.repo.shallow))[:16]

    @property
    def _kept_folder(self) -> Path:
        return self.store_path.with_name(f"{self.store_path.stem}.versions")

    def _kept_path(self, family: str, commit: str) -> Path:
        return self._kept_folder / f"{family}-{commit}.arrays"

    def _kept_paths(self, family: str = "") -> list[Path]:
        """Files of kept versions, last used first."""
        found = []
        for path in self._kept_folder.glob(f"{family}*.arrays"):
            with suppress(OSError):  # another process has removed it
                found.append((-path.stat().st_mtime_ns, path.name, path))
        return [path for _, _, path in sorted(found)]

    def _kept(self, path: Path) -> PreparedVersion | None:
        """The version that a file keeps; None where there is no such file, a damaged one, or one of other facts."""
        try:
            record, arrays = read_mapped(path)
            commit, committed_at = record["commit"], record["committed_at"]
            if committed_at not in TIMES or not path.name.endswith(f"-{commit}.arrays"):
                return None
            if record["name"] != path.name or any(
                analyser_of(language, self.lizard) != analyser for language, analyser in record["analysers"].items()
            ):
                return None
            made: list[PreparedVersion] = []

            def table(blobs: Sequence[str]) -> FactTable:
                return self.facts(blobs_of([made[0].snapshot], self.suffixes), blobs)

            made.append(PreparedVersion.from_arrays(commit, committed_at, arrays, table))
            return made[0]
        except (CheckpointError, KeyError, ValueError, TypeError, AttributeError):
            return None

    def _keep(self, version: PreparedVersion, family: str) -> None:
        """Write a version beside the facts; of all that are kept the last used stay."""
        path = self._kept_path(family, version.snapshot.commit)
        languages = {language_of(suffix) for suffix in set(blobs_of([version.snapshot], self.suffixes).values())}
        record = {
            "name": path.name,  # another one's content is not taken for it
            "commit": version.snapshot.commit,
            "committed_at": version.snapshot.committed_at,
            "analysers": {language: analyser_of(language, self.lizard) for language in sorted(languages)},
        }
        # a full disk or a folder that cannot be written costs time, not the answer
        with suppress(OSError):
            write_mapped(path, record, version.to_arrays())
            for old in self._kept_paths()[KEPT_VERSIONS:]:
                old.unlink(missing_ok=True)
        keep_to_size(self.repo, self.store_path)
