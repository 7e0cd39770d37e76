"""A version made ready for queries, and its arrays.

A version numbers files itself: its own in path order, then those that are gone, sorted. Nothing that a ranking is made
of depends on whether it was made or read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from tosloc.code.languages import FIELDS, has_grammar, language_name
from tosloc.core.arrays import (
    Arrays,
    from_arrays,
    to_arrays,
    unpack_words,
    validate_array,
    validate_starts,
)
from tosloc.core.errors import pluralize
from tosloc.core.io import escape_unprintable
from tosloc.core.records import VALID_TIMES, RoutineNote, Snapshot, StringTable
from tosloc.git.repository import Change
from tosloc.retrieval.context import VersionIndex
from tosloc.retrieval.corpus import Corpus
from tosloc.retrieval.documents import Documents, check_documents
from tosloc.retrieval.history_index import HistoryIndex
from tosloc.retrieval.paths import PathTable
from tosloc.retrieval.postings import positions_by_name

MOST_NAMED_SUBMODULES: Final = 5  # more are counted
_MOST_CHUNKS: Final = 1 << 24  # of a version that a stranger may have made


@dataclass(frozen=True, eq=False)
class PreparedVersion:
    """A version and its history, ready for queries; only computed parts are added later.

    Files that are gone stay in the history, after the version's own: what was said of them is heard through
    their names, here as in training.
    """

    index: VersionIndex
    history: HistoryIndex
    commit_ids: Sequence[
        str
    ] = ()  # ids of all commits that the version contains, by their number in the history
    missing: int = (
        0  # blobs that could not be read: their files have no words but those of their paths
    )
    submodules: Sequence[str] = ()  # their paths; none of their files is among those of the version

    @property
    def snapshot(self) -> Snapshot:
        """Its files."""
        return self.index.text.snapshot

    def with_reports(self, reports: Documents, paths: Sequence[str]) -> HistoryIndex:
        """The history with other fixed reports, of which it knows those whose fix it contains; ``paths`` are what their
        numbers mean. Files that neither the version nor its history knows are left out.
        """
        files, numbers = self.snapshot.path_names.ids, positions_by_name(self.commit_ids)
        own = reports.renumber_files(
            np.array([files.get(path, -1) for path in paths], dtype=np.int32)
        )
        commits = np.array(
            [numbers.get(commit, -1) for commit in reports.commit_ids], dtype=np.int64
        )
        return HistoryIndex(self.history.commits, replace(own, commits=commits))

    def with_changes(self, changes: Collection[Change], facts: Corpus) -> PreparedVersion:
        """The version with files changed, new or gone; ``facts`` are those of what they are now."""
        own, table = self.snapshot, self.index.paths.table
        changed = dict(zip(own.paths, own.blobs, strict=True)) | dict(changes)
        files = {path: blob for path, blob in changed.items() if blob is not None}
        snapshot = Snapshot.of(own.commit, own.committed_at, files, table.paths)
        if len(snapshot.path_names) > len(table):
            table = PathTable.of(snapshot.path_names.names)
        return replace(
            self, index=VersionIndex(self.index.text.corpus.concatenate(facts), snapshot, table)
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes about files that were not searched, or that no parser has read."""
        corpus, rows = self.index.text.corpus, self.index.text.rows
        unread = by_words = 0
        for file in np.flatnonzero(~corpus.parsed[rows]).tolist():
            if not corpus.lines[rows[file]]:
                unread += 1
            elif has_grammar(language_name(self.snapshot.path(file))):
                by_words += 1
        said = {
            "larger than 10 MB, ranked by path alone": unread - self.missing,
            "too large, too deep or too broken for a parser, read word by word": by_words,
        }
        notes = [
            RoutineNote(f"{pluralize(number, 'file')} {how}")
            for how, number in said.items()
            if number > 0
        ]
        return (*self._unsearched(), *notes)

    def _unsearched(self) -> Iterator[str]:
        """Yield notes about what an answer cannot contain."""
        if set(self.snapshot.commit) == {"0"}:
            yield "nothing is committed yet: the files on disk are searched, and there is no history"
        if number := len(self.submodules):
            names = ", ".join(map(escape_unprintable, self.submodules[:MOST_NAMED_SUBMODULES]))
            more = (
                f" and {number - MOST_NAMED_SUBMODULES} more"
                if number > MOST_NAMED_SUBMODULES
                else ""
            )
            are = "is" if number == 1 else "are"
            yield f"{pluralize(number, 'submodule')} {are} not searched: {names}{more}"

    def to_arrays(self) -> Arrays:
        """Plain arrays, for ``from_arrays``."""
        snapshot, index = self.snapshot, self.index
        return to_arrays(
            {
                "commit": [snapshot.commit],
                "committed_at": np.array([snapshot.committed_at], dtype=np.int64),
                "commit_ids": self.commit_ids,
                "submodules": self.submodules,
                "rows": index.text.rows,
                "text": index.text.corpus,
                "paths": index.paths.table,
                "commits": self.history.commits,
                "reports": self.history.reports,
            }
        )

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> PreparedVersion:
        """A version from ``to_arrays``; numbers are not looked at."""
        [commit], [committed_at] = unpack_words(arrays["commit"]), arrays["committed_at"].tolist()
        rows, corpus = arrays["rows"], from_arrays(Corpus, arrays, "text")
        table = from_arrays(PathTable, arrays, "paths")
        names = StringTable(list(table.paths), positions_by_name(table.paths))
        blobs = StringTable([*corpus.blobs, ""])  # "" of row -1
        snapshot = Snapshot(
            commit, committed_at, names, blobs, np.arange(len(rows), dtype=np.int32), rows
        )
        history = HistoryIndex(
            *(from_arrays(Documents, arrays, name) for name in ("commits", "reports"))
        )
        index, commit_ids = (
            VersionIndex(corpus, snapshot, table),
            unpack_words(arrays["commit_ids"]),
        )
        # A checkpoint of an older version of TosLoc does not name submodules.
        submodules = unpack_words(arrays["submodules"]) if "submodules" in arrays else ()
        return cls(index, history, commit_ids, submodules=submodules)


