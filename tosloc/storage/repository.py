"""A repository with the facts that were made of it, and its versions ready for queries: made, or kept as arrays."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from tosloc.code.languages import (
    OTHER_SUFFIXES,
    SOURCE_SUFFIXES,
    analyser_version,
    language_name,
    with_grammar_release,
)
from tosloc.core.arrays import read_mapped, write_mapped
from tosloc.core.errors import CheckpointError, ToslocError, require
from tosloc.core.io import content_key, remove
from tosloc.core.records import Progress, Snapshot, StringTable, first_path_by_blob, ignore_progress
from tosloc.git.history import list_parents_first, read_commits
from tosloc.git.repository import Change, Repository, suffix_matcher
from tosloc.paths.classify import which_are_tests
from tosloc.retrieval.context import VersionIndex
from tosloc.retrieval.corpus import Corpus
from tosloc.retrieval.documents import Documents
from tosloc.retrieval.history_index import (
    COMMITS,
    HISTORY_VERSION,
    HistoryIndex,
    commit_payloads,
    index_commits,
)
from tosloc.retrieval.paths import PathTable
from tosloc.storage.cache import default_store, note_use
from tosloc.storage.facts import FunctionReader, analysers_by_blob, read_facts
from tosloc.storage.prepared import PreparedVersion
from tosloc.storage.store import FactStore

if TYPE_CHECKING:
    from tosloc.core.config import Config
    from tosloc.storage.build import BuildReport

KEPT_FILES: Final = 40
"""Files of versions that are kept beside the facts, those used last: one for the sources of a
version and one for its other files, so 20 versions, shared by all work trees of the repository."""
KEPT_BYTES: Final = 4 * 10**9
"""Bytes of these files, at most."""
ALWAYS_KEPT: Final = 6
"""Files that are kept whatever their size."""
PREPARED_VERSION: Final = 8  # of the arrays below: raise it with whatever changes them
MAX_OTHER_BYTES: Final = (
    200_000  # bytes of a file that is no source and whose words are searched: larger ones are data
)


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
        self.lizard = lizard  # whether complexity is lizard's number, and not 0

    @classmethod
    def configured(cls, repo: Repository, config: Config | None = None) -> Self:
        """Return a repository with the source files of a configuration; None: the defaults.

        Raises MissingExtra if the configuration needs lizard, which is not installed.
        """
        if config is None:
            return cls(repo)
        if config.stage_one.lizard:
            require("[stage_one] method = 'paper'", "lab", "lizard")
        suffixes = config.data.named_suffixes
        return cls(repo, None, suffixes, config.run.jobs, lizard=config.stage_one.lizard)

    @cached_property
    def store(self) -> FactStore:
        """The facts, opened (and made, if absent) when first asked for: wrong input leaves nothing behind."""
        note_use(self.repo, self.store_path)
        return FactStore(self.store_path)

    @cached_property
    def functions(self) -> FunctionReader:
        """Functions of the repository's files."""
        return FunctionReader(self.repo, self.store)

    @property
    def vectors_path(self) -> Path:
        """Where the vectors of a project's files lie: beside their facts."""
        return self.store_path.with_name(f"{self.store_path.stem}.vectors.sqlite")

    def close(self) -> None:
        """Close the store, which is opened again when it is asked; the repository belongs to the caller."""
        vars(self).pop("functions", None)
        if "store" in vars(self):
            self.store.close()
            del self.store

    def snapshot(self, revision: str) -> Snapshot:
        """The version that ``revision`` names. Raises UnknownCommit."""
        return self.repo.snapshot(revision, self.suffixes)

    def source_snapshot(self, revision: str) -> Snapshot:
        """Return the version that ``revision`` names.

        Raises UnknownCommit, and ToslocError when it contains no source file.
        """
        snapshot = self.snapshot(revision)
        if not len(snapshot):
            raise ToslocError(
                f"{self.repo.path}: version {snapshot.commit[:12]} contains no source file ({self._shown_suffixes})",
                hint="name another with {commit}, or other suffixes in the configuration",
            )
        return snapshot

    @property
    def _shown_suffixes(self) -> str:
        return ", ".join(sorted(self.suffixes)[:6]) + (" ..." if len(self.suffixes) > 6 else "")

    def uncommitted(self, commit: str) -> frozenset[Change]:
        """What the work tree has otherwise than a commit, of the files whose words are searched."""
        return self.repo.uncommitted(commit, self.suffixes | OTHER_SUFFIXES)

    def build_facts(
        self, snapshots: Sequence[Snapshot], progress: Progress = ignore_progress
    ) -> BuildReport:
        """Make the facts that the versions' files lack."""
        return self._index(first_path_by_blob(snapshots), progress)

    def _index(self, blobs: Mapping[str, str], progress: Progress) -> BuildReport:
        from tosloc.storage.build import build  # here: parsers and workers are not loaded in vain

        return build(self.repo, self.store, blobs, self.jobs, progress, lizard=self.lizard)

    def load_facts(self, blobs: Mapping[str, str], progress: Progress = ignore_progress) -> Corpus:
        """Facts of blobs (id -> path), in their order; those that are missing are made."""
        if self.store.find_missing(analysers_by_blob(blobs, lizard=self.lizard)):
            self._index(blobs, progress)
        return read_facts(self.store, blobs, lizard=self.lizard)

    # ---- versions ready for queries

    def prepare(
        self, revision: str, progress: Progress = ignore_progress, changes: Collection[Change] = ()
    ) -> PreparedVersion:
        """Return the version that ``revision`` names, ready for queries, with fixes by commit messages.

        ``changes`` that are not committed are applied. The version itself is kept beside the facts
        for the next time; what is missing is made from the facts of its files and commits. Raises
        UnknownCommit, and ToslocError when no source file is left.
        """
        commit = revision if revision == self.repo.no_commit else self.repo.resolve(revision)
        is_source = suffix_matcher(self.suffixes)
        changes = sorted(change for change in changes if is_source(_bytes(change.path)))
        if commit == self.repo.no_commit and not changes:
            raise self._nothing_on_disk()

        def make() -> PreparedVersion:
            listed = self._files(commit, self.suffixes) if changes else self.source_snapshot(commit)
            missing = self.build_facts([listed], progress).missing
            files = dict(zip(listed.paths, listed.blobs, strict=True))
            snapshot = Snapshot.of(
                commit, listed.committed_at, files
            )  # with numbers that no other version shares
            unborn = commit == self.repo.no_commit
            order = [] if unborn else list_parents_first(self.repo, [commit])
            submodules = () if unborn else self.repo.submodules(commit)
            history = self._history_of(order, snapshot.path_names, progress)
            table = PathTable.of(snapshot.path_names.names)
            index = VersionIndex(self.load_facts(first_path_by_blob([listed])), snapshot, table)
            return PreparedVersion(index, history, order, missing, submodules)

        # a clone that was cut off has another history once it is made whole
        made = self._kept(commit, (sorted(self.suffixes), sorted(self.repo.shallow)), make)
        if not changes and len(made.snapshot):
            return made
        new = {blob: path for path, blob in changes if blob}
        version = made.with_changes(changes, self.load_facts(new, progress))
        if not len(version.snapshot):
            raise self._nothing_on_disk()
        return version

    def _files(self, commit: str, suffixes: Iterable[str]) -> Snapshot:
        """Return the files of a commit; a branch without commits has none."""
        if commit == self.repo.no_commit:
            return Snapshot.of(commit, 0, {})
        return self.repo.snapshot(commit, suffixes)

    def _nothing_on_disk(self) -> ToslocError:
        return ToslocError(
            f"{self.repo.path}: no source file ({self._shown_suffixes}) is on disk, and folders behind links are not"
            " searched; name a commit, or the repository of the linked folder"
        )

    def prepare_other_files(
        self, commit: str, progress: Progress = ignore_progress, changes: Collection[Change] = ()
    ) -> PreparedVersion:
        """All files of a version that are no sources, without a history; templates, styles and configuration with their
        words, unless they are tests, or large. Raises UnknownCommit.
        """
        is_source, is_other = suffix_matcher(self.suffixes), suffix_matcher(OTHER_SUFFIXES)

        def facts(files: Iterable[tuple[str, str | None]]) -> Corpus:
            """Of those whose words are searched."""
            named = {path: blob for path, blob in files if blob and is_other(_bytes(path))}
            tests = which_are_tests(list(named)).tolist()
            found = {
                blob: path
                for (path, blob), test in zip(named.items(), tests, strict=True)
                if not test
            }
            sizes = self.repo.sizes(found)
            return self.load_facts(
                {blob: path for blob, path in found.items() if sizes[blob] <= MAX_OTHER_BYTES},
                progress,
            )

        def make() -> PreparedVersion:
            everything = self._files(commit, [""])
            pairs = zip(everything.paths, everything.blobs, strict=True)
            files = {path: blob for path, blob in pairs if not is_source(_bytes(path))}
            snapshot, none = (
                Snapshot.of(commit, everything.committed_at, files),
                Documents.collect([]),
            )
            table = PathTable.of(snapshot.path_names.names)
            return PreparedVersion(
                VersionIndex(facts(files.items()), snapshot, table), HistoryIndex(none, none)
            )

        made = self._kept(
            commit, ("other files", sorted(self.suffixes), sorted(OTHER_SUFFIXES)), make
        )
        others = [change for change in changes if not is_source(_bytes(change.path))]
        return made.with_changes(others, facts(others)) if others else made

    def _kept(
        self, commit: str, what: object, make: Callable[[], PreparedVersion]
    ) -> PreparedVersion:
        """What is kept of a commit, else what is made now, and kept."""
        languages = sorted(
            {
                with_grammar_release(language_name(suffix), analyser_version(self.lizard))
                for suffix in self.suffixes
            }
        )
        made_with = f"{PREPARED_VERSION}+{HISTORY_VERSION}+PyStemmer{metadata.version('PyStemmer')}"
        name = f"{content_key(made_with, languages, what)[:16]}-{commit}.safetensors"
        path = self.store_path.with_name(f"{self.store_path.stem}.versions") / name
        with suppress(
            CheckpointError, LookupError, ValueError
        ):  # of a file that is missing, or damaged inside
            kept = PreparedVersion.from_arrays(read_mapped(path))
            with suppress(OSError):
                os.utime(path)
            return kept
        made = make()
        if not made.missing:
            with suppress(
                OSError
            ):  # a full disk or a folder that cannot be written costs time, not the answer
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                remove(path)  # what could not be read, which may be a pipe that nobody reads
                write_mapped(path, made.to_arrays())
                _remove_least_used(path.parent)
            note_use(self.repo, self.store_path)
        return made

    def _history_of(
        self, order: Sequence[str], paths: StringTable, progress: Progress
    ) -> HistoryIndex:
        """Documents of all commits, by their number in ``order``; what the store lacks is asked of git, and kept."""
        analyser_version = f"{COMMITS}{HISTORY_VERSION}+{metadata.version('PyStemmer')}+{content_key(sorted(self.suffixes))[:12]}"
        wanted, cut = dict.fromkeys(order, analyser_version), self.repo.shallow
        new = read_commits(self.repo, self.store.find_missing(wanted), self.suffixes, progress)
        # what those touched at which a clone was cut off is not known until it is whole
        made = zip(new.ids, commit_payloads(new), strict=True)
        self.store.write(
            (commit, analyser_version, payload) for commit, payload in made if commit not in cut
        )
        return index_commits(order, self.store.read(wanted), paths)


def _remove_least_used(folder: Path) -> None:
    """Remove the files of versions that were used least, until KEPT_FILES and KEPT_BYTES hold."""
    by_use = sorted(
        ((path, path.stat()) for path in folder.glob("*.safetensors")),
        key=lambda entry: -entry[1].st_mtime_ns,
    )
    total = 0
    for number, (path, status) in enumerate(by_use):
        total += status.st_size
        if number >= KEPT_FILES or (number >= ALWAYS_KEPT and total > KEPT_BYTES):
            path.unlink(missing_ok=True)


def _bytes(path: str) -> bytes:
    """Return a path as git has it, which is UTF-8 in every locale."""
    return path.encode("utf-8", "surrogateescape")
