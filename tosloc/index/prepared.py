"""One version made ready for queries with the history of its files: made from facts and commits, kept as arrays,
brought up to date from another version's.

Files are numbered by the version: its own in path order, then those that are gone, sorted. Nothing that a ranking is
made of depends on whether it was made, read or brought up to date.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np

from tosloc.analysis.grammars import has_grammar
from tosloc.analysis.languages import language_of
from tosloc.arrays import Array, Arrays, check_numbers, check_starts, checked, prefixed, under
from tosloc.errors import counted
from tosloc.index.context import VersionIndex
from tosloc.index.corpus import Corpus, TableSource, VersionView
from tosloc.index.documents import PLAIN_FIELDS, Documents, DocumentsView, Membership
from tosloc.index.history_index import HistoryIndex
from tosloc.index.names import NameNumbers, PackedLists, PackedNames
from tosloc.index.paths import PathTable, PathView
from tosloc.index.postings import Postings
from tosloc.mapped_arrays import Scratch, release_pages
from tosloc.records import IntArray, Names, Snapshot

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
        commits, reports = (
            documents.renumbered(numbers).with_files_in_order() for documents in (history.commits, history.reports)
        )
        return cls._assembled(
            compact,
            corpus,
            PathTable(compact.path_names.names),
            HistoryIndex(commits, reports),
            commit_ids,
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
        rows: IntArray | None = None,
        missing: int = 0,
    ) -> PreparedVersion:
        view = VersionView(corpus, snapshot, resident=True, known_rows=rows)
        index = VersionIndex(view, PathView(table, snapshot.path_ids, resident=True))
        return cls(snapshot, index, history, commit_ids, missing)

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
        return HistoryIndex(self.history.commits, adopted.with_files_in_order())

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know of files that no parser has read."""
        corpus, view, facts = self.index.text.corpus, self.index.text, self.index.paths.table.facts
        unread = ~corpus.parsed & (corpus.lines == 0)
        has_parser = np.array([has_grammar(language_of(suffix)) for suffix in facts.suffixes], dtype=np.bool_)
        by_words = view.to_files(~corpus.parsed & ~unread) * has_parser[facts.suffix[self.snapshot.path_ids]]
        said = {
            "larger than 10 MB, ranked by path alone": int(unread.sum()) - self.missing,
            "too large, too deep or too broken for a parser, read word by word": int(by_words.sum()),
        }
        return tuple(f"{counted(number, 'file')} {how}" for how, number in said.items() if number)

    # ---- brought up to date

    def updated(
        self,
        snapshot: Snapshot,
        new_facts: Corpus,
        table: TableSource,
        order: Sequence[str],
        new: HistoryIndex,
        paths: Sequence[str],
        new_ids: Sequence[str],
        scratch: Scratch | None = None,
    ) -> PreparedVersion:
        """Another version, of which ``new_facts`` has the blobs and ``new`` the documents that this one lacks.

        ``order`` are the ids of all commits that it contains, ``new_ids`` those that ``new`` was made from (its numbers
        of commits are places there), ``paths`` what its numbers of files mean; ``table`` gives facts by
        blob. Large arrays lie in ``scratch``.
        """
        compact = _compact(snapshot)
        corpus = self.index.text.corpus.with_blobs(compact.blob_names.names, new_facts, table, scratch)
        numbers = {commit: number for number, commit in enumerate(order)}
        kept = np.array([numbers.get(commit, -1) for commit in self.commit_ids], dtype=np.int64)
        added = np.array([numbers[commit] for commit in new_ids], dtype=np.int64)
        joined = []
        for mine, theirs in ((self.history.commits, new.commits), (self.history.reports, new.reports)):
            mine = mine.take(np.flatnonzero(kept[mine.commits] >= 0))
            joined.append((mine, theirs, np.concatenate((kept[mine.commits], added[theirs.commits]))))
        before = list(self.paths)
        names = [
            {before[number] for mine, _, _ in joined for number in np.unique(mine.files).tolist()},
            {paths[number] for _, theirs, _ in joined for number in np.unique(theirs.files).tolist()},
        ]
        own = compact.path_names.ids
        for path in sorted((path for path in names[0] | names[1] if path not in own), key=_bytes):
            compact.path_names.id(path)
        of_mine = np.array([own.get(path, -1) for path in before], dtype=np.int32)
        of_theirs = np.array([own.get(path, -1) for path in paths], dtype=np.int32)
        commits, reports = (
            mine.joined(
                theirs, place, np.concatenate((of_mine[mine.files], of_theirs[theirs.files]))
            ).with_files_in_order()
            for mine, theirs, place in joined
        )
        return self._assembled(
            compact,
            corpus,
            # most commits change no path: what was made of these very paths stands
            self.index.paths.table if before == compact.path_names.names else PathTable(compact.path_names.names),
            HistoryIndex(commits, reports),
            order,
        )

    # ---- as arrays

    def to_arrays(self) -> Arrays:
        """Plain arrays, for ``from_arrays``; all that a query needs is computed now."""
        history, table = self.history, self.index.paths.table
        names = history.name_incidence(table)
        ids = self.commit_ids if isinstance(self.commit_ids, PackedNames) else PackedNames.of(self.commit_ids)
        arrays: Arrays = {
            "rows": self.index.text.rows,
            "names.starts": names.starts,
            "names.members": names.members,
            **prefixed("text", self.index.text.corpus.to_arrays()),
            **prefixed("paths", table.to_arrays()),
            **ids.to_arrays("history"),
        }
        for name, documents in (("commits", history.commits), ("reports", history.reports)):
            all_known = np.ones(len(documents), dtype=bool)
            arrays |= prefixed(name, _documents_to_arrays(documents, history.view(documents, all_known)))
        return arrays

    @classmethod
    def from_arrays(
        cls, commit: str, committed_at: int, arrays: Mapping[str, Array], table: TableSource
    ) -> PreparedVersion:
        """A version from ``to_arrays``; ``table`` gives its facts by blob, should they be wanted.

        Raises KeyError or ValueError when the arrays are no version.
        """
        corpus = Corpus.from_arrays(under("text", arrays), table)
        paths = PathTable.from_arrays(under("paths", arrays))
        rows: Any = checked(arrays, "rows", np.int32, None)
        check_numbers(rows, len(corpus), "rows")
        F = len(rows)
        if F > len(paths):
            raise ValueError("files are counted wrongly")
        path_names, blob_names = _KnownNames(paths.paths), _KnownNames(corpus.blobs)
        snapshot = Snapshot(commit, committed_at, path_names, blob_names, np.arange(F, dtype=np.int32), rows)
        commits, reports = (_documents_from_arrays(under(name, arrays)) for name in ("commits", "reports"))
        history = HistoryIndex(commits[0], reports[0])
        history.remember(commits[1], reports[1])
        ids = PackedNames.read(arrays, "history")
        starts: Any = checked(arrays, "names.starts", np.int64, len(commits[0]) + 1)
        members: Any = checked(arrays, "names.members", np.int32, None)
        check_starts(starts, len(members), "names")
        check_numbers(members, len(paths.term_ids), "names")
        history.remember_names(paths, Membership(len(paths.term_ids), starts, members))
        for documents in (commits[0], reports[0]):
            check_numbers(documents.files, len(paths), "files")
            check_numbers(documents.commits, len(ids), "commits")
        release_pages(rows)  # all lists were looked at, a question wants few of them
        return cls._assembled(snapshot, corpus, paths, history, ids, rows)


