"""One version made ready for queries with the history of its files: made from facts and commits, kept as arrays.

Files are numbered by the version: its own in path order, then those that are gone, sorted. Nothing that a ranking is
made of depends on whether it was made or read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from tosloc.arrays import Arrays, pack_words, prefixed, under, unpack_words
from tosloc.code.languages import has_grammar, language_of
from tosloc.errors import counted
from tosloc.index.context import VersionIndex
from tosloc.index.corpus import Corpus, TableSource, VersionView
from tosloc.index.documents import Documents
from tosloc.index.history_index import HistoryIndex
from tosloc.index.path_view import PathView
from tosloc.index.paths import PathTable
from tosloc.index.postings import numbered
from tosloc.records import Names, Snapshot

PREPARED_VERSION: Final = 5
"""Of the arrays below: raise it with whatever changes them."""


@dataclass(frozen=True, eq=False)
class PreparedVersion:
    """A version and its history, ready for queries; only computed parts are added later."""

    snapshot: Snapshot
    index: VersionIndex
    history: HistoryIndex
    commit_ids: Sequence[str]
    """Ids of all commits that the version contains, by their number in the history."""
    notes: tuple[str, ...] = ()
    """What a reader should know of files that no parser has read."""
    missing: int = 0
    """Blobs that could not be read: their files have no words but those of their paths."""

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
        return cls(own, index, HistoryIndex(commits, reports), commit_ids, _notes(own, corpus, missing), missing)

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

    def to_arrays(self) -> tuple[dict[str, str], Arrays]:
        """A record and plain arrays, for ``from_arrays``."""
        snapshot, text = self.snapshot, self.index.text
        record = {"commit": snapshot.commit, "committed_at": str(snapshot.committed_at), "notes": "\n".join(self.notes)}
        arrays: Arrays = {
            "rows": text.rows,
            "frequency": text.frequency,
            "commit_ids": pack_words(self.commit_ids),
            **prefixed("text", text.corpus.to_arrays()),
            **prefixed("paths", self.index.paths.table.to_arrays()),
            **prefixed("commits", self.history.commits.to_arrays()),
            **prefixed("reports", self.history.reports.to_arrays()),
        }
        return record, arrays

    @classmethod
    def from_arrays(cls, record: Mapping[str, str], arrays: Mapping[str, Any], table: TableSource) -> PreparedVersion:
        """A version from its ``record`` and ``to_arrays``; ``table`` gives its facts by blob, should they be wanted."""
        corpus = Corpus.from_arrays(under("text", arrays), table)
        paths = PathTable.from_arrays(under("paths", arrays))
        rows = arrays["rows"]
        path_names, blob_names = Names(list(paths.paths), numbered(paths.paths)), Names(list(corpus.blobs))
        commit, committed_at = record["commit"], int(record["committed_at"])
        snapshot = Snapshot(commit, committed_at, path_names, blob_names, np.arange(len(rows), dtype=np.int32), rows)
        commits, reports = (Documents.from_arrays(under(name, arrays)) for name in ("commits", "reports"))
        notes = tuple(filter(None, record["notes"].split("\n")))
        view = VersionView(corpus, snapshot, (rows, arrays["frequency"]))
        index = VersionIndex(view, PathView(paths, snapshot.path_ids))
        return cls(snapshot, index, HistoryIndex(commits, reports), unpack_words(arrays["commit_ids"]), notes)


def _notes(snapshot: Snapshot, corpus: Corpus, missing: int) -> tuple[str, ...]:
    table, rows = corpus.table, corpus.row_of_blob
    lexed = {blob for blob, parsed in zip(table.blobs, table.parsed.tolist(), strict=True) if not parsed}
    unread = by_words = 0
    for path, blob in zip(snapshot.paths, snapshot.blobs, strict=True):
        if blob in lexed:
            if not table.lines[rows[blob]]:
                unread += 1
            elif has_grammar(language_of(f".{path.rpartition('.')[2]}")):
                by_words += 1
    said = {
        "larger than 10 MB, ranked by path alone": unread - missing,
        "too large, too deep or too broken for a parser, read word by word": by_words,
    }
    return tuple(f"{counted(number, 'file')} {how}" for how, number in said.items() if number > 0)
