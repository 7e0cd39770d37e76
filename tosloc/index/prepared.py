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
from tosloc.records import IntArray, LongArray, Names, Snapshot

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
        compact = _compact(snapshot)
        touched = np.unique(np.concatenate((history.commits.files, history.reports.files)))
        own = compact.path_names.ids
        gone = [path for path in (paths[number] for number in touched.tolist()) if path not in own]
        for path in sorted(gone, key=_bytes):
            compact.path_names.id(path)
        numbers = np.full(len(paths), -1, dtype=np.int32)
        numbers[touched] = [own[paths[number]] for number in touched.tolist()]
        commits, reports = (documents.renumbered(numbers) for documents in (history.commits, history.reports))
        return cls._assembled(
            compact,
            corpus,
            PathTable(compact.path_names.names),
            HistoryIndex(commits, reports),
            commit_ids,
            notes=_notes(compact, corpus, missing),
            missing=missing,
        )

    @classmethod
    def _assembled(
        cls,
        snapshot: Snapshot,
        corpus: Corpus,
        table: PathTable,
        history: HistoryIndex,
        commit_ids: Sequence[str],
        known: tuple[IntArray, LongArray] | None = None,
        notes: tuple[str, ...] = (),
        missing: int = 0,
    ) -> PreparedVersion:
        index = VersionIndex(VersionView(corpus, snapshot, known), PathView(table, snapshot.path_ids))
        return cls(snapshot, index, history, commit_ids, notes, missing)

    @property
    def paths(self) -> Sequence[str]:
        """What numbers of files mean."""
        return self.index.paths.table.paths

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

    # ---- as arrays

    @property
    def record(self) -> dict[str, str]:
        """What is kept beside the arrays."""
        snapshot = self.snapshot
        notes = "\n".join(self.notes)
        return {"commit": snapshot.commit, "committed_at": str(snapshot.committed_at), "notes": notes}

    def to_arrays(self) -> Arrays:
        """Plain arrays, for ``from_arrays``."""
        text = self.index.text
        return {
            "rows": text.rows,
            "frequency": text.frequency,
            "commit_ids": pack_words(self.commit_ids),
            **prefixed("text", text.corpus.to_arrays()),
            **prefixed("paths", self.index.paths.table.to_arrays()),
            **prefixed("commits", self.history.commits.to_arrays()),
            **prefixed("reports", self.history.reports.to_arrays()),
        }

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
        commit_ids, known = unpack_words(arrays["commit_ids"]), (rows, arrays["frequency"])
        return cls._assembled(snapshot, corpus, paths, HistoryIndex(commits, reports), commit_ids, known, notes)


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


def _compact(snapshot: Snapshot) -> Snapshot:
    """The version with numbers of its own, that no other version shares."""
    return Snapshot.of(snapshot.commit, snapshot.committed_at, dict(zip(snapshot.paths, snapshot.blobs, strict=True)))


def _bytes(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")
