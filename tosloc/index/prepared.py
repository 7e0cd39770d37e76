"""One version made ready for queries with the history of its files: made from facts and commits, kept as arrays.

Files are numbered by the version: its own in path order, then those that are gone, sorted. Nothing that a ranking is
made of depends on whether it was made or read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np

from tosloc.arrays import Arrays, prefixed, under
from tosloc.code.languages import has_grammar, language_of
from tosloc.errors import counted
from tosloc.index.context import VersionIndex
from tosloc.index.corpus import Corpus, TableSource, VersionView
from tosloc.index.documents import PLAIN_FIELDS, Documents, DocumentsView, Membership
from tosloc.index.history_index import HistoryIndex
from tosloc.index.names import PackedLists, PackedNames, Vocabulary, vocabulary_of
from tosloc.index.path_view import PathView
from tosloc.index.paths import PathTable
from tosloc.index.postings import Postings
from tosloc.records import Names, Snapshot

PREPARED_VERSION: Final = 4
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
        commits, reports = (
            documents.renumbered(numbers).with_files_in_order() for documents in (history.commits, history.reports)
        )
        view = VersionView(corpus, own, resident=True)
        index = VersionIndex(view, PathView(PathTable(names.names), own.path_ids, resident=True))
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
        return HistoryIndex(self.history.commits, adopted.with_files_in_order())

    def to_arrays(self) -> tuple[dict[str, str], Arrays]:
        """A record and plain arrays, for ``from_arrays``; all that a query needs is computed now."""
        snapshot, history, table = self.snapshot, self.history, self.index.paths.table
        record = {"commit": snapshot.commit, "committed_at": str(snapshot.committed_at), "notes": "\n".join(self.notes)}
        names = history.name_incidence(table)
        arrays: Arrays = {
            "rows": self.index.text.rows,
            "names.starts": names.starts,
            "names.members": names.members,
            **prefixed("text", self.index.text.corpus.to_arrays()),
            **prefixed("paths", table.to_arrays()),
            **PackedNames.of(self.commit_ids).to_arrays("history"),
        }
        for name, documents in (("commits", history.commits), ("reports", history.reports)):
            all_known = np.ones(len(documents), dtype=bool)
            arrays |= prefixed(name, _documents_to_arrays(documents, history.view(documents, all_known)))
        return record, arrays

    @classmethod
    def from_arrays(cls, record: Mapping[str, str], arrays: Mapping[str, Any], table: TableSource) -> PreparedVersion:
        """The version of ``to_arrays``; ``table`` gives its facts by blob, should they be wanted."""
        corpus = Corpus.from_arrays(under("text", arrays), table)
        paths = PathTable.from_arrays(under("paths", arrays))
        rows = arrays["rows"]
        path_names, blob_names = _KnownNames(paths.paths), _KnownNames(corpus.blobs)
        commit, committed_at = record["commit"], int(record["committed_at"])
        snapshot = Snapshot(commit, committed_at, path_names, blob_names, np.arange(len(rows), dtype=np.int32), rows)
        commits, reports = (_documents_from_arrays(under(name, arrays)) for name in ("commits", "reports"))
        history = HistoryIndex(commits[0], reports[0])
        history.remember(commits[1], reports[1])
        history.remember_names(paths, Membership(len(paths.term_ids), arrays["names.starts"], arrays["names.members"]))
        notes = tuple(filter(None, record["notes"].split("\n")))
        view = VersionView(corpus, snapshot, resident=True, known_rows=rows)
        index = VersionIndex(view, PathView(paths, snapshot.path_ids, resident=True))
        return cls(snapshot, index, history, PackedNames.read(arrays, "history"), notes)


class _KnownNames(Names):
    """Different names, numbered in their order, that stay packed; a table of numbers is made when it is asked for."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names  # type: ignore[assignment]  # no list: no other names are added

    @cached_property
    def ids(self) -> dict[str, int]:  # type: ignore[override]
        """Number of each name."""
        return dict(zip(self.names, range(len(self.names)), strict=True))


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


def _documents_to_arrays(documents: Documents, view: DocumentsView) -> Arrays:
    """Documents, and what is known when all of them are."""
    order, starts = documents.of_files
    return {
        **{name: getattr(documents, name) for name in PLAIN_FIELDS},
        **PackedNames.of(documents.ids).to_arrays("ids"),
        **PackedLists.of(documents.classes).joined.to_arrays("classes"),
        **vocabulary_of(documents.term_ids).to_arrays("vocabulary"),
        "postings.starts": documents.postings.starts,
        "postings.rows": documents.postings.rows,
        "posting_counts": documents.posting_counts,
        "by_file.order": order,
        "by_file.starts": starts,
        "frequency": view.frequency,
        "norms": view.norms,
    }


def _documents_from_arrays(arrays: Mapping[str, Any]) -> tuple[Documents, DocumentsView]:
    ids, numbers = PackedNames.read(arrays, "ids"), Vocabulary.read(arrays, "vocabulary")
    classes = PackedLists(PackedNames.read(arrays, "classes"))
    plain = {name: arrays[name] for name in PLAIN_FIELDS}
    documents = Documents(ids=ids, commit_ids=ids, vocabulary=numbers.names, classes=classes, **plain)
    lists = Postings(arrays["postings.starts"], arrays["postings.rows"])
    by_file = arrays["by_file.order"], arrays["by_file.starts"]
    documents.remember(numbers, lists, arrays["posting_counts"], by_file)
    return documents, DocumentsView.of_all(documents, arrays["frequency"], arrays["norms"])
