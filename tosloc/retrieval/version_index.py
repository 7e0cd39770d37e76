"""An indexed version: the texts, paths and history of its files."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, NamedTuple, Self

import numpy as np

from tosloc.code.languages import FIELDS
from tosloc.core.arrays import (
    Arrays,
    BoolArray,
    from_arrays,
    to_arrays,
    unpack_words,
    validate_array,
    validate_starts,
)
from tosloc.core.reports import VALID_TIMES, Case
from tosloc.core.versions import Snapshot, StringTable
from tosloc.git.history import History, HistoryLimits
from tosloc.git.repository import Change
from tosloc.paths.classify import ClassArray, FileClass, is_hidden_class
from tosloc.reports.text import NO_SHARED_LINES, SharedLines, check_shared_lines
from tosloc.retrieval.history.history_index import NO_HISTORY, HistoryIndex, report_documents
from tosloc.retrieval.history.releases import Releases, check_releases
from tosloc.retrieval.history.renames import Renames, check_renames
from tosloc.retrieval.memo import Remembering
from tosloc.retrieval.paths.path_index import PathTable, VersionPaths
from tosloc.retrieval.texts.bm25 import RevisedVectors
from tosloc.retrieval.texts.corpus import Corpus, VersionTexts
from tosloc.retrieval.texts.documents import Documents, check_documents
from tosloc.retrieval.texts.postings import positions_by_name

_MAX_CHUNKS: Final = 1 << 24
"""Most chunks of an untrusted version."""


class KnownReports(NamedTuple):
    """A project's labelled reports as of training, in the form that checkpoints store."""

    documents: Documents
    """Reports with a known fix."""
    paths: Sequence[str]
    """Paths by the file numbers in ``documents``."""
    shared_lines: SharedLines = NO_SHARED_LINES
    """Lines that many of the reports share, whether or not their fixes are known."""

    @classmethod
    def of(
        cls,
        cases: Iterable[Case],
        history: History,
        paths: StringTable,
        shared_lines: SharedLines,
    ) -> Self:
        """Return the reports of cases, in the form that a checkpoint stores.

        If no fix is known, the result contains no documents.
        """
        documents = report_documents(cases, history, paths)
        return cls(documents, tuple(paths.names), shared_lines)

    def to_arrays(self) -> Arrays:
        """Return plain arrays, with only those paths that file numbers refer to."""
        used = np.unique(self.documents.files)
        new_numbers = np.full(len(self.paths), -1, dtype=np.int32)
        new_numbers[used] = np.arange(len(used), dtype=np.int32)
        return to_arrays(
            {
                "paths": [self.paths[number] for number in used.tolist()],
                "reports": self.documents.renumber_files(new_numbers),
                "shared_lines": self.shared_lines,
            }
        )

    @classmethod
    def from_untrusted_arrays(cls, arrays: Arrays) -> Self:
        """Return the reports in arrays of ``to_arrays`` that may come from anyone.

        Raises KeyError or ValueError if the arrays are not valid.
        """
        paths = unpack_words(arrays["paths"])
        check_documents(arrays, "reports", len(paths))
        documents = from_arrays(Documents, arrays, "reports")
        if "shared_lines.times" not in arrays:  # A checkpoint of an older version of TosLoc.
            return cls(documents, paths)
        check_shared_lines(arrays, "shared_lines")
        return cls(documents, paths, from_arrays(SharedLines, arrays, "shared_lines"))