def load_untrusted_version(arrays: Arrays) -> PreparedVersion:
    """The version of arrays that anyone may have made; what can be made of paths alone is made again. Raises
    KeyError or ValueError for what is none.
    """
    blobs, terms, paths = (
        len(set(unpack_words(arrays[name]))) for name in ("text.blobs", "text.terms", "paths.paths")
    )
    [commit], files = unpack_words(arrays["commit"]), len(arrays["rows"])
    if not (commit.isascii() and commit.isalnum()):  # it is printed, and part of addresses
        raise ValueError("the commit has no name that git gives")
    starts = validate_array(arrays, "text.chunk_starts", np.int64, blobs + 1)
    if (
        not 0 < files <= paths
        or starts[0] != 0
        or (np.diff(starts) < 1).any()
        or starts[-1] > _MOST_CHUNKS
    ):
        raise ValueError("files of the version are counted wrongly")
    validate_array(
        arrays, "committed_at", np.int64, 1, least=VALID_TIMES.start, below=VALID_TIMES.stop
    )
    validate_array(arrays, "text.lengths", np.float64, blobs, len(FIELDS) + 1, below=np.inf)
    validate_array(arrays, "text.parsed", np.bool_, blobs)
    validate_array(arrays, "text.complexity", np.int32, blobs)
    validate_array(arrays, "text.lines", np.int32, blobs)
    for name in ("commits", "reports"):
        check_documents(arrays, name, paths)
    for name, rows, counts in (
        ("text.postings", blobs, (np.uint16, len(FIELDS))),
        ("text.chunk_postings", int(starts[-1]), (np.uint8,)),
    ):
        size = len(arrays[f"{name}.rows"])
        validate_starts(arrays, f"{name}.starts", terms, size)
        validate_array(arrays, f"{name}.rows", np.int32, size, below=rows)
        validate_array(arrays, f"{name}.values", counts[0], size, *counts[1:], below=np.inf)
    table = PathTable.of(unpack_words(arrays["paths.paths"]))
    return PreparedVersion.from_arrays(arrays | to_arrays({"paths": table}))
