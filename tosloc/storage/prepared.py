"""A version ready for queries, and its arrays.

A version numbers paths itself: its own files in path order, then the paths of its history that are
gone, sorted. Rankings do not depend on whether a version was built or read from arrays.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np

from tosloc.code.languages import FIELDS, has_grammar, language_name
from tosloc.core.answers import RoutineNote
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
from tosloc.core.reports import VALID_TIMES
from tosloc.core.versions import Snapshot, StringTable
from tosloc.git.history import NO_LIMITS, HistoryLimits
from tosloc.git.process import MAX_LONG_MESSAGES_BYTES
from tosloc.git.repository import MAX_CHANGES_OF_LARGE_COMMITS, Change
from tosloc.reports.text import NO_SHARED_LINES, SharedLines, check_shared_lines
from tosloc.retrieval.history import HistoryIndex, Releases, Renames, check_releases, check_renames
from tosloc.retrieval.paths import PathTable
from tosloc.retrieval.texts import Corpus, Documents, check_documents, positions_by_name
from tosloc.retrieval.version_index import VersionIndex

MAX_NAMES: Final = 5
"""Most paths that a note names; more are counted."""
_MAX_CHUNKS: Final = 1 << 24
"""Most chunks of an untrusted version."""


class KnownReports(NamedTuple):
    """What training knew of a project's labelled reports, as checkpoints store it."""

    documents: Documents
    """Reports with a known fix."""
    paths: Sequence[str]
    """The paths that the documents' file numbers mean."""
    shared_lines: SharedLines = NO_SHARED_LINES
    """Lines that many of the reports share, whether or not their fixes are known."""