@dataclass(frozen=True, eq=False)
class VersionIndex(Remembering):
    """A version ready for queries: its files, their texts and paths, and its history.

    A version in the cache or in a checkpoint has path numbers of its own: first its files in path
    order, then the sorted paths of its history that no longer exist. The words of the latter count
    for documents of the history. Training shares one history among all versions, so that their
    indexes have none.
    """

    corpus: Corpus
    """Facts of the version's files; it may also contain those of other versions' files."""
    snapshot: Snapshot
    """Paths and blobs of the version's files."""
    table: PathTable
    """Words of all paths that the snapshot and the history number."""
    history: HistoryIndex = NO_HISTORY
    """All commits and fixed reports of the version. Features may read them only as of a time."""
    commit_ids: Sequence[str] = ()
    """Ids of all commits that the version contains, by their number in the history."""
    missing: int = 0
    """Number of blobs that could not be read; their files have the words of their paths alone."""
    submodules: Sequence[str] = ()
    """Paths of the submodules, whose files are not in the version."""
    template: Sequence[str] = ()
    """Sorted keys of the lines of the version's issue forms, see ``template_keys``."""
    limits: HistoryLimits = field(default_factory=HistoryLimits)
    """Numbers of large commits in the history that were not read in full."""
    made_of: Sequence[str] = ()
    """Sorted suffixes and names of configuration and pages that are ranked like sources.

    Such files are ranked like sources if the version consists of them.
    """

    @cached_property
    def text(self) -> VersionTexts:
        """Postings and statistics of the texts of the files."""
        return VersionTexts(self.corpus, self.snapshot)

    @cached_property
    def paths(self) -> VersionPaths:
        """Words of the paths of the files."""
        return VersionPaths(self.table, self.snapshot.path_ids)

    def has_term(self, term: str) -> bool:
        """Return whether any file of the version contains a term."""
        number = self.corpus.terms.get(term)
        return number is not None and bool(self.text.frequency[number])

    @cached_property
    def file_class(self) -> ClassArray:
        """(F,) the class of each file by its text, or by its path if the text shows none."""
        by_text = np.append(self.corpus.file_class, 0)[self.text.rows].astype(np.uint8)
        by_path = self.table.file_class[self.paths.path_ids]
        return np.where(by_text > 0, by_text, by_path)

    @cached_property
    def written_by_people(self) -> BoolArray:
        """(F,) whether people write each file; only such files set a feature's largest value.

        Values of a minified bundle would make those of all other files small. Styles change with
        every page, so they count only if the project is made of them.
        """
        by_people = ~is_hidden_class(self.file_class)
        styles = self.file_class == FileClass.STYLE
        if 2 * styles.sum() < len(self.snapshot):
            by_people &= ~styles
        return by_people

    @cached_property
    def revised(self) -> RevisedVectors:
        """Vectors of the revised vector space model (rVSM) of the version."""
        return RevisedVectors.of(self.text, self.table)

    def with_reports(self, known: KnownReports) -> HistoryIndex:
        """Return the history with labelled reports in place of its own fixed reports.

        A report counts as known if the version contains its fix. Files that neither the version nor
        its history contains are left out. If ``known`` has no report with a fix, the commits that
        take the place of fixed reports are kept.
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

        ``facts`` are the facts of the new contents.
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

    def to_arrays(self) -> Arrays:
        """Return plain arrays for ``from_arrays``, as the cache and checkpoints store them."""
        snapshot = self.snapshot
        return to_arrays(
            {
                "commit": [snapshot.commit],
                "committed_at": np.array([snapshot.committed_at], dtype=np.int64),
                "commit_ids": self.commit_ids,
                "submodules": self.submodules,
                "template": self.template,
                "made_of": self.made_of,
                "limits": np.array(self.limits, dtype=np.int64),
                "blob_names": snapshot.blob_names.names,
                "rows": snapshot.blob_ids,
                "text": self.corpus,
                "paths": self.table,
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
    def from_arrays(cls, arrays: Mapping[str, Any]) -> Self:
        """Return the version that ``to_arrays`` turned into arrays; numbers are not checked.

        Rankings do not depend on whether a version was built or read from arrays.
        """
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
        # It lacks submodules, issue forms, limits and kinds that the version is made of, too.
        submodules = unpack_words(arrays["submodules"]) if "submodules" in arrays else ()
        template = unpack_words(arrays["template"]) if "template" in arrays else ()
        made_of = unpack_words(arrays["made_of"]) if "made_of" in arrays else ()
        limits = HistoryLimits()
        if "limits" in arrays:
            limits = HistoryLimits(*arrays["limits"].tolist())
        return cls(
            corpus,
            snapshot,
            table,
            history=_read_history(arrays),
            commit_ids=unpack_words(arrays["commit_ids"]),
            submodules=submodules,
            template=template,
            limits=limits,
            made_of=made_of,
        )

    @classmethod
    def from_untrusted_arrays(cls, arrays: Arrays) -> Self:
        """Return the version of arrays that anyone may have made.

        What depends on paths alone is computed again. Raises KeyError or ValueError if the arrays
        are no version.
        """
        blobs = len(set(unpack_words(arrays["text.blobs"])))
        paths = len(set(unpack_words(arrays["paths.paths"])))
        [commit] = unpack_words(arrays["commit"])
        # The commit is printed, and becomes a part of addresses.
        if not (commit.isascii() and commit.isalnum()):
            raise ValueError("the commit has no name that git gives")
        files = len(arrays["rows"])
        if not 0 < files <= paths:
            raise ValueError("files of the version are counted wrongly")
        validate_array(
            arrays, "committed_at", np.int64, 1, least=VALID_TIMES.start, below=VALID_TIMES.stop
        )
        _check_texts(arrays, blobs)
        _check_history(arrays, paths)
        if "limits" in arrays:
            validate_array(arrays, "limits", np.int64, len(HistoryLimits._fields), below=np.inf)
        table = PathTable.of(unpack_words(arrays["paths.paths"]))
        return cls.from_arrays(arrays | to_arrays({"paths": table}))


def _read_history(arrays: Mapping[str, Any]) -> HistoryIndex:
    """Return the history in a version's arrays."""
    commits = from_arrays(Documents, arrays, "commits")
    reports = from_arrays(Documents, arrays, "reports")
    history = HistoryIndex(commits, reports)
    # A checkpoint of an older version of TosLoc lacks renames, large commits and shared
    # lines.
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
    return history


def _check_texts(arrays: Arrays, blobs: int) -> None:
    """Raise KeyError or ValueError unless arrays are valid facts of ``blobs`` blobs."""
    terms = len(set(unpack_words(arrays["text.terms"])))
    starts = validate_array(arrays, "text.chunk_starts", np.int64, blobs + 1)
    if starts[0] != 0 or (np.diff(starts) < 1).any() or starts[-1] > _MAX_CHUNKS:
        raise ValueError("chunks of the version are counted wrongly")
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
    chunks = int(starts[-1])
    for name, rows, kind, width in (
        ("text.postings", blobs, np.uint16, (len(FIELDS),)),
        ("text.chunk_postings", chunks, np.uint8, ()),
    ):
        size = len(arrays[f"{name}.rows"])
        validate_starts(arrays, f"{name}.starts", terms, size)
        validate_array(arrays, f"{name}.rows", np.int32, size, below=rows)
        validate_array(arrays, f"{name}.values", kind, size, *width, below=np.inf)


def _check_history(arrays: Arrays, paths: int) -> None:
    """Raise KeyError or ValueError unless arrays are a valid history with ``paths`` paths."""
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
