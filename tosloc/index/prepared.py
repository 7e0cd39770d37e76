"""A version made ready for queries, and its arrays.

A version numbers files itself: its own in path order, then those that are gone, sorted. Nothing that a ranking is made
of depends on whether it was made or read.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from tosloc.answer import Routine
from tosloc.arrays import Array, Arrays, checked, checked_starts, from_arrays, to_arrays, unpack_words
from tosloc.code.languages import FIELDS, has_grammar, language_of
from tosloc.errors import counted
from tosloc.git.repository import Change
from tosloc.index.context import VersionIndex
from tosloc.index.corpus import Corpus, VersionView
from tosloc.index.documents import Documents, check_documents
from tosloc.index.history_index import HistoryIndex
from tosloc.index.paths import PathTable, PathView
from tosloc.index.postings import numbered
from tosloc.records import TIMES, Names, Snapshot

_MOST_CHUNKS: Final = 1 << 24  # of a version that a stranger may have made


@dataclass(frozen=True, eq=False)
class PreparedVersion:
    """A version and its history, ready for queries; only computed parts are added later."""

    snapshot: Snapshot
    index: VersionIndex
    history: HistoryIndex
    commit_ids: Sequence[str] = ()  # ids of all commits that the version contains, by their number in the history
    missing: int = 0  # blobs that could not be read: their files have no words but those of their paths

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
        index = VersionIndex(VersionView(corpus, own), PathView(PathTable.of(names.names), own.path_ids))
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

    def with_changes(self, changes: Collection[Change], facts: Corpus) -> PreparedVersion:
        """The version with files changed, new or gone; ``facts`` are those of blobs that it lacks."""
        table, text, own = self.index.paths.table, self.index.text, self.snapshot
        files = dict(zip(own.paths, text.rows.tolist(), strict=True))
        row_of = {**text.corpus.row_of_blob, **numbered(facts.blobs, len(text.corpus))}
        for path, blob in changes:
            if blob is None:
                files.pop(path, None)
            else:
                files[path] = row_of.get(blob, -1)
        if new := sorted(files.keys() - own.path_names.ids.keys(), key=os.fsencode):
            table = PathTable.of([*table.paths, *new])
        corpus, paths = text.corpus.followed_by(facts), Names(list(table.paths), numbered(table.paths))
        ordered = sorted(files, key=os.fsencode)
        path_ids, rows = (
            np.array([number_of[path] for path in ordered], dtype=np.int32) for number_of in (paths.ids, files)
        )
        blobs = Names([*corpus.blobs, ""])  # of row -1, which has no words
        snapshot = Snapshot(own.commit, own.committed_at, paths, blobs, path_ids, rows)
        index = VersionIndex(VersionView(corpus, snapshot), PathView(table, path_ids))
        history = HistoryIndex(self.history.commits, self.history.reports)
        return PreparedVersion(snapshot, index, history, self.commit_ids, self.missing)

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

    def to_arrays(self) -> Arrays:
        """Plain arrays, for ``from_arrays``."""
        text = self.index.text
        return to_arrays(
            {
                "commit": [self.snapshot.commit],
                "committed_at": np.array([self.snapshot.committed_at], dtype=np.int64),
                "commit_ids": self.commit_ids,
                "rows": text.rows,
                "frequency": text.frequency,
                "text": text.corpus,
                "paths": self.index.paths.table,
                "commits": self.history.commits,
                "reports": self.history.reports,
            }
        )

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> PreparedVersion:
        """A version from ``to_arrays``; numbers are not looked at."""
        [commit], [committed_at] = unpack_words(arrays["commit"]), arrays["committed_at"].tolist()
        rows, corpus, table = (
            arrays["rows"],
            from_arrays(Corpus, arrays, "text"),
            from_arrays(PathTable, arrays, "paths"),
        )
        names, blobs = Names(list(table.paths), numbered(table.paths)), Names(list(corpus.blobs))
        snapshot = Snapshot(commit, committed_at, names, blobs, np.arange(len(rows), dtype=np.int32), rows)
        text = VersionView(corpus, snapshot, (rows, arrays["frequency"]))
        commits, reports = (from_arrays(Documents, arrays, name) for name in ("commits", "reports"))
        index, history = VersionIndex(text, PathView(table, snapshot.path_ids)), HistoryIndex(commits, reports)
        return cls(snapshot, index, history, unpack_words(arrays["commit_ids"]))


def check_version(arrays: Mapping[str, Array]) -> None:
    """Raise KeyError or ValueError unless arrays that anyone may have made are a version."""

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
    for name in "directory counterpart_group name_group language".split():
        checked(arrays, f"paths.{name}", np.int32, paths, below=paths)
    for name in "test compound_stem examples vendored setup".split():
        checked(arrays, f"paths.{name}", np.bool_, paths)
    for name in ("commits", "reports"):
        check_documents(arrays, name, paths)
    lists("text.postings", terms, blobs, np.uint16, len(FIELDS))
    lists("text.chunk_postings", terms, int(starts[-1]), np.uint8)
    lists("paths.postings", words, paths, np.float64, 2)
