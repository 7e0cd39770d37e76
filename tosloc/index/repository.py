"""A repository with the facts that were made of it, and its versions made ready for queries: made, or kept as arrays.

A version numbers files itself: its own in path order, then those that are gone, sorted. Nothing that a ranking is made
of depends on whether it was made or read.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tosloc.answer import Routine
from tosloc.arrays import checked, checked_starts, pack_words, prefixed, read_mapped, under, unpack_words, write_mapped
from tosloc.code.languages import FIELDS, SOURCE_SUFFIXES, analyser_of, has_grammar, language_of
from tosloc.errors import CheckpointError, StoreError, ToslocError, counted
from tosloc.git.history import History, commit_order, read_commits, read_history
from tosloc.git.repository import Repository
from tosloc.git.work_tree import Change, uncommitted
from tosloc.index.cache import default_store, keep_to_size, note_use
from tosloc.index.context import VersionIndex
from tosloc.index.corpus import Corpus, FactTable, VersionView, blobs_of, suffix_of
from tosloc.index.documents import Documents
from tosloc.index.facts import missing_facts, read_facts
from tosloc.index.history_index import COMMITS, HISTORY_VERSION, HistoryIndex, commit_payloads, history_of_commits
from tosloc.index.paths import MARKS_OF_PATHS, NUMBERS_OF_PATHS, PathTable, PathView
from tosloc.index.postings import numbered
from tosloc.index.store import FactStore
from tosloc.io import key_of
from tosloc.records import TIMES, Names, Progress, Snapshot, silent

if TYPE_CHECKING:
    from tosloc.index.build import BuildReport

KEPT_VERSIONS: Final = 3
"""Versions that are kept ready beside the facts: those used last."""
_MOST_CHUNKS: Final = 1 << 24
"""Of a version that a stranger may have made."""
PREPARED_VERSION: Final = 6
"""Of the arrays below: raise it with whatever changes them."""


@dataclass(frozen=True, eq=False)
class PreparedVersion:
    """A version and its history, ready for queries; only computed parts are added later."""

    snapshot: Snapshot
    index: VersionIndex
    history: HistoryIndex
    commit_ids: Sequence[str] = ()
    """Ids of all commits that the version contains, by their number in the history."""
    missing: int = 0
    """Blobs that could not be read: their files have no words but those of their paths."""
    uncommitted: int = 0
    """Files that are not as the commit has them: changed, new or gone."""

    @classmethod
    def of(
        cls,
        snapshot: Snapshot,
        corpus: Corpus,
        history: HistoryIndex,
        paths: Sequence[str],
        commit_ids: Sequence[str] = (),
        missing: int = 0,
    ) -> PreparedVersion:
        """A version made ready; ``paths`` are what the history's numbers mean.

        Files that are gone stay in the history, after the version's own: what was said of them is heard through their
        names, here as in training.
        """
        files = dict(zip(snapshot.paths, snapshot.blobs, strict=True))
        own = Snapshot.of(snapshot.commit, snapshot.committed_at, files)  # with numbers that no other version shares
        names = own.path_names
        touched = np.unique(np.concatenate((history.commits.files, history.reports.files)))
        gone = {paths[number] for number in touched.tolist()} - files.keys()
        for path in sorted(gone, key=lambda path: path.encode("utf-8", "surrogateescape")):
            names.id(path)
        numbers = np.full(len(paths), -1, dtype=np.int32)
        numbers[touched] = [names.ids[paths[number]] for number in touched.tolist()]
        commits, reports = (documents.renumbered(numbers) for documents in (history.commits, history.reports))
        index = VersionIndex(VersionView(corpus, own), PathView(PathTable(names.names), own.path_ids))
        return cls(own, index, HistoryIndex(commits, reports), commit_ids, missing)

    def with_reports(self, reports: Documents, paths: Sequence[str]) -> HistoryIndex:
        """The history with other fixed reports, those whose fix it contains; ``paths`` are what their numbers mean.

        Files that neither the version nor its history knows are left out.
        """
        numbers = {commit: number for number, commit in enumerate(self.commit_ids)}
        contained = [place for place, commit in enumerate(reports.commit_ids) if commit in numbers]
        kept = reports.take(np.array(contained, dtype=np.int64))
        own = self.snapshot.path_names.ids
        adopted = kept.renumbered(np.array([own.get(path, -1) for path in paths], dtype=np.int32))
        adopted.commits[:] = [numbers[commit] for commit in kept.commit_ids]
        return HistoryIndex(self.history.commits, adopted)

    def with_changes(self, changes: Collection[Change], facts: FactTable) -> PreparedVersion:
        """The version with files changed, new or gone; ``facts`` are those of blobs that it lacks."""
        table, text, own = self.index.paths.table, self.index.text, self.snapshot
        files = dict(zip(own.paths, text.rows.tolist(), strict=True))
        row_of = {**text.corpus.row_of_blob, **numbered(facts.blobs, len(text.corpus))}
        for path, blob in changes:
            if blob is None:
                files.pop(path, None)
            else:
                files[path] = row_of[blob]
        if new := sorted(files.keys() - own.path_names.ids.keys(), key=os.fsencode):
            table = PathTable([*table.paths, *new])
        corpus, paths = text.corpus.followed_by(facts), Names(list(table.paths), numbered(table.paths))
        ordered = sorted(files, key=os.fsencode)
        path_ids, rows = (
            np.array([number_of[path] for path in ordered], dtype=np.int32) for number_of in (paths.ids, files)
        )
        snapshot = Snapshot(own.commit, own.committed_at, paths, Names(list(corpus.blobs)), path_ids, rows)
        index = VersionIndex(VersionView(corpus, snapshot), PathView(table, path_ids))
        history = HistoryIndex(self.history.commits, self.history.reports)
        return PreparedVersion(snapshot, index, history, self.commit_ids, self.missing, len(changes))

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know of files that no parser has read."""
        corpus, rows = self.index.text.corpus, self.index.text.rows
        unread = by_words = 0
        for file in np.flatnonzero(~corpus.parsed[rows]).tolist():
            if not corpus.lines[rows[file]]:
                unread += 1
            elif has_grammar(language_of(f".{self.snapshot.path(file).rpartition('.')[2]}")):
                by_words += 1
        said = {
            "larger than 10 MB, ranked by path alone": unread - self.missing,
            "too large, too deep or too broken for a parser, read word by word": by_words,
        }
        return tuple(Routine(f"{counted(number, 'file')} {how}") for how, number in said.items() if number > 0)

    def to_arrays(self) -> dict[str, Any]:
        """Plain arrays, for ``from_arrays``."""
        text = self.index.text
        return {
            "commit": pack_words([self.snapshot.commit]),
            "committed_at": np.array([self.snapshot.committed_at], dtype=np.int64),
            "commit_ids": pack_words(self.commit_ids),
            "rows": text.rows,
            "frequency": text.frequency,
            **prefixed("text", text.corpus.to_arrays()),
            **prefixed("paths", self.index.paths.table.to_arrays()),
            **prefixed("commits", self.history.commits.to_arrays()),
            **prefixed("reports", self.history.reports.to_arrays()),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> PreparedVersion:
        """A version from ``to_arrays``."""
        [commit], [committed_at] = unpack_words(arrays["commit"]), arrays["committed_at"].tolist()
        rows, corpus = arrays["rows"], Corpus.from_arrays(under("text", arrays))
        table = PathTable.from_arrays(under("paths", arrays))
        names, blobs = Names(list(table.paths), numbered(table.paths)), Names(list(corpus.blobs))
        snapshot = Snapshot(commit, committed_at, names, blobs, np.arange(len(rows), dtype=np.int32), rows)
        index = VersionIndex(
            VersionView(corpus, snapshot, (rows, arrays["frequency"])), PathView(table, snapshot.path_ids)
        )
        commits, reports = (Documents.from_arrays(under(name, arrays), len(table)) for name in ("commits", "reports"))
        return cls(snapshot, index, HistoryIndex(commits, reports), unpack_words(arrays["commit_ids"]))


def check_version(arrays: Mapping[str, Any]) -> None:
    """Raise KeyError or ValueError unless arrays that anyone may have made are a version, as ``from_arrays`` takes it.

    Of those that are ours it would read every page; of the history ``from_arrays`` itself looks at every number.
    """

    def lists(name: str, groups: int, rows: int, dtype: type, *shape: int) -> None:
        size = len(arrays[f"{name}.rows"])
        checked_starts(arrays, f"{name}.starts", groups, size)
        checked(arrays, f"{name}.rows", np.int32, size, below=rows)
        checked(arrays, f"{name}.values", dtype, size, *shape, below=np.inf)

    names = ("text.blobs", "text.terms", "paths.paths", "paths.term_ids")
    blobs, terms, paths, words = (len(set(unpack_words(arrays[name]))) for name in names)
    [commit], files = unpack_words(arrays["commit"]), len(arrays["rows"])
    checked(arrays, "committed_at", np.int64, 1, least=TIMES.start, below=TIMES.stop)
    starts = checked(arrays, "text.chunk_starts", np.int64, blobs + 1)
    if not (commit.isascii() and commit.isalnum()):  # it is printed, and part of addresses
        raise ValueError("the commit has no name that git gives")
    if not 0 < files <= paths or starts[0] != 0 or (np.diff(starts) < 1).any() or starts[-1] > _MOST_CHUNKS:
        raise ValueError("files of the version are counted wrongly")
    checked(arrays, "rows", np.int32, files, below=blobs)
    checked(arrays, "frequency", np.int64, terms, below=files + 1)
    checked(arrays, "text.lengths", np.float64, blobs, len(FIELDS) + 1, below=np.inf)
    checked(arrays, "text.parsed", np.bool_, blobs)
    checked(arrays, "text.complexity", np.int32, blobs)
    checked(arrays, "text.lines", np.int32, blobs)
    for name in NUMBERS_OF_PATHS:
        checked(arrays, f"paths.{name}", np.int32, paths, below=paths)
    for name in MARKS_OF_PATHS:
        checked(arrays, f"paths.{name}", np.bool_, paths)
    lists("text.postings", terms, blobs, np.uint16, len(FIELDS))
    lists("text.chunk_postings", terms, int(starts[-1]), np.uint8)
    lists("paths.postings", words, paths, np.float64, 2)


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
        """Whether complexity is lizard's number, and not 0."""

    @cached_property
    def store(self) -> FactStore:
        """The facts, opened (and made, if absent) when first asked for: wrong input leaves nothing behind."""
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

    def uncommitted(self, commit: str) -> frozenset[Change]:
        """What the work tree has otherwise than a commit."""
        return uncommitted(self.repo, commit, self.suffixes)

    def index(self, snapshots: Sequence[Snapshot], progress: Progress = silent) -> BuildReport:
        """Make the facts that the versions' files lack."""
        return self._index(blobs_of(snapshots, self.suffixes), progress)

    def _index(self, blobs: Mapping[str, str], progress: Progress) -> BuildReport:
        from tosloc.index.build import build  # here: parsers and workers are not loaded in vain

        options: dict[str, Any] = {"lizard": self.lizard, "on_disk": self.repo.on_disk}
        built = build(self.repo.path, self.store, blobs, self.jobs, progress, **options)
        if built.added:
            keep_to_size(self.repo, self.store_path)
        return built

    def corpus(self, snapshots: Sequence[Snapshot]) -> Corpus:
        """Inverted lists of the versions' files, whose facts must be known."""
        return Corpus(self.facts(blobs_of(snapshots, self.suffixes)))

    def facts(self, blobs: Mapping[str, str]) -> FactTable:
        """Facts of blobs (id -> suffix), in their order, by a connection of their own: whoever asks, and whenever."""
        with FactStore(self.store_path) as store:
            return read_facts(self.repo.path, store, blobs, lizard=self.lizard, on_disk=self.repo.on_disk)

    def history(self, tips: Sequence[str], progress: Progress = silent) -> History:
        """All commits that the tips contain."""
        return read_history(self.repo, tips, self.suffixes, progress)

    # ---- versions ready for queries

    def prepared(self, revision: str, progress: Progress = silent, changes: Collection[Change] = ()) -> PreparedVersion:
        """The version that ``revision`` names, ready for queries, fixes told by commit messages; with ``changes`` that
        are not committed.

        It is kept beside the facts for the next time. What is not there is made from the facts of its files and
        commits. Raises UnknownCommit, and ToslocError when it holds no source file.
        """
        made = self._committed(self.repo.resolve(revision), progress)
        if not changes:
            return made
        known = made.index.text.corpus.row_of_blob
        new = {blob: suffix_of(path, self.suffixes) for path, blob in sorted(changes) if blob and blob not in known}
        if missing_facts(self.store, new, lizard=self.lizard):
            self._index(new, progress)
        return made.with_changes(changes, self.facts(new))

    def _committed(self, commit: str, progress: Progress) -> PreparedVersion:
        languages = sorted({analyser_of(language_of(suffix), self.lizard) for suffix in self.suffixes})
        maker = f"{PREPARED_VERSION}+{HISTORY_VERSION}+PyStemmer{metadata.version('PyStemmer')}"
        # a clone that was cut off has another history once it is made whole
        key = key_of(maker, languages, sorted(self.suffixes), sorted(self.repo.shallow))[:16]
        path = self.store_path.with_name(f"{self.store_path.stem}.versions") / f"{key}-{commit}.safetensors"
        with suppress(CheckpointError, LookupError, ValueError):  # of a file that is missing, or damaged inside
            kept = PreparedVersion.from_arrays(read_mapped(path))
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
            with suppress(OSError):  # a full disk or a folder that cannot be written costs time, not the answer
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                write_mapped(path, made.to_arrays())
                by_use = sorted(path.parent.glob("*.safetensors"), key=lambda kept: -kept.stat().st_mtime_ns)
                for old in by_use[KEPT_VERSIONS:]:
                    old.unlink(missing_ok=True)
            keep_to_size(self.repo, self.store_path)
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