@dataclass(frozen=True, eq=False)
class StoredVersion:
    """A version and its history, ready for queries; only computed parts are added later.

    Paths that are gone stay in the history, after the version's own: their documents count through
    the words of their names, like in training.
    """

    index: VersionIndex
    history: HistoryIndex
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

    @property
    def snapshot(self) -> Snapshot:
        """The version's files."""
        return self.index.text.snapshot

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

    def with_changes(self, changes: Collection[Change], facts: Corpus) -> StoredVersion:
        """Return the version with changed, new and removed files.

        ``facts`` are those of the new contents.
        """
        snapshot = self.snapshot
        table = self.index.paths.table
        blobs: dict[str, str | None] = dict(zip(snapshot.paths, snapshot.blobs, strict=True))
        blobs.update(changes)
        files = {path: blob for path, blob in blobs.items() if blob is not None}
        changed = Snapshot.of(snapshot.commit, snapshot.committed_at, files, table.paths)
        if len(changed.path_names) > len(table):
            table = PathTable.of(changed.path_names.names)
        corpus = self.index.text.corpus.concatenate(facts)
        return replace(self, index=VersionIndex(corpus, changed, table))

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes about files that were not searched, or that no parser has read."""
        corpus = self.index.text.corpus
        rows = self.index.text.rows
        unread = 0
        lexed = 0
        for file in np.flatnonzero(~corpus.parsed[rows]).tolist():
            if not corpus.lines[rows[file]]:
                unread += 1
            elif has_grammar(language_name(self.snapshot.path(file))):
                lexed += 1
        notes = list(self._notes_about_missing_parts())
        too_large = unread - self.missing
        if too_large > 0:
            notes.append(RoutineNote(_describe_large_files(too_large)))
        if lexed > 0:
            notes.append(RoutineNote(_describe_unparsed_files(lexed)))
        return tuple(notes)

    def _notes_about_missing_parts(self) -> Iterator[str]:
        """Yield notes about what an answer cannot contain."""
        if set(self.snapshot.commit) == {"0"}:
            begin = "nothing is committed yet"
            yield f"{begin}: the files on disk are searched, and there is no history"
        number = len(self.submodules)
        if number:
            verb = "is" if number == 1 else "are"
            names = join_names(self.submodules)
            yield f"{pluralize(number, 'submodule')} {verb} not searched: {names}"
        if self.limits.unlisted:
            commits = pluralize(self.limits.unlisted, "large commit")
            yield (
                f"the files that {commits} changed are not used, because the large commits of this"
                f" history change more than {MAX_CHANGES_OF_LARGE_COMMITS:,} files together"
            )
        if self.limits.shortened:
            commits = pluralize(self.limits.shortened, "commit message")
            megabytes = MAX_LONG_MESSAGES_BYTES // 2**20
            yield (
                f"only the beginning of {commits} is used, because the long messages of this"
                f" history have more than {megabytes} MiB together"
            )

    def to_arrays(self) -> Arrays:
        """Return plain arrays, for ``from_arrays``."""
        snapshot = self.snapshot
        return to_arrays(
            {
                "commit": [snapshot.commit],
                "committed_at": np.array([snapshot.committed_at], dtype=np.int64),
                "commit_ids": self.commit_ids,
                "submodules": self.submodules,
                "template": self.template,
                "limits": np.array(self.limits, dtype=np.int64),
                "blob_names": snapshot.blob_names.names,
                "rows": snapshot.blob_ids,
                "text": self.index.text.corpus,
                "paths": self.index.paths.table,
                "commits": self.history.commits,
                "reports": self.history.reports,
                "renames": self.history.renames,
                "merges": self.history.merges,
                "large": self.history.large,
                "releases": self.history.releases,
                "shared_lines": self.history.shared_lines,
            }
        )

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> StoredVersion:
        """Return the version of ``to_arrays``; numbers are not checked."""
        [commit] = unpack_words(arrays["commit"])
        [committed_at] = arrays["committed_at"].tolist()
        # A checkpoint of an older version of TosLoc has neither classes of files nor literals.
        absent: Arrays = {
            "text.file_class": np.zeros(len(arrays["text.parsed"]), dtype=np.uint8),
            "text.literal_pairs": np.zeros(0, dtype=np.uint64),
            "text.literal_rows": np.zeros(0, dtype=np.int32),
        }
        corpus = from_arrays(Corpus, absent | dict(arrays), "text")
        table = from_arrays(PathTable, arrays, "paths")
        path_names = StringTable(list(table.paths), positions_by_name(table.paths))
        # In a checkpoint of an older version of TosLoc, the numbers are rows of the corpus; a file
        # without facts has row -1, and so the last name.
        blobs = [*corpus.blobs, ""]
        if "blob_names" in arrays:
            blobs = unpack_words(arrays["blob_names"])
        blob_names = StringTable(blobs, positions_by_name(blobs))
        blob_ids = arrays["rows"]
        path_ids = np.arange(len(blob_ids), dtype=np.int32)
        snapshot = Snapshot(commit, committed_at, path_names, blob_names, path_ids, blob_ids)
        commits = from_arrays(Documents, arrays, "commits")
        reports = from_arrays(Documents, arrays, "reports")
        history = HistoryIndex(commits, reports)
        # A checkpoint of an older version of TosLoc lacks renames, large commits, shared lines,
        # submodules, issue forms and limits.
        if "renames.commits" in arrays:
            renames = from_arrays(Renames, arrays, "renames")
            merges = from_arrays(Documents, arrays, "merges")
            releases = from_arrays(Releases, arrays, "releases")
            history = HistoryIndex(commits, reports, renames, merges, releases)
        if "large.times" in arrays:
            history = replace(history, large=from_arrays(Documents, arrays, "large"))
        if "shared_lines.times" in arrays:
            shared_lines = from_arrays(SharedLines, arrays, "shared_lines")
            history = replace(history, shared_lines=shared_lines)
        submodules = unpack_words(arrays["submodules"]) if "submodules" in arrays else ()
        template = unpack_words(arrays["template"]) if "template" in arrays else ()
        limits = NO_LIMITS
        if "limits" in arrays:
            limits = HistoryLimits(*arrays["limits"].tolist())
        return cls(
            VersionIndex(corpus, snapshot, table),
            history,
            unpack_words(arrays["commit_ids"]),
            submodules=submodules,
            template=template,
            limits=limits,
        )


def join_names(paths: Sequence[str]) -> str:
    """Return the first paths for a note, and how many more there are.

    >>> join_names(["a", "b"]), join_names("abcdefg")
    ('a, b', 'a, b, c, d, e and 2 more')
    """
    names = ", ".join(map(escape_unprintable, paths[:MAX_NAMES]))
    more = len(paths) - MAX_NAMES
    return f"{names} and {more:,} more" if more > 0 else names


def _describe_large_files(number: int) -> str:
    """Return a note about files that were not read because of their size."""
    if number == 1:
        return "1 file is larger than 10 MB and ranked only by its path"
    return f"{number:,} files are larger than 10 MB and ranked only by their paths"


def _describe_unparsed_files(number: int) -> str:
    """Return a note about files of a language with a grammar that no parser could read."""
    why = "too large, too deeply nested or too broken for a parser, and"
    if number == 1:
        return f"1 file is {why} is read word by word"
    return f"{number:,} files are {why} are read word by word"


def load_untrusted_version(arrays: Arrays) -> StoredVersion:
    """Return the version of arrays that anyone may have made.

    What depends on paths alone is computed again. Raises KeyError or ValueError if the arrays are
    no version.
    """
    blobs = len(set(unpack_words(arrays["text.blobs"])))
    terms = len(set(unpack_words(arrays["text.terms"])))
    paths = len(set(unpack_words(arrays["paths.paths"])))
    [commit] = unpack_words(arrays["commit"])
    # The commit is printed, and becomes a part of addresses.
    if not (commit.isascii() and commit.isalnum()):
        raise ValueError("the commit has no name that git gives")
    files = len(arrays["rows"])
    starts = validate_array(arrays, "text.chunk_starts", np.int64, blobs + 1)
    has_valid_chunks = starts[0] == 0 and (np.diff(starts) >= 1).all() and starts[-1] <= _MAX_CHUNKS
    if not 0 < files <= paths or not has_valid_chunks:
        raise ValueError("files of the version are counted wrongly")
    validate_array(
        arrays, "committed_at", np.int64, 1, least=VALID_TIMES.start, below=VALID_TIMES.stop
    )
    validate_array(arrays, "text.lengths", np.float64, blobs, len(FIELDS) + 1, below=np.inf)
    validate_array(arrays, "text.parsed", np.bool_, blobs)
    if "text.file_class" in arrays:
        validate_array(arrays, "text.file_class", np.uint8, blobs)
    if "text.literal_pairs" in arrays:
        keys = validate_array(arrays, "text.literal_pairs", np.uint64, None)
        if (keys[1:] < keys[:-1]).any():
            raise ValueError("the pairs of words in literals are in no order")
        validate_array(arrays, "text.literal_rows", np.int32, len(keys), below=blobs)
    validate_array(arrays, "text.complexity", np.int32, blobs)
    validate_array(arrays, "text.lines", np.int32, blobs)
    check_documents(arrays, "commits", paths)
    check_documents(arrays, "reports", paths)
    if "renames.commits" in arrays:
        check_renames(arrays, "renames", paths)
        check_documents(arrays, "merges", paths)
        check_releases(arrays, "releases")
    if "large.times" in arrays:
        check_documents(arrays, "large", paths)
    if "shared_lines.times" in arrays:
        check_shared_lines(arrays, "shared_lines")
    if "limits" in arrays:
        validate_array(arrays, "limits", np.int64, len(HistoryLimits._fields), below=np.inf)
    chunks = int(starts[-1])
    for name, rows, kind, width in (
        ("text.postings", blobs, np.uint16, (len(FIELDS),)),
        ("text.chunk_postings", chunks, np.uint8, ()),
    ):
        size = len(arrays[f"{name}.rows"])
        validate_starts(arrays, f"{name}.starts", terms, size)
        validate_array(arrays, f"{name}.rows", np.int32, size, below=rows)
        validate_array(arrays, f"{name}.values", kind, size, *width, below=np.inf)
    table = PathTable.of(unpack_words(arrays["paths.paths"]))
    return StoredVersion.from_arrays(arrays | to_arrays({"paths": table}))
