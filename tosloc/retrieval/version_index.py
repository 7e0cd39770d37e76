"""An indexed version: the texts, the paths and the history of its files."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from tosloc.core.versions import Snapshot
from tosloc.git.history import NO_LIMITS, HistoryLimits
from tosloc.git.repository import Change
from tosloc.paths.classify import ClassArray
from tosloc.reports.text import NO_SHARED_LINES, SharedLines
from tosloc.retrieval.history.history_index import NO_HISTORY, HistoryIndex
from tosloc.retrieval.paths.path_index import PathTable, VersionPaths
from tosloc.retrieval.texts.bm25 import RevisedVectors
from tosloc.retrieval.texts.corpus import Corpus, VersionTexts
from tosloc.retrieval.texts.documents import Documents
from tosloc.retrieval.texts.postings import positions_by_name


class KnownReports(NamedTuple):
    """What training knew of a project's labelled reports, as checkpoints store it."""

    documents: Documents
    """Reports with a known fix."""
    paths: Sequence[str]
    """The paths that the documents' file numbers mean."""
    shared_lines: SharedLines = NO_SHARED_LINES
    """Lines that many of the reports share, whether or not their fixes are known."""


@dataclass(frozen=True, eq=False)
class VersionIndex:
    """A version ready for queries: its files, their texts and paths, and its history.

    A version that the cache or a checkpoint stores numbers paths itself: its own files in path
    order, then the paths of its history that are gone, sorted. Documents of the history count
    through the words of these paths, too. Training shares one history among all versions, so that
    their indexes have none.
    """

    corpus: Corpus
    """The facts of the files, and maybe those of other versions' files."""
    snapshot: Snapshot
    """The files."""
    table: PathTable
    """The words of the paths that the snapshot and the history number."""
    history: HistoryIndex = NO_HISTORY
    """All commits and fixed reports of the version. Features may only read it as of a time."""
    commit_ids: Sequence[str] = ()
    """Ids of all commits that the version contains, by their number in the history."""
    missing: int = 0
    """Number of blobs that could not be read; their files have the words of their paths alone."""
    submodules: Sequence[str] = ()
    """Paths of the submodules, whose files are not in the version."""
    template: Sequence[str] = ()
    """Sorted keys of the lines of the version's issue forms, see ``template_keys``."""
    limits: HistoryLimits = NO_LIMITS
    """What was not read of the large commits of the history."""
    made_of: Sequence[str] = ()
    """Sorted endings of configuration and pages that are ranked like sources, because the version
    is made of them."""

    @cached_property
    def text(self) -> VersionTexts:
        """Postings and statistics of the texts of the files."""
        return VersionTexts(self.corpus, self.snapshot)

    @cached_property
    def paths(self) -> VersionPaths:
        """Words of the paths of the files."""
        return VersionPaths(self.table, self.snapshot.path_ids)

    def has_term(self, term: str) -> bool:
        """Return whether any file contains a term."""
        number = self.corpus.terms.get(term)
        return number is not None and bool(self.text.frequency[number])

    @cached_property
    def file_class(self) -> ClassArray:
        """(F,) the class of each file: what its text shows, else what its path says."""
        by_text = np.append(self.corpus.file_class, 0)[self.text.rows].astype(np.uint8)
        by_path = self.table.file_class[self.paths.path_ids]
        return np.where(by_text > 0, by_text, by_path)

    @cached_property
    def revised(self) -> RevisedVectors:
        """rVSM vectors of the version."""
        return RevisedVectors.of(self.text, self.table)

    def with_reports(self, known: KnownReports) -> HistoryIndex:
        """Return the history with labelled reports instead of its own.

        A report is known if the version contains its fix. Files that neither the version nor its
        history knows are left out. Without a report whose fix is known, commits go on standing in
        for reports.
        """
        history = replace(self.history, shared_lines=known.shared_lines)
        reports = known.documents
        if not len(reports):
            return history
        path_numbers = self.snapshot.path_names.ids
        commit_numbers = positions_by_name(self.commit_ids)
        new_paths = np.array([path_numbers.get(path, -1) for path in known.paths], dtype=np.int32)
        commits = [commit_numbers.get(commit, -1) for commit in reports.commit_ids]
        renumbered = reports.renumber_files(new_paths)
        own_reports = replace(renumbered, commits=np.array(commits, dtype=np.int64))
        return replace(history, reports=own_reports)

    def with_changes(self, changes: Collection[Change], facts: Corpus) -> VersionIndex:
        """Return the version with changed, new and removed files.

        ``facts`` are those of the new contents.
        """
        snapshot = self.snapshot
        table = self.table
        blobs: dict[str, str | None] = dict(zip(snapshot.paths, snapshot.blobs, strict=True))
        blobs.update(changes)
        files = {path: blob for path, blob in blobs.items() if blob is not None}
        changed = Snapshot.of(snapshot.commit, snapshot.committed_at, files, table.paths)
        if len(changed.path_names) > len(table):
            table = PathTable.of(changed.path_names.names)
        corpus = self.corpus.concatenate(facts)
        return replace(self, corpus=corpus, snapshot=changed, table=table)