class _KnownNames(Names):
    """Different names, numbered in their order, that stay packed; a table of numbers is made when it is asked for."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names  # type: ignore[assignment]  # no list: no other names are added

    @cached_property
    def ids(self) -> dict[str, int]:  # type: ignore[override]
        """Number of each name."""
        return dict(zip(self.names, range(len(self.names)), strict=True))


def _compact(snapshot: Snapshot) -> Snapshot:
    """The version with numbers of its own, that no other version shares."""
    return Snapshot.of(snapshot.commit, snapshot.committed_at, dict(zip(snapshot.paths, snapshot.blobs, strict=True)))


def _bytes(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")


def _documents_to_arrays(documents: Documents, view: DocumentsView) -> Arrays:
    """Documents, and what is known when all of them are."""
    order, starts = documents.of_files
    vocabulary, numbers = documents.vocabulary, documents.term_ids
    packed = vocabulary if isinstance(vocabulary, PackedNames) else PackedNames.of(vocabulary)
    numbers = numbers if isinstance(numbers, NameNumbers) else NameNumbers.of(vocabulary)
    ids = documents.ids if isinstance(documents.ids, PackedNames) else PackedNames.of(documents.ids)
    classes = documents.classes if isinstance(documents.classes, PackedLists) else PackedLists.of(documents.classes)
    return {
        **{name: getattr(documents, name) for name in PLAIN_FIELDS},
        **ids.to_arrays("ids"),
        **classes.to_arrays("classes"),
        **packed.to_arrays("vocabulary"),
        **numbers.to_arrays("numbers"),
        "postings.starts": documents.postings.starts,
        "postings.rows": documents.postings.rows,
        "posting_counts": documents.posting_counts,
        "by_file.order": order,
        "by_file.starts": starts,
        "frequency": view.frequency,
        "norms": view.norms,
    }


def _documents_from_arrays(arrays: Mapping[str, Array]) -> tuple[Documents, DocumentsView]:
    values: dict[str, Any] = {name: checked(arrays, name, dtype, None) for name, dtype in PLAIN_FIELDS.items()}
    ids, vocabulary = PackedNames.read(arrays, "ids"), PackedNames.read(arrays, "vocabulary")
    D, V = len(ids), len(vocabulary)
    classes = PackedLists.read(arrays, "classes", D)
    documents = Documents(ids=ids, commit_ids=ids, vocabulary=vocabulary, classes=classes, **values)
    documents.check()
    P, E = len(documents.terms), len(documents.files)
    found: dict[str, Any] = {
        name: checked(arrays, name, dtype, size)
        for name, (dtype, size) in {
            "postings.starts": (np.int64, V + 1),
            "postings.rows": (np.int32, P),
            "posting_counts": (np.float64, P),
            "by_file.order": (np.int64, E),
            "by_file.starts": (np.int64, None),
            "frequency": (np.int64, V),
            "norms": (np.float64, D),
        }.items()
    }
    check_starts(found["postings.starts"], P, "postings")
    check_starts(found["by_file.starts"], E, "files")
    check_numbers(found["postings.rows"], D, "postings")
    check_numbers(found["by_file.order"], E, "files")
    lists = Postings(found["postings.starts"], found["postings.rows"])
    numbers = NameNumbers.read(arrays, "numbers")
    check_numbers(numbers.numbers, V, "numbers")
    documents.remember(numbers, lists, found["posting_counts"], (found["by_file.order"], found["by_file.starts"]))
    return documents, DocumentsView.of_all(documents, found["frequency"], found["norms"])
